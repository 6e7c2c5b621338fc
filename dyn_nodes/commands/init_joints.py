"""Guesses from a URDF which joints are held, coupled or driven, and their initial positions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import numpy as np

from dyn_nodes.commands.init_contacts import Contact
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.mimic import Mimic, resolved
from dyn_nodes.model.posture import inertia_along, link_poses

MARGIN = 0.01
"""Distance of the initial position from a limit over the joint's range, if 0 is outside the range."""
SINGULAR = 1e-10
"""Least eigenvalue of the mass matrix, scaled to unit diagonal, of joints that can be simulated."""
LEAST_RANGE = 1e-6
"""Range of a leader, rad or m, below which it is considered fixed by the limits of its follower."""


@dataclass(frozen=True)
class Constraint:
    """An entry of `constraints` of the YAML; `source` describes its origin."""

    name: str
    kind: str
    keys: Mapping[str, Any]
    source: str


@dataclass
class Joints:
    """Joints in the YAML.

    Attributes:
        positions: nonzero initial positions, rad or m.
        locked: joint -> reason why it is held.
        classes: joint -> class and reason.
        constraints: couplings.
    """

    positions: dict[str, float] = field(default_factory=dict)
    locked: dict[str, str] = field(default_factory=dict)
    classes: dict[str, tuple[str, str]] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)


@dataclass(frozen=True)
class Loops:
    """The loops that files close in addition to a URDF.

    Attributes:
        constraints: that close them, and couplings.
        joints: movable joints that are part of a loop.
        passive: joints of `joints` without a drive.
        holds_world: whether a loop contains the world.
        mimics: mimic joints, in addition to the mimic joints of the URDF.
    """

    constraints: tuple[Constraint, ...] = ()
    joints: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()
    holds_world: bool = False
    mimics: Mapping[str, Mimic] = field(default_factory=dict)


class Followers:
    """The mimic joints of a machine.

    Args:
        machine: read from its URDF only.
        mimics: of the URDF.

    Attributes:
        mimics: of the movable mimic joints, with the leader at the end of the chain.
        ranges: of the moving leaders, rad or m, with which the followers stay within their limits.
        unmet: mimic joints whose limits prevent any motion of the leader.
    """

    def __init__(self, machine: Machine, mimics: Mapping[str, Mimic]) -> None:
        joints, ends = {joint.name: joint for joint in machine.movable_joints}, resolved(mimics)
        self.mimics = {name: ends[name] for name in joints if name in ends}
        self.ranges = {name: (joints[name].lower, joints[name].upper) for name in joints if name not in self.mimics}
        self.unmet: set[str] = set()
        for name, mimic in self.mimics.items():
            if mimic.leader in self.ranges and mimic.multiplier:
                self._narrow(joints[name], mimic)

    def _narrow(self, joint: Joint, mimic: Mimic) -> None:
        lower, upper = self.ranges[mimic.leader]
        low, high = sorted((limit - mimic.offset) / mimic.multiplier for limit in (joint.lower, joint.upper))
        if min(upper, high) - max(lower, low) < LEAST_RANGE:
            self.unmet.add(joint.name)
        else:
            self.ranges[mimic.leader] = max(lower, low), min(upper, high)

    def of(self, leader: str) -> list[str]:
        """Return the names of the followers of a joint."""
        return [name for name, mimic in self.mimics.items() if mimic.leader == leader]


def start_positions(machine: Machine, followers: Followers) -> dict[str, float]:
    """Return the nonzero initial positions: just inside the limits; mimic joints follow their leaders."""
    positions = {name: _start(*limits) for name, limits in followers.ranges.items()}
    for name, mimic in followers.mimics.items():
        joint = machine.joint(name)
        wanted = mimic.multiplier * positions.get(mimic.leader, 0.0) + mimic.offset
        positions[name] = wanted if joint.lower <= wanted <= joint.upper else _start(joint.lower, joint.upper)
    return {joint.name: positions[joint.name] for joint in machine.movable_joints if positions[joint.name]}


def _start(lower: float, upper: float) -> float:
    if lower <= 0.0 <= upper:
        return 0.0
    inside = MARGIN * (upper - lower) if np.isfinite(upper - lower) else 0.0
    start = lower + inside if lower > 0.0 else upper - inside
    return round(start, 6) if lower < round(start, 6) < upper else start


def guess_joints(
    machine: Machine, followers: Followers, contacts: Iterable[Contact], loops: Loops, lightest: float
) -> Joints:
    """Return joints to hold, constraints and joint classes.

    Args:
        machine: read from its URDF only; joints that move no inertia are allowed.
        followers: its mimic joints.
        contacts: with the ground.
        loops: that other files close; their joints are not held.
        lightest: share of the mass; joints that move less, with their followers, are held.
    """
    spun = {name for contact in contacts for name in contact.joints}
    locked = _locked(machine, followers, spun, loops.joints, lightest)
    result = Joints(start_positions(machine, followers), locked, constraints=list(loops.constraints))
    for name in loops.joints:
        if name in loops.passive:
            result.classes[name] = 'free', 'moves as its loop does'
        elif machine.joint(name).effort_limit == 0.0:
            result.classes[name] = 'actuated', 'effort is limited to 0 in the URDF; it drives a loop'
    for name, mimic in followers.mimics.items():
        if name not in locked and name not in loops.passive:
            result.constraints.append(_coupling(name, mimic))
            result.classes[name] = 'free', 'follows another joint by a coupling, which gives its effort'
    for joint in machine.movable_joints:
        if joint.velocity_limit == 0.0 and joint.name not in {*locked, *followers.mimics, *result.classes}:
            limits = 'effort and velocity are' if joint.effort_limit == 0.0 else 'velocity is'
            result.classes[joint.name] = 'actuated', f'{limits} limited to 0 in the URDF, taken for a placeholder'
    return result


def drive_passive_joints(machine: Machine, joints: Joints, reason: str) -> bool:
    """Set the class of free passive joints (effort 0 in the URDF) to actuated; return whether there are any."""
    named = {*joints.locked, *joints.classes}
    passive = [joint.name for joint in machine.movable_joints if joint.effort_limit == 0.0 and joint.name not in named]
    for name in passive:
        joints.classes[name] = 'actuated', f'effort is limited to 0 in the URDF; passive, {reason}'
    return bool(passive)


def _coupling(joint: str, mimic: Mimic) -> Constraint:
    keys: dict[str, Any] = {'coefficients': {joint: 1.0, mimic.leader: -mimic.multiplier}}
    if mimic.offset:
        keys['offset'] = mimic.offset
    return Constraint(constraint_name(f'mimic_{joint}'), 'coupling', keys, 'joints that follow others: mimic joints')


def constraint_name(text: str, taken: Collection[str] = ()) -> str:
    """Return a text as a unique name of a constraint, of letters, digits and underscores."""
    name = re.sub(r'\W', '_', text, flags=re.ASCII)
    name = name if re.match(NAME, name) else f'c_{name}'
    names = chain([name], (f'{name}_{k}' for k in count(2)))
    return next(unique for unique in names if unique not in taken)


def _locked(
    machine: Machine, followers: Followers, spun: set[str], looped: Collection[str], lightest: float
) -> dict[str, str]:
    """Return the joints to hold, in the order of the machine, each with the reason."""
    moved, reasons = _Moved(machine, start_positions(machine, followers)), {}
    for joint in machine.movable_joints:
        leader = followers.mimics[joint.name].leader if joint.name in followers.mimics else joint.name
        group = [leader, *followers.of(leader)]
        reasons[joint.name] = '' if joint.name in looped else _reason(joint.name, group, moved, spun, lightest)
    for name, mimic in ((name, entry) for name, entry in followers.mimics.items() if name not in looped):
        if not reasons[name] and (reasons.get(mimic.leader, 'fixed') or not mimic.multiplier):
            reasons[name] = f'mimics {mimic.leader}, which does not move it'
        elif not reasons[name] and name in followers.unmet:
            reasons[name] = f'mimics {mimic.leader}, whose range would be empty with the limits of this joint'
    while idle := moved.idle_joint([name for name, reason in reasons.items() if not reason and name not in looped]):
        reasons[idle] = 'moves no independent inertia at its initial position'
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(name: str, group: list[str], moved: _Moved, spun: set[str], lightest: float) -> str:
    """Return the reason to hold a joint, '' for none. `group`: joints that move together with it."""
    if name in spun:
        return 'a wheel or its steering; the contact is a braked wheel'
    if moved.inertia(name) <= 0.0:
        return 'moves no inertia'
    if moved.mass(group) < lightest * moved.total:
        return f'moves less than {lightest:.1%} of the mass'
    return ''


class _Moved:
    """Masses and inertias that the joints of a machine move at specified positions.

    Args:
        machine: the machine.
        positions: nonzero positions of its joints, rad or m.

    Attributes:
        total: mass of the machine, kg.
    """

    def __init__(self, machine: Machine, positions: Mapping[str, float]) -> None:
        self._machine, self._links = machine, {link.name: link for link in machine.links}
        self._poses = link_poses(machine.links, machine.joints, positions)
        self.total = machine.total_mass
        self._below = {link.name: [link.name] for link in machine.links}
        for joint in reversed(machine.joints):
            self._below[joint.parent] += self._below[joint.child]

    def _moved_by(self, joint: str) -> list[str]:
        children = [other.child for other in self._machine.joints if other.name == joint]
        return self._below[children[0]] if children else []

    def mass(self, joints: Iterable[str]) -> float:
        """Return the total mass of the links that some joints move, kg."""
        names = {link for joint in joints for link in self._moved_by(joint)}
        return float(sum(self._links[name].mass for name in names))

    def inertia(self, joint: str) -> float:
        """Return the inertia that a joint moves, kg m2 or kg; 0 for links without mass."""
        links = [self._links[name] for name in self._moved_by(joint)]
        return inertia_along(self._machine.joint(joint), links, self._poses) if self.mass([joint]) > 0.0 else 0.0

    def idle_joint(self, joints: Sequence[str]) -> str:
        """Return a joint that moves only what other joints move too; '' if there is none.

        Such a joint makes the mass matrix singular. Of several joints the last in the order of the machine is returned.
        """
        if not joints:
            return ''
        M = self._mass_matrix(joints)
        scale = np.sqrt(np.diag(M))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] > SINGULAR:
            return ''
        shares = np.abs(vectors[:, 0])
        return joints[int(np.flatnonzero(shares > 0.5 * shares.max())[-1])]

    def _mass_matrix(self, joints: Sequence[str]) -> Array:
        """Return the mass matrix (n, n) of some joints on a fixed base, kg m2 or kg."""
        M = np.zeros((len(joints), len(joints)))
        moved = [set(self._moved_by(name)) for name in joints]
        for name, link in self._links.items():
            movers = [k for k, links in enumerate(moved) if name in links]
            if not link.mass and not link.inertia.any():
                continue
            R = self._poses[name][:3, :3]
            at = self._poses[name][:3, 3] + R @ link.com
            movers_of_link = [self._machine.joint(joints[k]) for k in movers]
            J = np.array([unit_rates(joint, self._poses[joint.child], at) for joint in movers_of_link]).reshape(-1, 6)
            turn, travel = J[:, :3], J[:, 3:]
            M[np.ix_(movers, movers)] += turn @ R @ link.inertia @ R.T @ turn.T + link.mass * travel @ travel.T
        return M


def unit_rates(joint: Joint, frame: Array, point: Array) -> Array:
    """Return the angular and linear velocity (6,) of a point for a unit rate of a joint.

    Args:
        joint: revolute, continuous or prismatic.
        frame: (4, 4) pose of its child link, in the axes of the point.
        point: (3,), m.
    """
    axis = frame[:3, :3] @ joint.axis
    if joint.type == 'prismatic':
        return np.concatenate([np.zeros(3), axis])
    return np.concatenate([axis, np.cross(axis, point - frame[:3, 3])])
