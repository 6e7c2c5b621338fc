"""The kinematic tree of a machine: bodies joined by one degree of freedom each, or a free base.

Links joined by fixed joints are one body. A base that is not fixed is either a quaternion body (`free`, in the running
machine) or a chain of massless virtual links with one prismatic or revolute joint each (abo-shanab-2003, sections 3.2
and 7.1), which turns any machine into a fixed-base serial chain. Both forms must and do agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.multibody.spatial import Expression, Inertia, Pose, Turn, rotation_about, rotation_of_quaternion, snapped

JointKind = Literal['revolute', 'prismatic', 'free']
BaseForm = Literal['quaternion', 'virtual_chain']

FREE_POSITION_NAMES = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
FREE_VELOCITY_NAMES = ('wx', 'wy', 'wz', 'vx', 'vy', 'vz')
X, Y, Z = np.eye(3)
# abo-shanab-2003, table 7.1: up, forward, left; then pitch, roll, yaw
VIRTUAL_CHAIN = (
    ('base_z', 'prismatic', Z),
    ('base_x', 'prismatic', X),
    ('base_y', 'prismatic', Y),
    ('base_pitch', 'revolute', Y),
    ('base_roll', 'revolute', X),
    ('base_yaw', 'revolute', Z),
)
PLANAR_CHAIN = (('base_x', 'prismatic', X), ('base_z', 'prismatic', Z), ('base_pitch', 'revolute', Y))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body and the joint that carries it.

    Attributes:
        name: of the joint that moves it.
        parent: index of the carrying body, -1 for the world.
        kind: of the joint.
        axis: (3,) unit joint axis in the body frame (unused for `free`).
        R0, p0: (3, 3), (3,) placement of the body frame in the parent frame at joint position 0.
        mass, com, inertia: kg; (3,) m; (3, 3) kg m2 about the centre of mass; in the body frame.
        q, v: index of its first generalized position and velocity.
    """

    name: str
    parent: int
    kind: JointKind
    axis: np.ndarray
    R0: np.ndarray
    p0: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    q: int
    v: int

    @property
    def massless(self) -> bool:
        """True for a virtual link."""
        return self.mass == 0.0 and not self.inertia.any()

    def pose(self, q: Expression) -> Pose:
        """Return the pose of the body frame in its parent's, for the whole position vector `q`."""
        if self.kind == 'free':
            return Pose(rotation_of_quaternion(q[self.q + 3 : self.q + 7]), q[self.q : self.q + 3])
        R0, p0 = ca.SX(self.R0), ca.SX(self.p0)
        if self.kind == 'revolute':
            turn = Turn.about(self.axis, q[self.q]) if np.array_equal(self.R0, np.eye(3)) else None
            if turn is not None:
                return Pose(rotation_about(self.axis, q[self.q]), p0, turn)
            return Pose(ca.mtimes(R0, rotation_about(self.axis, q[self.q])), p0)
        return Pose(R0, p0 + ca.mtimes(R0, ca.SX(self.axis)) * q[self.q])

    def rigid_inertia(self) -> Inertia:
        """Return the inertia at the body frame's origin."""
        return Inertia.rigid(ca.SX(self.mass), ca.SX(self.com), ca.SX(self.inertia))


@dataclass(frozen=True, eq=False)
class Frame:
    """A link frame: fixed in `body` at (`R`, `p`)."""

    body: int
    R: np.ndarray
    p: np.ndarray


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies in an order in which parents come before children.

    Attributes:
        frames: by link name; a link fixed to the world has body -1.
        position_names, velocity_names: of the generalized coordinates, lengths nq and nv.
        payload: frame of the payload point, or None.
    """

    bodies: tuple[Body, ...]
    frames: dict[str, Frame]
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    payload: Frame | None

    @property
    def nq(self) -> int:
        """Number of generalized positions."""
        return len(self.position_names)

    @property
    def nv(self) -> int:
        """Number of generalized velocities."""
        return len(self.velocity_names)

    @property
    def free(self) -> bool:
        """True where the base is a quaternion body."""
        return bool(self.bodies) and self.bodies[0].kind == 'free'

    @property
    def base_dofs(self) -> int:
        """Number of velocities that belong to the base."""
        return 6 if self.free else sum(name.startswith('base_') for name in self.velocity_names)

    def frame(self, link: str) -> Frame:
        """Return the frame of a link. Raises KeyError that lists the known ones."""
        if link not in self.frames:
            raise KeyError(f'unknown link {link!r}; known: {", ".join(self.frames)}')
        return self.frames[link]


class _Lump:
    """Mass properties of links that move as one, gathered in the body frame."""

    def __init__(self) -> None:
        self.mass = 0.0
        self.moment = np.zeros(3)
        self.second = np.zeros((3, 3))

    def add(self, mass: float, com: np.ndarray, inertia: np.ndarray, R: np.ndarray, p: np.ndarray) -> None:
        c = p + R @ com
        self.mass += mass
        self.moment += mass * c
        self.second += R @ inertia @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))

    def finish(self) -> tuple[float, np.ndarray, np.ndarray]:
        if self.mass == 0.0:
            return 0.0, np.zeros(3), self.second
        c = self.moment / self.mass
        return self.mass, c, self.second - self.mass * (c @ c * np.eye(3) - np.outer(c, c))


def build_tree(machine: Machine, base: BaseForm = 'quaternion') -> Tree:
    """Return the tree of a machine.

    Args:
        machine: any machine.
        base: how a `free` base is written: one quaternion body, or six virtual links with one joint each.
    """
    return _TreeBuilder(machine, base).build()


class _TreeBuilder:
    def __init__(self, machine: Machine, base: BaseForm) -> None:
        self.machine = machine
        self.base = base
        self.specs: list[tuple[str, int, JointKind, np.ndarray, np.ndarray, np.ndarray]] = []
        self.lumps: list[_Lump] = []
        self.frames: dict[str, Frame] = {}

    def build(self) -> Tree:
        root = self.machine.links[0]
        self._attach_base()
        self._place(root.name, Frame(len(self.specs) - 1, np.eye(3), np.zeros(3)))
        for joint in self.machine.joints:
            self._add_joint(joint)
        bodies, names_q, names_v = self._number()
        return Tree(bodies, self.frames, tuple(names_q), tuple(names_v), self._payload_frame())

    def _attach_base(self) -> None:
        attachment = self.machine.base.attachment
        if attachment == 'free' and self.base == 'quaternion':
            self._add_body('base', -1, 'free', np.zeros(3), np.eye(3), np.zeros(3))
        elif attachment != 'fixed':
            for name, kind, axis in VIRTUAL_CHAIN if attachment == 'free' else PLANAR_CHAIN:
                self._add_body(name, len(self.specs) - 1, kind, axis, np.eye(3), np.zeros(3))  # type: ignore[arg-type]

    def _add_body(
        self, name: str, parent: int, kind: JointKind, axis: np.ndarray, R: np.ndarray, p: np.ndarray
    ) -> None:
        self.specs.append((name, parent, kind, snapped(axis), snapped(R), np.array(p, dtype=float)))
        self.lumps.append(_Lump())

    def _place(self, link_name: str, frame: Frame) -> None:
        self.frames[link_name] = frame
        if frame.body >= 0:
            link = self.machine.link(link_name)
            self.lumps[frame.body].add(link.mass, link.com, link.inertia, frame.R, frame.p)

    def _add_joint(self, joint: Joint) -> None:
        carrier = self.frames[joint.parent]
        R = carrier.R @ joint.origin[:3, :3]
        p = carrier.p + carrier.R @ joint.origin[:3, 3]
        if joint.movable:
            kind: JointKind = 'prismatic' if joint.type == 'prismatic' else 'revolute'
            self._add_body(joint.name, carrier.body, kind, joint.axis, R, p)
            self._place(joint.child, Frame(len(self.specs) - 1, np.eye(3), np.zeros(3)))
        else:
            self._place(joint.child, Frame(carrier.body, snapped(R), p))

    def _number(self) -> tuple[tuple[Body, ...], list[str], list[str]]:
        bodies: list[Body] = []
        names_q: list[str] = []
        names_v: list[str] = []
        for (name, parent, kind, axis, R, p), lump in zip(self.specs, self.lumps):
            mass, com, inertia = lump.finish()
            bodies.append(Body(name, parent, kind, axis, R, p, mass, com, inertia, len(names_q), len(names_v)))
            names_q.extend(f'base_{n}' for n in FREE_POSITION_NAMES) if kind == 'free' else names_q.append(name)
            names_v.extend(f'base_{n}' for n in FREE_VELOCITY_NAMES) if kind == 'free' else names_v.append(name)
        return tuple(bodies), names_q, names_v

    def _payload_frame(self) -> Frame | None:
        payload = self.machine.payload
        if payload is None:
            return None
        carrier = self.frames[payload.link]
        return Frame(carrier.body, carrier.R, carrier.p + carrier.R @ payload.position)
