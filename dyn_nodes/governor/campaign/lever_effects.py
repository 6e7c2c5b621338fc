"""What levers of an adversary move: valves by volts, or joints by efforts.

A machine without actuators is commanded by efforts, N m or N, as `joint_command` has them. With levers at neutral
nothing brakes such a machine: its weight is carried, and its joints go on at their speeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.drives import EffortDrives
from dyn_nodes.governor.effort_predictor import EffortPredictor
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.records import SURROUNDINGS, surroundings
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.stop_model import StopModel
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import turned_back
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.system import Actuation

UP = np.array([0.0, 0.0, 1.0])


class Valves:
    """Levers of a machine with hydraulic actuators, V.

    Args:
        machine: as the governor knows it.

    Attributes:
        actuation: of its plant.
        names: of the levers.
        joints: that they move.
        inputs: of the plant.
        looks: what they want depends on where the machine is.
    """

    actuation: Actuation = 'hydraulic'
    looks = False

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names = tuple(actuator.name for actuator in machine.actuators)
        self.joints = [actuator.joint for actuator in machine.actuators]
        self.inputs = [f'{name}/voltage' for name in self.names]

    def stops(self, monitor: StabilityMonitor, settings: GovernorSettings) -> StopPredictor:
        """Return what predicts stops from what a monitor knows."""
        return StopPredictor(monitor.machine, range(len(self.names)), monitor, settings)

    def wanted(self, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return what levers (m,) want of the machine of a sample, with a payload that is known so, kg."""
        return levers

    def given(self, stops: Any, output: Array) -> Array:
        """Return what an output of the governor gives the machine."""
        return output

    def lever_part(self, given: Array, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return at which levers a machine would be given the same."""
        return given


class Efforts:
    """Levers that ask for accelerations of joints, rad/s2 or m/s2, of a machine that is commanded by efforts.

    A controller makes efforts of them by its model of the machine, and keeps the limits of effort and speed. Arguments
    and attributes are those of `Valves`.

    Raises:
        ValueError: a driven joint has no limit of its effort.
    """

    actuation: Actuation = 'effort'
    looks = True

    def __init__(self, machine: Machine) -> None:
        self.machine, known = machine, in_space(machine)
        self._drives = EffortDrives(known)
        self._kernels = StopModel(known, self._drives).kernels
        self._fastest = np.array([machine.joint(name).velocity_limit for name in self._drives.joints])
        self.names = self._drives.joints
        self.joints = list(self.names)
        self.inputs = [f'{name}/effort' for name in self.names]

    def stops(self, monitor: StabilityMonitor, settings: GovernorSettings) -> EffortPredictor:
        """Return what predicts stops from what a monitor knows."""
        return EffortPredictor(monitor.machine, range(len(self.names)), monitor, settings)

    def wanted(self, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return efforts (m,) within the limits, for accelerations (m,) that lead to no speed beyond its limit."""
        assert sample is not None
        v = sample.v[self._drives.places]
        return self._efforts(np.where((np.abs(v) >= self._fastest) & (v * levers > 0.0), 0.0, levers), sample, payload)

    def given(self, stops: Any, output: Array) -> Array:
        """Return the efforts that an output of the governor gives the machine."""
        return np.array(stops.given)

    def lever_part(self, given: Array, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return the levers by the part of the way from no acceleration to them that is given."""
        still, wanted = self._efforts(np.zeros(len(levers)), sample, payload), self.wanted(levers, sample, payload)
        way = np.where(wanted == still, np.inf, wanted - still)
        return np.asarray(levers * np.clip((given - still) / way, 0.0, 1.0))

    def _efforts(self, accelerations: Array, sample: Sample | None, payload: float) -> Array:
        """Return efforts (m,) within the limits; without an IMU as on level ground."""
        assert sample is not None
        up = UP if sample.imu is None else turned_back(sample.imu[0], UP)
        present, found = surroundings(np.zeros(SURROUNDINGS)), np.empty(len(self.names))
        present.specific_force[:], present.payload[:] = self.machine.gravity * up, payload
        q, v = np.asarray(sample.q), np.asarray(sample.v)
        rates = np.zeros(len(q))
        rates[self._drives.places] = accelerations
        self._kernels.efforts(q, v, rates, present.vector, found)
        return np.clip(found, -self._drives.greatest, self._drives.greatest)


def lever_effects(machine: Machine) -> Valves | Efforts:
    """Return what levers of a machine move; raise ValueError for one that has nothing of both."""
    return Valves(machine) if machine.actuators else Efforts(machine)
