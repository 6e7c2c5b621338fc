"""Check of the ground reactions along a planned motion, with the tightest wheel and possible corrections.

The base stays parallel to the ground at its height at rest, as if its springs were stiff, and wheels roll as the motion
requires. Recursive Newton-Euler gives the load, `admissible_reactions` the reactions of the ground (tanner-1998, C22).

A motion slower by a factor k has k times the velocities and k^2 times the accelerations, and so is their part of the
load: the margin is a concave function of k^2, and bisection gives the greatest admissible k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.motion_plan import MotionPlan
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.measures import MEASURES
from dyn_nodes.model.equilibrium import gravity_in_ground
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.stability import AdmissibleReactions, admissible_reactions
from dyn_nodes.stability.equilibrium.standing import check_rigid, on_standing_wheels
from dyn_nodes.stability.grip import check_points, free_directions, grip_of

TOLERANCE = 1e-6
"""Tolerance of the balance as a part of the load."""
ROUGH = 1e3
"""Factor of the friction coefficients at which wheels lift before they slide."""
HALVINGS = 40
MOST_INSTANTS = 200_000
SIDE_STEPS = 60
"""Number of positions of a joint tried on each side."""


class ContactCheckError(UserError, ValueError):
    """The ground reactions of a machine or a motion cannot be checked; the message has the reason."""


class Reactions(NamedTuple):
    """Reactions at t instants; see `AdmissibleReactions`."""

    times: Array
    result: AdmissibleReactions


class Breach(NamedTuple):
    """An interval of a motion with too small a margin.

    Attributes:
        start, end: first and last instant, s.
        worst: instant with the least margin, s.
        margin: margin at `worst`, N.
        wheel: tightest wheel at `worst`.
        friction_use: of this wheel, with forces of least norm; inf on a wheel under tension.
        lifts: no friction is sufficient: a wheel lifts.
    """

    start: float
    end: float
    worst: float
    margin: float
    wheel: str
    friction_use: float
    lifts: bool


class OtherPosture(NamedTuple):
    """A change of one joint at one instant, rad or m, and the resulting margin, N."""

    joint: str
    change: float
    margin: float


@dataclass(frozen=True, eq=False)
class ContactReport:
    """The reactions along a motion.

    Attributes:
        plan: the motion.
        wheels: names of the wheels.
        reactions: reactions at all instants.
        wanted: required margin, N.
        breaches: intervals in which it is violated.
        pace: greatest factor of the speed, at most 1, that keeps the margin everywhere; None if it is violated even at
            rest.
        posture: least change of one joint that keeps the margin at the worst instant; None if no single joint can.
    """

    plan: MotionPlan
    wheels: tuple[str, ...]
    reactions: Reactions
    wanted: float
    breaches: tuple[Breach, ...]
    pace: float | None
    posture: OtherPosture | None


class ContactCheck:
    """Check of the ground reactions of a machine along motions.

    Args:
        machine: machine with at least three sprung wheels, without closed loops and tracks.
        payload: kg.
        friction: static coefficient of all wheels that have friction; None: the machine's.

    Raises:
        ContactCheckError: an unsuitable machine, or wheels without friction.
    """

    def __init__(self, machine: Machine, payload: float, friction: float | None = None) -> None:
        try:
            check_points(machine, MEASURES['admissible'])
            if machine.needs_constraints:
                raise ValueError(f'{machine.name}: expected a machine without constraints')
            check_rigid(machine, 'contact plan')
            machine = on_standing_wheels(machine)
            self._model = LoadModel(machine)
        except (KeyError, ValueError) as error:
            raise ContactCheckError(str(error.args[0])) from None
        if len(machine.wheels) < 3:
            raise ContactCheckError(f'{machine.name}: expected three wheels or more, found {len(machine.wheels)}')
        grip = grip_of(machine)
        if not grip.friction.any():
            raise ContactCheckError(f'{machine.name}: expected wheels with friction, found none')
        self.machine, self.payload, self._grip = machine, payload, grip
        self.wheels = tuple(wheel.name for wheel in machine.wheels)
        self.friction = grip.friction if friction is None else np.where(grip.friction > 0.0, friction, 0.0)
        self._rolls = np.array([wheel.rolling is not None for wheel in machine.wheels])
        self._ground = _ground_height(machine)
        yaw = machine.initial.base_yaw
        self._gravity = _turned(np.array([-yaw]), gravity_in_ground(machine)[None])[0]

    def reactions(self, plan: MotionPlan, times: Array, pace: float = 1.0) -> AdmissibleReactions:
        """Return the reactions at times of the plan (t,), for a motion `pace` times as fast."""
        base, joints = plan.sampled(times)
        scaled = (base[0], pace * base[1], pace**2 * base[2]), (joints[0], pace * joints[1], pace**2 * joints[2])
        return self._reactions(*scaled, self.friction)

    def _reactions(
        self, base: tuple[Array, Array, Array], joints: tuple[Array, Array, Array], friction: Array
    ) -> AdmissibleReactions:
        count, yaw = len(base[0]), base[0][:, 2]
        motion = np.zeros((count, 9))
        motion[:, 2], motion[:, 5] = base[1][:, 2], base[2][:, 2]
        away = np.column_stack([base[2][:, :2], np.zeros(count)])
        motion[:, 6:] = _turned(yaw, away - self._gravity)
        q, v, a = (np.ascontiguousarray(part) for part in joints)
        load = self._model.evaluate_batch(q, v, a, motion, np.full(count, self.payload))
        points = load.attachments.copy()
        points[..., 2] = self._ground
        return admissible_reactions(
            points,
            np.zeros(3),
            load.force,
            load.moment,
            friction=friction,
            rolling=free_directions(self._grip, load.axles, self._rolls),
            traction=self._grip.traction,
            tolerance=TOLERANCE,
            ranges=False,
        )

    def report(self, plan: MotionPlan, step: float = 0.01, wanted: float = 0.0) -> ContactReport:
        """Return the report of a motion, checked every `step`, s, and at its points, for a margin of `wanted`, N.

        Raises:
            ContactCheckError: more than `MOST_INSTANTS`, or a curve that leaves the limits of a joint.
        """
        count = plan.times[-1] / step
        if count > MOST_INSTANTS:
            expected = f'at most {MOST_INSTANTS} instants, {step:g} s apart'
            raise ContactCheckError(f'points: expected {expected}, found {count:.0f} in {plan.times[-1]:g} s')
        times = np.unique(np.concatenate([np.arange(0.0, plan.times[-1], step), plan.times]))
        self._check_joints(plan, times)
        reactions = self.reactions(plan, times)
        # `possible` tolerates round-off
        kept = reactions.possible if wanted == 0.0 else reactions.margin >= wanted
        breaches = tuple(self._breach(plan, times, reactions, part) for part in _stretches(~kept))
        pace = 1.0 if not breaches else self._pace(plan, times, wanted)
        posture = None
        if breaches:
            worst = min(breaches, key=lambda breach: breach.margin)
            posture = self.other_posture(plan, worst.worst, wanted)
        return ContactReport(plan, self.wheels, Reactions(times, reactions), wanted, breaches, pace, posture)

    def _check_joints(self, plan: MotionPlan, times: Array) -> None:
        """Reject a curve that leaves the limits of a joint between its points."""
        positions = plan.sampled(times)[1][0]
        for k, joint in enumerate(self.machine.movable_joints):
            outside = (positions[:, k] < joint.lower - TOLERANCE) | (positions[:, k] > joint.upper + TOLERANCE)
            if outside.any():
                at = int(np.argmax(outside))
                raise ContactCheckError(
                    f'{joint.name}: expected {joint.lower:g} to {joint.upper:g} along the motion, found '
                    f'{positions[at, k]:.4g} at {times[at]:.3g} s'
                )

    def _breach(self, plan: MotionPlan, times: Array, reactions: AdmissibleReactions, part: NDArray[np.intp]) -> Breach:
        at = int(part[np.argmin(reactions.margin[part])])
        base, joints = plan.sampled(times[at : at + 1])
        rough = self._reactions(base, joints, ROUGH * self.friction)
        tightest = int(reactions.tightest[at])
        if tightest < 0:  # no reactions balance the load
            tightest = int(np.argmin(np.nan_to_num(reactions.slack[at], nan=-np.inf)))
        return Breach(
            float(times[part[0]]),
            float(times[part[-1]]),
            float(times[at]),
            float(reactions.margin[at]),
            self.wheels[tightest],
            float(reactions.friction_use[at, tightest]),
            not bool(rough.possible[0]),
        )

    def _pace(self, plan: MotionPlan, times: Array, wanted: float) -> float | None:
        """Return the greatest factor of the speed below 1 that keeps the margin; None if even 0 violates it."""

        def kept(square: float) -> bool:
            reactions = self.reactions(plan, times, float(np.sqrt(square)))
            return bool(reactions.possible.all() and reactions.margin.min() >= wanted)

        if not kept(0.0):
            return None
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if kept(middle) else (low, middle)
        return float(np.sqrt(low))

    def other_posture(self, plan: MotionPlan, time: float, wanted: float = 0.0) -> OtherPosture | None:
        """Return the least change of one joint, within its limits, that keeps the margin at an instant."""
        base, joints = plan.sampled(np.array([time]))
        best: OtherPosture | None = None
        for k, joint in enumerate(self.machine.movable_joints):
            here = float(joints[0][0, k])
            values = _side_steps(here, joint.lower, joint.upper)
            moved = np.repeat(joints[0], len(values), axis=0)
            moved[:, k] = values
            others = [np.repeat(part, len(values), axis=0) for part in (*base, *joints[1:])]
            reactions = self._reactions((others[0], others[1], others[2]), (moved, others[3], others[4]), self.friction)
            for index in np.flatnonzero(reactions.possible & (reactions.margin >= wanted)):
                change = float(values[index] - here)
                if best is None or abs(change) < abs(best.change):
                    best = OtherPosture(joint.name, change, float(reactions.margin[index]))
        return best


def _side_steps(here: float, lower: float, upper: float) -> Array:
    """Return positions of a joint to both sides, to its limits or half a turn."""
    low, high = max(lower, here - np.pi), min(upper, here + np.pi)
    return np.concatenate(
        [np.linspace(low, here, SIDE_STEPS, endpoint=False), np.linspace(here, high, SIDE_STEPS + 1)[1:]]
    )


def _turned(yaw: Array, vectors: Array) -> Array:
    """Return vectors (t, 3) of the ground's axes in axes turned by `yaw` (t,) about the normal."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = vectors.T
    return np.column_stack([c * x + s * y, c * y - s * x, z])


def _ground_height(machine: Machine) -> float:
    """Return the height of the ground in axes of the base link, springs compressed by the weight, m."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    heights = [
        poses[support.link][2, :3] @ support.position + poses[support.link][2, 3] for support in machine.supports
    ]
    sag = machine.total_mass * machine.gravity / sum(support.stiffness for support in machine.supports)
    return float(np.mean([z - support.free_length for z, support in zip(heights, machine.supports)])) + sag


def _stretches(marks: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Return the indices of each interval of marks."""
    indices = np.flatnonzero(marks)
    return [part for part in np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1) if len(part)]
