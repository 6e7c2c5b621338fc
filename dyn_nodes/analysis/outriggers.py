"""Outriggers of a machine: its driven legs and beams, and the positions of their joints in named states.

A leg is a driven slide along the vertical that moves supports, a beam a driven slide along the ground. Three or more
legs lift the wheels clear of the ground; fewer legs are pressed into it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import carrying_links, initial_positions, link_poses, moved_links
from dyn_nodes.stability.equilibrium.gear import GearError, running_gear
from dyn_nodes.stability.equilibrium.tipping import settle

ALONG = 0.2
"""Greatest sine of the angle of a slide to the vertical, or to the ground."""
CLEAR, PRESSED = 0.05, 0.02
"""Gap below unloaded wheels of a machine on outriggers that yield, and travel of fewer legs into the ground, m."""
LIFTING = 3
"""Number of legs that lift the wheels off the ground."""
RAISED = 'outriggers raised'
SHORT = ('raised', 'retracted', 'half', 'extended', 'down', 'left', 'right')
"""Names of states on the command line; left, right: on this side only."""


class OutriggerError(UserError, ValueError):
    """An outrigger does not reach the ground, or there is no such state."""


class Outriggers(NamedTuple):
    """Legs and beams of a machine, and the names of the supports of the legs."""

    legs: tuple[Joint, ...]
    beams: tuple[Joint, ...]
    pads: tuple[str, ...]


def outriggers_of(machine: Machine) -> Outriggers:
    """Return the legs and beams of a machine; empty without any."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    driven, carrying = {joint.name for joint in machine.actuated_joints}, carrying_links(machine)
    legs, beams = [], []
    for joint in machine.movable_joints:
        if joint.type != 'prismatic' or joint.child not in carrying or joint.name not in driven:
            continue
        upright = abs(float((poses[joint.child][:3, :3] @ joint.axis)[2]))
        if upright > 1.0 - ALONG:
            legs.append(joint)
        elif upright < ALONG:
            beams.append(joint)
    moved = {link for joint in legs for link in moved_links(machine, joint)}
    return Outriggers(tuple(legs), tuple(beams), tuple(each.name for each in machine.supports if each.link in moved))


def outrigger_states(machine: Machine) -> dict[str, dict[str, float]]:
    """Return positions of legs and beams, m, by the name of the state; empty for a machine without legs.

    Raises:
        OutriggerError: a leg does not reach the ground.
    """
    legs, beams, _ = outriggers_of(machine)
    if not legs:
        return {}
    sides = {joint.name: _side(machine, joint) for joint in (*legs, *beams)}
    raised = {joint.name: _up(machine, joint) for joint in legs}
    spread = {
        share: {joint.name: joint.lower + share * (joint.upper - joint.lower) for joint in beams}
        for share in (0, 0.5, 1)
    }
    down = _down(machine, {**raised, **spread[1]}, legs)
    states = {RAISED: {**raised, **spread[0]}}
    if beams:
        names = {0: 'outriggers retracted', 0.5: 'outriggers half extended', 1: 'outriggers extended'}
        states |= {name: {**down, **spread[share]} for share, name in names.items()}
    else:
        states['outriggers down'] = down
    for name, side in (('left', 1.0), ('right', -1.0)):
        part = {joint: at for joint, at in (spread[1] if beams else down).items() if sides[joint] == side}
        if part and len(part) < len(sides):
            kind = 'extended' if beams else 'down'
            states[f'outriggers {kind} on the {name} only'] = {**(down if beams else raised), **spread[0], **part}
    return states


def _side(machine: Machine, joint: Joint) -> float:
    """Return 1 for a joint that moves supports on the left side, -1 on the right side, 0 on both."""
    poses, moved = link_poses(machine.links, machine.joints, initial_positions(machine)), moved_links(machine, joint)
    signs = {
        float(np.sign(round(float(poses[each.link][1, :3] @ each.position + poses[each.link][1, 3]), 6)))
        for each in machine.supports
        if each.link in moved
    }
    return signs.pop() if len(signs) == 1 else 0.0


def _downward(machine: Machine, joint: Joint) -> float:
    """Return 1 if a leg moves down as the position of its joint grows, else -1."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    return -float(np.sign((poses[joint.child][:3, :3] @ joint.axis)[2]))


def _up(machine: Machine, joint: Joint) -> float:
    return joint.lower if _downward(machine, joint) > 0.0 else joint.upper


def _down(machine: Machine, raised: dict[str, float], legs: tuple[Joint, ...]) -> dict[str, float]:
    """Return positions of the legs with their pads on the ground, m, from positions with raised legs."""
    try:
        running = running_gear(machine, raised)
    except GearError as error:
        raise OutriggerError(str(error)) from None
    rest = settle(running, 0.0, np.array([0.0, 0.0, -machine.gravity]))
    if rest is None:
        raise OutriggerError(f'{machine.name}: no equilibrium with raised outriggers')
    ground = -float(rest.q[0]) - PRESSED
    if len(legs) >= LIFTING:
        moved = {link for joint in legs for link in moved_links(machine, joint)}
        stiffness = sum(each.stiffness for each in machine.supports if each.link in moved)
        ground = -float(running.start[0]) - CLEAR - machine.total_mass * machine.gravity / stiffness
    poses, result = link_poses(machine.links, machine.joints, {**initial_positions(machine), **raised}), {}
    for joint in legs:
        moved = moved_links(machine, joint)
        bottom = min(
            poses[each.link][2, :3] @ each.position + poses[each.link][2, 3] - each.free_length
            for each in machine.supports
            if each.link in moved
        )
        position = raised[joint.name] + _downward(machine, joint) * (float(bottom) - ground)
        if not joint.lower - 1e-9 <= position <= joint.upper + 1e-9:
            raise OutriggerError(
                f'{machine.name}: outrigger {joint.name!r}: expected limits that include {position:.3f} m, with its '
                f'pad on the ground, found {joint.lower:g} to {joint.upper:g} m'
            )
        result[joint.name] = float(np.clip(position, joint.lower, joint.upper))
    return result


def state_named(machine: Machine, short: str) -> tuple[str, dict[str, float]]:
    """Return the name of a state of the outriggers and its positions, m.

    Args:
        machine: the machine.
        short: one of `SHORT`.

    Raises:
        OutriggerError: the machine has no such state, or a leg does not reach the ground.
    """
    states = outrigger_states(machine)
    for name, positions in states.items():
        part = name.removeprefix('outriggers ')
        if part == short or (short == 'half' and part.startswith('half')) or part.endswith(f'on the {short} only'):
            return name, positions
    expected = ', '.join(states) or 'no outriggers: no driven slide moves supports along the vertical'
    raise OutriggerError(f'{machine.name}: outriggers {short}: expected {expected}')


def with_outriggers(machine: Machine, short: str) -> Machine:
    """Return a machine with its outriggers in a state as initial posture; see `state_named`.

    Args:
        machine: the machine.
        short: one of `SHORT`, or empty: the initial posture of the machine file.
    """
    if not short:
        return machine
    positions = {**machine.initial.joint_positions, **state_named(machine, short)[1]}
    return replace(machine, initial=replace(machine.initial, joint_positions=positions))


def with_extension(machine: Machine, share: float | None) -> Machine:
    """Return a machine whose telescopes between base and payload keep one extension.

    Args:
        machine: with a payload.
        share: part of the travel of each telescope; None: they move.

    Raises:
        OutriggerError: no telescope between base and payload.
    """
    if share is None or machine.payload is None:
        return machine
    driven, carrying = {joint.name for joint in machine.actuated_joints}, carrying_links(machine)
    path = [joint for joint in machine.joints if machine.payload.link in moved_links(machine, joint)]
    names = [
        joint.name
        for joint in path
        if joint.type == 'prismatic' and joint.name in driven and joint.child not in carrying
    ]
    if not names:
        raise OutriggerError(f'{machine.name}: telescope length: expected a sliding joint in the arm, found none')
    joints, positions = [], dict(machine.initial.joint_positions)
    for joint in machine.joints:
        if joint.name in names:
            positions[joint.name] = joint.lower + share * (joint.upper - joint.lower)
            joint = replace(joint, lower=positions[joint.name], upper=positions[joint.name])
        joints.append(joint)
    return replace(machine, joints=tuple(joints), initial=replace(machine.initial, joint_positions=positions))
