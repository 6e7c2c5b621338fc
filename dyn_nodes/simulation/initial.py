"""Initial states of runs without constraints: a machine at rest on its wheels, the arm held by its oil."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.elements import states_at_rest
from dyn_nodes.elements.forces.joint_stop import SCALE as STOP_SCALE
from dyn_nodes.elements.wheel import STIFFNESS_SCALE
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.multibody.base_motion import base_coordinates, initial_velocities
from dyn_nodes.multibody.spatial import entries
from dyn_nodes.simulation.assembly import Assembly, rest_deflections, resting_states
from dyn_nodes.simulation.system import System
from dyn_nodes.stability.rest import RestSearch
from dyn_nodes.stability.standing_machine import Conditions
from dyn_nodes.stability.tree_rest import TreeAtRest


@lru_cache(maxsize=64)
def _statics_module(machine: Machine) -> CompiledModule:
    """Return the compiled kernel `statics` of `statics_functions`."""
    key = [machine_fingerprint(machine)]
    return build_module(f'{machine.name}: statics', key, lambda: statics_functions(machine))


def statics_functions(machine: Machine) -> tuple[dict[str, ca.Function], dict[str, Any]]:
    """Return the function `statics` and its metadata: (q, deflections) -> holding forces and their derivatives.

    It returns the derivatives of the forces along undriven velocities (`free`), which are zero at rest, with respect to
    displacements along these velocities and to the deflections; column by column.
    """
    plant = Assembly(machine, 'effort')
    q, deflections = ca.SX.sym('q', plant.tree.nq), rest_deflections(machine)
    bristles, nv = ca.SX.sym('bristles', len(deflections)), plant.tree.nv
    of_elements = ca.SX([element_state.start for element_state in plant.element_states])
    for k, element_state in enumerate(plant.element_states):
        if element_state.balances:
            of_elements[k] = bristles[deflections.index(element_state.name)]
    state = ca.densify(ca.vertcat(q, ca.SX(nv, 1), of_elements))
    shares = ca.densify(ca.vertcat(*plant.friction_use.values(), ca.SX(0, 1)))
    lead = ca.jacobian(plant.state.position_rate, plant.x[plant.v_slice])
    holding, used, lead = ca.substitute([plant.static_forces, shares, lead], [plant.x], [state])
    passive = set(plant.passive)
    free = [k for k, name in enumerate(plant.tree.velocity_names) if k < plant.tree.base_dofs or name in passive]
    forces = entries(holding, free)
    stiffness = ca.mtimes(ca.jacobian(forces, q), ca.densify(lead)[:, free]) if free else ca.SX(0, 0)
    by_deflection = ca.jacobian(forces, bristles)
    outputs = [holding, *(ca.vec(ca.densify(part)) for part in (stiffness, by_deflection)), used]
    meta = {'nv': nv, 'free': free, 'positions': list(plant.tree.position_names)}
    meta |= {'velocities': list(plant.tree.velocity_names)}
    meta |= {'deflections': deflections, 'used': list(plant.friction_use)}
    return {'statics': ca.Function('statics', [q, bristles, plant.p], [ca.densify(output) for output in outputs])}, meta


class Rest(NamedTuple):
    """A machine at rest on its wheels.

    Attributes:
        pose: (6,) of the base: x, y, z, roll, pitch, yaw.
        bristles: deflections of the friction elements in the order of `rest_deflections`, m or rad.
        joints: positions of the movable joints, rad or m; flexible joints are deflected.
        holding: (nv,) generalized forces that hold the machine; for joints these are the drive efforts.
    """

    pose: Array
    bristles: Array
    joints: Array
    holding: Array


def settle(
    system: System,
    p: Array,
    joints: Mapping[str, float] | None = None,
    pose: Array | None = None,
    statics: Any = None,
) -> Rest:
    """Return the rest of a machine without constraints, its driven joints held.

    Args:
        system: any system of the machine.
        p: parameters.
        joints: positions by name; the machine's initial ones where not named.
        pose: (6,) x, y, z, roll, pitch, yaw of the base; x, y and yaw are kept, all where the base does not settle.
        statics: kernel of `statics_functions` with its facts, not compiled; None: it is compiled.

    Raises:
        NoEquilibriumError: the machine tips over, slides, or nothing holds a joint.
    """
    machine = system.machine
    module = _statics_module(machine) if statics is None else statics
    q_joints = joint_vector(machine, joints)
    pose = np.array(pose if pose is not None else machine.initial.pose, dtype=np.float64)
    positions = {joint.name: float(q) for joint, q in zip(machine.movable_joints, q_joints)}
    q = np.array([*base_coordinates(machine.base.attachment, pose), *q_joints])
    settles = machine.base.attachment != 'fixed' and machine.initial.settle and machine.supports
    model = TreeAtRest(machine, module, p, pose, positions, conditions_of(system, p)) if settles else None
    if model is None:
        s, holding = np.zeros(len(module.meta['deflections'])), np.empty(int(module.meta['nv']))
        n, used = len(module.meta['free']), len(module.meta['used'])
        module.statics(q, s, p, holding, np.empty(n * n), np.empty(n * len(s)), np.empty(used))
        return Rest(pose, s, q_joints, holding)
    root = RestSearch(model).settle(model.put(q, posture) for posture in model.postures())
    settled = model.pose(root.q)
    return Rest(settled, root.s, root.q[len(q) - len(q_joints) :], model.holding(root.q, root.s))


def conditions_of(system: Any, p: Array) -> Conditions:
    """Return the parameters of a system on which its equilibrium depends."""
    names = 'payload_mass', STIFFNESS_SCALE, STOP_SCALE
    payload, stiffness, stops = (float(p[system.index('parameter', name)]) for name in names)
    return Conditions(p[:3], payload, stiffness, stops)


def state_of_rest(system: System, rest: Rest, moves: bool = False) -> Array:
    """Return the state (n,) of a machine at rest, or with the initial velocities of its file at the rest position.

    Raises ValueError for a cylinder at its dead centre.
    """
    machine = system.machine
    x = np.zeros(len(system.state_names))
    plant_q = base_coordinates(machine.base.attachment, rest.pose, system.base)
    q_joints = rest.joints
    x[: len(plant_q)] = plant_q
    x[len(plant_q) : len(plant_q) + len(q_joints)] = q_joints
    bristles = iter(rest.bristles)
    for state in resting_states(machine):
        x[system.index('state', state.name)] = next(bristles) if state.balances else state.start
    hold_joints(system, x, q_joints, rest.holding)
    if moves:
        velocities = initial_velocities(machine, matrix_of_rpy(rest.pose[3:]), system.base)
        for name, value in velocities.items():
            x[system.index('state', f'{name}_rate')] = value
    return x


def hold_joints(system: Any, x: Array, joints: Array, holding: Array) -> None:
    """Set the actuator states of a system or hybrid model to values that hold its joints.

    Args:
        system: the system; no change if its inputs are efforts.
        x: (n,) state, changed in place.
        joints: positions of the movable joints, rad or m.
        holding: (nv,) forces that hold the machine, joints last.

    Raises:
        ValueError: an actuator cannot hold its joint there, such as a cylinder at its dead centre.
    """
    if system.actuation != 'hydraulic':
        return
    names = [joint.name for joint in system.machine.movable_joints]
    efforts = holding[len(holding) - len(names) :]
    at_rest = states_at_rest(system.machine, dict(zip(names, joints)), dict(zip(names, efforts)))
    for name, value in at_rest.items():
        x[system.index('state', name)] = value
