"""Joint reactions from virtual links (abo-shanab-2003, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
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
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.system import System


class Wrench(NamedTuple):
    """Force (3,), N, and torque (3,), N m, of the parent link on the child link at a joint.

    The component along (or about) the axis of a movable joint is its drive effort less its damping.
    """

    force: Array
    torque: Array


class JointReaction:
    """Compiled reactions at joints of a system.

    The rows (3.14) of the equations with virtual links depend on the drives only through the accelerations and on the
    ground only through the state, so that they need no further inputs. On rigid ground the accelerations depend on the
    mode; reaction impulses of impacts are not computed.

    Args:
        system: of a fixed, planar or free machine, or a machine on rigid ground.
        joints: names of movable or fixed joints; on rigid ground only joints without supports beyond them.
        directions: of forces (prismatic) and torques (revolute); default: the whole wrench, force x, y, z, torque x, y,
            z.
        side: frame of the directions and reference point of torques: `child`, the origin of the child link; `parent`,
            the origin of the joint in the parent link. The points differ only for a prismatic joint.

    Raises:
        KeyError: no such joint.
    """

    def __init__(
        self,
        system: System | HybridModel,
        joints: Sequence[str],
        directions: Sequence[VirtualLink] = WRENCH,
        side: Side = 'child',
    ) -> None:
        self.system, self.joints, self.directions, self.side = system, tuple(joints), tuple(directions), side
        for joint in self.joints:
            system.machine.joint(joint)
        key = [machine_fingerprint(system.machine), system.actuation, system.base, str(system.audit), side]
        key += [str([tuple(float(c) for c in link.unit_axis), link.kind]) for link in self.directions]
        key += [type(system).__name__, *self.joints]
        self._kernel = build_module(
            f'{system.machine.name}: reaction', key, lambda: ({'reaction': self._trace()}, {})
        ).reaction
        self._acceleration_indices = np.array(
            [k for k, name in enumerate(system.output_names) if name.endswith('_acceleration')], dtype=np.intp
        )

    def _trace(self) -> ca.Function:
        system = self.system
        if isinstance(system, HybridModel):
            plant = system.assembly(system.first_mode)
        else:
            plant = Assembly(system.machine, system.actuation, system.base, system.audit, books=True)
        # further parameters of a machine on rigid ground come last and have no effect here
        a, p = ca.SX.sym('a', plant.tree.nv), ca.SX.sym('p', len(system.parameter_names))
        rows = ca.vertcat(*(traced_reaction(plant, a, joint, self.directions, self.side) for joint in self.joints))
        rows = ca.substitute([rows], [plant.p], [p[: plant.p.shape[0]]])[0]
        return ca.Function('reaction', [plant.x, a, p], [ca.densify(rows)])

    def evaluate(self, x: Array, acceleration: Array, p: Array) -> Array:
        """Return the reactions (joints, directions), N and N m, of the parent on the child.

        Args:
            x: state.
            acceleration: (nv,) generalized accelerations.
            p: parameters.

        Raises:
            ValueError: a vector of another length.
        """
        sizes = (len(self.system.state_names), len(self._acceleration_indices), len(self.system.parameter_names))
        for name, vector, size in zip(('state', 'acceleration', 'parameter'), (x, acceleration, p), sizes):
            if np.shape(vector) != (size,):
                raise ValueError(
                    f'{self.system.machine.name}: expected a {name} vector of {size}, found shape {np.shape(vector)}'
                )
        result = np.empty(len(self.joints) * len(self.directions))
        self._kernel(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, acceleration, p)), result)
        return result.reshape(len(self.joints), len(self.directions))

    def of_outputs(self, x: Array, y: Array, p: Array) -> Array:
        """Return the reactions from the outputs y of the system at x, which contain the accelerations."""
        return self.evaluate(x, y[self._acceleration_indices], p)

    def of_run(self, run: SystemRun | HybridRun) -> Array:
        """Return the reactions (t, joints, directions) at every sample of a run of the system."""
        y = np.column_stack([run.output(self.system.output_names[index]) for index in self._acceleration_indices])
        return np.array([self.evaluate(x, a, run.parameters_at(k)) for k, (x, a) in enumerate(zip(run.states, y))])

    def at(self, x: Array, u: Array, p: Array, mode: str | None = None) -> Array:
        """Return the reactions at a state with inputs u; on rigid ground in a mode. Raises ValueError: unknown mode."""
        if not isinstance(self.system, HybridModel):
            return self.of_outputs(x, self.system.outputs(x, u, p), p)
        if mode not in self.system.modes:
            raise ValueError(f'mode: expected one of {", ".join(self.system.modes)}, found {mode!r}')
        return self.of_outputs(x, self.system.output_vector(mode, x, u, p), p)


def traced_reaction(
    plant: Assembly, a: Expression, joint: str, directions: Sequence[VirtualLink], side: Side
) -> Expression:
    """Return the reaction (m,) at a joint of a traced plant with accelerations a (nv,)."""
    extended_machine = insert_virtual_links(plant.machine, joint, directions, side)
    extended = Assembly(extended_machine, plant.actuation, plant.base, plant.audit, plant.books)
    # the virtual joints are at rest: the extended plant in the symbols of the plain one
    extended.x = _with_zeros(extended.states.names, plant.states.names, plant.x)
    extended.u = _with_zeros(extended.inputs.names, plant.inputs.names, plant.u)
    extended.p = plant.p
    full = _with_zeros(extended.tree.velocity_names, plant.tree.velocity_names, a)
    names = virtual_names(joint, len(directions))
    return virtual_joint_forces(extended.state, full, extended.gravity, names, extended.external_forces)


def _with_zeros(names: Sequence[str], source_names: Sequence[str], values: Expression) -> Expression:
    """Return values by name, zero for names that are not in `source_names`."""
    indices = {name: k for k, name in enumerate(source_names)}
    return ca.vertcat(*(values[indices[name]] if name in indices else ca.SX(0) for name in names))


_system = lru_cache(maxsize=16)(System)


@lru_cache(maxsize=64)
def _reaction(system: System | HybridModel, joint: str, side: Side) -> JointReaction:
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

    Compiled at the first call for a machine and joint. Use :class:`JointReaction` for selected directions, several
    joints or inner loops.

    Args:
        machine: a machine, then with its hydraulics; a system of a machine; or a machine on rigid ground.
        state: x, in the order of the system's `state_names`.
        joint: name of a movable or fixed joint.
        inputs: by name (others zero), or as the vector u; None: all zero, spools commanded to neutral.
        parameters: p; None: the defaults of the machine.
        side: axes of the vectors, `child` or `parent`; see :class:`JointReaction`.
        mode: of the state on rigid ground: `standing`, `rear`, `front`.

    Raises:
        KeyError: no such joint or input.
        ValueError: a vector of another length; rigid ground without one of its modes.
    """
    system: Any = _system(machine) if isinstance(machine, Machine) else machine
    p = system.parameters() if parameters is None else parameters
    if not isinstance(inputs, np.ndarray):
        values_by_name, inputs = inputs or {}, np.zeros(len(system.input_names))
        for name, value in values_by_name.items():
            inputs[system.index('input', name)] = value
    values = _reaction(system, joint, side).at(np.asarray(state, dtype=np.float64), inputs, p, mode)[0]
    return Wrench(values[:3], values[3:])
