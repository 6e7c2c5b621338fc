"""The four levels of computation for an omnidirectional vehicle (saha-1991, 4.5).

From a planned motion to wheel motions, torques, and back to the motion that results from the torques.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control.platform_path import PlanarMotion
from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution
from dyn_nodes.multibody.omni_vehicle import OmniVehicle


@dataclass(frozen=True)
class WheelMotion:
    """Rates and accelerations of hubs and of the rollers on the floor, each (n, wheels), rad/s and rad/s2."""

    hub_rates: Array
    hub_accelerations: Array
    roller_rates: Array
    roller_accelerations: Array


@dataclass(frozen=True)
class SimulatedMotion:
    """Motion of a vehicle under torques: pose [yaw, x, y] in the fixed frame, twist, and all hub angles, over time."""

    times: Array
    pose: Array
    twist: Array
    hub_angles: Array


class NoTorquesError(UserError, ValueError):
    """A planned motion exceeds the limits of the drives.

    Attributes:
        times: (k,) times of these samples, s.
        fractions: (k,) greatest feasible part of the wrench; limits higher by 1 / fraction are sufficient.
        intervals: [(first, last), ...] of neighbouring samples, s.
        first, worst: errors at the first sample and at the least fraction.
    """

    def __init__(self, times: Array, missed: Mapping[int, InfeasibleDemandError]) -> None:
        indices = np.array(list(missed))
        errors = list(missed.values())
        self.times = times[indices]
        self.fractions = np.array([error.fraction for error in errors])
        runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
        self.intervals = [(float(times[run[0]]), float(times[run[-1]])) for run in runs]
        least = int(np.argmin(self.fractions))
        self.first, self.worst = errors[0], errors[least]
        spans = ', '.join(f'{start:g} to {end:g} s' if end > start else f'{start:g} s' for start, end in self.intervals)
        super().__init__(
            f'There is no solution at {len(indices)} of {len(times)} samples ({spans}). Worst at '
            f'{self.times[least]:g} s: {self.worst}. {self.remedy}'
        )

    @property
    def remedy(self) -> str:
        """Factor on all limits that makes the motion feasible, as a sentence."""
        least = float(self.fractions.min())
        if least <= 0.0:
            return 'No factor on the limits is sufficient.'
        return f'All limits {np.ceil(1e4 / least) / 1e4:g} times as high are sufficient.'


def wheel_motion(vehicle: OmniVehicle, motion: PlanarMotion) -> WheelMotion:
    """Level 1: return wheel and roller rates and accelerations of a planned motion (eq. 4.73, 4.78)."""
    twist, rate = motion.twist, motion.twist_rate
    return WheelMotion(twist @ vehicle.L.T, rate @ vehicle.L.T, twist @ vehicle.L_rollers.T, rate @ vehicle.L_rollers.T)


def wheel_angles(vehicle: OmniVehicle, motion: PlanarMotion, start: ArrayLike = 0.0) -> tuple[Array, Array]:
    """Level 2: return hub and roller angles (n, wheels), rad, from the angles `start`.

    Integrated by a cubic Hermite rule through rates and accelerations, of fourth order in the sampling.
    """
    wheels = wheel_motion(vehicle, motion)
    return (
        _integral(motion.times, wheels.hub_rates, wheels.hub_accelerations) + np.asarray(start),
        _integral(motion.times, wheels.roller_rates, wheels.roller_accelerations),
    )


def _integral(times: Array, rates: Array, accelerations: Array) -> Array:
    h = np.diff(times)[:, None]
    parts = 0.5 * h * (rates[1:] + rates[:-1]) + h**2 / 12.0 * (accelerations[:-1] - accelerations[1:])
    return np.vstack([np.zeros(rates.shape[1]), np.cumsum(parts, axis=0)])


def drive_torques(vehicle: OmniVehicle, motion: PlanarMotion, distribution: TorqueDistribution | None = None) -> Array:
    """Level 3: return the torques (n, driven), N m, for a planned motion with least effort.

    Args:
        vehicle: the vehicle.
        motion: planned motion.
        distribution: distribution with limits or weights; None without both.

    Raises:
        NoTorquesError: the limits are too low at some samples.
    """
    share = distribution or TorqueDistribution(vehicle.L_driven)
    torques = np.full((len(motion.times), len(vehicle.L_driven)), np.nan)
    missed: dict[int, InfeasibleDemandError] = {}
    for k, (twist, rate) in enumerate(zip(motion.twist, motion.twist_rate)):
        try:
            torques[k] = share(vehicle.wrench(twist, rate))
        except InfeasibleDemandError as error:
            missed[k] = error
    if missed:
        raise NoTorquesError(motion.times, missed)
    return torques


def simulate(
    vehicle: OmniVehicle,
    torques: Callable[[float], ArrayLike],
    times: ArrayLike,
    pose: ArrayLike = (0.0, 0.0, 0.0),
    twist: ArrayLike = (0.0, 0.0, 0.0),
    tolerance: float = 1e-9,
    max_step: float = np.inf,
) -> SimulatedMotion:
    """Level 4: return the motion under torques (eq. 4.89, 4.90 in component form, spec F22).

    Args:
        vehicle: the vehicle.
        torques: function of time for the torques of the driven wheels (driven,), N m.
        times: (n,) increasing, s; the first is the start.
        pose: initial pose.
        twist: initial twist.
        tolerance: relative and absolute tolerance of the adaptive integrator.
        max_step: greatest step, s.
    """
    t = np.asarray(times, dtype=float)
    count = len(vehicle.wheels)

    def rate(now: float, state: Array) -> Array:
        yaw, velocity = state[0], state[3:6]
        c, s = np.cos(yaw), np.sin(yaw)
        travel = [velocity[0], velocity[1] * c - velocity[2] * s, velocity[1] * s + velocity[2] * c]
        return np.concatenate([travel, vehicle.twist_rate(velocity, torques(now)), vehicle.L @ velocity])

    start = np.concatenate([np.asarray(pose, dtype=float), np.asarray(twist, dtype=float), np.zeros(count)])
    solution = solve_ivp(rate, (t[0], t[-1]), start, t_eval=t, rtol=tolerance, atol=tolerance, max_step=max_step)
    if not solution.success:
        raise ArithmeticError(f'simulation of the vehicle ended at {solution.t[-1]:.6g} s: {solution.message}')
    return SimulatedMotion(t, solution.y[:3].T, solution.y[3:6].T, solution.y[6:].T)
