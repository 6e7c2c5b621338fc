"""A rolling wheel in the plane: no skid, no slip, generalized forces (tanner-1998, 2.1 to 2.9, C1, C2, C5).

u_1, u_2 is the velocity of the vehicle's mass centre in the world, u_3 its rate of turning. `printed` keeps the signs
of the source, which leave the wheel skidding (F01, F05, F06, F09).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Wheel:
    """A wheel at one heading.

    Attributes:
        x, y: contact from the mass centre, in axes of the vehicle, m.
        radius: m.
        steering: phi, rad.  slope: d phi / d theta.
        heading: theta of the vehicle, rad.
    """

    x: float
    y: float
    radius: float
    steering: float = 0.0
    slope: float = 0.0
    heading: float = 0.0

    @property
    def angle(self) -> float:
        """Direction of rolling in the world, phi + theta, rad."""
        return self.steering + self.heading

    @property
    def D(self) -> float:
        """Lateral velocity of the contact per rate of turning, m."""
        return float(self.y * np.sin(self.steering) + self.x * np.cos(self.steering))

    @property
    def E(self) -> float:
        """Velocity of the contact along the wheel per rate of turning, m."""
        return float(self.x * np.sin(self.steering) - self.y * np.cos(self.steering))

    @property
    def row(self) -> Array:
        """(3,) row A of the lateral velocity on u_1, u_2, u_3."""
        return np.array([-np.sin(self.angle), np.cos(self.angle), self.D])

    def lateral(self, u: Sequence[float]) -> float:
        """Return the lateral velocity, m/s, at u_1, u_2, u_3."""
        return float(self.row @ np.asarray(u))

    def turning(self, u_1: float, u_2: float) -> float:
        """Return u_3, rad/s, of a wheel that does not skid (2.1)."""
        return float((u_1 * np.sin(self.angle) - u_2 * np.cos(self.angle)) / self.D)

    def printed_turning(self, u_1: float, u_2: float) -> float:
        """Return u_3 as printed (F01)."""
        return -self.turning(u_1, u_2)

    def spin(self, u: Sequence[float]) -> float:
        """Return the rate of the wheel about its axle, rad/s, without slip, at u_1, u_2, u_3 (2.5)."""
        return float((u[0] * np.cos(self.angle) + u[1] * np.sin(self.angle) + u[2] * self.E) / self.radius)

    def closed_spin(self, u_1: float, u_2: float) -> float:
        """Return the same with u_3 of rolling without skid: (l_X u_1 + l_Y u_2) / (r D)."""
        return float(self._position @ (u_1, u_2) / (self.radius * self.D))

    @property
    def _position(self) -> Array:
        c, s = np.cos(self.heading), np.sin(self.heading)
        return np.array([c * self.x - s * self.y, s * self.x + c * self.y])

    def forces(self, drive: float, steer: float) -> Array:
        """Return the generalized forces (2,) of drive and steering torque, N m, on u_1, u_2 (2.30, 2.31)."""
        s, c = np.sin(self.angle), np.cos(self.angle)
        return self._position * drive / (self.radius * self.D) + np.array([s, -c]) * self.slope * steer / self.D

    def printed_forces(self, drive: float, steer: float) -> Array:
        """Return the same with the signs as printed."""
        s, c = np.sin(self.angle), np.cos(self.angle)
        along = np.array([c + s * self.E / self.D, s + c * self.E / self.D]) * drive / self.radius
        return along - np.array([s, -c]) * self.slope * steer / self.D

    def power(self, u_1: float, u_2: float, drive: float, steer: float) -> float:
        """Return the power of both torques on the spin and on the steering rate, W."""
        u_3 = self.turning(u_1, u_2)
        return drive * self.spin((u_1, u_2, u_3)) + steer * self.slope * u_3

    def turning_rate(self, u: Sequence[float], rates: Sequence[float]) -> float:
        """Return du_3/dt at u_1, u_2 and du_1/dt, du_2/dt (2.26)."""
        s, c, u_3 = np.sin(self.angle), np.cos(self.angle), self.turning(*u)
        along = u[0] * c + u[1] * s
        change = (1.0 + self.slope) * u_3 * along + u_3**2 * self.slope * self.E
        return float((rates[0] * s - rates[1] * c + change) / self.D)


def row_rank(wheels: Sequence[Wheel], tolerance: float = RANK_TOLERANCE) -> int:
    """Return the rank of the lateral rows: 1 leaves the source's motions, 2 turns about a point, 3 none."""
    values = np.linalg.svd(np.array([wheel.row for wheel in wheels]), compute_uv=False)
    return int(np.count_nonzero(values > tolerance * values[0]))


def bracket_determinant(x: float, y: float, steering: Callable[[ca.SX], ca.SX], heading: float) -> float:
    """Return det [g_1, g_2, [g_1, g_2]] of the motions that a wheel at (x, y) allows, by exact derivatives.

    It is (1 + phi') / D^2 and not zero if the constraint is nonholonomic.
    """
    q = ca.SX.sym('q', 3)
    phi = steering(q[2])
    D = y * ca.sin(phi) + x * ca.cos(phi)
    g_1 = ca.vertcat(1, 0, ca.sin(phi + q[2]) / D)
    g_2 = ca.vertcat(0, 1, -ca.cos(phi + q[2]) / D)
    bracket = ca.mtimes(ca.jacobian(g_2, q), g_1) - ca.mtimes(ca.jacobian(g_1, q), g_2)
    fields = ca.Function('fields', [q], [ca.densify(ca.horzcat(g_1, g_2, bracket))])
    return float(np.linalg.det(np.array(fields([0.0, 0.0, heading]))))


def axle_turn(left: float, right: float, radius: float, half_gauge: float, ahead: float) -> tuple[float, ...]:
    """Return axle speed, turning rate, and path radii of the axle's middle and of a point `ahead` of it.

    Args:
        left: rate of the left wheel, rad/s.
        right: rate of the right wheel, rad/s.
        radius: of the wheels, m.
        half_gauge: m.
        ahead: m.
    """
    speed, turn = radius * (left + right) / 2.0, radius * (right - left) / (2.0 * half_gauge)
    return speed, turn, speed / turn, float(np.hypot(speed / turn, ahead))
