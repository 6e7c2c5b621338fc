"""What a URDF lets one guess of a machine: contacts with the ground, joints to hold, the implement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.commands.init_contacts import Contact, find_contacts
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.shapes import Shapes

Array = NDArray[np.float64]
LITTLE = 0.005
"""A joint that moves less than this part of the machine's mass matters nothing to its balance."""
SAG = 0.008
"""Static sag over the greatest distance of two contacts: 25 mm of a log-loader, 4 mm of a robot of half a metre."""
MOST_SAG = 0.3
"""Static sag over the length of the shortest strut, at most."""
DAMPING_RATIO = 0.3
IMPLEMENTS = (
    *('payload', 'tool0', 'tcp', 'ee_link', 'end_effector', 'grasp', 'grapple', 'bucket', 'hook', 'fork'),
    *('gripper', 'tool', 'flange', 'hand', 'tip'),
)
"""What the link of an implement is called, the surest name first."""
MARGIN = 0.01
"""Of a joint's range: how far inside its limits it starts where 0 is outside."""


@dataclass
class Guess:
    """What was guessed.

    Attributes:
        positions: initial joint positions, rad or m, where 0 lies outside the limits.
        contacts: with the ground.  how_contacts: how they were found.
        locked: joint -> why it is held.
        stiffness: of a contact, N/m.  damping: N s/m.  sag: m.  how_sag: it was chosen.
        payload: link, or ''.  how_payload: how it was found.  payload_limit: kg.
        reactions: joints whose reaction may interest.
        mass: of the machine, kg.
    """

    positions: dict[str, float] = field(default_factory=dict)
    contacts: list[Contact] = field(default_factory=list)
    how_contacts: str = ''
    locked: dict[str, str] = field(default_factory=dict)
    stiffness: float = 0.0
    damping: float = 0.0
    sag: float = 0.0
    how_sag: str = ''
    payload: str = ''
    how_payload: str = ''
    payload_limit: float = 0.0
    reactions: list[str] = field(default_factory=list)
    mass: float = 0.0


def guess_machine(machine: Machine, shapes: Shapes, mimics: set[str]) -> Guess:
    """Return guesses for a machine that was read from its URDF alone.

    Args:
        machine: with a fixed base; joints that move no inertia are allowed.
        shapes: of its links.
        mimics: names of the joints that mimic another.
    """
    guess = Guess(mass=machine.total_mass)
    for joint in machine.movable_joints:
        if not joint.lower <= 0.0 <= joint.upper:
            span = joint.upper - joint.lower
            inside = MARGIN * span if np.isfinite(span) else 0.0
            guess.positions[joint.name] = joint.lower + inside if joint.lower > 0.0 else joint.upper - inside
    poses = link_poses(machine.links, machine.joints, guess.positions)
    guess.contacts, guess.how_contacts = find_contacts(machine, shapes, poses)
    guess.locked = _locked(machine, guess.contacts, mimics)
    _springs(guess, machine)
    _implement(guess, machine)
    return guess


def _locked(machine: Machine, contacts: list[Contact], mimics: set[str]) -> dict[str, str]:
    """Return the joints to hold, in the order of the machine, each with the reason."""
    moved = _moved(machine)
    spun = {name for contact in contacts for name in contact.joints}
    reasons = {}
    for joint in machine.movable_joints:
        mass, inertia = moved[joint.name]
        if joint.name in spun:
            reasons[joint.name] = 'a wheel, or what steers it; the contact below it is that of a braked wheel'
        elif joint.name in mimics:
            reasons[joint.name] = 'mimics another joint, which is not enforced here'
        elif mass <= 0.0 or inertia <= 0.0:
            reasons[joint.name] = 'moves no inertia'
        elif mass < LITTLE * machine.total_mass:
            reasons[joint.name] = f'moves less than {LITTLE:.1%} of the mass'
    return reasons


def _moved(machine: Machine) -> dict[str, tuple[float, float]]:
    """Return the mass, kg, and an upper bound of the inertia, kg m2 or kg, that each joint moves."""
    links = {link.name: link for link in machine.links}
    poses = link_poses(machine.links, machine.joints, {})
    below: dict[str, list[str]] = {link.name: [link.name] for link in machine.links}
    for joint in reversed(machine.joints):
        below[joint.parent] += below[joint.child]
    result = {}
    for joint in machine.movable_joints:
        bodies = [links[name] for name in below[joint.child]]
        mass = sum(body.mass for body in bodies)
        frame = poses[joint.child]
        axis = frame[:3, :3] @ joint.axis
        inertia = 0.0
        for body in bodies:
            pose = poses[body.name]
            arm = np.cross(axis, pose[:3, :3] @ body.com + pose[:3, 3] - frame[:3, 3])
            local = pose[:3, :3].T @ axis
            inertia += float(local @ body.inertia @ local) + body.mass * float(arm @ arm)
        result[joint.name] = (mass, mass if joint.type == 'prismatic' else inertia)
    return result


def _springs(guess: Guess, machine: Machine) -> None:
    if not guess.contacts:
        return
    places = np.array([contact.ground[:2] for contact in guess.contacts])
    extent = float(np.linalg.norm(places[:, None] - places[None, :], axis=2).max())
    share = machine.total_mass / len(guess.contacts)
    shortest = min(contact.free_length for contact in guess.contacts)
    guess.sag = min(SAG * extent, MOST_SAG * shortest)
    guess.how_sag = f'{SAG:.1%} of the greatest distance of two contacts'
    if guess.sag < SAG * extent:
        guess.how_sag = f'{MOST_SAG:.0%} of the shortest strut'
    guess.stiffness = share * machine.gravity / guess.sag
    guess.damping = 2.0 * DAMPING_RATIO * float(np.sqrt(guess.stiffness * share))


def _implement(guess: Guess, machine: Machine) -> None:
    before: dict[str, list[Joint]] = {machine.links[0].name: []}
    for joint in machine.joints:
        moves = joint.movable and joint.name not in guess.locked
        before[joint.child] = before[joint.parent] + ([joint] if moves else [])
    legs = {joint.name for contact in guess.contacts for joint in before[contact.link]}
    behind = {link: len(joints) for link, joints in before.items() if joints and joints[-1].name not in legs}
    if not behind:
        return
    deepest = max(behind.values())
    far = [link for link, count in behind.items() if count == deepest]
    for word in IMPLEMENTS:
        named = [name for name in far if word in name.lower()]
        if named:
            guess.payload, guess.how_payload = named[-1], f'behind {deepest} joints, and its name says {word!r}'
            break
    else:
        guess.payload, guess.how_payload = far[-1], f'at the end of the longest chain, behind {deepest} joints'
    guess.payload_limit = float(f'{0.1 * machine.total_mass:.2g}')
    first = next(
        (joint.name for joint in before[guess.payload] if re.match(r'^[A-Za-z][A-Za-z0-9_]*$', joint.name)), ''
    )
    guess.reactions = [first] if first else []
