"""Guesses from a URDF: contacts with the ground, joints to hold, the implement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.commands.init_contacts import Contact, find_contacts
from dyn_nodes.commands.init_joints import Followers, Joints, Loops, guess_joints, start_positions
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.mimic import Mimic
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.shapes import Shapes

SAG = 0.008
"""Static sag over the greatest distance of two contacts: 25 mm for a log-loader, 4 mm for a robot of 0.5 m."""
MOST_SAG = 0.3
"""Greatest static sag over the length of the shortest strut."""
DAMPING_RATIO = 0.3
IMPLEMENTS = (
    *('payload', 'tool0', 'tcp', 'ee_link', 'end_effector', 'grasp', 'grapple', 'bucket', 'hook', 'fork'),
    *('gripper', 'tool', 'flange', 'hand', 'tip'),
)
"""Parts of names of an implement's link, the most specific first."""


@dataclass
class Guess:
    """Guesses for a machine.

    Attributes:
        joints: held, coupled and driven joints and their initial positions.
        contacts: with the ground.  how_contacts: how they were found.
        stiffness: of a contact, N/m.  damping: N s/m.  sag: m.  how_sag: how it was chosen.
        payload: link, or ''.  how_payload: how it was found.  payload_limit: kg.
        reactions: joints whose reactions are published.
        mass: of the machine, kg.
    """

    joints: Joints
    contacts: list[Contact] = field(default_factory=list)
    how_contacts: str = ''
    stiffness: float = 0.0
    damping: float = 0.0
    sag: float = 0.0
    how_sag: str = ''
    payload: str = ''
    how_payload: str = ''
    payload_limit: float = 0.0
    reactions: list[str] = field(default_factory=list)
    mass: float = 0.0


def guess_machine(
    machine: Machine, shapes: Shapes, mimics: Mapping[str, Mimic], loops: Loops, lightest: float
) -> Guess:
    """Return guesses for a machine that was read from its URDF only.

    Args:
        machine: with a fixed base; joints that move no inertia are allowed.
        shapes: of its links.
        mimics: mimic joints of the URDF.
        loops: that other files close.
        lightest: share of the mass; joints that move less are held.
    """
    followers = Followers(machine, mimics)
    poses = link_poses(machine.links, machine.joints, start_positions(machine, followers))
    contacts, how = find_contacts(machine, shapes, poses)
    guess = Guess(guess_joints(machine, followers, contacts, loops, lightest), contacts, how, mass=machine.total_mass)
    _springs(guess, machine)
    _implement(guess, machine)
    return guess


def _springs(guess: Guess, machine: Machine) -> None:
    if not guess.contacts:
        return
    positions = np.array([contact.ground[:2] for contact in guess.contacts])
    extent = float(np.linalg.norm(positions[:, None] - positions[None, :], axis=2).max())
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
        moves = joint.movable and joint.name not in guess.joints.locked
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
            guess.payload, guess.how_payload = named[-1], f'behind {deepest} joints, and its name contains {word!r}'
            break
    else:
        guess.payload, guess.how_payload = far[-1], f'at the end of the longest chain, behind {deepest} joints'
    guess.payload_limit = float(f'{0.1 * machine.total_mass:.2g}')
    first = next(
        (joint.name for joint in before[guess.payload] if re.match(r'^[A-Za-z][A-Za-z0-9_]*$', joint.name)), ''
    )
    guess.reactions = [first] if first else []
