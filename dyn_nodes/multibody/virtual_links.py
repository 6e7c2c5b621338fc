"""Virtual links: massless links with one joint each in any machine (abo-shanab-2003, sections 3.2, 3.3 and 7.1).

They have three uses:

- a joint of several degrees of freedom becomes a chain of prismatic and revolute joints (:func:`replace_joint`);
- a base that is not fixed becomes such a chain below the root (:func:`mount_on_virtual_links`);
- the reaction at a joint is the generalized force along virtual joints that do not move
  (:func:`insert_virtual_links`, :func:`virtual_joint_forces`; eqs 3.10 to 3.14): no differential-algebraic equations.

A virtual link has no mass, inertia or size; its zeros vanish during tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import casadi as ca
import numpy as np

from dyn_nodes.model.machine import Base, Joint, Link, Machine, frozen_array
from dyn_nodes.multibody.dynamics import NO_FORCES, ExternalForces, inverse_dynamics
from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression

Side = Literal['child', 'parent']
MultiJoint = Literal['universal', 'spherical', 'planar', 'free']
AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0)}
DEFAULT_ANGLES = {'universal': 'xy', 'spherical': 'zyx', 'planar': 'y', 'free': 'zyx'}
TRANSLATIONS = {'universal': '', 'spherical': '', 'planar': 'xz', 'free': 'xyz'}


@dataclass(frozen=True)
class VirtualLink:
    """A massless link and the joint that moves it.

    Attributes:
        kind: `prismatic` for a force, or `revolute` for a torque.
        axis: (3,) direction of any nonzero length, in the axes of the frame in which it is inserted.
    """

    kind: Literal['prismatic', 'revolute']
    axis: tuple[float, float, float]

    def __post_init__(self) -> None:
        """Accept any sequence of 3 numbers as the axis; reject a zero or infinite direction."""
        if self.kind not in ('prismatic', 'revolute'):
            raise ValueError(f'virtual link: expected prismatic or revolute, found {self.kind!r}')
        if np.shape(self.axis) != (3,) or not np.isfinite(self.axis).all() or not np.any(self.axis):
            raise ValueError(f'virtual link: expected a direction of 3 finite numbers, found {self.axis}')
        x, y, z = (float(component) for component in self.axis)
        object.__setattr__(self, 'axis', (x, y, z))

    @property
    def unit_axis(self) -> np.ndarray:
        """(3,) the direction, of length 1."""
        axis = np.asarray(self.axis, dtype=np.float64)
        return frozen_array(axis / np.linalg.norm(axis), (3,))


def force_along(*axes: tuple[float, float, float]) -> tuple[VirtualLink, ...]:
    """Return the virtual links for the force along directions (3,)."""
    return tuple(VirtualLink('prismatic', axis) for axis in axes)


def torque_about(*axes: tuple[float, float, float]) -> tuple[VirtualLink, ...]:
    """Return the virtual links for the torque about directions (3,)."""
    return tuple(VirtualLink('revolute', axis) for axis in axes)


WRENCH = (*force_along(*AXES.values()), *torque_about(*AXES.values()))
"""Force along x, y, z, then torque about x, y, z."""


def joint_chain(kind: MultiJoint, angles: str | None = None) -> tuple[VirtualLink, ...]:
    """Return the virtual links of a joint of several degrees of freedom.

    Args:
        kind: `universal` (2 angles), `spherical` (3), `planar` (along x and z, one angle), `free` (along x, y and z,
            3 angles).
        angles: axes of the moving frame, such as `zyz` or `zyx` (the default); choose a sequence that is regular at the
            working posture: the middle angle of three must not reach 0 or pi (`zyz`) or +-pi/2 (`zyx`).

    Raises:
        ValueError: an unknown kind; a wrong number of angles, other axes, or equal consecutive axes.
    """
    if kind not in DEFAULT_ANGLES:
        raise ValueError(f'joint kind: expected one of {", ".join(DEFAULT_ANGLES)}, found {kind!r}')
    usual = DEFAULT_ANGLES[kind]
    sequence = usual if angles is None else angles
    repeated = any(first == second for first, second in pairwise(sequence))
    if len(sequence) != len(usual) or not set(sequence) <= set(AXES) or repeated:
        raise ValueError(
            f'{kind} joint: expected {len(usual)} axes of x, y, z, neighbours unequal, such as {usual!r}; '
            f'found {sequence!r}'
        )
    slides = force_along(*(AXES[axis] for axis in TRANSLATIONS[kind]))
    return (*slides, *torque_about(*(AXES[axis] for axis in sequence)))


def virtual_names(joint: str, count: int) -> tuple[str, ...]:
    """Return the names of the virtual joints at a joint, in order."""
    return tuple(f'{joint}_virtual_{k + 1}' for k in range(count))


def insert_virtual_links(machine: Machine, joint: str, links: Sequence[VirtualLink], side: Side = 'child') -> Machine:
    """Return the machine with virtual links in series with a joint, which is kept.

    Args:
        machine: any machine.
        joint: name of a movable or fixed joint.
        links: the virtual links, from the parent outwards.
        side: `child`: between joint and child link, in axes and origin of the child frame; `parent`: between parent
            link and joint, in axes of the parent frame, at the origin of the joint.

    Raises:
        KeyError: no such joint.
        ValueError: no virtual link; an unknown side; the joint has virtual links already.
    """
    old = machine.joint(joint)
    if side == 'child':
        first = replace(old, child=_link_name(joint, 1))
        chain = _chain(machine, joint, links, (_link_name(joint, 1), old.child), np.eye(4), extra=1)
        joints = (first, *chain)
    elif side == 'parent':
        at_joint, turned = np.eye(4), np.eye(4)
        at_joint[:3, 3], turned[:3, :3] = old.origin[:3, 3], old.origin[:3, :3]
        chain = _chain(machine, joint, links, (old.parent, _link_name(joint, len(links))), at_joint)
        joints = (*chain, replace(old, parent=_link_name(joint, len(links)), origin=frozen_array(turned, (4, 4))))
    else:
        raise ValueError(f'side: expected child or parent, found {side!r}')
    return _with_joints(machine, old, joints)


def replace_joint(machine: Machine, joint: str, links: Sequence[VirtualLink]) -> Machine:
    """Return the machine with a joint replaced by a chain of virtual joints: a joint of several degrees of freedom.

    Args:
        machine: any machine.
        joint: name of the replaced joint; its origin is kept, its axis, damping and limits are not.
        links: from :func:`joint_chain` or others, axes in the joint's frame; the last one moves the child link.

    Raises:
        KeyError: no such joint.
        ValueError: no virtual link; an actuator drives the joint; the joint has virtual links already.
    """
    old = machine.joint(joint)
    for actuator in machine.actuators:
        if actuator.joint == joint:
            raise ValueError(f'joint {joint}: expected a joint without an actuator, found {actuator.name}')
    positions = {name: value for name, value in machine.initial.joint_positions.items() if name != joint}
    reactions = tuple(name for name in machine.reactions if name != joint)
    chain = _chain(machine, joint, links, (old.parent, old.child), old.origin)
    changed = _with_joints(machine, old, chain)
    return replace(changed, initial=replace(machine.initial, joint_positions=positions), reactions=reactions)


def mount_on_virtual_links(
    machine: Machine, links: Sequence[VirtualLink], point: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> Machine:
    """Return the machine on a base that moves along the virtual links only (abo-shanab-2003, table 5.1).

    The root link is connected to a massless link `world`, at rest, by a chain of virtual joints. For a base with all
    six degrees of freedom prefer `attachment: free`, which has no singular attitude.

    Args:
        machine: any machine; the attachment of its base is replaced.
        links: axes in the root link's frame.
        point: of the root link, m, about which the virtual joints turn, such as a wheel or an edge.

    Raises:
        ValueError: no virtual link; a link has the name `world` already.
    """
    root, name = machine.links[0], 'world'
    if any(link.name == name for link in machine.links):
        raise ValueError(f'{machine.name}: expected no link named {name!r}, found one')
    there, back = np.eye(4), np.eye(4)
    there[:3, 3], back[:3, 3] = point, -np.asarray(point, dtype=np.float64)
    chain = list(_chain(machine, 'base', links, (name, 'base_virtual_end'), there))
    chain.append(Joint('base_virtual_mount', 'fixed', 'base_virtual_end', root.name, _frozen(back), _axis('x')))
    massless = [_massless(joint.parent) for joint in chain]
    return replace(
        machine,
        links=(*massless, *machine.links),
        joints=(*chain, *machine.joints),
        base=Base(root.name, 'fixed'),
    )


def virtual_joint_forces(
    state: TreeState,
    a: Expression,
    gravity: Expression,
    names: Sequence[str],
    external: ExternalForces = NO_FORCES,
) -> Expression:
    """Return the generalized forces (m,) along virtual joints: rows (3.14) of the extended equations.

    They are the forces of the proximal side on the distal side.

    Args:
        state: of a tree with virtual links, whose virtual positions and velocities are zero.
        a: (nv,) accelerations of the extended tree, zero at the virtual joints.
        gravity: (3,) in the world, m/s2.
        names: of the virtual joints, as in the tree's `velocity_names`.
        external: spatial force on a body by its index in the extended tree.
    """
    tau = inverse_dynamics(state, a, gravity, external)
    velocity_names = state.tree.velocity_names
    return ca.densify(ca.vertcat(*(tau[velocity_names.index(name)] for name in names)))


def _chain(
    machine: Machine,
    joint: str,
    links: Sequence[VirtualLink],
    ends: tuple[str, str],
    origin: np.ndarray,
    extra: int = 0,
) -> tuple[Joint, ...]:
    """Return virtual joints from one link to another, the first at `origin`; link numbers start after `extra`."""
    if not links:
        raise ValueError(f'joint {joint}: expected at least one virtual link, found none')
    names = virtual_names(joint, len(links))
    taken = {other.name for other in machine.joints}
    for name in names:
        if name in taken:
            raise ValueError(f'joint {joint}: expected no existing virtual links, found {name}')
    between = [_link_name(joint, k + 1 + extra) for k in range(len(links) - 1)]
    stops = [ends[0], *between, ends[1]]
    poses = [_frozen(origin), *[_frozen(np.eye(4))] * (len(links) - 1)]
    return tuple(
        Joint(name, 'continuous' if link.kind == 'revolute' else 'prismatic', parent, child, pose, link.unit_axis)
        for name, link, parent, child, pose in zip(names, links, stops, stops[1:], poses)
    )


def _with_joints(machine: Machine, old: Joint, joints: tuple[Joint, ...]) -> Machine:
    """Return the machine with one joint replaced by several; the massless links precede its child."""
    index = machine.joints.index(old)
    massless = tuple(_massless(joint.child) for joint in joints[:-1])
    return replace(
        machine,
        links=(*machine.links[: index + 1], *massless, *machine.links[index + 1 :]),
        joints=(*machine.joints[:index], *joints, *machine.joints[index + 1 :]),
    )


def _link_name(joint: str, number: int) -> str:
    return f'{joint}_virtual_link_{number}'


def _massless(name: str) -> Link:
    return Link(name, 0.0, frozen_array((0, 0, 0), (3,)), frozen_array(np.zeros((3, 3)), (3, 3)))


def _frozen(pose: np.ndarray) -> np.ndarray:
    return frozen_array(pose, (4, 4))


def _axis(name: str) -> np.ndarray:
    return frozen_array(AXES[name], (3,))
