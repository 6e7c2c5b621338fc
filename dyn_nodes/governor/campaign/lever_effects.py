"""Effects of an adversary's levers: valves moved by volts, or joints by efforts.

A machine without actuators is commanded by efforts, N m or N, as in `joint_command`. With levers at neutral nothing
brakes such a machine: its weight is carried, and its joints keep their speeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.campaign.cases import ACCELERATION
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
        machine: nominal machine of the governor.

    Attributes:
        actuation: of its plant.
        names: of the levers.
        joints: that they move.
        inputs: of the plant.
        limits: (m,) greatest levers.
        needs_state: their effect depends on the state of the machine.
    """

    actuation: Actuation = 'hydraulic'
    needs_state = False

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names = tuple(actuator.name for actuator in machine.actuators)
        self.joints = [actuator.joint for actuator in machine.actuators]
        self.inputs = [f'{name}/voltage' for name in self.names]
        self.limits = np.array([actuator.command_limit for actuator in machine.actuators])

    def stops(self, monitor: StabilityMonitor, settings: GovernorSettings) -> StopPredictor:
        """Return the stop predictor for a monitor."""
        return StopPredictor(monitor.machine, range(len(self.names)), monitor, settings)

    def wanted(self, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return the outputs requested by levers (m,) for the machine of a sample and a nominal payload, kg."""
        return levers

    def applied(self, stops: Any, output: Array) -> Array:
        """Return the machine's input for an output of the governor."""
        return output

    def lever_part(self, applied: Array, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return the levers that would produce these inputs of the machine."""
        return applied


class Efforts:
    """Levers that command accelerations of joints, rad/s2 or m/s2, of a machine that is commanded by efforts.

    A controller converts them to efforts by its model of the machine, within the limits of effort and speed. For
    arguments and attributes see `Valves`.

    Raises:
        ValueError: a driven joint has no effort limit.
    """

    actuation: Actuation = 'effort'
    needs_state = True

    def __init__(self, machine: Machine) -> None:
        self.machine, nominal = machine, in_space(machine)
        self._drives = EffortDrives(nominal)
        self._kernels = StopModel(nominal, self._drives).kernels
        self._fastest = np.array([machine.joint(name).velocity_limit for name in self._drives.joints])
        self.names = self._drives.joints
        self.joints = list(self.names)
        self.inputs = [f'{name}/effort' for name in self.names]
        self.limits = np.full(len(self.names), ACCELERATION)
        self._present = surroundings(np.zeros((1, SURROUNDINGS)))
        self._present.heft[:] = 1.0

    def stops(self, monitor: StabilityMonitor, settings: GovernorSettings) -> EffortPredictor:
        """Return the stop predictor for a monitor."""
        return EffortPredictor(monitor.machine, range(len(self.names)), monitor, settings)

    def wanted(self, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return efforts (m,) within the limits, for accelerations (m,) that exceed no speed limit."""
        assert sample is not None
        v = sample.v[self._drives.indices]
        return self._efforts(np.where((np.abs(v) >= self._fastest) & (v * levers > 0.0), 0.0, levers), sample, payload)

    def applied(self, stops: Any, output: Array) -> Array:
        """Return the efforts of the machine for an output of the governor."""
        return np.array(stops.output_efforts)

    def lever_part(self, applied: Array, levers: Array, sample: Sample | None, payload: float) -> Array:
        """Return the levers, scaled by the fraction of the way from no acceleration to them that is applied."""
        still, wanted = self._efforts(np.zeros(len(levers)), sample, payload), self.wanted(levers, sample, payload)
        way = np.where(wanted == still, np.inf, wanted - still)
        return np.asarray(levers * np.clip((applied - still) / way, 0.0, 1.0))

    def _efforts(self, accelerations: Array, sample: Sample | None, payload: float) -> Array:
        """Return efforts (m,) within the limits; on level ground if there is no IMU."""
        assert sample is not None
        up = UP if sample.imu is None else turned_back(sample.imu[0], UP)
        present, efforts = self._present, np.empty(len(self.names))
        present.specific_force[:], present.payload[:] = self.machine.gravity * up, payload
        q, v = np.asarray(sample.q), np.asarray(sample.v)
        rates = np.zeros(len(q))
        rates[self._drives.indices] = accelerations
        self._kernels.efforts(q, v, rates, present.vector[0], efforts)
        return np.clip(efforts, -self._drives.greatest, self._drives.greatest)


def lever_effects(machine: Machine) -> Valves | Efforts:
    """Return the effects of a machine's levers; raise ValueError if it has neither actuators nor driven joints."""
    return Valves(machine) if machine.actuators else Efforts(machine)
