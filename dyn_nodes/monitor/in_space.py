"""A planar machine as a spatial one, for components that need machines on three wheels or more, such as a governor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.wheel import Wheel

SIDES = (('left', 1.0), ('right', -1.0))
ACROSS = np.array([0.0, 1.0, 0.0])
"""Normal of the plane in which a planar machine moves, in the axes of its base."""


def in_space(machine: Machine) -> Machine:
    """Return a planar machine with a free base, symmetric about its plane; another machine unchanged.

    Every wheel becomes two, half as stiff and damped: `rear` becomes `rear_left` and `rear_right`. Their distance
    equals the distance of the first and the last wheel of the machine, so that no edge at its side is nearer than those
    ahead and behind. Motion in the plane is unchanged, and there is no motion out of it.

    Raises:
        ValueError: its wheels are not at two positions along it, or it has other contacts.
    """
    if machine.base.attachment != 'planar':
        return machine
    if machine.contacts:
        names = ', '.join(contact.name for contact in machine.contacts)
        raise ValueError(f'{machine.name}: expected a planar machine on wheels alone, found {names}')
    poses = link_poses(machine.links, machine.joints, machine.initial.joint_positions)
    along = [float(poses[wheel.link][0, :3] @ wheel.position + poses[wheel.link][0, 3]) for wheel in machine.wheels]
    apart = max(along, default=0.0) - min(along, default=0.0)
    if not apart > 0.0:
        raise ValueError(f'{machine.name}: expected wheels at two positions along a planar machine, found one at most')
    wheels = [
        _half(wheel, side, 0.5 * apart * sign * (poses[wheel.link][:3, :3].T @ ACROSS))
        for wheel in machine.wheels
        for side, sign in SIDES
    ]
    return replace(machine, base=replace(machine.base, attachment='free'), wheels=tuple(wheels))


def _half(wheel: Wheel, side: str, offset: np.ndarray) -> Wheel:
    """Return half a wheel at an offset (3,) from it, m, in the axes of its link."""
    return replace(
        wheel,
        name=f'{wheel.name}_{side}',
        position=wheel.position + offset,
        stiffness=0.5 * wheel.stiffness,
        damping=0.5 * wheel.damping,
    )
