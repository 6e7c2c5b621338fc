"""Inverse kinematics of a link of a machine with closed loops.

The inverse kinematics of a parallel machine is its assembly with the link fixed at the pose: Newton steps on the rows
of all loops and of the link together. A joint that would leave its limits is fixed at the limit and the others
compensate. The matrix from rates of the drives to rates of the link is G = A N (N_d)^+, with the rates N that the loops
permit, A of the link and N_d of the drives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import near
from dyn_nodes.constraints import (
    AssemblyError,
    BeyondLimitsError,
    ConstraintBlocks,
    Loop,
    assemble_within,
    world_frame,
)
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.control.hand import POSITION, ROWS, HandError, HandKinematics, HandPose, HandTask, Solution
from dyn_nodes.control.hand.workspace import SINGULAR, ranges_of
from dyn_nodes.model.constraint import ConstraintRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame, build_tree
from dyn_nodes.simulation.machine_rows import machine_constraints

HAND = 'hand_at_its_pose'
"""Name of the constraint that fixes the link."""
REACHED = 1e-9
"""Greatest residual of a reached pose, m or rad."""
STILL = 1e-9
"""Share of the fastest row of a link's motion below which a row counts as zero."""
MORE_STARTS = 8
SAME = 1e-6
TURN = np.pi


@dataclass(frozen=True, eq=False)
class HandRanges:
    """Limits of joints (n,), and whether they are rotary."""

    joints: Sequence[str]
    lower: Array
    upper: Array
    turning: Array


@dataclass(frozen=True, eq=False)
class ClosedResult:
    """Solutions for a pose.

    Attributes:
        solutions: different positions of all joints, the nearest to the start first; empty without a solution.
        starts: number of starting positions.
        reason: reason if there is no solution.
    """

    solutions: tuple[Solution, ...]
    starts: int
    reason: str

    @property
    def reached(self) -> bool:
        """Whether the pose is reached."""
        return bool(self.solutions)

    @property
    def statement(self) -> str:
        """Result in one line: whether the pose is reached, else the reason."""
        if not self.solutions:
            return f'out of reach from {self.starts} starts: {self.reason}'
        return f'reached with all loops closed; condition number by the drives {self.solutions[0].condition:.3g}'


class ClosedHand:
    """A link of a machine with closed loops.

    Args:
        machine: machine with constraints between its links; its base is treated as fixed.
        link: the hand.

    Attributes:
        kinematics: kinematics of the link in the tree with open loops.
        driven: names of the joints with a drive.
        start: positions of all joints at the machine's start, loops open or not.

    Raises:
        HandError: an unknown link, or a link that no joint moves.
    """

    def __init__(self, machine: Machine, link: str) -> None:
        fixed = replace(machine, base=replace(machine.base, attachment='fixed'), loads=(), wheels=(), contacts=())
        self.tree = build_tree(fixed)
        links = {each.name for each in machine.links}
        if link not in links:
            raise HandError(f'unknown link {link!r}; known: {", ".join(sorted(links))}{near(link, sorted(links))}')
        self.kinematics = HandKinematics(self.tree, link)
        self.machine, self.link, self.names = machine, link, self.kinematics.names
        self._rows = machine_constraints(replace(fixed, constraints=loop_constraints(machine)), self.tree)
        self.blocks = ConstraintBlocks(self.tree, self._rows, (), (0.0, 0.0, 0.0))
        drives = {joint.name for joint in machine.actuated_joints}
        self.driven = tuple(name for name in self.names if name in drives)
        self.start = self.kinematics.posture(
            {name: q for name, q in machine.initial.joint_positions.items() if name in self.names}
        )
        joints = [machine.joint(name) for name in self.names]
        self.lower, self.upper = (np.array([getattr(joint, side) for joint in joints]) for side in ('lower', 'upper'))
        self._limits = dict(zip(self.names, zip(self.lower.tolist(), self.upper.tolist())))
        self.turning = np.array([joint.type != 'prismatic' for joint in joints])

    def posture(self, positions: Mapping[str, float]) -> Array:
        """Return the start with other positions of some joints.

        Raises:
            HandError: an unknown joint.
        """
        q = self.start.copy()
        self.kinematics.posture(positions)
        for name, value in positions.items():
            q[self.names.index(name)] = value
        return q

    def inverse_kinematics(
        self, target: HandPose, start: Array, task: HandTask, starts: int = 1, free: Sequence[str] | None = None
    ) -> ClosedResult:
        """Return positions of all joints that bring the link to a pose with all loops closed, within the limits.

        Args:
            target: pose in axes of the base link.
            start: positions of all joints.
            task: rows of the pose to reach.
            starts: number of starting positions, `start` and random ones; more are tried until one succeeds.
            free: drives that may move; None: all.

        Raises:
            HandError: `free` names a joint without a drive.
        """
        foreign = [name for name in free or () if name not in self.driven]
        if foreign:
            raise HandError(f'free: expected driven joints, {", ".join(self.driven)}, found {", ".join(foreign)}')
        locked = [entry.joint for entry in self.machine.joint_classes if entry.held and entry.joint in self.names]
        held = [*(name for name in self.driven if free is not None and name not in free), *locked]
        frame = self.kinematics.frame
        turned = Frame(frame.body, frame.R @ target.rotation.T, frame.p)
        rows = tuple(row for row in ('rx', 'ry', 'rz', 'x', 'y', 'z') if row in task.rows)
        hand = Loop(HAND, turned, world_frame(target.position), rows)
        blocks = ConstraintBlocks(self.tree, (*self._rows, hand), (), (0.0, 0.0, 0.0))
        solutions: list[Solution] = []
        nearest, beyond, tried = np.inf, '', 0
        for guess in self._starts(start, starts + MORE_STARTS):
            if tried >= starts and solutions:
                break
            tried += 1
            try:
                solution = self._solution(assemble_within(blocks, guess, self._limits, held=held), target, task)
            except AssemblyError as error:
                nearest = min(nearest, max(error.gaps.values()))
                continue
            except BeyondLimitsError as error:
                beyond = beyond or str(error)
                continue
            if all(np.abs(solution.posture - other.posture).max() > SAME for other in solutions):
                solutions.append(solution)
        reason = beyond or f'the smallest remaining gap is {nearest:.4g} m (or rad)'
        if held:
            reason += f', with {", ".join(held)} held'
        solutions.sort(key=lambda solution: float(np.abs(solution.posture - start).max()))
        return ClosedResult(tuple(solutions), tried, reason)

    def closed(self, guess: Array, held: Sequence[str]) -> Array:
        """Return positions near a guess with all loops closed, within the limits, with some joints held.

        Raises:
            AssemblyError: loops stay open.
            BeyondLimitsError: joints would leave their limits.
        """
        return assemble_within(self.blocks, guess, self._limits, held=held)

    def motion(self, q: Array) -> tuple[Array, Array]:
        """Return the rates (n, m) of all joints that the loops permit, and of the link (6, m), for m freedoms."""
        N = Subspaces(self.blocks.at(q).J).motions
        G = self.kinematics.coefficients(q, 1)
        A = np.zeros((6, len(self.names)))
        A[:, [self.names.index(name) for name in G.coordinates]] = G.G
        return N, A @ N

    def independent_drives(self) -> tuple[str, ...]:
        """Return drives with independent rates at the start, one per freedom, in the order of joints."""
        q = self.closed(self.start, ())
        N = self.motion(q)[0][self.indices(self.driven)]
        if not N.size:
            raise HandError(f'{self.machine.name}: expected drives that move {self.link!r}, found none')
        order = qr(N.T, pivoting=True, mode='economic')[2]
        rank = int(np.linalg.matrix_rank(N, tol=1e-9))
        return tuple(self.driven[k] for k in sorted(order[:rank]))

    @property
    def positions_that_move(self) -> tuple[str, ...]:
        """Directions among x y z in which the link moves at the start: two for a planar mechanism."""
        return tuple(row for row in self._moving(self.motion(self.closed(self.start, ()))[1]) if row in POSITION)

    @staticmethod
    def _moving(moved: Array) -> tuple[str, ...]:
        """Return the rows of the link's motion (6, m) that are not zero."""
        sizes = np.linalg.norm(moved, axis=1)
        return tuple(row for row, size in zip(ROWS, sizes) if size > STILL * sizes.max())

    @property
    def joints(self) -> tuple[str, ...]:
        """The driven joints."""
        return self.driven

    def ranges(self, drives: Sequence[str], overrides: Mapping[str, tuple[float, float]]) -> Array:
        """Return least and greatest position (n, 2) of some drives: their limits, or `overrides`.

        Raises:
            HandError: a slide without limits, a joint that is not one of these drives, or an invalid range.
        """
        limits = HandRanges(drives, *(part[self.indices(drives)] for part in (self.lower, self.upper, self.turning)))
        return ranges_of(limits, overrides)

    def indices(self, names: Sequence[str]) -> list[int]:
        """Return the indices of joints among all joints."""
        return [self.names.index(name) for name in names]

    def _starts(self, start: Array, count: int) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        near = np.where(self.turning, TURN, 1.0)
        lower = np.where(np.isfinite(self.lower), np.maximum(self.lower, start - near), start - near)
        upper = np.where(np.isfinite(self.upper), np.minimum(self.upper, start + near), start + near)
        yield start
        for _ in range(count - 1):
            yield lower + rng.random(len(start)) * np.maximum(upper - lower, 0.0)

    def _solution(self, q: Array, target: HandPose, task: HandTask) -> Solution:
        pose = self.kinematics.pose(q)
        error = pose.error_to(target)
        missing = np.zeros(6)
        missing[task.indices] = error[task.indices]
        N, moved = self.motion(q)
        G = moved @ np.linalg.pinv(N[self.indices(self.driven)])
        able = HandTask(tuple(row for row in self._moving(moved) if row in task.rows) or task.rows, task.length)
        values = np.linalg.svd(able.scaled(G), compute_uv=False)
        regular = len(values) == len(able.rows) and values[-1] > SINGULAR * values[0]
        at_limit = {
            name: side
            for k, name in enumerate(self.names)
            for side, limit in ((-1, self.lower[k]), (1, self.upper[k]))
            if abs(q[k] - limit) <= SAME
        }
        names = (*self.driven, *(name for name in self.names if name not in self.driven))
        distance, angle = float(np.linalg.norm(missing[:3])), float(np.linalg.norm(missing[3:]))
        condition = float(values[0] / values[-1]) if regular else float('inf')
        reached = max(distance, angle) <= REACHED
        return Solution(
            names, q[self.indices(names)], q, reached, distance, angle, pose, 0, condition, at_limit
        )  # fmt: skip


def loop_constraints(machine: Machine) -> tuple[ConstraintRecord, ...]:
    """Return the constraints between links or to the world, without wheels and held loads."""
    loads = {load.name for load in machine.loads}

    return tuple(entry for entry in machine.linkages if not any(end.link in loads for end in entry.ends))
