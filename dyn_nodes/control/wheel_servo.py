"""Torques of wheels and steering joints that follow a `DriveReference`.

Driven wheels: feedforward of the vehicle's mass, distributed with least effort within their limits, and a velocity loop
at each wheel. Its integral part has only errors that a motion of the vehicle can correct, so that wheels that disagree,
by slip or by unequal radii, do not wind up against each other. At rest it is proportional to an angle and holds the
vehicle on a slope. Steering joints: computed torque with the inertia about the steering axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveReference

WHEEL_INERTIA = 0.25
"""Greatest speed gain, relative to the inertia of the wheel over the period, so that a wheel in the air is stable."""
MARGIN = 0.98
"""Part of the greatest feasible wrench that is used."""


@dataclass(frozen=True)
class ServoGains:
    """Loops of the wheels.

    Attributes:
        speed: bandwidth of the vehicle's speed, 1/s.
        integral: ratio of the integral gain to the speed gain, 1/s.
        steering: natural frequency of the steering loop, rad/s.
        damping_ratio: of the steering loop.
        steering_integral: rate at which a steady error of a steering angle is removed, 1/s.
    """

    speed: float = 10.0
    integral: float = 4.0
    steering: float = 25.0
    damping_ratio: float = 1.0
    steering_integral: float = 2.0


class WheelServo:
    """Torques of the driven wheels and steering joints of a vehicle.

    Args:
        base: its wheels.
        period: least time between two calls, s; it limits the gains.
        gains: see there.

    Attributes:
        base, gains: after a change of gains, `tune` must be called.
        saturated: names of the joints at their effort limit in the last call.
        rejected: text that names the infeasible part of the last feedforward, or ''.
    """

    def __init__(self, base: WheelBase, period: float, gains: ServoGains | None = None) -> None:
        self.base, self.period, self.gains = base, period, gains or ServoGains()
        self._driven = np.flatnonzero(base.driven)
        self._names = [base.names[k] for k in self._driven]
        self._limit = np.array([wheel.drive_limits[1] for wheel in base.wheels])
        self._steering_limit = np.array([wheel.steering_effort for wheel in base.wheels])
        self._spin = np.array([wheel.axial_inertia for wheel in base.wheels])
        self._share: tuple[Array, TorqueDistribution] | None = None
        self._inverse: tuple[Array, Array] | None = None
        self._greatest: tuple[Array, float] | None = None
        self.tune()
        self.reset()

    def tune(self) -> None:
        """Apply the gains."""
        base = self.base
        rows, swing = base.rolling_rows(np.zeros(len(base.wheels)))
        along = rows[:, :2] / base.reach[:, None]
        # of the direction of travel with the greatest effect of the wheels
        grip, spin = (float(np.linalg.norm((along.T * part) @ along, 2)) for part in (base.driven, self._spin))
        wanted = self.gains.speed * (base.inertia[0, 0] + spin) / max(grip, 1e-12)
        self.speed_gain = np.minimum(wanted, WHEEL_INERTIA * self._spin / self.period)
        steering = np.array([wheel.steering_inertia for wheel in base.wheels])
        self._steering_inertia = steering + self._spin * (swing / base.reach) ** 2

    def reset(self, torques: Array | None = None) -> None:
        """Start with the torques (n,) about the axles that hold the vehicle now; None: not measured."""
        count = len(self.base.wheels)
        self.integral = np.zeros(count) if torques is None else np.where(self.base.driven, torques, 0.0)
        self.integral = np.clip(self.integral, -self._limit, self._limit)
        self._steering_integral = np.zeros(count)
        self._holds_load = torques is not None
        self.saturated: tuple[str, ...] = ()
        self.rejected = ''

    # -- feedforward ---------------------------------------------------------------------------------------------------

    def feedforward(self, reference: DriveReference, angles: Array) -> tuple[Array, float]:
        """Return the torques (n,) about the axles for a reference, and the part of it within the limits."""
        motions = self.base.free_motions(angles)
        rows = self.base.rolling_rows(angles)[0] / self.base.reach[:, None]
        inertia = self.base.inertia + rows.T @ (self._spin[:, None] * rows)
        demand = motions.T @ (inertia @ reference.acceleration + self._bias(reference.twist))
        torques = np.zeros(len(self.base.wheels))
        self.rejected = ''
        if not demand.any():
            return torques, 1.0
        part = self._feasible_part(demand)
        try:
            share = self._distribution(rows[self._driven] @ motions)
            torques[self._driven] = share(part * demand)
        except InfeasibleDemandError as error:
            size = float(np.linalg.norm(demand))
            part *= MARGIN * error.fraction
            self._greatest = (demand / size, part * size)
            self.rejected = f'{100 * part:.0f} % of the acceleration: torque of {", ".join(error.binding)}'
            torques[self._driven] = share(part * demand) if part > 0.0 else 0.0
        except ValueError:
            part = 0.0
            self.rejected = 'no acceleration: the driven wheels cannot give it at their steering angles'
        if part < 1.0 and not self.rejected:
            self.rejected = f'{100 * part:.0f} % of the acceleration: torques are at their limits'
        return torques, part

    def load_torques(self, wrench: Array, reference: DriveReference, angles: Array) -> Array:
        """Return the torques (n,) about the axles for a ground wrench, in addition to `feedforward`.

        The first ones after a `reset` with torques are subtracted from the integral: the measured torques include them.

        Args:
            wrench: (3,) fx, fy and mz on the vehicle with its load, in axes of the base.
            reference: the motion at this wrench.
            angles: (n,) measured steering angles.
        """
        _, inverse = self._motions_of_driven(angles)
        rigid = self.base.inertia @ reference.acceleration + self._bias(reference.twist)
        torques = np.zeros(len(self.base.wheels))
        torques[self._driven] = (self.base.free_motions(angles).T @ (wrench - rigid)) @ inverse
        if self._holds_load:
            self.integral, self._holds_load = self.integral - torques, False
        return torques

    def _feasible_part(self, demand: Array) -> float:
        """Return the feasible part of a wrench if a wrench of the same direction was infeasible before."""
        if self._greatest is None:
            return 1.0
        direction, most = self._greatest
        size = float(np.linalg.norm(demand))
        if len(direction) != len(demand) or direction @ demand < 0.999 * size or size <= most:
            self._greatest = None if size <= 0.9 * most else self._greatest
            return 1.0
        return most / size

    def _distribution(self, rows: Array) -> TorqueDistribution:
        if self._share is None or not np.array_equal(self._share[0], rows):
            limit = self._limit[self._driven]
            self._share = (rows, TorqueDistribution(rows, -limit, limit, names=self._names))
        return self._share[1]

    def _bias(self, twist: Array) -> Array:
        """Return the wrench of a rigid vehicle from the rotation of its axes."""
        x, y, _ = self.base.inertia @ twist
        return np.array([-twist[2] * y, twist[2] * x, twist[0] * y - twist[1] * x])

    # -- loops ---------------------------------------------------------------------------------------------------------

    def drive_torques(
        self, reference: DriveReference, forward: Array, dt: float, speeds: Array, angles: Array
    ) -> Array:
        """Return the torques (n,) about the axles.

        Args:
            reference: of the wheels.
            forward: (n,) of `feedforward`.
            dt: since the last call, s.
            speeds: (n,) measured.
            angles: (n,) measured steering angles.
        """
        due = reference.wheel_speeds - reference.wheel_accelerations * dt  # at the instant of the measurement
        error = np.where(self.base.driven, due - speeds, 0.0)
        wanted = forward + self.speed_gain * error + self.integral
        torques = np.clip(wanted, -self._limit, self._limit)
        self.saturated = tuple(self.base.names[k] for k in np.flatnonzero(torques != wanted))
        growth = self.gains.integral * self.speed_gain * self._correctable(error, angles) * dt
        held = (torques != wanted) & (growth * wanted > 0.0)  # no wind-up at a limit
        self.integral = np.clip(self.integral + np.where(held, 0.0, growth), -self._limit, self._limit)
        return np.where(self.base.driven, torques, 0.0)

    def _correctable(self, error: Array, angles: Array) -> Array:
        """Return the part of the speed errors (n,) that a motion of the vehicle corrects."""
        rows, inverse = self._motions_of_driven(angles)
        result = np.zeros(len(error))
        result[self._driven] = rows @ (inverse @ error[self._driven])
        return result

    def _motions_of_driven(self, angles: Array) -> tuple[Array, Array]:
        """Return speeds of the k driven wheels in the q free motions (k, q), rad/s, and the pseudo-inverse (q, k)."""
        motions = self.base.free_motions(angles)
        rows = (self.base.rolling_rows(angles)[0] / self.base.reach[:, None])[self._driven] @ motions
        if self._inverse is None or not np.array_equal(self._inverse[0], rows):
            self._inverse = rows, np.linalg.pinv(rows, rcond=1e-6)
        return self._inverse

    def steering_torques(
        self, reference: DriveReference, drive: Array, dt: float, angles: Array, rates: Array
    ) -> Array:
        """Return the torques (n,) about the steering axes, upwards.

        Args:
            reference: of the wheels.
            drive: (n,) torques about the axles now, whose moment about the steering axis is compensated.
            dt: since the last call, s.
            angles: (n,) measured.
            rates: (n,) measured.
        """
        if not self.base.steered.any():
            return np.zeros(len(angles))
        wn, inertia = self.gains.steering, self._steering_inertia
        due = reference.steering_rates - reference.steering_accelerations * dt  # at the instant of the measurement
        error, rate_error = reference.steering_angles - reference.steering_rates * dt - angles, due - rates
        push = wn**2 * error + 2.0 * self.gains.damping_ratio * wn * rate_error + reference.steering_accelerations
        swing = self.base.rolling_rows(angles)[1]
        wanted = inertia * push + self._steering_integral - swing * drive / self.base.reach
        torques = np.clip(wanted, -self._steering_limit, self._steering_limit)
        growth = self.gains.steering_integral * inertia * wn**2 * error * dt
        held = (torques != wanted) & (growth * wanted > 0.0)
        self._steering_integral = self._steering_integral + np.where(held, 0.0, growth)
        limit = self._steering_limit
        self._steering_integral = np.clip(self._steering_integral, -limit, limit)
        self.saturated += tuple(
            f'{self.base.names[k]} (steering)' for k in np.flatnonzero(self.base.steered & (torques != wanted))
        )
        return np.where(self.base.steered, torques, 0.0)
