"""The running gear of a machine in one posture: the base, the joints that give way, and the supports.

Driven joints are held, so all links that they connect are one body. The result is a small tree: the displacements of
the base against the ground, then the undriven joints (`gives_way`). All equilibria of this package are computed on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.constraint import WORLD, End, LoopRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import attachment_points, initial_positions, link_poses, moved_links
from dyn_nodes.stability.equilibrium.balance import ANGULAR, DISTANCE, LINEAR

STOP = 1e4
"""Stiffness of a joint's stop, of the machine's weight times 1 m (over 1 m): it yields 0.1 mm under the full weight."""
ON_AXIS = 1e-6
"""Distance from the axis of a joint below which a support does not move when the joint turns, m."""
SWIVEL = 0.02
"""Sine of the angle to the vertical below which an axis of a castor or a hook counts as vertical."""
TURNS = (('ry', 2, 0), ('rx', 2, 1), ('rz', 1, 0))
"""Directions of turns, and the axes of the first and the second end that are then normal to each other."""
GIVING_WAY = ('passive', 'free', 'flexible')
X, Y, Z = np.eye(3)


class GearError(UserError, ValueError):
    """The equilibrium of a machine on its running gear cannot be computed; the message gives the reason."""


JOINT = np.dtype(
    [
        ('parent', 'i8'),
        ('sliding', 'i8'),
        ('rotation', 'f8', (3, 3)),
        ('offset', 'f8', (3,)),
        ('axis', 'f8', (3,)),
        ('spring', 'f8'),
        ('rest', 'f8'),
        ('lower', 'f8'),
        ('upper', 'f8'),
        ('stop', 'f8'),
        ('mass', 'f8'),
        ('moment', 'f8', (3,)),
    ],
    align=True,
)
"""A joint and the body that it moves: parent joint (-1: the ground), whether it slides, its frame in the parent body,
m, its axis in that frame, stiffness and position of its spring, limits, stiffness of its stops; mass, kg, and mass
times centre of mass, kg m, of the body without payload."""
SUPPORT = np.dtype(
    [
        ('body', 'i8'),
        ('at_attachment', 'i8'),
        ('point', 'f8', (3,)),
        ('stiffness', 'f8'),
        ('free_length', 'f8'),
    ],
    align=True,
)
"""A support: its body, whether friction acts at the attachment, the attachment, m, stiffness, N/m, free length, m."""
BETWEEN = np.dtype(
    [
        ('kind', 'i8'),
        ('first', 'i8'),
        ('second', 'i8'),
        ('one', 'f8', (3,)),
        ('two', 'f8', (3,)),
        ('axis', 'f8', (3,)),
        ('length', 'f8'),
    ],
    align=True,
)
"""A row of a constraint between two bodies: points or directions of both, direction in the second body, length, m."""
LOAD = np.dtype([('body', 'i8'), ('point', 'f8', (3,))], align=True)
"""Body and position of the payload, m."""


class Gear(NamedTuple):
    """The tree, as arrays of records. Joints come after their parents.

    Attributes:
        joints: (n,) `JOINT`.
        supports: (c,) `SUPPORT`.
        load: (1,) `LOAD`.
        coupling, coupled: (k, n) and (k,) rows of couplings: coupling q = coupled.
        between: (r,) `BETWEEN`, rows between two bodies.
        base: body of the base link.
    """

    joints: Any
    supports: Any
    load: Any
    coupling: Array
    coupled: Array
    between: Any
    base: int

    @property
    def rows(self) -> int:
        """Number of constraint rows."""
        return len(self.coupled) + len(self.between)

    @property
    def mass(self) -> float:
        """Mass without payload, kg."""
        return float(self.joints['mass'].sum())


@dataclass(frozen=True, eq=False)
class RunningGear:
    """The gear of a machine in a posture, with names.

    Attributes:
        machine: the machine.
        gear: its arrays.
        positions: of all movable joints in this posture, rad or m, by name.
        joints: names of the joints of the gear, in order: displacements of the base, then joints that give way.
        held: undriven joints that are held here, by name, with the reason.
        start: (n,) position from which the machine is set down: level, its lowest support on the ground.
        body_of: body of each link, by name.
    """

    machine: Machine
    gear: Gear
    positions: dict[str, float]
    joints: tuple[str, ...]
    held: dict[str, str]
    start: Array
    body_of: dict[str, int]

    @property
    def is_rigid(self) -> bool:
        """True if no joint gives way: the machine stands as one body."""
        return len(self.joints) == len(base_joints(self.machine))

    @cached_property
    def supports(self) -> tuple[str, ...]:
        """Names of the supports."""
        return tuple(support.name for support in self.machine.supports)


def base_joints(machine: Machine) -> tuple[tuple[str, bool, Array], ...]:
    """Return name, whether it slides, and axis of the displacements of a base against the ground."""
    height, pitch, roll = ('height', True, Z), ('pitch', False, Y), ('roll', False, X)
    return (height, pitch) if machine.base.attachment == 'planar' else (height, pitch, roll)


def held_joints(machine: Machine) -> dict[str, str]:
    """Return the undriven joints that a constraint row holds or moves, by name, with the reason."""
    held = {entry.held_joint: 'held by a constraint' for entry in machine.constraints if entry.held_joint}
    return held | {name: kind for name, kind in machine.idle_joints.items() if kind not in GIVING_WAY}


def running_gear(
    machine: Machine,
    positions: Mapping[str, float] | None = None,
    hold: Collection[str] = (),
    without: Collection[str] = (),
) -> RunningGear:
    """Return the running gear of a machine in a posture.

    Args:
        machine: with supports on springs.
        positions: of joints by name, in place of the initial positions, rad or m; for joints that give way, the start
            of the search.
        hold: further held joints, such as a locked axle.
        without: links whose mass is omitted.

    Raises:
        GearError: no supports, a fixed base, or unsupported constraints.
    """
    _check(machine)
    at = {**initial_positions(machine), **(positions or {})}
    poses = link_poses(machine.links, machine.joints, at)
    held = held_joints(machine) | dict.fromkeys(hold, 'locked')
    driven = {joint.name for joint in machine.actuated_joints}
    loose: list[Joint] = []
    for joint in machine.movable_joints:
        if joint.name in driven or joint.name in held:
            continue
        reason = neutral(machine, joint, poses)
        if reason:
            held[joint.name] = reason
        else:
            loose.append(joint)
    return _Builder(machine, at, poses, loose, held).gear(without)


def _check(machine: Machine) -> None:
    name = machine.name
    if machine.base.attachment == 'fixed':
        raise GearError(f'{name}: the base is fixed to the world and cannot tip over')
    if not machine.supports:
        raise GearError(f'{name}: expected wheels or other contacts to stand on, found none')
    if machine.loads:
        names = ', '.join(load.name for load in machine.loads)
        raise GearError(f'{name}: expected bodies on joints alone, found the loads {names}')
    for entry in machine.constraints:
        if entry in machine.rigid_wheels or any(end.link == WORLD for end in entry.ends):
            raise GearError(f'{name}: expected a machine supported by springs alone, found constraint {entry.name!r}')


def neutral(machine: Machine, joint: Joint, poses: Mapping[str, Array]) -> str:
    """Return why an undriven joint keeps its position in every equilibrium; '' if it does not."""
    if any(joint.name in entry.coupled_joints for entry in machine.constraints):
        return ''
    if any(entry.joint == joint.name and entry.kind == 'flexible' for entry in machine.joint_classes):
        return ''
    if joint.type == 'prismatic':
        return ''
    moved = moved_links(machine, joint)
    axis, origin = poses[joint.child][:3, :3] @ joint.axis, poses[joint.child][:3, 3]
    if any(end.link in moved for entry in machine.constraints for end in entry.ends):
        return ''
    points = attachment_points([support for support in machine.supports if support.link in moved], poses)
    if points and max(float(np.linalg.norm(np.cross(axis, point - origin))) for point in points) < ON_AXIS:
        return 'turns its wheels about their axle'
    if float(np.hypot(axis[0], axis[1])) < SWIVEL:
        return 'swivels about the vertical'
    return ''


class _Builder:
    """Groups the links of a machine into bodies."""

    def __init__(
        self,
        machine: Machine,
        positions: dict[str, float],
        poses: Mapping[str, Array],
        loose: list[Joint],
        held: dict[str, str],
    ) -> None:
        self.machine, self.positions, self.poses, self.loose, self.held = machine, positions, poses, loose, held
        self.base = base_joints(machine)
        count = len(self.base)
        self.body = {machine.links[0].name: count - 1}
        numbers = {joint.name: count + k for k, joint in enumerate(loose)}
        self.frames = {count - 1: np.eye(4)}  # of the bodies at position 0 of their joints, in axes of the base
        self.parents: dict[int, int] = {}
        for joint in machine.joints:
            parent = self.body[joint.parent]
            self.body[joint.child] = numbers.get(joint.name, parent)
            if joint.name in numbers:
                self.parents[numbers[joint.name]] = parent

    def gear(self, without: Collection[str]) -> RunningGear:
        """Return the running gear."""
        machine, local = self.machine, self._local_poses()
        base = len(self.base) - 1
        payload = machine.payload
        load = np.zeros(1, LOAD)
        load[0] = (base, np.zeros(3)) if payload is None else self._point(payload.link, payload.position, local)
        joints = self._joints(local, without)
        gear = Gear(joints, self._supports(local), load, *self._couplings(), self._between(local), base)
        names = (*(name for name, _, _ in self.base), *(joint.name for joint in self.loose))
        start = np.array([*np.zeros(base + 1), *(self.positions[joint.name] for joint in self.loose)])
        start[0] = max(
            support.free_length - self._height(support.link, support.position) for support in machine.supports
        )
        return RunningGear(machine, gear, self.positions, names, self.held, start, self.body)

    def _height(self, link: str, position: Array) -> float:
        """Return the height of a point of a link above the base link, m."""
        return float(self.poses[link][2, :3] @ position + self.poses[link][2, 3])

    def _joints(self, local: Mapping[str, Array], without: Collection[str]) -> Any:
        """Return the joints (n,)."""
        machine, base = self.machine, len(self.base)
        joints = np.zeros(base + len(self.loose), JOINT)
        joints['parent'], joints['rotation'] = np.arange(-1, len(joints) - 1), np.eye(3)
        joints['lower'], joints['upper'] = -np.inf, np.inf
        for joint, (_, slides, axis) in zip(joints, self.base):
            joint['sliding'], joint['axis'] = slides, axis
        flexible = {entry.joint: entry for entry in machine.joint_classes if entry.kind == 'flexible'}
        for k, loose in enumerate(self.loose, base):
            joint, frame = joints[k], local[loose.parent] @ loose.origin
            joint['parent'], joint['sliding'] = self.parents[k], loose.type == 'prismatic'
            joint['rotation'], joint['offset'], joint['axis'] = frame[:3, :3], frame[:3, 3], loose.axis
            joint['lower'], joint['upper'] = loose.lower, loose.upper
            if loose.name in flexible:
                entry = flexible[loose.name]
                rest = machine.initial.joint_positions.get(loose.name, 0.0) if entry.rest is None else entry.rest
                joint['spring'], joint['rest'] = entry.stiffness, rest
        for link in machine.links:
            if link.name in without:
                continue
            joint, pose = joints[self.body[link.name]], local[link.name]
            joint['mass'] += link.mass
            joint['moment'] += link.mass * (pose[:3, :3] @ link.com + pose[:3, 3])
        joints['stop'] = STOP * machine.total_mass * max(machine.gravity, 1.0)
        return joints

    def _supports(self, local: Mapping[str, Array]) -> Any:
        """Return the supports (c,)."""
        machine = self.machine
        at_attachment = {support.name for support in machine.wheels if support.friction_point == 'attachment'}
        supports = np.zeros(len(machine.supports), SUPPORT)
        for k, support in enumerate(machine.supports):
            body, point = self._point(support.link, support.position, local)
            supports[k] = body, support.contact in at_attachment, point, support.stiffness, support.free_length
        return supports

    def _local_poses(self) -> dict[str, Array]:
        """Return the poses (4, 4) of the links in the frames of their bodies."""
        local = {self.machine.links[0].name: np.eye(4)}
        numbers = {joint.name for joint in self.loose}
        for joint in self.machine.joints:
            if joint.name in numbers:
                local[joint.child] = np.eye(4)
            else:
                inverse = np.linalg.inv(self.poses[joint.parent])
                local[joint.child] = local[joint.parent] @ (inverse @ self.poses[joint.child])
        return local

    def _point(self, link: str, position: Array, local: Mapping[str, Array]) -> tuple[int, Array]:
        pose = local[link]
        return self.body[link], pose[:3, :3] @ position + pose[:3, 3]

    def _couplings(self) -> tuple[Array, Array]:
        """Return the couplings of joints that give way, without couplings of held joints alone."""
        count, n = len(self.base), len(self.base) + len(self.loose)
        numbers = {joint.name: count + k for k, joint in enumerate(self.loose)}
        rows, values = [], []
        for entry in self.machine.constraints:
            if entry.joint_sum is None:
                continue
            row, value = np.zeros(n), entry.joint_sum.offset
            for name, factor in entry.joint_sum.coefficients:
                if name in numbers:
                    row[numbers[name]] += factor
                else:
                    value -= factor * self.positions.get(name, 0.0)
            if row.any():
                rows.append(row)
                values.append(value)
        return np.array(rows).reshape(len(rows), n), np.array(values)

    def _between(self, local: Mapping[str, Array]) -> Any:
        """Return the rows (r,) between two bodies."""
        rows = []
        for entry in self.machine.loops:
            one, two = self._end(entry.first, local), self._end(entry.second, local)
            if one[0] != two[0]:
                rows += [
                    (kind, one[0], two[0], *vectors, entry.rod or 1.0)
                    for kind, *vectors in _rows_of(entry, one, two, self.machine.name)
                ]
        between = np.zeros(len(rows), BETWEEN)
        for k, row in enumerate(rows):
            between[k] = row
        return between

    def _end(self, end: End, local: Mapping[str, Array]) -> tuple[int, Array, Array]:
        """Return body, position (3,) and axes (3, 3) of an end in its body."""
        pose = local[end.link]
        return self.body[end.link], pose[:3, :3] @ end.position + pose[:3, 3], pose[:3, :3] @ end.rotation


Row = tuple[int, Array, Array, Array]


def _rows_of(
    entry: LoopRecord, one: tuple[int, Array, Array], two: tuple[int, Array, Array], machine: str
) -> list[Row]:
    """Return kind, points or directions in both bodies, and direction in the second, for the rows of a constraint."""
    (_, p, A), (_, r, B) = one, two
    if (not entry.directions and not entry.rod) or entry.motion is not None:
        raise GearError(
            f'{machine}: expected constraints that the equilibrium supports, found {entry.name!r} ({entry.kind})'
        )
    if entry.along is not None:
        turn = _axes_along(np.array(entry.along))
        A, B = A @ turn, B @ turn
    a, b = A.T, B.T  # rows: axes of both ends
    rows: list[Row] = [(DISTANCE, p, r, b[0])] if entry.rod else []
    rows += [(LINEAR, p, r, b[k]) for k, axis in enumerate('xyz') if axis in entry.directions]
    return rows + [(ANGULAR, a[i], b[j], b[0]) for turn, i, j in TURNS if turn in entry.directions]


def _axes_along(normal: Array) -> Array:
    """Return a (3, 3) rotation whose z axis is a direction."""
    z = normal / np.linalg.norm(normal)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
