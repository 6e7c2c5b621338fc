"""What the tip-over governor costs in ordinary work: the time of working cycles with it, over that without it.

    times = WorkCycles(Rig(machine)).compare(cycle)

The operator is simple: each lever goes at its rate to a part of its way until the joint, at its speed, is about to
reach its place, and is drawn back or reversed in time. How early he does that with the swing he has learnt for the
cycle, with the governor and without it: the fastest of several ways (`COASTING`) counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.governor.campaign.cycles_file import Cycle
from dyn_nodes.governor.campaign.governed_run import PERIOD, Rig, reset_at
from dyn_nodes.governor.campaign.wheel_watch import Stand, Wheels
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.multibody.inertial_sensor import read_imu

DEFAULT = Path(__file__).with_suffix('.yaml')
"""Cycles of the log-loader."""
ALLOWED = 1.08
"""Time with the governor over that without it, of all cycles together."""
SETTLING = 0.5
"""At rest before the first phase, s."""
LONGEST = 30.0
"""Of a phase, s: it counts as not reached."""
LEVER_RATE = 15.0
"""At which the operator moves a lever, V/s."""
AHEAD, COASTING = 0.3, (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
"""The operator looks so far ahead, s; at a joint that turns about the vertical farther, for its load coasts. What
suits the cycle best he has found out: with fewer to choose from, a swing that is missed once and comes back costs more
than what is compared."""
NEAR, LEAST, NOTHING = np.radians(10.0), 0.9, np.radians(2.0)
"""Within `NEAR` levers are drawn back to `LEAST` of their part, for the open centre passes less; then to neutral."""
THERE, SLOW = np.radians(3.0), 0.1
"""A joint has arrived: rad or m, rad/s or m/s."""


@dataclass(frozen=True)
class Driven:
    """A cycle, driven once.

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
        """Of all phases, s."""
        return sum(self.times)


@dataclass(frozen=True)
class Compared:
    """A cycle without governor and with it."""

    name: str
    free: Driven
    governed: Driven

    @property
    def safe(self) -> bool:
        """Return whether the cycle keeps all wheels down without governor, so that its time counts."""
        return self.free.finished and not self.free.lifted

    @property
    def ratio(self) -> float:
        """Time with the governor over that without it; infinite where it does not come to its end."""
        return self.governed.time / self.free.time if self.governed.finished else np.inf


class WorkCycles:
    """Drives cycles on a rig's machine, level ground, everything as the governor knows it.

    Args:
        rig: machine and governor.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig, self.plant = rig, rig.plant()
        plant, actuators = self.plant, rig.machine.actuators
        self._joints = [plant.joints.index(own.joint) for own in actuators]
        self._inputs = [plant.system.index('input', f'{own.name}/voltage') for own in actuators]
        self._limits = np.array([own.command_limit for own in actuators])
        self._swing = np.array([_swings(rig, own.joint) for own in actuators])
        self._stand = Stand(plant)

    def compare(self, cycle: Cycle) -> Compared:
        """Drive a cycle without governor and with it."""
        return Compared(cycle.name, self.drive(cycle, False), self.drive(cycle, True))

    def drive(self, cycle: Cycle, governed: bool) -> Driven:
        """Drive a cycle as fast as the operator can without lifting a wheel.

        With the governor no habit of the operator may lift one: it counts wherever it happened, and the least load too.
        """
        tries = [self._drive(cycle, governed, coasting) for coasting in COASTING]
        best = min(tries, key=lambda own: (not own.finished, own.lifted, own.time))
        if not governed:
            return best
        return replace(best, lifted=any(own.lifted for own in tries), share=min(own.share for own in tries))

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
            began = plant.time
            while not run.arrived and plant.time - began < LONGEST and not plant.overturned:
                run.step(run.wanted())
            times.append(round(plant.time - began, 6))
            if not run.arrived:
                break
        return Driven(tuple(times), run.arrived, run.wheels.since is not None or plant.overturned, run.wheels.share)


class _Drive:
    """A cycle while it is driven."""

    def __init__(self, owner: WorkCycles, cycle: Cycle, governed: bool, ahead: Array) -> None:
        self.owner, self.cycle, self.plant, self.ahead = owner, cycle, owner.plant, ahead
        plant = self.plant
        plant.p[:] = plant.system.parameters({'payload_mass': cycle.payload, 'joint_stop_scale': 1.0})
        reset_at(plant, dict(cycle.start))
        self.partner = owner.rig.partner(True) if governed else None
        if self.partner is not None:
            self.partner.begin(cycle.payload)
        self.target = dict(zip(plant.joints, plant.positions.tolist()))
        self.lever = np.zeros(len(owner._limits))
        self.wheels = Wheels(*owner._stand(plant))
        elements = [actuator_element(hydraulic(own)) for own in owner.rig.machine.actuators]
        self._signs = np.array(
            [np.sign(float(own.lever(plant.positions[k]))) for own, k in zip(elements, owner._joints)]
        )

    def load(self, payload: float) -> None:
        """Take another payload, kg, which the governor is given."""
        self.plant.set_parameter('payload_mass', payload)
        if self.partner is not None:
            self.partner.monitor.payload = payload

    @property
    def _missing(self) -> Array:
        place = self.plant.positions
        return np.array([self.target[self.plant.joints[k]] - place[k] for k in self.owner._joints])

    @property
    def arrived(self) -> bool:
        """Return whether all joints are in their places, at rest."""
        return bool((np.abs(self._missing) < THERE).all() and np.abs(self.plant.velocities).max() < SLOW)

    def wanted(self) -> Array:
        """Return where the operator wants the levers, V."""
        owner = self.owner
        left = self._missing - self.ahead * self.plant.velocities[owner._joints]
        part = np.where(np.abs(left) > NOTHING, np.clip(np.abs(left) / NEAR, LEAST, 1.0), 0.0)
        return np.asarray(self._signs * np.sign(left) * part * self.cycle.speed * owner._limits)

    def step(self, wanted: Array) -> None:
        """Move the levers towards where they are wanted, for a period."""
        plant, owner = self.plant, self.owner
        self.lever = self.lever + np.clip(wanted - self.lever, -LEVER_RATE * PERIOD, LEVER_RATE * PERIOD)
        volts = self.lever
        if self.partner is not None:
            positions, velocities = plant.positions.copy(), plant.velocities.copy()
            self.partner.measure(Sample(plant.time, positions, velocities, tuple(read_imu(plant))))
            volts = self.partner.command(volts)
        plant.u[owner._inputs] = volts
        plant.advance()
        self.wheels.see(plant.time, *owner._stand(plant))


def _swings(rig: Rig, joint: str) -> bool:
    return abs(float(rig.machine.joint(joint).axis[2])) > 0.9
