"""The kinematic tree of a machine: bodies connected by joints of one degree of freedom, or a free base.

Links connected by fixed joints are one body. A base that is not fixed is either a quaternion body (`free`, in the
running machine) or a chain of massless virtual links with one prismatic or revolute joint each (abo-shanab-2003,
sections 3.2 and 7.1), which turns any machine into a fixed-base serial chain. Both forms must agree; tests check it.

A tree may have several roots: a load that several arms hold is a free body (yesiloglu-2007, C6), connected to them by
constraints. `build_tree` makes the tree of a machine, `TreeBuilder` a tree body by body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.model.constraint import Load
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
PLANE_XY: tuple[tuple[str, JointKind, np.ndarray], ...] = (
    ('x', 'prismatic', X),
    ('y', 'prismatic', Y),
    ('angle', 'revolute', Z),
)
PLANE_XZ: tuple[tuple[str, JointKind, np.ndarray], ...] = (
    ('x', 'prismatic', X),
    ('z', 'prismatic', Z),
    ('pitch', 'revolute', Y),
)
NOWHERE = (0.0, 0.0, 0.0)
AXES = np.eye(3)
NO_INERTIA = np.zeros((3, 3))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body and the joint that moves it.

    Attributes:
        name: of the joint.
        parent: index of the parent body, -1 for the world.
        kind: of the joint.
        axis: (3,) unit joint axis in the body frame (unused for `free`).
        R0, p0: (3, 3), (3,) pose of the body frame in the parent frame at joint position 0.
        mass, com, inertia: kg; (3,) m; (3, 3) kg m2 about the centre of mass; in the body frame.
        q, v: index of its first generalized position and velocity.
        armature: reflected inertia of the rotor that drives the joint, kg m2 or kg: it acts on the joint acceleration
            alone (the rotor's mass belongs to a link; the gyroscopic effect of its spin is neglected).
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
    armature: float = 0.0

    @property
    def massless(self) -> bool:
        """True for a virtual link."""
        return self.mass == 0.0 and not self.inertia.any()

    def pose(self, q: Expression) -> Pose:
        """Return the pose of the body frame in its parent's, for the position vector `q` (nq,)."""
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
    """Bodies, parents before children.

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
        """True if the base, the first body, is a quaternion body."""
        return bool(self.bodies) and self.bodies[0].kind == 'free'

    @property
    def roots(self) -> tuple[int, ...]:
        """Indices of the bodies whose parent is the world."""
        return tuple(k for k, body in enumerate(self.bodies) if body.parent < 0)

    @property
    def armatures(self) -> np.ndarray:
        """(nv,) reflected inertias of rotors along the velocities, kg m2 or kg; 0 for free bodies."""
        result = np.zeros(self.nv)
        for body in self.bodies:
            result[body.v] = body.armature
        return result

    @property
    def neutral(self) -> np.ndarray:
        """(nq,) positions with every joint at zero and every free body at the origin with identity rotation."""
        q = np.zeros(self.nq)
        for body in self.bodies:
            if body.kind == 'free':
                q[body.q + 6] = 1.0
        return q

    @property
    def base_dofs(self) -> int:
        """Number of velocities that belong to the base."""
        return 6 if self.free else sum(name.startswith('base_') for name in self.velocity_names)

    def frame(self, link: str) -> Frame:
        """Return the frame of a link. Raises KeyError, listing the links, for an unknown one."""
        if link not in self.frames:
            raise KeyError(f'unknown link {link!r}; known: {", ".join(self.frames)}')
        return self.frames[link]

    def body(self, name: str) -> int:
        """Return the index of the body that the joint (or free body) of that name moves.

        Raises:
            KeyError: an unknown name; the message lists the names.
        """
        for index, body in enumerate(self.bodies):
            if body.name == name:
                return index
        raise KeyError(f'unknown joint {name!r}; known: {", ".join(body.name for body in self.bodies)}')

    def velocity_index(self, name: str) -> int:
        """Return the index of a generalized velocity. Raises KeyError, listing the names, for an unknown one."""
        if name not in self.velocity_names:
            raise KeyError(f'unknown velocity {name!r}; known: {", ".join(self.velocity_names)}')
        return self.velocity_names.index(name)


def reject_rotors(tree: Tree) -> None:
    """Raise ValueError if a joint has a reflected rotor inertia, for formulations without rotors."""
    driven = [body.name for body in tree.bodies if body.armature]
    if driven:
        raise ValueError(f'expected joints without rotors, found reflected inertia on {driven[0]}')


class _Lump:
    """Sum of the mass properties of rigidly connected links, in the body frame."""

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
        base: form of a `free` base: one quaternion body, or six virtual links with one joint each.
    """
    return _MachineTree(machine, base).build()


class TreeBuilder:
    """Builds a tree body by body; every body has the name of the joint that moves it, and is a link of that name.

    tree = TreeBuilder()
    base = tree.add_free('base', mass=40.0, inertia=np.diag([3.0, 4.0, 5.0]))
    arm = tree.add_joint('shoulder', base, 'revolute', Z, p=[0.1, 0, 0.3], mass=6.0, com=[0, 0, 0.1])
    tree.add_frame('tip', arm, p=[0, 0, 0.4])
    tree = tree.build()
    """

    def __init__(self) -> None:
        self.specs: list[tuple[str, int, JointKind, np.ndarray, np.ndarray, np.ndarray]] = []
        self.lumps: list[_Lump] = []
        self.frames: dict[str, Frame] = {}
        self.armatures: dict[str, float] = {}

    def add_free(self, name: str, mass: float = 0.0, com: ArrayLike = NOWHERE, inertia: ArrayLike = NO_INERTIA) -> int:
        """Add a body without a joint: positions `<name>_x` ... `<name>_qw`, velocities in its axes. Return its index.

        Args:
            name: of the body and its frame.
            mass: kg.
            com: (3,) centre of mass in the body frame, m.
            inertia: (3, 3) about the centre of mass in the axes of the body frame, kg m2.
        """
        return self._add(name, -1, 'free', Z, np.eye(3), np.zeros(3), mass, com, inertia)

    def add_planar(
        self,
        name: str,
        mass: float = 0.0,
        com: ArrayLike = NOWHERE,
        inertia: ArrayLike = NO_INERTIA,
        axes: Sequence[tuple[str, JointKind, np.ndarray]] = PLANE_XY,
    ) -> int:
        """Add a body that moves in a plane, by two sliders and a hinge `<name>_x`, `<name>_y`, `<name>_angle`.

        The sliders' links are massless. Return the index of the body; its link has the name `name`.
        """
        carrier = -1
        for suffix, kind, axis in axes:
            carrier = self.add_joint(f'{name}_{suffix}', carrier, kind, axis)
        self.add_mass(carrier, mass, com, inertia)
        self.add_frame(name, carrier)
        return carrier

    def add_joint(
        self,
        name: str,
        parent: int,
        kind: JointKind,
        axis: ArrayLike,
        R: ArrayLike = AXES,
        p: ArrayLike = NOWHERE,
        mass: float = 0.0,
        com: ArrayLike = NOWHERE,
        inertia: ArrayLike = NO_INERTIA,
    ) -> int:
        """Add a body on a revolute or prismatic joint; return its index.

        Args:
            name: of the joint, the body and its frame.
            parent: index of the parent body, -1 for the world.
            kind: `revolute` or `prismatic`.
            axis: (3,) unit vector in the body frame.
            R: (3, 3) axes of the body frame in the parent's at joint position 0.
            p: (3,) origin of the body frame in the parent's at joint position 0, m.
            mass: kg.
            com: (3,) centre of mass in the body frame, m.
            inertia: (3, 3) about the centre of mass in the axes of the body frame, kg m2.

        Raises:
            ValueError: a name that is taken, a parent that does not exist, an axis that is not a unit vector.
        """
        if not -1 <= parent < len(self.specs):
            raise ValueError(f'{name}: expected a parent from -1 to {len(self.specs) - 1}, found {parent}')
        unit = np.asarray(axis, dtype=float)
        if unit.shape != (3,) or abs(float(np.linalg.norm(unit)) - 1) > 1e-9:
            raise ValueError(f'{name}: expected a unit axis of 3 numbers, found {unit.tolist()}')
        return self._add(name, parent, kind, unit, np.asarray(R, float), np.asarray(p, float), mass, com, inertia)

    def add_mass(
        self,
        body: int,
        mass: float,
        com: ArrayLike = NOWHERE,
        inertia: ArrayLike = NO_INERTIA,
        R: ArrayLike = AXES,
        p: ArrayLike = NOWHERE,
    ) -> None:
        """Add a mass to a body: kg; (3,) m and (3, 3) kg m2 about `com`, in axes at (R, p) in the body frame."""
        self.lumps[body].add(
            mass, np.asarray(com, float), np.asarray(inertia, float), np.asarray(R, float), np.asarray(p, float)
        )

    def add_armature(self, joint: str, inertia: float) -> None:
        """Add the reflected inertia of a rotor to a joint of one degree of freedom, kg m2 or kg.

        Raises:
            ValueError: an unknown joint, a free body, or a negative inertia.
        """
        if not any(name == joint and kind != 'free' for name, _, kind, *_ in self.specs):
            raise ValueError(f'{joint}: expected a joint of one degree of freedom for a rotor, found none of this name')
        if not 0.0 <= inertia < np.inf:
            raise ValueError(f'{joint}: expected a rotor inertia >= 0, found {inertia!r}')
        self.armatures[joint] = self.armatures.get(joint, 0.0) + inertia

    def add_frame(self, name: str, body: int, R: ArrayLike = AXES, p: ArrayLike = NOWHERE) -> Frame:
        """Add a frame fixed in a body (-1: in the world) at (R, p). Raises ValueError if the name is taken."""
        if name in self.frames:
            raise ValueError(f'{name}: there is a frame of this name already')
        self.frames[name] = Frame(body, snapped(np.asarray(R, float)), np.array(p, dtype=float))
        return self.frames[name]

    def build(self, payload: Frame | None = None) -> Tree:
        """Return the tree."""
        bodies, names_q, names_v = self._number()
        return Tree(bodies, dict(self.frames), tuple(names_q), tuple(names_v), payload)

    def _add(
        self,
        name: str,
        parent: int,
        kind: JointKind,
        axis: np.ndarray,
        R: np.ndarray,
        p: np.ndarray,
        mass: float,
        com: ArrayLike,
        inertia: ArrayLike,
    ) -> int:
        if any(name == taken for taken, *_ in self.specs):
            raise ValueError(f'{name}: there is a body of this name already')
        index = self._add_body(name, parent, kind, axis, R, p)
        self.add_frame(name, index)
        self.add_mass(index, mass, com, inertia)
        return index

    def _add_body(self, name: str, parent: int, kind: JointKind, axis: np.ndarray, R: np.ndarray, p: np.ndarray) -> int:
        self.specs.append((name, parent, kind, snapped(axis), snapped(R), np.array(p, dtype=float)))
        self.lumps.append(_Lump())
        return len(self.specs) - 1

    def _number(self) -> tuple[tuple[Body, ...], list[str], list[str]]:
        bodies: list[Body] = []
        names_q: list[str] = []
        names_v: list[str] = []
        for (name, parent, kind, axis, R, p), lump in zip(self.specs, self.lumps):
            mass, com, inertia = lump.finish()
            at, armature = (len(names_q), len(names_v)), self.armatures.get(name, 0.0)
            bodies.append(Body(name, parent, kind, axis, R, p, mass, com, inertia, *at, armature))
            names_q.extend(f'{name}_{n}' for n in FREE_POSITION_NAMES) if kind == 'free' else names_q.append(name)
            names_v.extend(f'{name}_{n}' for n in FREE_VELOCITY_NAMES) if kind == 'free' else names_v.append(name)
        return tuple(bodies), names_q, names_v


class _MachineTree(TreeBuilder):
    """Builds the tree of a machine: links are attached to bodies and have other names than the joints."""

    def __init__(self, machine: Machine, base: BaseForm) -> None:
        super().__init__()
        self.machine = machine
        self.base = base

    def build(self, payload: Frame | None = None) -> Tree:
        root = self.machine.links[0]
        self._attach_base()
        self._place(root.name, Frame(len(self.specs) - 1, np.eye(3), np.zeros(3)))
        for joint in self.machine.joints:
            self._carry(joint)
        for load in self.machine.loads:
            self._add_load(load)
        return super().build(payload or self._payload_frame())

    def _attach_base(self) -> None:
        attachment = self.machine.base.attachment
        if attachment == 'free' and self.base == 'quaternion':
            self._add_body('base', -1, 'free', np.zeros(3), np.eye(3), np.zeros(3))
        elif attachment != 'fixed':
            for name, kind, axis in VIRTUAL_CHAIN if attachment == 'free' else PLANAR_CHAIN:
                self._add_body(name, len(self.specs) - 1, kind, axis, np.eye(3), np.zeros(3))  # type: ignore[arg-type]

    def _place(self, link_name: str, frame: Frame) -> None:
        self.frames[link_name] = frame
        if frame.body >= 0:
            link = self.machine.link(link_name)
            self.lumps[frame.body].add(link.mass, link.com, link.inertia, frame.R, frame.p)

    def _carry(self, joint: Joint) -> None:
        carrier = self.frames[joint.parent]
        R = carrier.R @ joint.origin[:3, :3]
        p = carrier.p + carrier.R @ joint.origin[:3, 3]
        if joint.movable:
            kind: JointKind = 'prismatic' if joint.type == 'prismatic' else 'revolute'
            self._add_body(joint.name, carrier.body, kind, joint.axis, R, p)
            self._place(joint.child, Frame(len(self.specs) - 1, np.eye(3), np.zeros(3)))
            self.add_armature(joint.name, self.machine.armature(joint.name))
        else:
            self._place(joint.child, Frame(carrier.body, snapped(R), p))

    def _add_load(self, load: Load) -> None:
        if load.motion == 'free':
            self.add_free(load.name, load.mass, load.com, load.inertia)
        else:
            self.add_planar(load.name, load.mass, load.com, load.inertia, PLANE_XZ)

    def _payload_frame(self) -> Frame | None:
        payload = self.machine.payload
        if payload is None:
            return None
        carrier = self.frames[payload.link]
        return Frame(carrier.body, carrier.R, carrier.p + carrier.R @ payload.position)
