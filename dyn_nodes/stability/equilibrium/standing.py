"""Supports that carry a machine in a posture, and the joints that move them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.equilibrium import LEAST_GRAVITY, Stance, gravity_in_ground, stance_at
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import (
    attachment_points,
    carrying_links,
    initial_positions,
    link_poses,
    moved_links,
)
from dyn_nodes.stability.equilibrium.gear import GearError, RunningGear, neutral, running_gear
from dyn_nodes.stability.equilibrium.tipping import settle

LEAST_STANCE = 0.02
"""Least ratio of the singular values of the heights of the supports by height and angles of base and pivots, m."""


def moving_joints(machine: Machine) -> tuple[str, ...]:
    """Return the joints that move supports against the base: joints that give way and driven joints such as legs."""
    standing = carrying_links(machine)
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    return tuple(
        joint.name for joint in machine.movable_joints if joint.child in standing and not neutral(machine, joint, poses)
    )


def gives_way(machine: Machine) -> tuple[str, ...]:
    """Return the joints without a drive between base and supports; empty: the machine stands as one body."""
    idle = machine.idle_joints
    return tuple(
        name for name in moving_joints(machine) if name in idle and idle[name] in ('passive', 'free', 'flexible')
    )


def at_rest(machine: Machine) -> tuple[Machine, Stance] | None:
    """Return a machine with its joints at rest, and its stance.

    Return None if it overturns, and for a machine that does not stand on springs alone (`running_gear`).

    Args:
        machine: with its payload.
    """
    if machine.gravity < LEAST_GRAVITY or machine.total_mass <= 0.0:
        return None
    try:
        running = running_gear(machine)
    except GearError:
        return None
    payload = 0.0 if machine.payload is None else machine.payload.mass
    rest = settle(running, payload, gravity_in_ground(machine))
    if rest is None:
        return None
    base, q = running.gear.base + 1, [float(value) for value in rest.q]
    height, pitch, roll = (*q[:base], 0.0)[:3]
    positions = running.positions | dict(zip(running.joints[base:], q[base:]))
    resting = replace(machine, initial=replace(machine.initial, joint_positions=positions))
    return resting, stance_at(machine, positions, height, roll, pitch)


def observed_joints(machine: Machine) -> tuple[str, ...]:
    """Return the joints whose positions a balance reads: all of a machine that gives way, else the moving joints."""
    moving = moving_joints(machine) if machine.base.attachment != 'fixed' and machine.supports else ()
    return tuple(joint.name for joint in machine.movable_joints) if moving and gives_way(machine) else moving


def position_output(joint: str) -> str:
    """Return the name of the output with the position of a joint."""
    return f'{joint}/position'


def standing_supports(machine: Machine, positions: Mapping[str, float] | None = None) -> NDArray[np.bool_]:
    """Return (c,) True for supports that carry, or would before the machine moves by more than its springs yield.

    Args:
        machine: with supports, without its payload.
        positions: of joints by name, in place of the initial positions, rad or m.
    """
    everything = np.ones(len(machine.supports), dtype=bool)
    if machine.total_mass <= 0.0 or machine.gravity <= 0.0:
        return everything
    at = {**initial_positions(machine), **(positions or {})}
    poses = link_poses(machine.links, machine.joints, at)
    touch = [
        support.free_length - poses[support.link][2, :3] @ support.position - poses[support.link][2, 3]
        for support in machine.supports
    ]
    sag = machine.total_mass * machine.gravity / sum(support.stiffness for support in machine.supports)
    if np.ptp(touch) < sag:
        return everything
    try:
        return carried(running_gear(machine, positions))
    except GearError:
        return everything


def carried(running: RunningGear) -> NDArray[np.bool_]:
    """Return `standing_supports` of a running gear; all True for a machine that does not stand."""
    rest = settle(running, 0.0, np.array([0.0, 0.0, -running.machine.gravity]))
    if rest is None:
        return np.ones(len(running.supports), dtype=bool)
    return np.asarray(rest.compression > -float(rest.compression.max()))


def check_rigid(machine: Machine, wanted: str) -> None:
    """Raise GearError if joints give way under a machine, for a calculation that treats it as one body.

    Args:
        machine: the machine.
        wanted: name of the calculation, for the message.
    """
    loose = gives_way(machine)
    if loose:
        raise GearError(
            f'{machine.name}: {wanted}: expected supports that are rigid with the base, found '
            f'{", ".join(repr(name) for name in loose)} without a drive between base and supports'
        )


def check_pivots(machine: Machine, wanted: str) -> None:
    """Raise GearError if joints that give way under a machine are other than free pivots on which the base stands.

    Args:
        machine: the machine.
        wanted: name of the calculation, for the message.
    """
    loose = gives_way(machine)
    if not loose:
        return
    expected = f'{machine.name}: {wanted}: expected supports that are rigid with the base or on free pivots, found'
    for name in loose:
        joint, kind = machine.joint(name), machine.idle_joints[name]
        if kind == 'flexible' or joint.type == 'prismatic' or joint.friction:
            found = 'dry friction' if joint.friction and kind != 'flexible' else f'the class {kind}, {joint.type}'
            raise GearError(f'{expected} {name!r} with {found}')
    if machine.constraints:
        raise GearError(f'{expected} {", ".join(repr(entry.name) for entry in machine.constraints)} beside {loose}')
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    rows = []
    standing = [support for support, stands in zip(machine.supports, standing_supports(machine)) if stands]
    for support, point in zip(standing, attachment_points(standing, poses)):
        row = [1.0, point[1], -point[0]]
        for joint in (machine.joint(name) for name in loose):
            pose = poses[joint.child]
            turned = np.cross(pose[:3, :3] @ joint.axis, point - pose[:3, 3])[2]
            row.append(turned if support.link in moved_links(machine, joint) else 0.0)
        rows.append(row)
    values = np.linalg.svd(np.array(rows), compute_uv=False) if len(rows) >= 3 + len(loose) else np.zeros(1)
    if values[-1] <= LEAST_STANCE * values[0]:
        names = ', '.join(repr(name) for name in loose)
        raise GearError(f'{machine.name}: {wanted}: expected a base held by its supports, found it free on {names}')


def on_standing_wheels(machine: Machine) -> Machine:
    """Return a machine without the wheels that do not carry load in its initial posture."""
    standing = standing_supports(machine) if machine.supports else np.ones(0, dtype=bool)
    wheels = tuple(wheel for wheel, stands in zip(machine.wheels, standing) if stands)
    return machine if len(wheels) == len(machine.wheels) else replace(machine, wheels=wheels)
