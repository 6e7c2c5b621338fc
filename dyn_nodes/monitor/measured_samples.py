"""Measurements of a simulated machine at an instant, exact or with sensor errors.

    sensors = Sensors(1.0, seed=3)
    sample = sensors.read(sample_of(plant, imu=True))

Seeds are fixed: the same run gives the same measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.simulation.plant import Plant


@dataclass(frozen=True)
class SensorModel:
    """Errors of the sensors; deviations are of white noise in every sample.

    Attributes:
        rate: of joint states and IMU, Hz.
        position_noise: rad.  position_step: of the encoder, rad (17 bits a turn).
        velocity_noise: rad/s.
        gyroscope_noise: rad/s.  gyroscope_bias: deviation of a constant bias, rad/s.
        accelerometer_noise: m/s2.  accelerometer_bias: deviation of a constant bias, m/s2.
        orientation_error: deviation of a constant misalignment, rad.
        seed: of the random numbers.
    """

    rate: float = 200.0
    position_noise: float = 2e-5
    position_step: float = 4.8e-5
    velocity_noise: float = 1e-3
    gyroscope_noise: float = 1e-3
    gyroscope_bias: float = 5e-4
    accelerometer_noise: float = 0.01
    accelerometer_bias: float = 0.02
    orientation_error: float = 2e-3
    seed: int = 1


class Sample(NamedTuple):
    """Measurements of an instant, s: joints, and (orientation, turning, specific force) or None."""

    time: float
    q: Array
    v: Array
    imu: Any


def sample_of(plant: Plant, imu: bool) -> Sample:
    """Return the exact present measurements of a plant, with an IMU or without one."""
    reading = tuple(read_imu(plant)) if imu else None
    return Sample(plant.time, plant.positions, plant.velocities, reading)


class Sensors:
    """Sensors of one run: constant errors are drawn at its start, white noise and steps are added to every sample.

    Args:
        level: factor on all errors of `SensorModel`.
        seed: of the random numbers.
    """

    def __init__(self, level: float, seed: int) -> None:
        self._level, self._rng = level, np.random.default_rng(seed)
        self._model = SensorModel()
        self._turn = Rotation.from_rotvec(self._draw(3, self._model.orientation_error))
        self._turning = self._draw(3, self._model.gyroscope_bias)
        self._force = self._draw(3, self._model.accelerometer_bias)

    def _draw(self, count: int, deviation: float) -> Array:
        return self._rng.normal(0.0, self._level * deviation, count)

    def read(self, sample: Sample) -> Sample:
        """Return the readings of the sensors for an exact sample."""
        model = self._model
        q = sample.q + self._draw(len(sample.q), model.position_noise)
        if step := self._level * model.position_step:
            q = np.round(q / step) * step
        v = sample.v + self._draw(len(sample.v), model.velocity_noise)
        if sample.imu is None:
            return Sample(sample.time, q, v, None)
        orientation, turning, force = sample.imu
        turned = (Rotation.from_quat(orientation) * self._turn).as_quat()
        turning = turning + self._turning + self._draw(3, model.gyroscope_noise)
        force = force + self._force + self._draw(3, model.accelerometer_noise)
        return Sample(sample.time, q, v, (turned, turning, force))
