"""Cost of the tip-over governor in ordinary work: the ratio of the times of working cycles with it and without it.

    times = WorkCycles(Rig(machine)).compare(cycle)

The operator is simple: each lever moves at its rate to a fraction of its travel until the joint, at its speed, is about
to reach its target, and is drawn back or reversed in time. The lead of a swing is learnt for the cycle, with the
governor and without it: the fastest of several leads (`COASTING`) counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.governor.campaign.cycles_file import Cycle
from dyn_nodes.governor.campaign.governed_run import PERIOD, Rig, reset_at
from dyn_nodes.governor.campaign.wheel_watch import LoadsAndAttitude, Wheels
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.multibody.inertial_sensor import read_imu

DEFAULT = Path(__file__).with_suffix('.yaml')
"""Cycles of the log-loader."""
ALLOWED = 1.08
"""Permitted ratio of the time of all cycles with the governor to the time without it."""
SETTLING = 0.5
"""Time at rest before the first phase, s."""
LONGEST = 30.0
"""Longest duration of a phase, s; a longer one counts as not reached."""
TAKING = 1.0
"""Time in which a load comes off the ground, or is put down, s."""
LEVER_RATE = 15.0
"""Rate at which the operator moves a lever, V/s."""
AHEAD, COASTING = 0.3, (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
"""Lead of the operator, s; for a joint that turns about the vertical it is longer, because its load coasts. The best
one is chosen per cycle: with a coarser choice, a missed swing that has to return would cost more than the compared
difference."""
NEAR, LEAST, NOTHING = np.radians(10.0), 0.9, np.radians(2.0)
"""Within `NEAR` levers are drawn back to `LEAST` of their fraction, because the open centre passes less; within
`NOTHING` to neutral."""
THERE, SLOW = np.radians(3.0), 0.1
"""A joint has arrived within these limits: rad or m, rad/s or m/s."""


@dataclass(frozen=True)
class Driven:
    """Result of one run of a cycle.

    Attributes:
        times: of its phases, s.
        finished: all phases were reached.
        lifted: a wheel was off the ground, as in `governed_run`.
        share: least load of a wheel over the mean load at the start.
    """

    times: tuple[float, ...]
    finished: bool
    lifted: bool
    share: float

    @property
    def time(self) -> float:
        """Total time of all phases, s."""
        return sum(self.times)


@dataclass(frozen=True)
class Compared:
    """A cycle without governor and with it."""

    name: str
    free: Driven
    governed: Driven

    @property
    def safe(self) -> bool:
        """Whether the cycle without governor keeps all wheels on the ground, so that its time is comparable."""
        return self.free.finished and not self.free.lifted

    @property
    def ratio(self) -> float:
        """Ratio of the times with and without the governor; infinite if the cycle with it is not finished."""
        return self.governed.time / self.free.time if self.governed.finished else np.inf


class WorkCycles:
    """Drives cycles on a rig's machine, on level ground, with the nominal machine.

    Args:
        rig: machine and governor.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig, self.plant = rig, rig.plant()
        plant, actuators = self.plant, rig.machine.actuators
        self._joints = [plant.joints.index(actuator.joint) for actuator in actuators]
        self._inputs = [plant.system.index('input', f'{actuator.name}/voltage') for actuator in actuators]
        self._limits = np.array([actuator.command_limit for actuator in actuators])
        self._swing = np.array([_swings(rig, actuator.joint) for actuator in actuators])
        self._loads_and_attitude = LoadsAndAttitude(plant, rig.settings.criterion)

    def compare(self, cycle: Cycle) -> Compared:
        """Drive a cycle without governor and with it."""
        return Compared(cycle.name, self.drive(cycle, False), self.drive(cycle, True))

    def drive(self, cycle: Cycle, governed: bool) -> Driven:
        """Drive a cycle as fast as the operator can without lifting a wheel.

        With the governor no lead of the operator may lift one: a lifted wheel and the least load of any of the runs
        count.
        """
        tries = [self._drive(cycle, governed, coasting) for coasting in COASTING]
        best = min(tries, key=lambda run: (not run.finished, run.lifted, run.time))
        if not governed:
            return best
        return replace(best, lifted=any(run.lifted for run in tries), share=min(run.share for run in tries))

    def _drive(self, cycle: Cycle, governed: bool, coasting: float) -> Driven:
        """Drive a cycle to its end, or to the first phase that takes longer than `LONGEST`."""
        run = _Drive(self, cycle, governed, np.where(self._swing, coasting, AHEAD))
        plant, times = self.plant, []
        while plant.time < SETTLING - 1e-9:
            run.step(run.lever)
        for phase in cycle.phases:
            if phase.payload is not None:
                run.load(phase.payload)
            run.target.update(phase.move)
            start = plant.time
            while not run.arrived and plant.time - start < LONGEST and not plant.overturned:
                run.step(run.wanted())
            times.append(round(plant.time - start, 6))
            if not run.arrived:
                break
        return Driven(tuple(times), run.arrived, run.wheels.since is not None or plant.overturned, run.wheels.share)


class _Drive:
    """A cycle in progress."""

    def __init__(self, owner: WorkCycles, cycle: Cycle, governed: bool, ahead: Array) -> None:
        self.owner, self.cycle, self.plant, self.ahead = owner, cycle, owner.plant, ahead
        plant = self.plant
        plant.p[:] = plant.system.parameters({'payload_mass': cycle.payload, 'joint_stop_scale': 1.0})
        reset_at(plant, dict(cycle.start))
        self._payload, self._carried, self._change = cycle.payload, cycle.payload, 0.0
        self.partner = owner.rig.partner(True) if governed else None
        if self.partner is not None:
            self.partner.restart(cycle.payload)
        self.target = dict(zip(plant.joints, plant.positions.tolist()))
        self.lever = np.zeros(len(owner._limits))
        self.wheels = Wheels(*owner._loads_and_attitude(plant))
        elements = [actuator_element(hydraulic(actuator)) for actuator in owner.rig.machine.actuators]
        self._signs = np.array(
            [np.sign(float(element.lever(plant.positions[k]))) for element, k in zip(elements, owner._joints)]
        )

    def load(self, payload: float) -> None:
        """Take or release a payload, kg, within the time `TAKING`."""
        self._payload, self._change = payload, abs(payload - self._carried) * PERIOD / TAKING

    def _follow_load(self) -> None:
        """Change the payload by a period, in plant and governor."""
        if self._carried == self._payload:
            return
        self._carried += float(np.clip(self._payload - self._carried, -self._change, self._change))
        self.plant.set_parameter('payload_mass', self._carried)
        if self.partner is not None:
            self.partner.monitor.payload = self._carried

    @property
    def _missing(self) -> Array:
        positions = self.plant.positions
        return np.array([self.target[self.plant.joints[k]] - positions[k] for k in self.owner._joints])

    @property
    def arrived(self) -> bool:
        """Whether all joints are at their targets, at rest, with the whole load."""
        return self._carried == self._payload and bool(
            (np.abs(self._missing) < THERE).all() and np.abs(self.plant.velocities).max() < SLOW
        )

    def wanted(self) -> Array:
        """Return the operator's target positions of the levers, V."""
        owner = self.owner
        left = self._missing - self.ahead * self.plant.velocities[owner._joints]
        part = np.where(np.abs(left) > NOTHING, np.clip(np.abs(left) / NEAR, LEAST, 1.0), 0.0)
        return np.asarray(self._signs * np.sign(left) * part * self.cycle.speed * owner._limits)

    def step(self, wanted: Array) -> None:
        """Move the levers towards their target positions, for a period."""
        plant, owner = self.plant, self.owner
        self.lever = self.lever + np.clip(wanted - self.lever, -LEVER_RATE * PERIOD, LEVER_RATE * PERIOD)
        volts = self.lever
        if self.partner is not None:
            positions, velocities = plant.positions.copy(), plant.velocities.copy()
            self.partner.measure(Sample(plant.time, positions, velocities, tuple(read_imu(plant))))
            volts = self.partner.command(volts)
        plant.u[owner._inputs] = volts
        self._follow_load()
        plant.advance()
        self.wheels.see(plant.time, *owner._loads_and_attitude(plant))


def _swings(rig: Rig, joint: str) -> bool:
    return abs(float(rig.machine.joint(joint).axis[2])) > 0.9
