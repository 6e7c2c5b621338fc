"""E1, S1 and S2: no skid, no slip, generalized forces of one wheel, and rank of the lateral rows of several wheels."""

from __future__ import annotations

import numpy as np

from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.vehicle import RADIUS, STEERED, STEERING_OFFSET, STEERING_RATIO
from dyn_nodes.studies.tanner_1998.wheels import Wheel, bracket_determinant, row_rank

HEADING = 0.5
X, Y = float(STEERED[0]), float(STEERED[1])
E1 = Wheel(X, Y, RADIUS, STEERING_RATIO * HEADING + STEERING_OFFSET, STEERING_RATIO, HEADING)
"""The wheel of E1."""
E1_SPEEDS = 0.3, 0.35
E1_TORQUES = 2.0, 1.5
"""Drive and steering torque, N m."""
DIGITS = 1e-9
FIXED = tuple(Wheel(x, y, RADIUS) for x in (0.3, -0.3) for y in (0.3, -0.3))
"""Four parallel wheels on two axles."""


def ackermann(radius: float = 2.0, left: float | None = None, right: float | None = None) -> tuple[Wheel, ...]:
    """Return wheels at (+-0.3, +-0.3) m, the front ones steered to a turn about a point of the rear axle's line.

    Args:
        radius: distance of the point from the middle of the vehicle's rear axle, m.
        left: angle of the left front wheel, rad; None: angle of the turn.
        right: angle of the right front wheel, rad; None: angle of the turn.
    """
    angles = [float(np.arctan2(0.6, radius - y)) for y in (0.3, -0.3)]
    front = [nominal if specified is None else specified for nominal, specified in zip(angles, (left, right))]
    rear = [Wheel(-0.3, y, RADIUS) for y in (0.3, -0.3)]
    return (*(Wheel(0.3, y, RADIUS, angle) for y, angle in zip((0.3, -0.3), front)), *rear)


@study('tanner-1998/e1', 'One wheel: skid, slip, generalized forces, power (E1, S1, S2)')
def e1(s: StudyRun) -> None:
    """Check the corrected relations of a wheel, and that the printed relations are wrong."""
    turn = E1.turning(*E1_SPEEDS)
    u = (*E1_SPEEDS, turn)
    s.near('turning rate without skid, rad/s', '6.1', tabulated('tanner-1998/6.1/turning'), turn, absolute=DIGITS)
    s.near('residual lateral velocity, m/s', 'S1', 0.0, E1.lateral(u), absolute=1e-15)
    s.near('spin of the wheel, rad/s', '6.1', tabulated('tanner-1998/6.1/spin'), E1.spin(u), absolute=DIGITS)
    s.near('spin in closed form, rad/s', '6.1', E1.spin(u), E1.closed_spin(*E1_SPEEDS), absolute=1e-14)
    forces = E1.forces(*E1_TORQUES)
    for index, expected in enumerate(tabulated('tanner-1998/6.1/forces')):
        s.near(f'generalized force {index + 1}, N', '6.1', expected, float(forces[index]), absolute=DIGITS)
    power = E1.power(*E1_SPEEDS, *E1_TORQUES)
    s.near('power along the speeds, W', '6.1', power, float(forces @ E1_SPEEDS), absolute=1e-14)
    left = E1.lateral((*E1_SPEEDS, E1.printed_turning(*E1_SPEEDS)))
    skid = tabulated('tanner-1998/6.1/skid')
    s.near('residual lateral velocity of eq. 2.1 as printed, m/s', 'F01', skid, left, absolute=DIGITS)
    bicycle = Wheel(0.6, 0.0, RADIUS, 0.3)
    s.holds('a vehicle steered to the left turns left', 'S1', bicycle.turning(1.0, 0.0) > 0.0)
    _nonholonomic(s)
    ranks = [row_rank(FIXED), row_rank(ackermann()), row_rank(ackermann(left=0.3, right=0.3))]
    s.holds('rank of four fixed wheels, of Ackermann steering, of equal front angles', '6.1', ranks == [2, 2, 3],
            expected=[2, 2, 3], value=ranks)  # fmt: skip


def _nonholonomic(s: StudyRun) -> None:
    for slope in (0.0, STEERING_RATIO, -1.0):
        wheel = Wheel(X, Y, RADIUS, slope * HEADING + STEERING_OFFSET, slope, HEADING)
        determinant = bracket_determinant(X, Y, lambda heading: slope * heading + STEERING_OFFSET, HEADING)  # noqa: B023
        label = f"det [g1, g2, [g1, g2]] for phi' = {slope:g}, 1/m2"
        s.near(label, 'S2', (1.0 + slope) / wheel.D**2, determinant, relative=1e-9, absolute=1e-12)
