"""Checks that the plant of a machine can be built and starts at rest, without compiled code.

CasADi evaluates the expressions of the plant that the nodes compile. `dyn-nodes check` runs this check.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import states_at_rest
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import MachineError, Problem
from dyn_nodes.model.rotations import matrix_of_quaternion, rpy_of_matrix
from dyn_nodes.multibody.base_motion import base_coordinates, base_pose
from dyn_nodes.simulation.assembly import Assembly, rest_deflections
from dyn_nodes.simulation.constrained_machine import ConstrainedMachine, constrained_machine
from dyn_nodes.simulation.guards.fastest_motion import Linearization
from dyn_nodes.simulation.initial import settle, state_of_rest, statics_functions
from dyn_nodes.simulation.start import check_upright, tilt_of

PAYLOAD = 'payload_mass'
"""Name of the parameter of the payload."""
EXCHANGE_PERIOD = 1e-3
"""Default exchange period of the dynamics node, s."""


class TracedSystem:
    """A machine without constraints with efforts as inputs: the interface of a `System`, evaluated by CasADi."""

    base, actuation = 'quaternion', 'effort'

    def __init__(self, machine: Machine) -> None:
        plant = Assembly(machine, 'effort')
        self.machine = machine
        self.state_names, self.parameter_names = plant.states.names, plant.parameters.names
        self.inputs = len(plant.inputs.names)
        self.parameters = np.array(plant.default_parameters(), dtype=np.float64)
        self.scales = {state.name: state.scale for state in plant.element_states}
        self._plant = plant

    @cached_property
    def _rates(self) -> ca.Function:
        plant = self._plant
        return ca.Function('rates', [plant.x, plant.u, plant.p], [ca.densify(plant.rhs)])

    @cached_property
    def statics(self) -> Any:
        """Kernel and metadata for `settle`, which replace the compiled ones."""
        functions, meta = statics_functions(self.machine)
        return SimpleNamespace(meta=meta, statics=_in_place(functions['statics']))

    def index(self, kind: str, name: str) -> int:
        """Return the index of a `state` or `parameter`."""
        return list(getattr(self, f'{kind}_names')).index(name)

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return the rates (n,) of the states."""
        return np.array(self._rates(x, u, p), dtype=np.float64).ravel()


def _in_place(function: ca.Function) -> Any:
    """Return a function of arrays that writes its results into further arrays, as compiled kernels do."""
    count = function.n_in()

    def call(*arrays: Array) -> None:
        results = function.call([ca.DM(array) for array in arrays[:count]])
        for array, values in zip(arrays[count:], results):
            array[:] = np.array(values).ravel()

    return call


class CheckedStart(NamedTuple):
    """The state from which the plant of a machine starts.

    Attributes:
        joints: positions of the movable joints by name, rad or m.
        pose: (6,) of the base: x, y, z, roll, pitch, yaw.
        deflections: of friction by name, m or rad.
        efforts: holding efforts of the joints by name, N m or N.
        constrained: the machine with constraints, or None.
        traced: the machine without constraints, or None.
        state: (n,) state of `traced`.
    """

    joints: dict[str, float]
    pose: Array
    deflections: dict[str, float]
    efforts: dict[str, float]
    constrained: ConstrainedMachine | None
    traced: TracedSystem | None = None
    state: Array | None = None


@lru_cache(maxsize=4)
def checked_start(machine: Machine) -> CheckedStart:
    """Return the start of the plant of a machine; the result is cached.

    Raises:
        MachineError: the constraints cannot be met.
        NoEquilibriumError: the machine cannot rest in its initial posture.
        ValueError: a cylinder at its dead centre, numbers that are not finite.
    """
    with np.errstate(all='ignore'):  # extreme numbers raise one of the errors
        start = _constrained_start(machine) if machine.needs_constraints else _tree_start(machine)
        check_upright(machine, tilt_of(start.pose))
    return start


def _constrained_start(machine: Machine) -> CheckedStart:
    constrained = constrained_machine(machine, actuation='hydraulic' if machine.actuators else 'effort')
    rest = constrained.at_rest()
    positions = dict(zip(constrained.system.blocks.tree.position_names, map(float, rest.q)))
    joints = {joint.name: positions[joint.name] for joint in machine.movable_joints}
    position, turn = base_pose(machine.base.attachment, rest.q)
    pose = np.array([*position, *rpy_of_matrix(matrix_of_quaternion(turn))])
    deflections = {name: rest.states[name] for name in rest_deflections(machine)}
    return CheckedStart(joints, pose, deflections, rest.efforts, constrained)


def _tree_start(machine: Machine) -> CheckedStart:
    system: Any = TracedSystem(machine)
    names, deflections = [joint.name for joint in machine.movable_joints], rest_deflections(machine)
    rest = settle(system, system.parameters, statics=system.statics)
    efforts = dict(zip(names, map(float, rest.holding[len(rest.holding) - len(names) :])))
    positions, bent = dict(zip(names, map(float, rest.joints))), dict(zip(deflections, map(float, rest.bristles)))
    return CheckedStart(positions, rest.pose, bent, efforts, None, system, state_of_rest(system, rest))


def build_problems(machine: Machine) -> tuple[Problem, ...]:
    """Return the problems that prevent building the plant of a machine or starting it at rest."""
    try:
        with np.errstate(all='ignore'):
            _check_motions(machine, checked_start(machine))
    except MachineError as error:
        return error.problems
    except NoEquilibriumError as error:
        return (_problem(machine, 'initial', 'a posture in which the machine rests', error),)
    except (ValueError, np.linalg.LinAlgError) as error:
        return (_problem(machine, 'machine', 'one whose plant can be built', error),)
    return ()


def holding_efforts(start: CheckedStart, payload: float) -> dict[str, float]:
    """Return the efforts of the joints at rest with a payload, kg, by name, N m or N; empty without equilibrium.

    If the machine tips with this payload, the pose of its start is used.
    """
    changes = {PAYLOAD: payload}
    try:
        if start.constrained is not None:
            machine = start.constrained
            return machine.at_rest(machine.system.constraints.blocks.numbers(changes)).efforts
        system: Any = start.traced
        p = system.parameters.copy()
        p[system.index('parameter', PAYLOAD)] = payload
        try:
            holding = settle(system, p, statics=system.statics).holding
        except NoEquilibriumError:
            holding = _holding_at(system, start, p)
    except (ValueError, np.linalg.LinAlgError):
        return {}
    names = [joint.name for joint in system.machine.movable_joints]
    return dict(zip(names, map(float, holding[len(holding) - len(names) :])))


def _holding_at(system: TracedSystem, start: CheckedStart, p: Array) -> Array:
    """Return the forces (nv,) that hold a machine in the pose of its start for other parameters."""
    meta = system.statics.meta
    q = np.array([*base_coordinates(system.machine.base.attachment, start.pose), *start.joints.values()])
    s, holding, n = np.array(list(start.deflections.values())), np.empty(int(meta['nv'])), len(meta['free'])
    system.statics.statics(q, s, p, holding, np.empty(n * n), np.empty(n * len(s)), np.empty(len(meta['used'])))
    return holding


def _check_motions(machine: Machine, start: CheckedStart) -> None:
    """Raise ValueError for a dead centre, infinite accelerations, or a motion too fast to be integrated."""
    system: Any = start.traced
    x = start.state
    if system is None or x is None:
        return
    states_at_rest(machine, start.joints, start.efforts)
    u = np.zeros(system.inputs)
    if not np.isfinite(system.rhs(x, u, system.parameters)).all():
        raise ValueError('accelerations that are not finite at the start')
    p = system.parameters
    about = Linearization.of(system.state_names, system.scales, lambda near: system.rhs(near, u, p), x)
    about.division(machine.name, EXCHANGE_PERIOD)


def _problem(machine: Machine, where: str, expected: str, error: object) -> Problem:
    text = str(error).removeprefix(f'{machine.name}: ')
    return Problem(machine.sources[-1] if machine.sources else machine.name, 0, where, expected, text)
