"""What moves the joints on a stop: oil behind valves, or efforts that brake by a model of the machine.

Both have commands, which are 0 at neutral, and states, with which a prediction begins. Neutral valves are shut, and the
oil brakes. Where efforts are commanded nothing brakes but efforts: the governor gives those at which the joints come to
rest like exp(-t / T). A command is the acceleration that efforts give a joint beyond that. What joints brake from is no
measured speed, but one that is carried on by what was given: the prediction has it, too, as a state.
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
"""Lever of a cylinder that counts for its pressures, m/rad: near a dead centre they do not follow from an effort."""
BRAKING_TIME = 0.3
"""Of joints that efforts brake, s: three times the longest delay behind which that does not swing."""
CORRECTED = 0.3
"""In which the speeds that the governor takes joints to have become those that are measured, s."""
SLIGHT, AT_ONCE = 0.1, 1e-3
"""By which these two may differ, rad/s or m/s, as where the base rocks; what is more is a shock, and taken over in this
time, s."""
FAR = 1e6
"""Where a joint without an end has it, rad or m."""
FULL = 10.0
"""Greatest command of efforts, rad/s2 or m/s2."""


class Motion(Protocol):
    """What drives see of a traced stop: `_Trace` of `stop_model`."""

    state: Any
    q: Expression
    v: Expression
    oil: Expression
    volts: Expression
    symbols: dict[str, Expression]

    def place(self, joint: str) -> int:
        """Return the place of a joint among all."""
        ...

    def moving(self, rates: Expression) -> Expression:
        """Return the efforts (n,) at which the joints have these accelerations (n,), the base at rest."""
        ...


class Drives(Protocol):
    """Drives of a machine, m of them.

    Attributes:
        joints: that they move, in their order.
        states, commands: their names.
        parameters: numbers by name.
        shown: numbers of one that the motion of the joints shows.
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

    def within(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,) that a step takes between its ends: those that depend on the states."""
        ...

    def beyond(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,) that a step takes at its begin."""
        ...

    def rates(self, motion: Motion) -> Expression:
        """Return the rates of the states."""
        ...

    def levers(self, motion: Motion) -> Expression:
        """Return (m,) by which an effort goes the way of a command, m or 1."""
        ...

    def of_motion(self, motion: Motion, needed: Expression) -> Expression:
        """Return what the efforts (n,) that the motion needs show of each drive."""
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
        self._records = [hydraulic(own) for own in machine.actuators]
        self.joints = tuple(own.joint for own in self._records)
        self.states = tuple(own.name for own in self._forces.states)
        self.commands = tuple(own.name for own in self._forces.inputs)
        self.parameters = dict(self._forces.parameters)
        valves = [own.valve for own in self._records]
        reach = [min(valve.gain * valve.voltage_limit, valve.spool_limit) for valve in valves]
        left = [np.exp(-step / valve.time_constant) for valve in valves]
        self.limits = np.array([own.command_limit for own in machine.actuators])
        self.valves = Valves(np.array([valve.gain for valve in valves]), np.array(reach), np.array(left))
        self.dead_times = tuple(valve.dead_time for valve in valves)
        bounds = [
            (*own.areas, min(own.idle_pressure, own.supply.tank_pressure), greatest_pressure(own))
            for own in self._records
        ]
        self.chambers = Chambers(*np.array(bounds).T.copy())

    def within(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,) that a step takes between its ends."""
        return self._forces.generalized_force(motion.state, motion.symbols)

    def beyond(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,) that a step takes at its begin: none."""
        return ca.SX(motion.state.tree.nv, 1)

    def rates(self, motion: Motion) -> Expression:
        """Return the rates of spools and pressures."""
        return ca.vertcat(*self._forces.rates(motion.state, motion.symbols))

    def levers(self, motion: Motion) -> Expression:
        """Return levers (m,): efforts of the joints by the force of a positive pressure, m or 1."""
        return ca.vertcat(*(self._lever(own, motion) for own in self._records))

    def _lever(self, own: HydraulicRecord, motion: Motion) -> Expression:
        return actuator_element(own).lever(motion.q[motion.place(own.joint)])

    def of_motion(self, motion: Motion, needed: Expression) -> Expression:
        """Return pressures (2 m,) at which the joints move as they do."""
        pressures = []
        for own in self._records:
            arm, place = self._lever(own, motion), motion.place(own.joint)
            arm = ca.if_else(ca.fabs(arm) < LEAST_LEVER, ca.if_else(arm < 0.0, -LEAST_LEVER, LEAST_LEVER), arm)
            force = needed[place] / arm + own.viscous * arm * motion.v[place]
            first, second = own.areas
            idle, limit = own.idle_pressure, greatest_pressure(own)
            pressures.append(ca.fmin(ca.fmax(idle, (force + idle * second) / first), limit))
            pressures.append(ca.fmin(ca.fmax(idle, (idle * first - force) / second), limit))
        return ca.vertcat(*pressures)


class EffortDrives:
    """Efforts of joints.

    States of each are what it gets beside its effort by errors of the model, N m or N, and the speed that the governor
    takes it to have, rad/s or m/s.

    Args:
        machine: whose joints are commanded by efforts.

    Attributes:
        greatest: (m,) limits of the efforts, N m or N.
        reach: (2, m) least and greatest positions of the joints, rad or m.
        places: (m,) of the joints among the n movable ones.
        braking: (n,) accelerations at neutral over the speeds, 1/s.

    Raises:
        ValueError: a driven joint has no limit of its effort, or wheels are beyond it; no joint is driven.
    """

    shown = 1

    def __init__(self, machine: Machine) -> None:
        driven = [own for own in machine.actuated_joints if own.effort_limit > 0.0]
        unlimited = [own.name for own in driven if not math.isfinite(own.effort_limit)]
        if unlimited or not driven:
            found = f'none for {", ".join(unlimited)}' if unlimited else 'no joint that is driven'
            raise ValueError(f'machine {machine.name!r}: expected an effort limit of every driven joint, found {found}')
        carrying = carrying_links(machine)
        rolling = [own.name for own in driven if own.child in carrying]
        if rolling:
            found = ', '.join(rolling)
            raise ValueError(
                f'machine {machine.name!r}: expected efforts of an arm on a base that stands, found {found}'
            )
        self.joints = tuple(own.name for own in driven)
        self.greatest = np.array([own.effort_limit for own in driven])
        names = [own.name for own in machine.movable_joints]
        self.reach = np.array([[own.lower for own in driven], [own.upper for own in driven]])
        self.places = np.array([names.index(name) for name in self.joints])
        self.braking = np.zeros(len(names))
        self.braking[self.places] = -1.0 / BRAKING_TIME
        disturbances = tuple(f'{name}/disturbance' for name in self.joints)
        self.states = (*disturbances, *(f'{name}/speed' for name in self.joints))
        self.commands = tuple(f'{name}/excess' for name in self.joints)
        self.parameters: dict[str, float] = {}
        count = len(driven)
        self.limits, nothing = np.full(count, FULL), np.zeros(count)
        self.valves, self.chambers = Valves(nothing, nothing, nothing), Chambers(nothing, nothing, nothing, nothing)
        self.dead_times = (0.0,) * count

    def within(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,) that a step takes between its ends: none."""
        return ca.SX(motion.state.tree.nv, 1)

    def beyond(self, motion: Motion) -> Expression:
        """Return efforts (6 + n,): those that brake, with the commands, within their limits, and the disturbances."""
        efforts, rates = ca.SX(motion.state.tree.nv, 1), ca.SX(len(self.braking), 1)
        disturbances = motion.oil[: len(self.joints)]
        led = self._led(motion)
        for k, place in enumerate(self.places.tolist()):
            rates[place] = led[k]
        wanted = self.moving(motion, rates) - disturbances
        for k, name in enumerate(self.joints):
            limit = float(self.greatest[k])
            efforts[6 + motion.place(name)] = ca.fmin(ca.fmax(wanted[k], -limit), limit) + disturbances[k]
        return efforts

    def moving(self, motion: Motion, rates: Expression) -> Expression:
        """Return efforts (m,) at which all joints have these accelerations (n,), without disturbances."""
        found = motion.moving(rates)
        return ca.vertcat(*(found[motion.place(name)] for name in self.joints))

    def rates(self, motion: Motion) -> Expression:
        """Return the rates of the disturbances, which last, and of the speeds.

        These are led as the efforts are, and slowly corrected: what rocks the base does not show in them at once. At
        once they are where they differ by more than rocking does, and none leads beyond the end of a joint's way.
        """
        count = len(self.joints)
        speeds, places = motion.oil[count:], self.places.tolist()
        wrong = ca.vertcat(*(motion.v[place] for place in places)) - speeds
        shocked = wrong - ca.fmin(ca.fmax(wrong, -SLIGHT), SLIGHT)
        rates = self._led(motion) + wrong / CORRECTED + shocked / AT_ONCE
        for k, (place, least, most) in enumerate(zip(places, *np.clip(self.reach, -FAR, FAR).tolist())):
            q, v = motion.q[place], speeds[k]
            ends = ca.logic_or(ca.logic_and(q >= most, v > 0.0), ca.logic_and(q <= least, v < 0.0))
            rates[k] = ca.if_else(ends, -v / AT_ONCE, rates[k])
        return ca.vertcat(ca.SX(count, 1), rates)

    def _led(self, motion: Motion) -> Expression:
        """Return accelerations (m,) that efforts are to give the joints: those of the commands, and braking."""
        return motion.volts - motion.oil[len(self.joints) :] / BRAKING_TIME

    def levers(self, motion: Motion) -> Expression:
        """Return ones (m,): a joint goes the way of its effort."""
        return ca.SX.ones(len(self.joints))

    def of_motion(self, motion: Motion, needed: Expression) -> Expression:
        """Return efforts (m,) at which the joints move as they do."""
        return ca.vertcat(*(needed[motion.place(name)] for name in self.joints))


def greatest_pressure(actuator: HydraulicRecord) -> float:
    """Return the greatest pressure that a chamber is taken to have, Pa."""
    return actuator.supply.line_relief_pressure + actuator.idle_pressure
