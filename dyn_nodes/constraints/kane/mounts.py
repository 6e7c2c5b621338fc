"""Mounts of arms: six extra speeds that bring the wrench between arm and vehicle into Kane's equations.

The arm's first link gets three translations and three rotations relative to the vehicle, along the axes of the mount.
Their partial velocities are the ones of a rigid arm; the speeds themselves are zero (tanner-1998, C7).
"""

from __future__ import annotations

from dataclasses import dataclass

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame, Tree


@dataclass(frozen=True, eq=False)
class FixedMass:
    """Link of the arm fixed on the vehicle: kg; (3,) m; (3, 3) kg m2 about `com`; in axes of the carrier."""

    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class Mount:
    """Cut of a tree at a joint.

    Attributes:
        name: name of the joint, movable or fixed.
        frame: origin and axes of the wrench, fixed in the carrying body.
        bodies: indices of the bodies beyond the cut.
        fixed: links beyond the cut that are part of the carrying body in the tree.
        payload: True if the payload is fixed to one of these links.
    """

    name: str
    frame: Frame
    bodies: frozenset[int]
    fixed: tuple[FixedMass, ...] = ()
    payload: bool = False


@dataclass(frozen=True, eq=False)
class MountWrench:
    """Wrench of the arm on the vehicle at the mount, world axes.

    Attributes:
        force, torque: (3,) N and N m, the torque about the mount's origin.
        axes: (3, 3) axes of the mount in the world.
    """

    force: Array
    torque: Array
    axes: Array

    @property
    def local(self) -> tuple[Array, Array]:
        """Return force and torque (3,) in the axes of the mount."""
        return self.axes.T @ self.force, self.axes.T @ self.torque


def mount_at(tree: Tree, joint: str, fixed: tuple[FixedMass, ...] = (), frame: Frame | None = None) -> Mount:
    """Return the cut of a tree at a joint, with all bodies that the joint carries.

    Args:
        tree: tree of bodies.
        joint: name of a joint of one degree of freedom.
        fixed: parts of the arm that are fixed in the carrying body.
        frame: frame of the mount in the carrying body; None: frame of the joint at position 0.

    Raises:
        KeyError: no such joint.
    """
    index = tree.body(joint)
    body = tree.bodies[index]
    return Mount(joint, frame or Frame(body.parent, body.R0, body.p0), _beyond(tree, {index}), fixed)


def mount_of(machine: Machine, tree: Tree, joint: str) -> Mount:
    """Return the cut of a machine's tree at a movable or fixed joint. Raises KeyError for an unknown joint."""
    mounted = machine.joint(joint)
    if mounted.movable and joint in [body.name for body in tree.bodies]:
        return mount_at(tree, joint)
    carrier, frame = tree.frame(mounted.parent), tree.frame(mounted.child)
    within = fixed_beyond(machine, tree, joint)
    first = {tree.frame(name).body for name in _links_beyond(machine, mounted.child)} - {carrier.body}
    payload = machine.payload is not None and machine.payload.link in within
    masses = tuple(_fixed_mass(machine, tree, name) for name in within)
    return Mount(joint, frame, _beyond(tree, first), masses, payload)


def fixed_beyond(machine: Machine, tree: Tree, joint: str) -> list[str]:
    """Return the links beyond a joint that are part of its carrying body in the tree."""
    mounted = machine.joint(joint)
    carrier = tree.frame(mounted.parent).body
    return [name for name in _links_beyond(machine, mounted.child) if tree.frame(name).body == carrier]


def _fixed_mass(machine: Machine, tree: Tree, name: str) -> FixedMass:
    link, frame = machine.link(name), tree.frame(name)
    return FixedMass(link.mass, frame.p + frame.R @ link.com, frame.R @ link.inertia @ frame.R.T)


def _links_beyond(machine: Machine, link: str) -> list[str]:
    links = [link]
    for joint in machine.joints:  # parents come before children
        if joint.parent in links:
            links.append(joint.child)
    return links


def _beyond(tree: Tree, first: set[int]) -> frozenset[int]:
    indices = set(first)
    for k, body in enumerate(tree.bodies):
        if body.parent in indices:
            indices.add(k)
    return frozenset(indices)
