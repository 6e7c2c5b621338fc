"""Drives of the joints on a stop: oil behind valves, or efforts that brake by a model of the machine.

Both kinds have commands, which are 0 at neutral, and states, from which a prediction starts. Neutral valves are shut,
and the oil brakes. Where efforts are commanded, only efforts brake: the governor applies those at which the joints come
to rest like exp(-t / T). A command is the acceleration that efforts give a joint beyond that. Braking is based on an
estimated speed, integrated from the outputs, and not on a measured one; the prediction has it as a state, too.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements.actuators import ActuatorForces, actuator_element, actuator_elements
from dyn_nodes.governor.records import Chambers, Valves
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import carrying_links
from dyn_nodes.multibody.spatial import Expression

LEAST_LEVER = 0.05
"""Least cylinder lever that is used for its pressures, m/rad: near a dead centre they do not follow from an effort."""
BRAKING_TIME = 0.3
"""Time constant of joints that efforts brake, s: three times the longest delay at which the loop does not oscillate."""
CORRECTED = 0.3
"""Time constant with which the estimated joint speeds are corrected towards the measured ones, s."""
SLIGHT, AT_ONCE = 0.1, 1e-3
"""Permitted difference of estimated and measured speed, rad/s or m/s, as when the base rocks, and the time constant
with which the excess, a shock, is adopted, s."""
FAR = 1e6
"""Position limit used for a joint without limits, rad or m."""
FULL = 10.0
"""Greatest command of efforts, rad/s2 or m/s2."""


class DriveMotion(Protocol):
    """Traced stop as the drives use it: `_Trace` of `stop_model`."""

    state: Any
    q: Expression
    v: Expression
    oil: Expression
    volts: Expression
    symbols: dict[str, Expression]

    def index(self, joint: str) -> int:
        """Return the index of a joint among all."""
        ...

    def moving(self, rates: Expression) -> Expression:
        """Return the efforts (n,) at which the joints have these accelerations (n,), the base at rest."""
        ...


class Drives(Protocol):
    """Drives of a machine, m of them.

    Attributes:
        joints: names of the driven joints, in the order of the drives.
        states, commands: their names.
        parameters: numbers by name.
        shown: numbers per drive that the motion of the joints determines.
        limits: (m,) greatest commands.
        valves: of the drives.
        dead_times: s.
        chambers: of the drives.
    """

    joints: tuple[str, ...]
    states: tuple[str, ...]
    commands: tuple[str, ...]
    parameters: dict[str, float]
    shown: int
    limits: Array
    valves: Valves
    dead_times: tuple[float, ...]
    chambers: Chambers

    def within(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,) that a step evaluates between its ends: those that depend on the states."""
        ...

    def beyond(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,) that a step evaluates at its start."""
        ...

    def rates(self, motion: DriveMotion) -> Expression:
        """Return the rates of the states."""
        ...

    def bounded(self, states: Expression) -> Expression:
        """Return states after a step, within their physical range."""
        ...

    def levers(self, motion: DriveMotion) -> Expression:
        """Return the levers (m,) with which an effort acts in the direction of a command, m or 1."""
        ...

    def of_motion(self, motion: DriveMotion, needed: Expression) -> Expression:
        """Return the numbers of each drive that follow from the efforts (n,) of the motion."""
        ...


class OilDrives:
    """Cylinders and motors behind valves: states are spool and two pressures, commands volts.

    Args:
        machine: whose actuators are hydraulic.
        step: of the prediction, s.
    """

    shown = 2

    def __init__(self, machine: Machine, step: float) -> None:
        self._forces = ActuatorForces(machine, actuator_elements(machine))
        self._records = [hydraulic(actuator) for actuator in machine.actuators]
        self.joints = tuple(actuator.joint for actuator in self._records)
        self.states = tuple(actuator.name for actuator in self._forces.states)
        self.commands = tuple(actuator.name for actuator in self._forces.inputs)
        self.parameters = dict(self._forces.parameters)
        valves = [actuator.valve for actuator in self._records]
        reach = [min(valve.gain * valve.voltage_limit, valve.spool_limit) for valve in valves]
        left = [np.exp(-step / valve.time_constant) for valve in valves]
        self.limits = np.array([actuator.command_limit for actuator in machine.actuators])
        self.valves = Valves(np.array([valve.gain for valve in valves]), np.array(reach), np.array(left))
        self.dead_times = tuple(valve.dead_time for valve in valves)
        bounds = [
            (*actuator.areas, min(actuator.idle_pressure, actuator.supply.tank_pressure), greatest_pressure(actuator))
            for actuator in self._records
        ]
        self.chambers = Chambers(*np.array(bounds).T.copy())

    def within(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,) that a step evaluates between its ends."""
        return self._forces.generalized_force(motion.state, motion.symbols)

    def beyond(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,) that a step evaluates at its start: none."""
        return ca.SX(motion.state.tree.nv, 1)

    def rates(self, motion: DriveMotion) -> Expression:
        """Return the rates of spools and pressures."""
        return ca.vertcat(*self._forces.rates(motion.state, motion.symbols))

    def bounded(self, states: Expression) -> Expression:
        """Return states after a step, no pressure below the least.

        A step that empties a chamber does not see yet that oil flows in from the tank, and would leave a tension in it
        of some MPa, by which the other chamber's pressure would then be too high.
        """
        result = ca.SX(states)
        for j, least in enumerate(self.chambers.least.tolist()):
            for k in (3 * j + 1, 3 * j + 2):
                result[k] = ca.fmax(states[k], least)
        return result

    def levers(self, motion: DriveMotion) -> Expression:
        """Return levers (m,): efforts of the joints by the force of a positive pressure, m or 1."""
        return ca.vertcat(*(self._lever(actuator, motion) for actuator in self._records))

    def _lever(self, actuator: HydraulicRecord, motion: DriveMotion) -> Expression:
        return actuator_element(actuator).lever(motion.q[motion.index(actuator.joint)])

    def of_motion(self, motion: DriveMotion, needed: Expression) -> Expression:
        """Return the pressures (2 m,) that produce the motion of the joints."""
        pressures = []
        for actuator in self._records:
            arm, index = self._lever(actuator, motion), motion.index(actuator.joint)
            arm = ca.if_else(ca.fabs(arm) < LEAST_LEVER, ca.if_else(arm < 0.0, -LEAST_LEVER, LEAST_LEVER), arm)
            force = needed[index] / arm + actuator.viscous * arm * motion.v[index]
            first, second = actuator.areas
            idle, limit = actuator.idle_pressure, greatest_pressure(actuator)
            pressures.append(ca.fmin(ca.fmax(idle, (force + idle * second) / first), limit))
            pressures.append(ca.fmin(ca.fmax(idle, (idle * first - force) / second), limit))
        return ca.vertcat(*pressures)


class EffortDrives:
    """Efforts of joints.

    States of each joint are the disturbance of its effort by errors of the model, N m or N, and its estimated speed,
    rad/s or m/s.

    Args:
        machine: whose joints are commanded by efforts.

    Attributes:
        greatest: (m,) limits of the efforts, N m or N.
        reach: (2, m) least and greatest positions of the joints, rad or m.
        indices: (m,) of the joints among the n movable ones.
        braking: (n,) ratio of acceleration to speed at neutral, 1/s.

    Raises:
        ValueError: a driven joint has no effort limit, or carries wheels; no joint is driven; there are linkages.
    """

    shown = 1

    def __init__(self, machine: Machine) -> None:
        driven = [joint for joint in machine.actuated_joints if joint.effort_limit > 0.0]
        unlimited = [joint.name for joint in driven if not math.isfinite(joint.effort_limit)]
        if unlimited or not driven:
            unsuitable = f'none for {", ".join(unlimited)}' if unlimited else 'no joint that is driven'
            raise ValueError(
                f'machine {machine.name!r}: expected an effort limit of every driven joint, found {unsuitable}'
            )
        carrying = carrying_links(machine)
        rolling = [joint.name for joint in driven if joint.child in carrying]
        if rolling:
            unsuitable = ', '.join(rolling)
            raise ValueError(f'machine {machine.name!r}: expected efforts of arm joints only, found {unsuitable}')
        if machine.constraints:
            unsuitable = ', '.join(constraint.name for constraint in machine.constraints)
            raise ValueError(
                f'machine {machine.name!r}: expected efforts of joints without linkages, found {unsuitable}'
            )
        self.joints = tuple(joint.name for joint in driven)
        self.greatest = np.array([joint.effort_limit for joint in driven])
        names = [joint.name for joint in machine.movable_joints]
        self.reach = np.array([[joint.lower for joint in driven], [joint.upper for joint in driven]])
        self.indices = np.array([names.index(name) for name in self.joints])
        self.braking = np.zeros(len(names))
        self.braking[self.indices] = -1.0 / BRAKING_TIME
        disturbances = tuple(f'{name}/disturbance' for name in self.joints)
        self.states = (*disturbances, *(f'{name}/speed' for name in self.joints))
        self.commands = tuple(f'{name}/excess' for name in self.joints)
        self.parameters: dict[str, float] = {}
        count = len(driven)
        self.limits, nothing = np.full(count, FULL), np.zeros(count)
        self.valves, self.chambers = Valves(nothing, nothing, nothing), Chambers(nothing, nothing, nothing, nothing)
        self.dead_times = (0.0,) * count

    def within(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,) that a step evaluates between its ends: none."""
        return ca.SX(motion.state.tree.nv, 1)

    def beyond(self, motion: DriveMotion) -> Expression:
        """Return efforts (6 + n,): braking and commands within the effort limits, plus the disturbances."""
        efforts, rates = ca.SX(motion.state.tree.nv, 1), ca.SX(len(self.braking), 1)
        disturbances = motion.oil[: len(self.joints)]
        led = self._led(motion)
        for k, index in enumerate(self.indices.tolist()):
            rates[index] = led[k]
        wanted = self.moving(motion, rates) - disturbances
        for k, name in enumerate(self.joints):
            limit = float(self.greatest[k])
            efforts[6 + motion.index(name)] = ca.fmin(ca.fmax(wanted[k], -limit), limit) + disturbances[k]
        return efforts

    def moving(self, motion: DriveMotion, rates: Expression) -> Expression:
        """Return efforts (m,) at which all joints have these accelerations (n,), without disturbances."""
        efforts = motion.moving(rates)
        return ca.vertcat(*(efforts[motion.index(name)] for name in self.joints))

    def rates(self, motion: DriveMotion) -> Expression:
        """Return the rates of the disturbances, which are constant, and of the estimated speeds.

        The speeds follow the commands and are corrected slowly, so that rocking of the base does not enter them at
        once. A difference larger than rocking causes is corrected at once. No speed leads beyond the limit of a joint.
        """
        count = len(self.joints)
        speeds, indices = motion.oil[count:], self.indices.tolist()
        wrong = ca.vertcat(*(motion.v[index] for index in indices)) - speeds
        shocked = wrong - ca.fmin(ca.fmax(wrong, -SLIGHT), SLIGHT)
        rates = self._led(motion) + wrong / CORRECTED + shocked / AT_ONCE
        for k, (index, least, most) in enumerate(zip(indices, *np.clip(self.reach, -FAR, FAR).tolist())):
            q, v = motion.q[index], speeds[k]
            ends = ca.logic_or(ca.logic_and(q >= most, v > 0.0), ca.logic_and(q <= least, v < 0.0))
            rates[k] = ca.if_else(ends, -v / AT_ONCE, rates[k])
        return ca.vertcat(ca.SX(count, 1), rates)

    def _led(self, motion: DriveMotion) -> Expression:
        """Return the commanded accelerations (m,) of the joints, braking included."""
        return motion.volts - motion.oil[len(self.joints) :] / BRAKING_TIME

    def bounded(self, states: Expression) -> Expression:
        """Return the states."""
        return states

    def levers(self, motion: DriveMotion) -> Expression:
        """Return ones (m,): a joint moves in the direction of its effort."""
        return ca.SX.ones(len(self.joints))

    def of_motion(self, motion: DriveMotion, needed: Expression) -> Expression:
        """Return the efforts (m,) that produce the motion of the joints."""
        return ca.vertcat(*(needed[motion.index(name)] for name in self.joints))


def greatest_pressure(actuator: HydraulicRecord) -> float:
    """Return the greatest pressure assumed in a chamber, Pa."""
    return actuator.supply.line_relief_pressure + actuator.idle_pressure
