"""How fast an arm may follow a trajectory on a vehicle whose wheels shall neither slide nor lift.

Slower by a factor k, the arm's velocities are k and its accelerations k^2 times as great. The vehicle is at rest or
brakes as gently as it may, in any direction in which it moves, and goes on at its present twist or brakes gently from
it. The `GripGovernor` limits other commands of the vehicle while the arm moves; it knows the motion of the arm.

From a posture that is already below the reserve a trajectory is taken if no instant of it is worse than the start, so
that an arm that was put out too far comes in again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.trajectory import JointTrajectory
from dyn_nodes.monitor.grip_governor import GripGovernor
from dyn_nodes.monitor.grip_model import GripModel

Array = NDArray[np.float64]

SLOWEST = 0.02
"""Pace below which a trajectory is refused."""
STILL = 0.05
"""Joint speed up to which a trajectory may begin at another pace, rad/s."""
INSTANTS, MOST = 100, 800
"""That are looked at in a segment of a trajectory at most, and in all of them, about."""
HALVINGS = 9
ALIKE = 1e-6
"""Difference of margins that is none, N."""


class Pace(NamedTuple):
    """The pace of a trajectory.

    Attributes:
        factor: of its speed, 0 to 1; NaN where a posture on the way is too much even at rest, and worse than the first.
        wheel: the contact nearest to its border at full speed.
        time: instant of that, s from the start.
        lifts: it would lift; else slide.
    """

    factor: float
    wheel: str
    time: float
    lifts: bool


def pace_of(
    trajectory: JointTrajectory,
    names: Sequence[str],
    governor: GripGovernor,
    model: GripModel,
    positions: Array,
    angles: Array,
    twist: Array,
    payload: float,
    gravity: Array,
) -> Pace:
    """Return the greatest pace of a trajectory.

    Args:
        trajectory: of joints of the arm.
        names: of these joints, in the order of its columns.
        governor: its settings.
        model: of the vehicle.
        positions: (n,) of all movable joints, in the machine's order.
        angles: (m,) steering angles.
        twist: (3,) present one of the base.
        payload: kg.
        gravity: (3,) in axes of the base, m/s2.
    """
    times = _instants(trajectory)
    places = [model.joints.index(name) for name in names]
    count = len(times)
    q, v, a = (np.zeros((count, len(positions))) for _ in range(3))
    q[:] = positions
    for k, time in enumerate(times):
        q[k, places], v[k, places], a[k, places] = trajectory.sample(float(time))
    twists, rates = _motions(model, angles, governor, twist)
    q, v, a = (np.tile(part, (len(rates), 1)) for part in (q, v, a))
    twists, rates = (np.repeat(part, count, axis=0) for part in (twists, rates))

    over = governor.settings.overshoot

    def margins(factor: float) -> Array:
        forces, _ = model.evaluate(q, factor * v, over * factor**2 * a, twists, over * rates, angles, payload, gravity)
        return governor.margins(forces)

    found, still = margins(1.0), margins(0.0)
    row, _, wheel = (int(place) for place in np.unravel_index(int(np.argmin(found)), found.shape))
    floor = min(0.0, float(still[::count].min()) - ALIKE)
    factor = 1.0 if found.min() >= floor else _greatest(margins, floor)
    return Pace(factor, model.names[wheel], float(times[row % count]), bool(found[row, 1, wheel] < 0.0))


def _instants(trajectory: JointTrajectory) -> Array:
    """Return the times (t,) to look at: within every segment, just behind its begin and just before its end.

    A short stroke in a long trajectory is a segment, too; its greatest accelerations are at the ends.
    """
    knots = np.unique(np.concatenate(([0.0], trajectory.times)))
    count = max(min(INSTANTS, MOST // max(len(knots) - 1, 1)), 2)
    parts = [np.linspace(start, np.nextafter(end, start), count) for start, end in pairwise(knots)]
    return np.concatenate([*parts, knots[-1:]])


def slowed(trajectory: JointTrajectory, factor: float) -> JointTrajectory:
    """Return a trajectory along the same path with `factor` times the speed."""
    return replace(
        trajectory,
        times=trajectory.times / factor,
        velocities=trajectory.velocities * factor,
        accelerations=trajectory.accelerations * factor**2,
    )


def _motions(model: GripModel, angles: Array, governor: GripGovernor, twist: Array) -> tuple[Array, Array]:
    """Return twists and rates (t, 3): rest and gentle braking in all directions, and the same at the present twist."""
    motions = model.base.free_motions(angles).T
    units = motions * (governor.settings.least_braking / governor.size(motions))[:, None]
    rates = np.vstack([np.zeros(3), units, -units])
    twists = np.zeros_like(rates)
    if twist.any():
        twists = np.vstack([twists, twist, twist])
        rates = np.vstack([rates, np.zeros(3), governor.braking(twist[None])])
    return twists, rates


def _greatest(margins: Callable[[float], Array], floor: float) -> float:
    """Return the greatest factor with which no margin is below a floor, N; NaN where not even 0 does."""
    if margins(0.0).min() < floor:
        return float('nan')
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if margins(middle).min() >= floor else (low, middle)
    return low
