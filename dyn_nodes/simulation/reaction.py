"""The reaction at a joint of a running machine, from virtual links (abo-shanab-2003, section 3.3).

A System has one set of equations. A hybrid model has one for every mode, and the reaction is that of the mode it is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import build_module
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.multibody.virtual_links import (
    WRENCH,
    Side,
    VirtualLink,
    insert_virtual_links,
    virtual_joint_forces,
    virtual_names,
)
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.hybrid import HybridModel, HybridRun
from dyn_nodes.simulation.run import Run
from dyn_nodes.simulation.system import System

Array = NDArray[np.float64]


class Wrench(NamedTuple):
    """Force (3,), N, and torque (3,), N m, of the parent link on the child link at a joint.

    The component along (or about) the axis of a movable joint is the effort of its drive less its damping.
    """

    force: Array
    torque: Array


class JointReaction:
    """Compiled reactions at joints of a system.

    The rows (3.14) of the equations extended by virtual links hold the drives through the accelerations and the ground
    through the state, so they need no inputs beside these.

    Args:
        system: of a fixed, planar or free machine.
        joints: names of movable or fixed joints.
        directions: along which forces (prismatic) and about which torques (revolute) are wanted; the whole wrench:
            force x, y, z, torque x, y, z.
        side: whose frame holds the directions, and at whose point torques are taken: `child`, the origin of the child
            link; `parent`, the origin of the joint in the parent link. Both are one point, save on a prismatic joint.

    Raises:
        KeyError: no such joint.
    """

    def __init__(
        self,
        system: System,
        joints: Sequence[str],
        directions: Sequence[VirtualLink] = WRENCH,
        side: Side = 'child',
    ) -> None:
        self.system, self.joints, self.directions, self.side = system, tuple(joints), tuple(directions), side
        for joint in self.joints:
            system.machine.joint(joint)
        key = [machine_fingerprint(system.machine), system.actuation, system.base, str(system.audit), side]
        key += [str([tuple(float(c) for c in link.unit_axis), link.kind]) for link in self.directions]
        self._kernel = build_module(
            f'{system.machine.name}: reaction',
            [*key, *self.joints],
            lambda: ({'reaction': self._trace()}, {}),
        ).reaction
        velocities = [name.removesuffix('_rate') for name in system.state_names[system.nq : system.nq + system.nv]]
        self._places = np.array([system.index('output', f'{name}_acceleration') for name in velocities], dtype=np.intp)

    def _trace(self) -> ca.Function:
        system = self.system
        plant = Assembly(system.machine, system.actuation, system.base, system.audit)
        a = ca.SX.sym('a', plant.tree.nv)
        rows = [traced_reaction(system, plant, a, joint, self.directions, self.side) for joint in self.joints]
        return ca.Function('reaction', [plant.x, a, plant.p], [ca.densify(ca.vertcat(*rows))])

    def evaluate(self, x: Array, acceleration: Array, p: Array) -> Array:
        """Return the reactions (joints, directions), N and N m, of the parent on the child.

        Args:
            x: state.
            acceleration: (nv,) generalized accelerations.
            p: parameters.

        Raises:
            ValueError: a vector of another length.
        """
        sizes = (len(self.system.state_names), self.system.nv, len(self.system.parameter_names))
        for name, vector, size in zip(('state', 'acceleration', 'parameter'), (x, acceleration, p), sizes):
            if np.shape(vector) != (size,):
                raise ValueError(
                    f'{self.system.machine.name}: expected a {name} vector of {size}, found shape {np.shape(vector)}'
                )
        result = np.empty(len(self.joints) * len(self.directions))
        self._kernel(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, acceleration, p)), result)
        return result.reshape(len(self.joints), len(self.directions))

    def of_outputs(self, x: Array, y: Array, p: Array) -> Array:
        """Return the same from the outputs y of the system at x, which hold the accelerations."""
        return self.evaluate(x, y[self._places], p)

    def of_run(self, run: Run) -> Array:
        """Return the same (t, joints, directions) at every instant of a run of the system."""
        y = np.column_stack([run.output(self.system.output_names[place]) for place in self._places])
        return np.array([self.evaluate(x, a, run.parameters) for x, a in zip(run.states, y)])

    def at(self, x: Array, u: Array, p: Array) -> Array:
        """Return the same at a state under inputs u."""
        return self.of_outputs(x, self.system.outputs(x, u, p), p)


class PhaseReaction:
    """Compiled reactions at joints of a hybrid model, in each of its modes.

    Arguments and meaning are those of :class:`JointReaction`. In an impact the reactions are impulses, which this does
    not tell.

    Raises:
        KeyError: no such joint.
    """

    def __init__(
        self,
        model: HybridModel,
        joints: Sequence[str],
        directions: Sequence[VirtualLink] = WRENCH,
        side: Side = 'child',
    ) -> None:
        self.model, self.joints, self.directions, self.side = model, tuple(joints), tuple(directions), side
        for joint in self.joints:
            model.machine.joint(joint)
        key = [machine_fingerprint(model.machine), model.actuation, type(model).__name__, side, *model.phases]
        key += [str([tuple(float(c) for c in link.unit_axis), link.kind]) for link in self.directions]
        self._module = build_module(
            f'{model.machine.name}: phase_reaction', [*key, *self.joints], lambda: (self._trace(), {})
        )
        names = [name.removesuffix('_acceleration') for name in model.output_names if name.endswith('_acceleration')]
        self._places = np.array([model.index('output', f'{name}_acceleration') for name in names], dtype=np.intp)

    def _trace(self) -> dict[str, ca.Function]:
        functions = {}
        for mode in self.model.phases:
            plant = self.model.assembly(mode)
            a = ca.SX.sym('a', plant.tree.nv)
            # what a hybrid model has beside a System's parameters comes last and moves nothing
            p = ca.SX.sym('p', len(self.model.parameter_names))
            rows = [traced_reaction(self.model, plant, a, joint, self.directions, self.side) for joint in self.joints]
            value = ca.substitute([ca.vertcat(*rows)], [plant.p], [p[: plant.p.shape[0]]])[0]
            name = f'reaction_{mode}'
            functions[name] = ca.Function(name, [plant.x, a, p], [ca.densify(value)])
        return functions

    def evaluate(self, mode: str, x: Array, acceleration: Array, p: Array) -> Array:
        """Return the reactions (joints, directions), N and N m, of the parent on the child.

        Args:
            mode: of the model.
            x: state.
            acceleration: (nv,) generalized accelerations.
            p: parameters.

        Raises:
            ValueError: no such mode; a vector of another length.
        """
        model = self.model
        if mode not in model.modes:
            raise ValueError(
                f'{model.machine.name}: expected one of the modes {", ".join(model.modes)}, found {mode!r}'
            )
        sizes = (len(model.state_names), len(self._places), len(model.parameter_names))
        for name, vector, size in zip(('state', 'acceleration', 'parameter'), (x, acceleration, p), sizes):
            if np.shape(vector) != (size,):
                raise ValueError(
                    f'{model.machine.name}: expected a {name} vector of {size}, found shape {np.shape(vector)}'
                )
        result = np.empty(len(self.joints) * len(self.directions))
        kernel = getattr(self._module, f'reaction_{model.phase_of(mode)}')
        kernel(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, acceleration, p)), result)
        return result.reshape(len(self.joints), len(self.directions))

    def of_outputs(self, x: Array, y: Array, p: Array, mode: str) -> Array:
        """Return the same from the outputs y of the model at x, which hold the accelerations."""
        return self.evaluate(mode, x, y[self._places], p)

    def at(self, mode: str, x: Array, u: Array, p: Array) -> Array:
        """Return the same at a state under inputs u."""
        return self.of_outputs(x, self.model.output_vector(mode, x, u, p), p, mode)

    def of_run(self, run: HybridRun) -> Array:
        """Return the same (t, joints, directions) at every instant of a run of the model."""
        u = run.inputs.at(run.times, self.model.input_names)
        return np.array(
            [
                self.at(self.model.modes[mode], x, row, run.parameter_sets[place])
                for x, row, mode, place in zip(run.states, u, run.modes, run.parameter_index)
            ]
        )


def traced_reaction(
    system: System | HybridModel,
    plant: Assembly,
    a: Expression,
    joint: str,
    directions: Sequence[VirtualLink],
    side: Side,
) -> Expression:
    """Return the reaction (m,) at a joint of a system, traced as `plant`, with accelerations a (nv,)."""
    extended_machine = insert_virtual_links(plant.machine, joint, directions, side)
    extended = Assembly(extended_machine, system.actuation, system.base, system.audit)
    # the virtual joints stand still: the extended plant in the symbols of the plain one
    extended.x = _with_zeros(extended.states.names, plant.states.names, plant.x)
    extended.u = _with_zeros(extended.inputs.names, plant.inputs.names, plant.u)
    extended.p = plant.p
    full = _with_zeros(extended.tree.velocity_names, plant.tree.velocity_names, a)
    names = virtual_names(joint, len(directions))
    return virtual_joint_forces(extended.state, full, extended.gravity, names, extended.external_forces)


def _with_zeros(names: Sequence[str], known: Sequence[str], values: Expression) -> Expression:
    """Values by name, zero for names that are not known."""
    places = {name: k for k, name in enumerate(known)}
    return ca.vertcat(*(values[places[name]] if name in places else ca.SX(0) for name in names))


_system = lru_cache(maxsize=16)(System)


@lru_cache(maxsize=64)
def _phase_reaction(model: HybridModel, joint: str, side: Side) -> PhaseReaction:
    return PhaseReaction(model, (joint,), WRENCH, side)


@lru_cache(maxsize=64)
def _reaction(system: System, joint: str, side: Side) -> JointReaction:
    return JointReaction(system, (joint,), WRENCH, side)


def joint_reaction(
    machine: Machine | System | HybridModel,
    state: Array,
    joint: str,
    inputs: Mapping[str, float] | Array | None = None,
    parameters: Array | None = None,
    side: Side = 'child',
    mode: str | None = None,
) -> Wrench:
    """Return the force and torque that the parent link exerts on the child link at a joint.

    Compiled at the first call for a machine and joint. For chosen directions, several joints at once or inner loops
    use :class:`JointReaction`.

    Args:
        machine: a machine, which then runs with its hydraulics; a system made from one; or a hybrid model.
        state: x, in the order of the system's `state_names`.
        joint: name of a movable or fixed joint.
        inputs: by name (others zero), or as the vector u; None: all zero, spools commanded to neutral.
        parameters: p; None: the machine's own.
        side: whose axes the vectors are in, `child` or `parent`; see :class:`JointReaction`.
        mode: of a hybrid model, in which the state is: `standing`, `rear`, `front`.

    Raises:
        KeyError: no such joint or input.
        ValueError: a vector of another length; a hybrid model without one of its modes.
    """
    if isinstance(machine, HybridModel):
        p = machine.parameters() if parameters is None else parameters
        if mode not in machine.modes:
            raise ValueError(f'mode: expected one of {", ".join(machine.modes)}, found {mode!r}')
        x, u = np.asarray(state, dtype=np.float64), _inputs(machine, inputs)
        values = _phase_reaction(machine, joint, side).at(mode, x, u, p)[0]
        return Wrench(values[:3], values[3:])
    system = machine if isinstance(machine, System) else _system(machine)
    p = system.parameters() if parameters is None else parameters
    x, u = np.asarray(state, dtype=np.float64), _inputs(system, inputs)
    values = _reaction(system, joint, side).at(x, u, p)[0]
    return Wrench(values[:3], values[3:])


def _inputs(system: System | HybridModel, inputs: Any) -> Array:
    if isinstance(inputs, np.ndarray):
        return inputs
    u = np.zeros(len(system.input_names))
    for name, value in (inputs or {}).items():
        u[system.index('input', name)] = value
    return u
