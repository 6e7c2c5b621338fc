"""Expected information of a run: information matrices of the fits of joints and valves, and resulting intervals."""

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
"""Residuals of fits of noisy logs, as parts of the root mean square of efforts and flows (`fit check`)."""
QUANTILE = 1.96


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters that are fitted together.

    Attributes:
        names: (k,) names of the parameters.
        spread: (k,) prior standard deviations.
        wanted: (k,) half widths of intervals at which a parameter counts as identified; inf if not required.
    """

    names: tuple[str, ...]
    spread: Array
    wanted: Array

    def half_widths(self, information: Array) -> Array:
        """Return the half widths (k,) of intervals of 95 % for an information matrix (k, k)."""
        scaled = self._scaled(information)
        return np.asarray(QUANTILE * self.spread * np.sqrt(np.diag(np.linalg.inv(scaled))))

    def gain(self, information: Array) -> float:
        """Return the log determinant for parameters scaled by their spread: 0 without information."""
        return float(np.linalg.slogdet(self._scaled(information))[1])

    def missing(self, information: Array) -> Array:
        """Return half widths over required ones (k,): above 1 for parameters that are not identified."""
        return self.half_widths(information) / self.wanted

    def _scaled(self, information: Array) -> Array:
        return np.eye(len(self.spread)) + information * np.outer(self.spread, self.spread)


class Information:
    """Information matrices of runs of one machine.

    Args:
        machine: nominal machine.
        payload: kg.
    """

    def __init__(self, machine: Machine, payload: float) -> None:
        self.machine = machine
        self.actuators = tuple(actuator.name for actuator in oil_actuators(machine.actuators))
        self._mechanics = JointMechanics(machine, self.actuators, payload)
        self.blocks: dict[str, Block] = {}

    def of(self, log: MachineLog) -> dict[str, Array]:
        """Return the information matrix of every block; blocks without information are absent.

        Args:
            log: log of the machine, exact or with noise.
        """
        result = {}
        with suppress(MechanicsError):
            result['joints'] = self._of_joints(log)
        for name in self.actuators:
            if self.machine.pump_of(name) is None and name in log.actuators:
                with suppress(ValveFitError):
                    result[name] = self._of_valve(name, log)
        return result

    def _of_joints(self, log: MachineLog) -> Array:
        problem = MechanicsProblem(self._mechanics, log)
        offsets = np.zeros(problem.joints)
        rows = problem.rows(self._mechanics.start, offsets)
        mean, spread = problem.prior(rows, offsets)
        matrix = problem.matrix(rows)
        sigma = np.ones(problem.joints)
        for joint in np.unique(rows.joint):
            size = float(np.sqrt(np.mean(rows.right[rows.joint == joint] ** 2)))
            sigma[joint] = max(EFFORT_LEFT * size, 1e-6)
        if 'joints' not in self.blocks:
            b, r = len(problem.base.chosen), len(self._mechanics.rows)
            wanted = np.full(len(mean), np.inf)
            wanted[:b] = SEEN_COMBINATION * problem.base.scales
            wanted[b : b + r] = SEEN * np.maximum(np.abs(mean[b : b + r]), 1e-9)
            wanted[b + r : b + 2 * r] = 0.01 / EFFORT_LEFT * sigma[self._mechanics.row_indices]
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
