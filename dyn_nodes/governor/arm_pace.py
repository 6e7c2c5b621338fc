"""Greatest pace at which an arm may follow a trajectory on a vehicle whose wheels must neither slide nor lift.

At pace k the arm's velocities scale by k and its accelerations by k^2. The motions of the vehicle that are checked: at
rest; gentle braking in every direction in which it can move; the present twist, kept or braked gently. While the arm
moves, the `GripGovernor`, which uses the motion of the arm, limits other commands of the vehicle.

The joints must be able to follow as well: an arm whose motors are too weak leaves its trajectory, and its effect on the
wheels is then unknown. `EFFORT_USE` leaves a margin for the joints' control loops.

From a posture that is already below the reserve, a trajectory is accepted if no instant of it is worse than the start,
so that an arm that was extended too far can retract.
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

Rows = NDArray[np.intp]

SLOWEST = 0.02
"""Pace below which a trajectory is rejected."""
STILL = 0.05
"""Joint speed up to which a trajectory may start at another pace, rad/s."""
EFFORT_USE = 0.9
"""Greatest ratio of the effort of an arm joint to its limit."""
INSTANTS, MOST = 100, 400
"""Greatest number of instants that are checked in a segment of a trajectory, and the approximate greatest number in
all."""
HALVINGS = 9
NEAREST = 8
"""Number of failing states that are added to each check."""
LIFT, SLIDE = 'lift', 'slide'
STOP = 0.3
"""Time in which an arm stops, s."""


class Pace(NamedTuple):
    """The pace of a trajectory.

    Attributes:
        factor: of its speed, 0 to 1; NaN if a posture on the way exceeds the limits even at rest and is worse than the
            first.
        name: the contact nearest to its limit at full speed, or, if all contacts hold, the joint.
        time: of that instant, s from the start.
        fault: predicted fault: slide, lift, or need more effort than permitted.
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
    """Determines the greatest pace of trajectories of an arm.

    Args:
        governor: whose settings apply.
        model: of the vehicle.
        names: of the joints of the arm, in the order of the columns of its trajectories.
    """

    def __init__(self, governor: GripGovernor, model: GripModel, names: Sequence[str]) -> None:
        self.governor, self.model, self.names = governor, model, tuple(names)
        self._indices = [model.joints.index(name) for name in names]
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

        Efforts are ignored if linkages close loops through the joints, because the distribution of efforts is unknown
        there.

        Args:
            trajectory: of the joints of the arm.
            positions: (n,) of all movable joints, in the machine's order.
            angles: (m,) steering angles.
            twist: (3,) present twist of the base.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.
            since: time in the trajectory from which it is checked, s.
        """
        times = _instants(trajectory)
        times = np.append(since, times[times > since])
        states = self._states(trajectory, times, positions, angles, twist)

        def margins(factor: float, rows: Rows | None = None) -> tuple[Array, Array]:
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
            row, joint = (int(index) for index in np.unravel_index(int(np.argmin(joints)), joints.shape))
            share = 100.0 * (EFFORT_USE - joints[row, joint])
            return self.names[joint], float(times[row % len(times)]), f'need {share:.0f} % of its effort limit'
        row, _, wheel = (int(index) for index in np.unravel_index(int(np.argmin(wheels)), wheels.shape))
        return self.model.names[wheel], float(times[row % len(times)]), LIFT if wheels[row, 1, wheel] < 0.0 else SLIDE

    def _states(
        self, trajectory: JointTrajectory, times: Array, positions: Array, angles: Array, twist: Array
    ) -> _States:
        """Return the states at times (k,) for every motion of the base, one motion after the other."""
        count = len(times)
        q, v, a = (np.zeros((count, len(positions))) for _ in range(3))
        q[:] = positions
        for k, time in enumerate(times):
            q[k, self._indices], v[k, self._indices], a[k, self._indices] = trajectory.sample(float(time))
        twists, rates = _motions(self.model, angles, self.governor, twist)
        joints = (np.tile(part, (len(rates), 1)) for part in (q, v, a))
        return _States(*joints, *(np.repeat(part, count, axis=0) for part in (twists, rates)))

    def _margins(
        self, states: _States, factor: float, angles: Array, payload: float, gravity: Array
    ) -> tuple[Array, Array]:
        """Return the margins of t states at a pace: (t, 2, w) of the wheels, N; (t, n) of the effort ratios."""
        q, v, a, twists, rates = states
        over = self.governor.settings.overshoot
        moving = q, factor * v, over * factor**2 * a, twists, over * rates
        forces, _ = self.model.evaluate(*moving, angles, payload, gravity)
        spare = np.full((len(q), 1), EFFORT_USE)
        if self._efforts is not None:
            spare = EFFORT_USE - self._efforts.shares(*moving, payload, gravity)
        return self.governor.margins(forces), spare


def _instants(trajectory: JointTrajectory) -> Array:
    """Return the times (t,) to check: in every segment, from just after its start to just before its end.

    A short stroke within a long trajectory is a segment, too; its greatest accelerations are at its ends.
    """
    knots = np.unique(np.concatenate(([0.0], trajectory.times)))
    count = max(min(INSTANTS, MOST // max(len(knots) - 1, 1)), 2)
    parts = [np.linspace(start, np.nextafter(end, start), count) for start, end in pairwise(knots)]
    return np.concatenate([*parts, knots[-1:]])


def stopping(names: Sequence[str], positions: Array, velocities: Array, stops: tuple[Array, Array]) -> JointTrajectory:
    """Return the trajectory that brings an arm to rest within `STOP`.

    Args:
        names: of its n joints.
        positions: (n,) of the joints.
        velocities: (n,) of the joints.
        stops: least and greatest positions (n,); the trajectory ends within them.
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
    """Return twists and rates (t, 3): rest and gentle braking in all directions; the present twist, kept and braked."""
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


def _greatest(spare: Callable[[float, Rows | None], Sequence[Array]], fast: Sequence[Array]) -> float:
    """Return the greatest factor with which no margin is negative; NaN if even 0 fails.

    The search uses only the states nearest to their limits. The result is confirmed with all states; those that fail
    are added to the search.

    Args:
        spare: returns the margins (t,) of every kind at a factor, in the states of some rows or, with None, in all.
        fast: the margins at factor 1 in all states.
    """
    factor, rows, margins = 1.0, np.zeros(0, dtype=np.intp), fast

    def holds(factor: float) -> bool:
        return all(part.min() >= 0.0 for part in spare(factor, rows))

    while any(part.min() < -ALIKE for part in margins):  # round-off depends on the number of states
        rows = np.union1d(rows, np.concatenate([_lowest(part) for part in margins]))
        factor = _halved(holds)
        if not factor > 0.0:
            break
        margins = spare(factor, None)
    return factor


def _lowest(spare: Array) -> Rows:
    """Return the indices of the `NEAREST` lowest negative values."""
    rows = np.argsort(spare)[:NEAREST]
    return np.asarray(rows[spare[rows] < 0.0])


def _halved(holds: Callable[[float], bool]) -> float:
    """Return the greatest factor that holds, by bisection; NaN if even 0 fails."""
    if not holds(0.0):
        return float('nan')
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
