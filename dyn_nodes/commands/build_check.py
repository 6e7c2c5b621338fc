"""Can the plant of a machine be built? It is traced and put at rest as a node does it, without machine code.

CasADi evaluates the expressions itself, so that nothing is compiled: `dyn-nodes check` does this for every machine.
"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.elements import states_at_rest
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.model.problems import MachineError, Problem
from dyn_nodes.simulation.assembly import Assembly, rest_deflections
from dyn_nodes.simulation.constrained_machine import ConstrainedMachine, constrained_machine
from dyn_nodes.simulation.fastest_motion import fastest_motion, substeps_for
from dyn_nodes.simulation.initial import Rest, settle, state_of_rest, statics_functions

Array = NDArray[np.float64]
PAYLOAD = 'payload_mass'
"""Name of the parameter."""
EXCHANGE_PERIOD = 1e-3
"""Of the dynamics node where nothing else is asked for, s."""


class TracedSystem:
    """A machine without constraints, efforts in: names, rates and rest of a `System`, evaluated by CasADi."""

    base, actuation = 'quaternion', 'effort'

    def __init__(self, machine: Machine) -> None:
        plant = Assembly(machine, 'effort')
        self.machine = machine
        self.state_names, self.parameter_names = plant.states.names, plant.parameters.names
        self.inputs = len(plant.inputs.names)
        self.parameters = np.array(plant.default_parameters(), dtype=np.float64)
        self.scales = {own.name: own.scale for own in plant.element_states}
        self._rates = ca.Function('rates', [plant.x, plant.u, plant.p], [ca.densify(plant.rhs)])

    @cached_property
    def statics(self) -> Any:
        """Kernel and facts that `settle` takes in the place of the compiled ones."""
        functions, meta = statics_functions(self.machine)
        return SimpleNamespace(meta=meta, statics=_in_place(functions['statics']))

    def index(self, kind: str, name: str) -> int:
        """Return the place of a `state` or `parameter`."""
        return list(getattr(self, f'{kind}_names')).index(name)

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return the rates (n,) of the states."""
        return np.array(self._rates(x, u, p), dtype=np.float64).ravel()


def _in_place(function: ca.Function) -> Any:
    """Return a function of arrays that writes its results into further arrays, as compiled kernels do."""
    count = function.n_in()

    def call(*arrays: Array) -> None:
        found = function.call([ca.DM(array) for array in arrays[:count]])
        for array, values in zip(arrays[count:], found):
            array[:] = np.array(values).ravel()

    return call


def build_problems(machine: Machine) -> tuple[Problem, ...]:
    """Return what keeps the plant of a machine from being built and starting at rest; empty where nothing does."""
    try:
        with np.errstate(all='ignore'):  # absurd numbers end in one of the errors, without noise
            if machine.needs_constraints:
                constrained_machine(machine, actuation='hydraulic' if machine.actuators else 'effort')
            else:
                _check_rest(machine)
    except MachineError as error:
        return error.problems
    except NoEquilibriumError as error:
        return (_problem(machine, 'initial', 'a posture in which the machine rests', error),)
    except (ValueError, np.linalg.LinAlgError) as error:
        return (_problem(machine, 'machine', 'one whose plant can be built', error),)
    return ()


def holding_efforts(
    machine: Machine, start: ConstrainedMachine | None, payload: float | None = None
) -> dict[str, float]:
    """Return the efforts of the joints at rest by name, N m or N; empty where the machine does not rest.

    A machine that tips with another payload than that of the file is taken in the pose of the latter.

    Args:
        machine: without faults.
        start: of a machine with constraints.
        payload: mass in the implement, kg; None: that of the file.
    """
    changes = {} if payload is None else {PAYLOAD: payload}
    try:
        if start is not None:
            return start.at_rest(start.system.constraints.blocks.numbers(changes)).efforts
        system: Any = TracedSystem(machine)
        p = system.parameters.copy()
        for name, value in changes.items():
            p[system.index('parameter', name)] = value
        try:
            return _efforts(machine, settle(system, p, statics=system.statics))
        except NoEquilibriumError:
            return _efforts(machine, _in_pose(system, settle(system, system.parameters, statics=system.statics), p))
    except (ValueError, np.linalg.LinAlgError):
        return {}


def _in_pose(system: TracedSystem, rest: Rest, p: Array) -> Rest:
    """Return a rest with the forces that hold the machine there under other parameters."""
    statics, holding = system.statics, np.empty_like(rest.holding)
    unknowns = len(rest.pose) + len(rest.bristles) + len(statics.meta['bent'])
    flat, used = np.empty(len(statics.meta['balanced']) * unknowns), np.empty(len(statics.meta['used']))
    statics.statics(rest.pose, rest.joints, rest.bristles, p, holding, flat, used)
    return rest._replace(holding=holding)


def _efforts(machine: Machine, rest: Rest) -> dict[str, float]:
    names = [joint.name for joint in machine.movable_joints]
    return {name: float(effort) for name, effort in zip(names, rest.holding[len(rest.holding) - len(names) :])}


def _rest(machine: Machine, system: Any) -> Rest:
    if machine.base.attachment == 'fixed' and not machine.actuators:  # nothing settles, nothing is held by oil
        joints, nothing = joint_vector(machine), np.zeros(len(rest_deflections(machine)))
        return Rest(machine.initial.pose, nothing, joints, np.zeros(len(joints)))
    return settle(system, system.parameters, statics=system.statics)


def _check_rest(machine: Machine) -> None:
    """Raise what a plant without constraints does: no rest, a dead centre, a motion too fast to be integrated."""
    system: Any = TracedSystem(machine)
    rest = _rest(machine, system)
    names = [joint.name for joint in machine.movable_joints]
    states_at_rest(machine, dict(zip(names, rest.joints)), _efforts(machine, rest))
    x, u = state_of_rest(system, rest), np.zeros(system.inputs)
    if not np.isfinite(system.rhs(x, u, system.parameters)).all():
        raise ValueError('accelerations that are not finite at the start')
    substeps_for(machine.name, fastest_motion(system, x, u, system.parameters), EXCHANGE_PERIOD)


def _problem(machine: Machine, where: str, expected: str, found: object) -> Problem:
    text = str(found).removeprefix(f'{machine.name}: ')
    return Problem(machine.sources[-1] if machine.sources else machine.name, 0, where, expected, text)
