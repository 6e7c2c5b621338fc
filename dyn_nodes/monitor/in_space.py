"""A planar machine as one in space: what knows machines on three wheels or more, such as a governor, knows it too."""

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
    """Return a planar machine with a free base, symmetric about its plane; another machine as it is.

    Every wheel becomes two, half as stiff and damped, `rear` so `rear_left` and `rear_right`. They stand as far apart
    as the first and the last of the machine, so that no edge at its side is nearer than those ahead and behind. What
    moves in the plane moves as before, and nothing moves out of it.

    Raises:
        ValueError: its wheels are not at two places along it, or it stands on other contacts.
    """
    if machine.base.attachment != 'planar':
        return machine
    if machine.contacts:
        names = ', '.join(own.name for own in machine.contacts)
        raise ValueError(f'{machine.name}: expected a planar machine on wheels alone, found {names}')
    poses = link_poses(machine.links, machine.joints, machine.initial.joint_positions)
    along = [float(poses[own.link][0, :3] @ own.position + poses[own.link][0, 3]) for own in machine.wheels]
    apart = max(along, default=0.0) - min(along, default=0.0)
    if not apart > 0.0:
        raise ValueError(f'{machine.name}: expected wheels at two places along a planar machine, found one at most')
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
