"""Vehicles on two driven wheels of one axle: alone, or carrying a platform on a caster (saha-1991, 4.1 to 4.3).

Vehicle axes: x along the axle, y ahead, z up. Wheel 1 is the left one. A positive wheel rate drives *backwards*, as in
the source: the axle's direction is +x, and the contact is below it. The motions that both wheels allow are a yaw rate
and a forward speed of the axle, which determine the lateral speed of any other point (spec F21).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array


@dataclass(frozen=True)
class AxleMotion:
    """Yaw rate and forward speed with their rates at n times: (n,) each."""

    times: Array
    yaw_rate: Array
    speed: Array
    yaw_acceleration: Array
    acceleration: Array


@dataclass(frozen=True)
class DrivenAxle:
    """Two thin discs on a massless axle (eq. 4.1 to 4.32).

    Attributes:
        radius, length: of the wheels and of the axle, m.
        wheel_mass: of each wheel, kg.
    """

    radius: float = 0.05
    length: float = 0.4
    wheel_mass: float = 2.0

    @property
    def ratio(self) -> float:
        """Eta = radius / length."""
        return self.radius / self.length

    @property
    def inertia(self) -> Array:
        """(2, 2) inertia along the wheel rates (eq. 4.29); the bias is zero."""
        e = self.ratio**2
        return 0.5 * self.wheel_mass * self.radius**2 * np.array([[3 + e, -e], [-e, 3 + e]])

    def rates(self, yaw_rate: ArrayLike, speed: ArrayLike) -> Array:
        """Return wheel rates (n, 2) from yaw rates and forward speeds (n,), or accelerations (eq. 4.14, spec F9)."""
        turn = np.asarray(yaw_rate, dtype=float) / (2 * self.ratio)
        ahead = np.asarray(speed, dtype=float) / self.radius
        return np.stack([turn - ahead, -turn - ahead], axis=-1)

    def twist(self, rates: ArrayLike) -> Array:
        """Return [yaw rate, forward speed] (..., 2) from wheel rates (..., 2) (eq. 4.13, spec F8)."""
        first, second = np.moveaxis(np.asarray(rates, dtype=float), -1, 0)
        return np.stack([self.ratio * (first - second), -0.5 * self.radius * (first + second)], axis=-1)

    def torques(self, motion: AxleMotion) -> Array:
        """Return the torques (n, 2), N m, of a motion."""
        return self.rates(motion.yaw_acceleration, motion.acceleration) @ self.inertia

    def lateral_force(self, motion: AxleMotion) -> Array:
        """Return the sum of the lateral contact forces (n,), N, along x: only the sum is determined (spec 2.12)."""
        return -2 * self.wheel_mass * motion.yaw_rate * motion.speed


@dataclass(frozen=True)
class CasterVehicle:
    """A platform on a driven axle and a trailing caster (eq. 4.33 to 4.55, closed form of the specification, 2.15).

    In forward motion the caster trails and its angle settles at the rate speed / offset; in reverse it is unstable.

    Attributes:
        radius, length: of all wheels and of the axle, m.
        ahead: a, of the platform's centre of mass before the axle, m.
        pivot: b, of the caster's pivot before the centre of mass, m.
        offset: d, of the caster wheel behind its pivot, m.
        wheel_mass, axial, diametral: of each of the three wheels, kg, kg m2.
        mass, yaw_inertia: of the platform, about its centre of mass, kg, kg m2.
    """

    radius: float = 0.05
    length: float = 0.4
    ahead: float = 0.101
    pivot: float = 0.202
    offset: float = 0.025
    wheel_mass: float = 2.0
    axial: float = 0.0025
    diametral: float = 0.00125
    mass: float = 20.0
    yaw_inertia: float = 0.4083

    @property
    def axle(self) -> DrivenAxle:
        """The driven axle alone."""
        return DrivenAxle(self.radius, self.length, self.wheel_mass)

    def loop_jacobian(self, fork: float) -> tuple[Array, Array]:
        """Return J_I (3, 2) and J_D (3, 3) of the loop equations (4.47), (4.48): rates of drives; caster, fork, yaw."""
        s, c, r, d = np.sin(fork), np.cos(fork), self.radius, self.offset
        reach, half = self.ahead + self.pivot, 0.5 * self.length
        independent = np.array([[0.0, 0.0], [r, 0.0], [0.0, r]])
        dependent = np.array(
            [
                [r * s, -d * c, reach - d * c],
                [-r * c, -d * s, -half - d * s],
                [-r * c, -d * s, half - d * s],
            ]
        )
        return independent, dependent

    def dependent(self, fork: float) -> Array:
        """Return U (3, 2): rates of caster wheel, fork and yaw per rates of the drives (eq. 4.50, spec F14)."""
        s, c = np.sin(fork), np.cos(fork)
        e, reach = self.radius / self.length, self.ahead + self.pivot
        sweep = reach / self.length * s
        lead = e * (reach * c / self.offset - 1)
        trail = 0.5 * self.radius * s / self.offset
        return np.array([[0.5 * c - sweep, 0.5 * c + sweep], [trail + lead, trail - lead], [e, -e]])

    def _dependent_slope(self, fork: float) -> Array:
        s, c = np.sin(fork), np.cos(fork)
        e, reach = self.radius / self.length, self.ahead + self.pivot
        sweep, lead = reach / self.length * c, -e * reach * s / self.offset
        trail = 0.5 * self.radius * c / self.offset
        return np.array([[-0.5 * s - sweep, -0.5 * s + sweep], [trail + lead, trail - lead], [0.0, 0.0]])

    def inertia(self, fork: float) -> Array:
        """Return the inertia along the drive rates (2, 2), kg m2."""
        U = self.dependent(fork)
        spin, swing, n, o = U[0], U[1] + U[2], np.array([1.0, -1.0]), np.ones(2)
        e = self.radius / self.length
        wheel = self.wheel_mass * self.radius**2 + self.axial
        turn = (2 * self.diametral + self.yaw_inertia + self.mass * self.ahead**2) * e**2
        return (
            wheel * (np.eye(2) + np.outer(spin, spin))
            + turn * np.outer(n, n)
            + 0.25 * self.mass * self.radius**2 * np.outer(o, o)
            + self.diametral * np.outer(swing, swing)
        )

    def coupling(self, fork: float, rates: ArrayLike) -> Array:
        """Return C (2, 2) with inertia @ accelerations = C @ rates + torques; only C @ rates is unique."""
        v = np.asarray(rates, dtype=float)
        U, slope = self.dependent(fork), self._dependent_slope(fork)
        fork_rate, yaw_rate = U[1] @ v, U[2] @ v
        wheel = self.wheel_mass * self.radius**2 + self.axial
        spin = wheel * np.outer(U[0], slope[0])
        swing = self.diametral * np.outer(U[1] + U[2], slope[1] + slope[2])
        turn = self.mass * self.ahead * self.radius**2 / self.length * yaw_rate
        return -fork_rate * (spin + swing) + turn * np.array([[0.0, 1.0], [-1.0, 0.0]])

    def accelerations(self, fork: float, rates: ArrayLike, torques: ArrayLike) -> Array:
        """Return the accelerations of the drives (2,), rad/s2."""
        v = np.asarray(rates, dtype=float)
        return np.linalg.solve(self.inertia(fork), self.coupling(fork, v) @ v + np.asarray(torques, dtype=float))

    def torques(self, fork: float, rates: ArrayLike, accelerations: ArrayLike) -> Array:
        """Return the torques (2,), N m."""
        v = np.asarray(rates, dtype=float)
        return self.inertia(fork) @ np.asarray(accelerations, dtype=float) - self.coupling(fork, v) @ v

    def kinetic_energy(self, fork: float, rates: ArrayLike) -> float:
        """Return the kinetic energy, J."""
        v = np.asarray(rates, dtype=float)
        return float(0.5 * v @ self.inertia(fork) @ v)

    def steady_fork(self, radius: float) -> float:
        """Return the fork angle, rad, with the centre of mass on a circle to the left.

        Solves -sqrt(R^2 - a^2) sin + (a + b) cos = d, the caster trailing.
        """
        along = np.sqrt(radius**2 - self.ahead**2)
        reach = self.ahead + self.pivot
        size = np.hypot(along, reach)
        return float(np.arcsin(reach / size) - np.arcsin(self.offset / size))

    def fork_angles(self, motion: AxleMotion, start: float = 0.0, tolerance: float = 1e-10) -> Array:
        """Return the fork angle (n,) along a motion with densely sampled rates, rad.

        Between the samples the rates are cubic splines.
        """
        from scipy.interpolate import CubicSpline

        drives = CubicSpline(motion.times, self.axle.rates(motion.yaw_rate, motion.speed))
        solution = solve_ivp(
            lambda t, fork: [self.dependent(float(fork[0]))[1] @ drives(t)],
            (motion.times[0], motion.times[-1]),
            [start],
            t_eval=motion.times,
            method='LSODA',
            rtol=tolerance,
            atol=tolerance,
        )
        return np.asarray(solution.y[0], dtype=np.float64)
