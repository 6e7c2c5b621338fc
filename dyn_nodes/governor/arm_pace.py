"""How fast an arm may follow a trajectory on a vehicle whose wheels shall neither slide nor lift.

Slower by a factor k, the arm's velocities are k and its accelerations k^2 times as great. The vehicle is at rest or
brakes as gently as it may, in any direction in which it moves, and goes on at its present twist or brakes gently from
it. The `GripGovernor` limits other commands of the vehicle while the arm moves; it knows the motion of the arm.

The joints must be able to follow, too: an arm whose motors are too weak leaves its trajectory, and what it then does to
the wheels is not known. `EFFORT_USE` leaves them something for their loops.

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

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.governor.arm_efforts import ArmEfforts
from dyn_nodes.governor.grip_governor import ALIKE, GripGovernor
from dyn_nodes.governor.grip_model import GripModel

Places = NDArray[np.intp]

SLOWEST = 0.02
"""Pace below which a trajectory is refused."""
STILL = 0.05
"""Joint speed up to which a trajectory may begin at another pace, rad/s."""
EFFORT_USE = 0.9
"""Greatest effort of a joint of the arm over its limit."""
INSTANTS, MOST = 100, 400
"""That are looked at in a segment of a trajectory at most, and in all of them, about."""
HALVINGS = 9
NEAREST = 8
"""States of those that fail that are looked at more closely each time."""
LIFT, SLIDE = 'lift', 'slide'
STOP = 0.3
"""Time in which an arm stops, s."""


class Pace(NamedTuple):
    """The pace of a trajectory.

    Attributes:
        factor: of its speed, 0 to 1; NaN where a posture on the way is too much even at rest, and worse than the first.
        name: the contact nearest to its border at full speed, or where all of them hold the joint.
        time: instant of that, s from the start.
        fault: what it would do: slide, lift, or need more effort than its motor should give.
    """

    factor: float
    name: str
    time: float
    fault: str

    @property
    def text(self) -> str:
        """The fault in words."""
        return f'{self.name} would {self.fault} at {self.time:.2f} s'


class _States(NamedTuple):
    """States of joints (t, n), and twists of the base and their rates (t, 3)."""

    q: Array
    v: Array
    a: Array
    twists: Array
    rates: Array


class ArmPace:
    """Finds the greatest pace of trajectories of an arm.

    Args:
        governor: its settings count.
        model: of the vehicle.
        names: of the joints of the arm, in the order of the columns of its trajectories.
    """

    def __init__(self, governor: GripGovernor, model: GripModel, names: Sequence[str]) -> None:
        self.governor, self.model, self.names = governor, model, tuple(names)
        self._places = [model.joints.index(name) for name in names]
        in_loops = bool(model.machine.linkages)
        self._efforts = ArmEfforts(model.machine, names) if names and not in_loops else None

    def of(
        self,
        trajectory: JointTrajectory,
        positions: Array,
        angles: Array,
        twist: Array,
        payload: float,
        gravity: Array,
        since: float = 0.0,
    ) -> Pace:
        """Return the greatest pace of a trajectory.

        Efforts do not count where linkages close loops through the joints: it is not known there how they share them.

        Args:
            trajectory: of the joints of the arm.
            positions: (n,) of all movable joints, in the machine's order.
            angles: (m,) steering angles.
            twist: (3,) present one of the base.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.
            since: instant of the trajectory from which on it counts, s.
        """
        times = _instants(trajectory)
        times = np.append(since, times[times > since])
        states = self._states(trajectory, times, positions, angles, twist)

        def margins(factor: float, rows: Places | None = None) -> tuple[Array, Array]:
            chosen = states if rows is None else _States(*(part[rows] for part in states))
            return self._margins(chosen, factor, angles, payload, gravity)

        first = np.arange(0, len(states.q), len(times))
        floors = [min(0.0, float(part.min()) - ALIKE) for part in margins(0.0, first)]
        fast = margins(1.0)
        factor = _greatest(lambda factor, rows: _above(margins(factor, rows), floors), _above(fast, floors))
        return Pace(factor, *self._worst(*fast, floors, times))

    def _worst(self, wheels: Array, joints: Array, floors: Sequence[float], times: Array) -> tuple[str, float, str]:
        """Return name, time and fault of a `Pace` from the margins of wheels and efforts at full speed."""
        if joints.min() < floors[1] and wheels.min() >= floors[0]:
            row, joint = (int(place) for place in np.unravel_index(int(np.argmin(joints)), joints.shape))
            share = 100.0 * (EFFORT_USE - joints[row, joint])
            return self.names[joint], float(times[row % len(times)]), f'need {share:.0f} % of its effort limit'
        row, _, wheel = (int(place) for place in np.unravel_index(int(np.argmin(wheels)), wheels.shape))
        return self.model.names[wheel], float(times[row % len(times)]), LIFT if wheels[row, 1, wheel] < 0.0 else SLIDE

    def _states(
        self, trajectory: JointTrajectory, times: Array, positions: Array, angles: Array, twist: Array
    ) -> _States:
        """Return the states at times (k,) in every motion of the base, one motion after the other."""
        count = len(times)
        q, v, a = (np.zeros((count, len(positions))) for _ in range(3))
        q[:] = positions
        for k, time in enumerate(times):
            q[k, self._places], v[k, self._places], a[k, self._places] = trajectory.sample(float(time))
        twists, rates = _motions(self.model, angles, self.governor, twist)
        joints = (np.tile(part, (len(rates), 1)) for part in (q, v, a))
        return _States(*joints, *(np.repeat(part, count, axis=0) for part in (twists, rates)))

    def _margins(
        self, states: _States, factor: float, angles: Array, payload: float, gravity: Array
    ) -> tuple[Array, Array]:
        """Return the margins of t states at a pace: (t, 2, w) of the wheels, N, (t, n) of the efforts, of 1."""
        q, v, a, twists, rates = states
        over = self.governor.settings.overshoot
        moving = q, factor * v, over * factor**2 * a, twists, over * rates
        forces, _ = self.model.evaluate(*moving, angles, payload, gravity)
        spare = np.full((len(q), 1), EFFORT_USE)
        if self._efforts is not None:
            spare = EFFORT_USE - self._efforts.shares(*moving, payload, gravity)
        return self.governor.margins(forces), spare


def _instants(trajectory: JointTrajectory) -> Array:
    """Return the times (t,) to look at: within every segment, just behind its begin and just before its end.

    A short stroke in a long trajectory is a segment, too; its greatest accelerations are at the ends.
    """
    knots = np.unique(np.concatenate(([0.0], trajectory.times)))
    count = max(min(INSTANTS, MOST // max(len(knots) - 1, 1)), 2)
    parts = [np.linspace(start, np.nextafter(end, start), count) for start, end in pairwise(knots)]
    return np.concatenate([*parts, knots[-1:]])


def stopping(names: Sequence[str], positions: Array, velocities: Array, stops: tuple[Array, Array]) -> JointTrajectory:
    """Return the trajectory that brings an arm to rest within `STOP`.

    Args:
        names: of its n joints.
        positions: (n,) where they are.
        velocities: (n,) of them.
        stops: least and greatest positions (n,), which it does not leave.
    """
    still = np.zeros(len(names))
    end = np.clip(positions + 0.5 * STOP * velocities, *stops)
    points = [TrajectoryPoint(STOP, end, still, still)]
    return JointTrajectory.from_points(names, points).starting_from(positions, velocities)


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


def _above(margins: Sequence[Array], floors: Sequence[float]) -> list[Array]:
    """Return the least margins (t,) of every kind, above their floors."""
    return [part.reshape(len(part), -1).min(axis=1) - floor for part, floor in zip(margins, floors)]


def _greatest(spare: Callable[[float, Places | None], Sequence[Array]], fast: Sequence[Array]) -> float:
    """Return the greatest factor with which nothing is spare below 0; NaN where not even 0 does.

    States nearest to their borders alone are looked at for it. It is confirmed with all of them; those that fail count
    from then on, too.

    Args:
        spare: returns what is left (t,) of every kind at a factor, in the states of some rows or, with None, in all.
        fast: the same at factor 1 in all states.
    """
    factor, rows, found = 1.0, np.zeros(0, dtype=np.intp), fast

    def holds(factor: float) -> bool:
        return all(part.min() >= 0.0 for part in spare(factor, rows))

    while any(part.min() < -ALIKE for part in found):  # round-off depends on how many states are looked at
        rows = np.union1d(rows, np.concatenate([_lowest(part) for part in found]))
        factor = _halved(holds)
        if not factor > 0.0:
            break
        found = spare(factor, None)
    return factor


def _lowest(spare: Array) -> Places:
    """Return the places of the `NEAREST` lowest values below 0."""
    places = np.argsort(spare)[:NEAREST]
    return np.asarray(places[spare[places] < 0.0])


def _halved(holds: Callable[[float], bool]) -> float:
    """Return the greatest factor that holds, by bisection; NaN where not even 0 does."""
    if not holds(0.0):
        return float('nan')
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
