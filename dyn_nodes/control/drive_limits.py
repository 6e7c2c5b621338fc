"""Servos within the limits of their joints: speeds from which they can stop, efforts within the drive limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.model.machine import Machine

USED = 0.98
"""Share of a speed limit that a servo uses: it is sampled, and its base moves meanwhile."""
BRAKING = 0.5
"""Share of the effort left for braking that a servo uses: the inertia is greater on the ground than in the air."""
AT_LIMIT = 1.0 - 1e-9


class DriveLimits(NamedTuple):
    """Limits of d driven joints; inf: no limit.

    Attributes:
        effort: (d,) N m or N.
        speed: (d,) rad/s or m/s.
        lower, upper: (d,) positions, rad or m.
    """

    effort: Array
    speed: Array
    lower: Array
    upper: Array

    def clamped(self, positions: Array) -> Array:
        """Return positions (d,) within the ranges of the joints; NaN stays."""
        return np.clip(positions, self.lower, self.upper)

    def holding(self, still: Array) -> DriveLimits:
        """Return the limits of brakes: they carry efforts (d,) and slow the joints by the effort of the drives."""
        return self._replace(effort=self.effort + np.abs(still))


def drive_limits(machine: Machine) -> DriveLimits:
    """Return the limits of the actuated joints of a machine."""
    joints = machine.actuated_joints
    rows = [(joint.effort_limit, joint.velocity_limit, joint.lower, joint.upper) for joint in joints]
    return DriveLimits(*np.array(rows, dtype=np.float64).reshape(-1, 4).T)


class ServoInput(NamedTuple):
    """Inputs of the servos of d joints.

    Attributes:
        position, rate: (d,) now.
        target: (d,) positions, NaN for velocity control.
        target_rate: (d,) velocities.
        limits: of the joints.
        bandwidth, damping_ratio: of the servos: rad/s, 1.
        disturbance: (d,) accelerations in addition to the effect of the efforts.
        effort: (d,) commanded efforts, NaN for joints under a servo; None: all are.
    """

    position: Array
    rate: Array
    target: Array
    target_rate: Array
    limits: DriveLimits
    bandwidth: float
    damping_ratio: float
    disturbance: Array
    effort: Array | None = None

    def of(self, some: Flags) -> ServoInput:
        """Return the inputs of the selected joints (d,)."""
        now, asked = (self.position[some], self.rate[some]), (self.target[some], self.target_rate[some])
        limits = DriveLimits(*(limit[some] for limit in self.limits))
        effort = None if self.effort is None else self.effort[some]
        return ServoInput(*now, *asked, limits, self.bandwidth, self.damping_ratio, self.disturbance[some], effort)

    def accelerations(self, still: Array, response: Array) -> tuple[Array, Flags]:
        """Return the wanted accelerations (d,), and the joints whose speed is limited.

        Near the target they are wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd). Farther away a joint moves at its greatest
        speed and brakes so that its drive can stop it at the target and at the end of its range.

        Args:
            still: (d,) efforts without acceleration.
            response: (d, d) accelerations for efforts.
        """
        limits, gain = self.limits, 0.5 * self.bandwidth / self.damping_ratio
        reach = BRAKING * np.diag(response)
        up, down = (np.maximum(reach * (limits.effort + sign * still), 0.0) for sign in (1.0, -1.0))

        def speed(distance: Array, braking: Array) -> Array:
            """Return the speed from which a joint stops within a distance."""
            left = np.maximum(distance, 0.0)
            bounded = np.isfinite(braking) & np.isfinite(left)
            stopped = np.sqrt(2.0 * np.where(bounded, braking, 0.0) * np.where(bounded, left, 0.0))
            return np.minimum(gain * left, np.where(bounded, stopped, np.inf))

        error = np.nan_to_num(limits.clamped(self.target) - self.position)
        wanted = self.target_rate + np.where(error > 0.0, speed(error, up), -speed(-error, down))
        most = USED * limits.speed
        high, low = (
            np.minimum(most, speed(limits.upper - self.position, up)),
            -np.minimum(most, speed(self.position - limits.lower, down)),
        )
        rates = np.clip(wanted, low, high)
        result = 2.0 * self.damping_ratio * self.bandwidth * (rates - self.rate)
        return result - self.disturbance, np.abs(wanted) > limits.speed


class JointTask(NamedTuple):
    """State of the joints of a machine, and their target.

    Attributes:
        position, rate: (n,) now, rad or m.
        target: (n,) positions; NaN: velocity control.
        target_rate: (n,) velocities.
        brakes: the joints are held: brakes carry loads beyond the drive limits.
        disturbance: (d,) accelerations of the driven joints that the efforts compensate, rad/s2 or m/s2.
        effort: (n,) commanded efforts, N m or N; NaN for joints under a servo; None: all are.
    """

    position: Array
    rate: Array
    target: Array
    target_rate: Array
    brakes: bool
    disturbance: Array
    effort: Array | None = None


class ServoOutput(NamedTuple):
    """Efforts of d driven joints.

    Attributes:
        efforts: (d,) N m or N.
        at_effort, at_speed: (d,) joints whose effort or speed is at its limit.
        accelerations: (d,) that the efforts give.
    """

    efforts: Array
    at_effort: Flags
    at_speed: Flags
    accelerations: Array

    @classmethod
    def none(cls, count: int) -> ServoOutput:
        """Return zeros for d joints."""
        return cls(np.zeros(count), np.zeros(count, np.bool_), np.zeros(count, np.bool_), np.zeros(count))

    def put(self, some: Flags, part: ServoOutput) -> None:
        """Store the output of the selected joints (d,)."""
        for whole, values in zip(self, part):
            whole[some] = values


class ServoEfforts(NamedTuple):
    """Efforts of servos.

    Attributes:
        efforts: (n,) of the joints, N m or N; zero for undriven joints.
        at_effort: (d,) of the driven joints: the effort is at its limit.
        at_speed: (d,) likewise: the wanted speed exceeds the limit.
        accelerations: (d,) expected from the efforts, rad/s2 or m/s2.
    """

    efforts: Array
    at_effort: Flags
    at_speed: Flags
    accelerations: Array


class DrivenJoints:
    """The driven joints of a machine under servos.

    Args:
        machine: the machine.
        bandwidth: of the servos, rad/s.
        damping_ratio: of the servos.

    Attributes:
        driven: (d,) indices of the driven joints among all.
    """

    def __init__(self, machine: Machine, bandwidth: float, damping_ratio: float) -> None:
        names = [joint.name for joint in machine.movable_joints]
        self.driven = np.array([names.index(joint.name) for joint in machine.actuated_joints], dtype=np.intp)
        self._limits, self._servo = drive_limits(machine), (bandwidth, damping_ratio)

    def input_of(self, task: JointTask) -> ServoInput:
        """Return the inputs of the servos of the driven joints."""
        k = self.driven
        here, there = (task.position[k], task.rate[k]), (task.target[k], task.target_rate[k])
        effort = None if task.effort is None else task.effort[k]
        return ServoInput(*here, *there, self._limits, *self._servo, task.disturbance, effort)

    def efforts_of(self, task: JointTask, output: ServoOutput) -> ServoEfforts:
        """Return the efforts of all joints."""
        whole = np.zeros(len(task.target))
        whole[self.driven] = output.efforts
        return ServoEfforts(whole, output.at_effort, output.at_speed, output.accelerations)


def direct(response: Array, wanted: Array) -> Array:
    """Return the efforts that give accelerations."""
    return np.asarray(np.linalg.solve(response, wanted))


def servo_output(
    asked: ServoInput,
    still: Array,
    response: Array,
    brakes: bool,
    solve: Callable[[Array, Array], Array] = direct,
) -> ServoOutput:
    """Return the efforts of servos, within the limits of their joints, and the commanded efforts of all other joints.

    Args:
        asked: state and target of the joints.
        still: (d,) efforts without acceleration.
        response: (d, d) accelerations for efforts.
        brakes: the joints are held: brakes carry loads beyond the drive limits.
        solve: solver of linear equations.
    """
    if asked.effort is not None:
        return _beside_efforts(asked, asked.effort, still, response, brakes, solve)
    if brakes:
        asked = asked._replace(limits=asked.limits.holding(still))
    wanted, at_speed = asked.accelerations(still, response)
    efforts, at_effort = efforts_within(wanted, asked.rate, still, response, asked.limits.effort, solve)
    return ServoOutput(efforts, at_effort, at_speed, response @ (efforts - still))


def _beside_efforts(
    asked: ServoInput,
    commanded: Array,
    still: Array,
    response: Array,
    brakes: bool,
    solve: Callable[[Array, Array], Array],
) -> ServoOutput:
    """Return commanded efforts (d,), and for their NaN the efforts of servos, which compensate the commanded ones."""
    output, free = ServoOutput.none(len(commanded)), np.isnan(commanded)
    output.efforts[~free] = commanded[~free]
    if free.any():
        inner, moved = response[np.ix_(free, free)], response[np.ix_(free, ~free)] @ (commanded - still)[~free]
        servos = asked.of(free)._replace(effort=None)
        output.put(free, servo_output(servos, still[free] - solve(inner, moved), inner, brakes, solve))
    return output._replace(accelerations=response @ (output.efforts - still))


def efforts_within(
    wanted: Array,
    rate: Array,
    still: Array,
    response: Array,
    most: Array,
    solve: Callable[[Array, Array], Array] = direct,
) -> tuple[Array, Flags]:
    """Return efforts (d,) for accelerations, within their limits, and flags of the efforts at their limits.

    Joints whose drives are too weak to speed up as wanted speed up as far as all other joints can keep their wanted
    accelerations: no joint must drive another one beyond its speed limit. If even this exceeds the limits, joints at
    their limits are fixed there and the others keep their wanted accelerations.

    Args:
        wanted: (d,) accelerations.
        rate: (d,) velocities.
        still: (d,) efforts without acceleration.
        response: (d, d) accelerations for efforts.
        most: (d,) greatest efforts.
        solve: solver of linear equations.
    """
    efforts = still + solve(response, wanted)
    if (np.abs(efforts) <= most).all():
        return efforts, np.zeros(len(wanted), np.bool_)
    alone = np.diag(response)
    limited = np.clip(wanted, np.minimum(alone * (-most - still), 0.0), np.maximum(alone * (most - still), 0.0))
    speeding = (limited != wanted) & (wanted * rate >= 0.0)
    first = solve(response, np.where(speeding, 0.0, limited))
    more = solve(response, np.where(speeding, limited, 0.0))
    with np.errstate(divide='ignore', invalid='ignore'):
        share = np.where(more == 0.0, np.inf, (np.copysign(most, more) - still - first) / more)
    efforts = still + first + float(np.clip(share.min(initial=1.0), 0.0, 1.0)) * more
    free, target = np.ones(len(wanted), np.bool_), response @ (efforts - still)
    while (over := free & (np.abs(efforts) > most)).any():
        efforts[over] = np.clip(efforts[over], -most[over], most[over])
        free &= ~over
        rest = target[free] - response[np.ix_(free, ~free)] @ (efforts - still)[~free]
        efforts[free] = still[free] + solve(response[np.ix_(free, free)], rest)
    return efforts, (np.abs(efforts) >= AT_LIMIT * most) | (limited != wanted)
