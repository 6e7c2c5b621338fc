"""Closed loops of an arm, such as cylinders with rockers: positions of their joints over one joint of the arm.

A linkage has one freedom and one drive. The arm's joint nearest to the base is its coordinate; the positions of the
others are splines through closed positions, so they cost nothing for many postures.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace

import casadi as ca
import numpy as np
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from dyn_nodes.analysis.closed_hand import loop_constraints
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.constraints import AssemblyError, ConstraintBlocks, assemble
from dyn_nodes.model.constraint import ConstraintRecord
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.multibody import build_tree
from dyn_nodes.simulation.machine_rows import machine_constraints

NODES = 512
"""Number of intervals of a spline over the range of its coordinate."""
CLOSED = 1e-11
"""Residual of a closed position, m or rad."""
MOST_STEPS = 12
DEAD_CENTRE = 1e-3
"""Rate of the drive, relative to its greatest rate in the range, below which a linkage is at a dead centre."""
OVERRUN = 1e-9
"""Distance beyond a limit within which a joint counts as at the limit, rad or m."""


class LinkageError(UserError, ValueError):
    """Closed loops of an arm without one drive and one freedom each; the message has the reason."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """Joints that move with one joint of the arm.

    Attributes:
        coordinate: name of the arm's joint.
        drive: name of the driven joint; it may be the coordinate.
        joints: (d,) names of the other joints.
        lower, upper: range of the coordinate in which the loops close and all joints are within their limits, rad or m.
        constraints: names of the constraints that close the loops.
    """

    coordinate: str
    drive: str
    joints: tuple[str, ...]
    lower: float
    upper: float
    constraints: tuple[str, ...]
    _position: CubicHermiteSpline
    _rate: CubicSpline

    def positions(self, x: Array) -> Array:
        """Return the positions (N, d) of `joints`, rad or m, at positions (N,) of the coordinate."""
        return np.asarray(self._position(x))

    def rates(self, x: Array) -> Array:
        """Return the derivatives (N, d) of `positions` by the coordinate (N,)."""
        return np.asarray(self._rate(x))

    def curvatures(self, x: Array) -> Array:
        """Return the second derivatives (N, d) of `positions` by the coordinate (N,)."""
        return np.asarray(self._rate(x, 1))

    def drive_position(self, x: Array) -> Array:
        """Return the position (N,) of the drive, rad or m, at positions (N,) of the coordinate."""
        return x if self.drive == self.coordinate else self.positions(x)[:, self.joints.index(self.drive)]

    def drive_rate(self, x: Array) -> Array:
        """Return the derivative (N,) of the drive's position by the coordinate (N,)."""
        return np.ones_like(x) if self.drive == self.coordinate else self.rates(x)[:, self.joints.index(self.drive)]


_LATEST: deque[tuple[Machine, list[str], frozenset[str], tuple[Linkage, ...]]] = deque(maxlen=4)
"""The latest results of `linkages_of` with their arguments: each takes up to a second."""


WITHOUT_EFFECT = {'payload', 'wheels', 'contacts', 'slope', 'assumed'}
"""Parts of a machine without effect on its linkages."""


def _same_loops(one: Machine, other: Machine) -> bool:
    """Return whether machines differ at most in parts without effect on linkages."""
    parts = {field.name for field in fields(Machine)} - WITHOUT_EFFECT - {'initial'}
    alike = all(getattr(one, part) is getattr(other, part) for part in parts)
    return alike and one.initial.joint_positions == other.initial.joint_positions


def linkages_of(machine: Machine, path: Sequence[Joint], fixed: Collection[str]) -> tuple[Linkage, ...]:
    """Return the linkages of the joints between base and payload.

    Args:
        machine: the machine; its initial posture determines the assembly mode.
        path: movable joints of the arm, from the base to the payload.
        fixed: names of links that the arm does not move, such as links with supports.

    Raises:
        LinkageError: loops that move `fixed` links, or without one freedom and one drive.
    """
    groups = _groups(machine)
    names, still_links = [joint.name for joint in path], frozenset(fixed)
    for latest, its_names, its_links, linkages in tuple(_LATEST):
        if (names, still_links) == (its_names, its_links) and _same_loops(machine, latest):
            return linkages
    result = []
    for joints, entries in groups:
        if not joints & set(names):
            continue
        listed = ', '.join(repr(entry.name) for entry in entries)
        still = sorted(name for name in joints if machine.joint(name).child in fixed)
        if still:
            raise LinkageError(f'{machine.name}: expected loops of the arm alone, found {listed} with {still[0]!r}')
        result.append(_linkage(machine, [name for name in names if name in joints], joints, entries))
    linkages = tuple(result)
    if linkages:
        _LATEST.append((machine, names, still_links, linkages))
    return linkages


def _groups(machine: Machine) -> list[tuple[set[str], list[ConstraintRecord]]]:
    """Return sets of joints that constraints couple with each other, and these constraints."""
    by_child = {joint.child: joint for joint in machine.joints}

    def ancestors(link: str) -> set[str]:
        names: set[str] = set()
        while link in by_child:
            joint = by_child[link]
            names |= {joint.name} if joint.movable else set()
            link = joint.parent
        return names

    groups: list[tuple[set[str], list[ConstraintRecord]]] = []
    for entry in loop_constraints(machine):
        joints = set(entry.coupled_joints)
        if entry.joint_sum is None and entry.ends:
            first, *others = (ancestors(end.link) for end in entry.ends)
            for other in others:
                joints |= first ^ other
        entries = [entry]
        for group in [group for group in groups if group[0] & joints]:
            joints, entries = joints | group[0], group[1] + entries
            groups.remove(group)
        groups.append((joints, entries))
    return groups


def _linkage(machine: Machine, path: list[str], joints: set[str], entries: list[ConstraintRecord]) -> Linkage:
    listed = ', '.join(repr(entry.name) for entry in entries)
    if any(entry.motion is not None for entry in entries):
        raise LinkageError(f'{machine.name}: expected loops that drives move, found a prescribed motion in {listed}')
    loops = _Loops(machine, path[0], [name for name in _order(machine) if name in joints], entries)
    drives = [joint.name for joint in machine.actuated_joints if joint.name in joints]
    if loops.freedoms != 1 or len(drives) != 1:
        raise LinkageError(
            f'{machine.name}: a load chart expects closed loops with one freedom and one drive, found '
            f'{loops.freedoms} freedoms and the drives {", ".join(drives) or "none"} with {listed}'
        )
    x, positions, rates = loops.table(drives[0])
    position, rate = CubicHermiteSpline(x, positions, rates), CubicSpline(x, rates)
    within = (loops.within(x, position(x), 0.0)).nonzero()[0]
    lower, upper = (
        _limit(loops, position, x[k], x[k + side] if 0 <= k + side < len(x) else x[k])
        for k, side in ((within[0], -1), (within[-1], 1))
    )
    names = tuple(entry.name for entry in entries)
    return Linkage(path[0], drives[0], tuple(loops.dependent), lower, upper, names, position, rate)


def _order(machine: Machine) -> list[str]:
    """Return the names of the movable joints from the root outwards."""
    return [joint.name for joint in machine.movable_joints]


def _limit(loops: _Loops, position: CubicHermiteSpline, inside: float, outside: float) -> float:
    """Return the last position of the coordinate with all joints within their limits, by bisection."""
    if inside == outside:
        return float(inside)
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        if loops.within(np.array([middle]), position(np.array([middle])), OVERRUN)[0]:
            inside = middle
        else:
            outside = middle
    return float(inside)


class _Loops:
    """Loops with the coordinate specified: positions of the other joints by Newton's method."""

    def __init__(self, machine: Machine, coordinate: str, joints: list[str], entries: list[ConstraintRecord]) -> None:
        fixed = replace(machine, base=replace(machine.base, attachment='fixed'), loads=(), wheels=(), contacts=())
        tree = build_tree(fixed)
        blocks = ConstraintBlocks(tree, machine_constraints(replace(fixed, constraints=tuple(entries)), tree))
        self.dependent = [name for name in joints if name != coordinate]
        self._indices = [tree.position_names.index(name) for name in (coordinate, *self.dependent)]
        columns = [tree.velocity_index(name) for name in (coordinate, *self.dependent)]
        rows = blocks.rows
        self._evaluate = ca.Function(
            'loops',
            [blocks.q, blocks.parameters.vector],
            [ca.densify(rows.residual), ca.densify(rows.jacobian[:, columns])],
        )
        self._numbers = blocks.numbers(None)
        initial = machine.initial.joint_positions
        guess = np.array([initial.get(name, 0.0) for name in tree.position_names])
        others = [name for name in tree.velocity_names if name not in self.dependent]
        try:
            self._rest = assemble(blocks, guess, held=others)
        except AssemblyError as error:
            raise LinkageError(f'{machine.name}: loops of the arm {error}') from None
        movable = [machine.joint(name) for name in (coordinate, *self.dependent)]
        self._lower, self._upper = (
            np.array([getattr(joint, side) for joint in movable]) for side in ('lower', 'upper')
        )
        _, J = self._at(self._rest)
        values = np.linalg.svd(J, compute_uv=False)
        self.freedoms = J.shape[1] - int(np.count_nonzero(values > 1e-9 * values[0]))

    def _at(self, q: Array) -> tuple[Array, Array]:
        """Return the residuals (m,) and their derivatives (m, 1 + d) by coordinate and dependent joints."""
        residual, J = self._evaluate(q, self._numbers)
        return np.array(residual).ravel(), np.array(J)

    def within(self, x: Array, positions: Array, overrun: float) -> Array:
        """Return (N,) True where all joints are within their limits."""
        every = np.column_stack([x, positions])
        return np.asarray(((every >= self._lower - overrun) & (every <= self._upper + overrun)).all(axis=1))

    def table(self, drive: str) -> tuple[Array, Array, Array]:
        """Return positions (k,) of the coordinate, and positions and rates (k, d) of the dependent joints.

        The table ends one node beyond the limit of a joint, before loops that do not close, and before a dead centre.
        """
        start = float(self._rest[self._indices[0]])
        lower, upper = float(self._lower[0]), float(self._upper[0])
        lower, upper = (
            (lower if np.isfinite(lower) else start - np.pi),
            (upper if np.isfinite(upper) else start + np.pi),
        )
        step = (upper - lower) / NODES
        first = self._node(self._rest)
        assert first is not None
        sides = []
        for end in (lower, upper):
            count = max(int(np.ceil(abs(end - start) / step - 1e-9)), 0)
            sides.append(self._follow(first, [start + (end - start) * k / count for k in range(1, count + 1)], drive))
        nodes = [*reversed(sides[0]), first, *sides[1]]
        q, rates = (np.array(part) for part in zip(*nodes))
        return q[:, self._indices[0]], q[:, self._indices[1:]], rates

    def _follow(self, first: tuple[Array, Array], targets: list[float], drive: str) -> list[tuple[Array, Array]]:
        """Return positions of all joints and rates of the dependent ones at the targets, as far as they are usable."""
        driven = -1 if drive not in self.dependent else self.dependent.index(drive)
        node, result = first, []
        greatest = abs(float(first[1][driven])) if driven >= 0 else 1.0
        for target in targets:
            q, rates = node[0].copy(), node[1]
            q[self._indices[1:]] += rates * (target - q[self._indices[0]])
            q[self._indices[0]] = target
            following = self._node(q)
            if following is None:
                break
            if driven >= 0:
                rate, sign = float(following[1][driven]), np.sign(first[1][driven])
                greatest = max(greatest, abs(rate))
                if sign * rate < DEAD_CENTRE * greatest:
                    break
            node = following
            result.append(node)
            values = node[0][self._indices]
            if not self.within(values[:1], values[np.newaxis, 1:], 0.0)[0]:
                break
        return result

    def _node(self, guess: Array) -> tuple[Array, Array] | None:
        """Return the closed position near a guess and the rates of the dependent joints; None if it does not close."""
        q = guess.copy()
        for _ in range(MOST_STEPS):
            residual, J = self._at(q)
            if np.abs(residual).max() < CLOSED:
                return q, np.asarray(np.linalg.lstsq(J[:, 1:], -J[:, 0], rcond=1e-12)[0], dtype=np.float64)
            step = np.linalg.lstsq(J[:, 1:], -residual, rcond=1e-12)[0]
            if not np.abs(step).max() < 0.5:
                return None
            q[self._indices[1:]] += step
        return None
