"""What a run would show: information matrices of the fits of joints and valves, and the intervals they lead to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.machine_fit import SEEN, SEEN_COMBINATION, SMALL
from dyn_nodes.analysis.machine_log import MachineLog
from dyn_nodes.analysis.mechanics import EVERY, WIDTH, JointMechanics
from dyn_nodes.analysis.mechanics_fit import MechanicsError, MechanicsProblem
from dyn_nodes.analysis.valve_fit import EVERY as VALVE_EVERY
from dyn_nodes.analysis.valve_fit import PARAMETERS, SENSORS, ValveFitError, ValveProblem, ValveScale, start_values
from dyn_nodes.analysis.valve_fit import WIDTH as VALVE_WIDTH
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.actuators import hydraulic, oil_actuators
from dyn_nodes.model.machine import Machine

EFFORT_LEFT, FLOW_LEFT = 0.01, 0.007
"""What fits of logs with noise leave over of efforts and flows, as parts of their root mean square (`fit check`)."""
QUANTILE = 1.96


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters that are fitted together.

    Attributes:
        names: (k,).
        spread: (k,) what is known beforehand, standard deviations.
        wanted: (k,) half widths of intervals at which a parameter counts as seen; inf: it need not be.
    """

    names: tuple[str, ...]
    spread: Array
    wanted: Array

    def half_widths(self, information: Array) -> Array:
        """Return the half widths (k,) of intervals of 95 % that an information matrix (k, k) leads to."""
        scaled = self._scaled(information)
        return np.asarray(QUANTILE * self.spread * np.sqrt(np.diag(np.linalg.inv(scaled))))

    def gain(self, information: Array) -> float:
        """Return the logarithm of the determinant, of parameters over their spread: 0 for no information."""
        return float(np.linalg.slogdet(self._scaled(information))[1])

    def missing(self, information: Array) -> Array:
        """Return half widths over those that are wanted (k,): above 1 what is not seen."""
        return self.half_widths(information) / self.wanted

    def _scaled(self, information: Array) -> Array:
        return np.eye(len(self.spread)) + information * np.outer(self.spread, self.spread)


class Information:
    """Information of runs of one machine.

    Args:
        machine: as it is known.
        payload: kg.
    """

    def __init__(self, machine: Machine, payload: float) -> None:
        self.machine = machine
        self.actuators = tuple(own.name for own in oil_actuators(machine.actuators))
        self._mechanics = JointMechanics(machine, self.actuators, payload)
        self.blocks: dict[str, Block] = {}

    def of(self, log: MachineLog) -> dict[str, Array]:
        """Return the information matrix of every block; a block of which a log shows nothing is absent.

        Args:
            log: of the machine, exact or with noise.
        """
        found = {}
        with suppress(MechanicsError):
            found['joints'] = self._of_joints(log)
        for name in self.actuators:
            if self.machine.pump_of(name) is None and name in log.actuators:
                with suppress(ValveFitError):
                    found[name] = self._of_valve(name, log)
        return found

    def _of_joints(self, log: MachineLog) -> Array:
        problem = MechanicsProblem(self._mechanics, log)
        offsets = np.zeros(problem.joints)
        rows = problem.rows(self._mechanics.start, offsets)
        mean, spread = problem.known(rows, offsets)
        matrix = problem.matrix(rows)
        sigma = np.ones(problem.joints)
        for place in np.unique(rows.joint):
            size = float(np.sqrt(np.mean(rows.right[rows.joint == place] ** 2)))
            sigma[place] = max(EFFORT_LEFT * size, 1e-6)
        if 'joints' not in self.blocks:
            b, r = len(problem.base.chosen), len(self._mechanics.rows)
            wanted = np.full(len(mean), np.inf)
            wanted[:b] = SEEN_COMBINATION * problem.base.scales
            wanted[b : b + r] = SEEN * np.maximum(np.abs(mean[b : b + r]), 1e-9)
            wanted[b + r : b + 2 * r] = 0.01 / EFFORT_LEFT * sigma[self._mechanics.places]
            self.blocks['joints'] = Block(problem.names, spread, wanted)
        weighted = matrix / sigma[rows.joint][:, None]
        return np.asarray(weighted.T @ weighted * (2.0 * EVERY / WIDTH))

    def _of_valve(self, name: str, log: MachineLog) -> Array:
        actuator = hydraulic(self.machine.actuator(name))
        problem = ValveProblem(actuator, log)
        scale = ValveScale(problem.before, problem.spool.reach)
        if name not in self.blocks:
            slopes = scale.slopes(problem.before)
            wanted = np.full(len(PARAMETERS), np.inf)
            for k, (key, value) in enumerate(zip(PARAMETERS, start_values(actuator))):
                if key not in SENSORS and key != 'joint_offset':
                    wanted[k] = max(SEEN * abs(value), SMALL.get(key.partition('.')[0], 0.0))
            names = tuple(f'{name}.{key}' for key in PARAMETERS)
            self.blocks[name] = Block(names, scale.spread * slopes, wanted)
        _, jacobian = problem.balance(problem.before)
        weighted = jacobian.reshape(-1, len(PARAMETERS)) / max(FLOW_LEFT * problem.moved, 1e-9)
        return np.asarray(weighted.T @ weighted * (2.0 * VALVE_EVERY / VALVE_WIDTH))


def added(one: dict[str, Array], other: dict[str, Array]) -> dict[str, Array]:
    """Return the information of two independent runs together."""
    result = dict(one)
    for name, matrix in other.items():
        result[name] = result[name] + matrix if name in result else matrix
    return result
