"""Kinematic pairs that close loops of a URDF, and their conversion to constraints of the machine YAML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.commands.init_joints import Constraint, Loops, constraint_name, unit_rates
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.constraint import WORLD
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.mimic import Mimic
from dyn_nodes.model.posture import link_poses

Kind = Literal['hinge', 'slider', 'point', 'line', 'frame']
FINE = 1e-9
"""Rounding of positions, m, and angles, rad."""
TRIALS, SPREAD = 3, 0.3
"""Number of postures for the rank of loops, and their greatest distance from zero, rad or m."""
RANK = 1e-6
"""Greatest relative singular value that counts as zero; CAD programs round to 1e-8."""
HELD: dict[str, tuple[int, ...]] = {'line': (3, 4), 'point': (3, 4, 5), 'hinge': (0, 1, 3, 4, 5)}
"""Rows of a relative twist [angular; linear] that a constraint holds, its axis along z."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A pair between two links, all joints of the URDF at 0.

    Attributes:
        name: of the pair, '' for none.
        kind: hinge (rotation), slider (translation), point (rotations), line (rotations, translation), frame (fixed).
        first, second: links, or `world`.
        pose: (4, 4) of its frame in the root link.
        axis: (3,) unit axis of a hinge, slider or line in that frame.
    """

    name: str
    kind: Kind
    first: str
    second: str
    pose: Array
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)


@dataclass
class Closures:
    """The loops of a file.

    Attributes:
        source: format and name of the file.
        pairs: that close loops.
        mimics: mimic joints, in addition to the mimic joints of the URDF.
        driven: joints with a drive; None if the file does not specify them.
    """

    source: str
    pairs: list[Pair] = field(default_factory=list)
    mimics: dict[str, Mimic] = field(default_factory=dict)
    driven: set[str] | None = None


def loops_of(machine: Machine, closures: Closures) -> Loops:
    """Return the loops that pairs close in a machine that was read from its URDF only."""
    paths = _Paths(machine)
    joints = paths.joints_of(closures.pairs)
    postures = [paths.posture(joints, seed) for seed in range(TRIALS)]
    poses = link_poses(machine.links, machine.joints, {})
    constraints: list[Constraint] = []
    rows = []
    for k, original in enumerate(closures.pairs):
        pair = paths.in_plane(original, joints, postures)
        relative = [paths.relative(pair, joints, at) for at in postures]
        kind = _least_kind(pair.kind, relative)
        rows.append(relative[0][list(HELD.get(kind, range(6)))])
        taken = [constraint.name for constraint in constraints]
        name = constraint_name(pair.name or f'loop_{k + 1}', taken)
        constraints.append(Constraint(name, kind, _keys(pair, kind, poses), closures.source))
    driven = closures.driven
    if driven is None:
        driven = _drives(machine, joints, np.concatenate([*rows, np.zeros((0, len(joints)))]))
    passive = tuple(name for name in joints if name not in driven)
    holds_world = any(WORLD in (pair.first, pair.second) for pair in closures.pairs)
    return Loops(tuple(constraints), tuple(joints), passive, holds_world, closures.mimics)


def _least_kind(kind: str, relative: Iterable[Array]) -> str:
    """Return the kind with the fewest rows that constrains as a hinge does; in a planar loop a point on a line.

    Further rows would be redundant, and inconsistent because of the rounding of the file.
    """
    if kind != 'hinge':
        return kind
    matrices = list(relative)
    for less in ('line', 'point'):
        if all(_rank(matrix[list(HELD[less])]) == _rank(matrix[list(HELD[kind])]) for matrix in matrices):
            return less
    return kind


def _rank(matrix: Array) -> int:
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > RANK * max(float(values.max(initial=0.0)), RANK)).sum())


def _drives(machine: Machine, joints: list[str], rows: Array) -> set[str]:
    """Return the joints nearest to the root that determine the motion of the loops, one for each freedom.

    Joints with an effort limit of 0 are passive.
    """
    _, values, V = np.linalg.svd(rows)
    free = V[int((values > RANK * max(float(values.max(initial=0.0)), RANK)).sum()) :].T
    chosen: list[int] = []
    for k, name in enumerate(joints):
        if machine.joint(name).effort_limit != 0.0 and _rank(free[[*chosen, k]]) > len(chosen):
            chosen.append(k)
    return {joints[k] for k in chosen}


def _keys(pair: Pair, kind: str, poses: Mapping[str, Array]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    base = _pose_of(pair.second, poses)  # the axes of the second link
    turn = pair.pose[:3, :3].T @ base[:3, :3]
    for key, link in (('first', pair.first), ('second', pair.second)):
        inverse = np.linalg.inv(_pose_of(link, poses))
        frame = inverse @ pair.pose
        frame[:3, :3] = frame[:3, :3] @ turn
        keys[key] = {'link': link, 'position': [float(value) for value in np.round(frame[:3, 3], 12)]}
        angles = Rotation.from_matrix(frame[:3, :3]).as_euler('xyz')
        if np.abs(angles).max() > FINE and kind != 'point' and not (kind == 'line' and key == 'first'):
            keys[key]['rotation'] = [float(value) for value in np.round(angles, 12)]
    if kind in ('hinge', 'slider', 'line'):
        keys['axis'] = [float(value) for value in np.round(turn.T @ np.array(pair.axis), 12)]
    return keys


def _pose_of(link: str, poses: Mapping[str, Array]) -> Array:
    return np.eye(4) if link == WORLD else poses[link]


class _Paths:
    """Joints between the links of a machine, and the motions of these joints."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._above = {joint.child: joint for joint in machine.joints}

    def _path(self, link: str) -> list[str]:
        """Return the names of the movable joints from a link to the root."""
        names = []
        while link in self._above:
            joint = self._above[link]
            names += [joint.name] if joint.movable else []
            link = joint.parent
        return names

    def joints_of(self, pairs: Iterable[Pair]) -> list[str]:
        """Return the movable joints in the loops of pairs, ordered by depth from the root."""
        depth: dict[str, int] = {}
        for pair in pairs:
            paths = [self._path(link) for link in (pair.first, pair.second)]
            for name in set(paths[0]) ^ set(paths[1]):
                depth[name] = len(self._path(self._machine.joint(name).child))
        order = [joint.name for joint in self._machine.joints]
        return sorted(depth, key=lambda name: (depth[name], order.index(name)))

    def posture(self, joints: Collection[str], seed: int) -> dict[str, Array]:
        """Return link poses at random positions near zero, reproducible by the seed."""
        rng = np.random.default_rng(seed)
        positions = {name: float(rng.uniform(-SPREAD, SPREAD)) for name in joints}
        return link_poses(self._machine.links, self._machine.joints, positions)

    def relative(self, pair: Pair, joints: list[str], poses: Mapping[str, Array]) -> Array:
        """Return the twists (6, n) of the first end against the second for unit joint rates; the axis is z."""
        start = link_poses(self._machine.links, self._machine.joints, {})
        carrier = pair.second if pair.second != WORLD else pair.first
        at = _pose_of(carrier, poses) @ np.linalg.inv(_pose_of(carrier, start)) @ pair.pose
        R = at[:3, :3] @ _along(pair.axis)
        J = np.zeros((6, len(joints)))
        for sign, link in ((1.0, pair.first), (-1.0, pair.second)):
            for name in self._path(link):
                joint = self._machine.joint(name)
                if name in joints:
                    J[:, joints.index(name)] += sign * unit_rates(joint, poses[joint.child], at[:3, 3])
        return np.concatenate([R.T @ J[:3], R.T @ J[3:]])

    def in_plane(self, pair: Pair, joints: list[str], postures: Iterable[Mapping[str, Array]]) -> Pair:
        """Return a point pair of a planar loop as a point on a line normal to the plane; else the pair."""
        if pair.kind != 'point':
            return pair
        normals = []
        for poses in postures:
            U, values, _ = np.linalg.svd(self.relative(pair, joints, poses)[3:])
            if len(values) < 3 or values[2] > RANK * values[0] or values[1] <= RANK * values[0]:
                return pair
            normals.append(U[:, 2] * np.sign(U[np.abs(U[:, 2]).argmax(), 2]))
        if np.ptp(normals, axis=0).max() > RANK:
            return pair
        x, y, z = (float(part) for part in _along(pair.axis) @ normals[0])
        return replace(pair, kind='line', axis=(x, y, z))


def _along(axis: tuple[float, float, float]) -> Array:
    """Return axes (3, 3) whose third column is a unit axis."""
    x = np.linalg.svd(np.array(axis)[None])[2][1]
    return np.column_stack([x, np.cross(axis, x), axis])


def hinges_of_points(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs with two distinct points between the same links replaced by one hinge."""
    result: list[Pair] = []
    for pair in pairs:
        points = [k for k, earlier in enumerate(result) if earlier.kind == pair.kind == 'point']
        other = next((k for k in points if _ends(result[k]) == _ends(pair)), None)
        if other is None:
            result.append(pair)
            continue
        earlier = result[other]
        along = earlier.pose[:3, :3].T @ (pair.pose[:3, 3] - earlier.pose[:3, 3])
        length = float(np.linalg.norm(along))
        if length > FINE:
            x, y, z = (float(part) for part in along / length)
            result[other] = replace(earlier, kind='hinge', axis=(x, y, z))
    return result


def _ends(pair: Pair) -> frozenset[str]:
    return frozenset((pair.first, pair.second))
