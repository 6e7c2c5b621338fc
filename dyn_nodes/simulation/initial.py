"""Where a run begins: a machine at rest on its wheels, its oil holding the arm."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.elements import states_at_rest
from dyn_nodes.elements.wheel import STIFFNESS_SCALE
from dyn_nodes.model.equilibrium import (
    BALANCED,
    FRICTION_EASE,
    NoEquilibriumError,
    check_friction,
    standing_guesses,
    stands,
)
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import hanging_joints, joint_vector
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.multibody.base_motion import base_coordinates, given_velocities
from dyn_nodes.multibody.spatial import entries
from dyn_nodes.simulation.assembly import Assembly, rest_deflections, resting_states
from dyn_nodes.simulation.system import System

Array = NDArray[np.float64]
ITERATIONS = 60


@lru_cache(maxsize=64)
def _statics_module(machine: Machine) -> CompiledModule:
    """Compiled kernel `statics` of `statics_functions`."""
    key = [machine_fingerprint(machine)]
    return build_module(f'{machine.name}: statics', key, lambda: statics_functions(machine))


def statics_functions(machine: Machine) -> tuple[dict[str, ca.Function], dict[str, Any]]:
    """Function `statics`: base pose (x, y, z, roll, pitch, yaw), joints and bristles -> holding forces and Jacobian.

    The Jacobian is of the forces that must be zero at rest, on the base and on passive joints (`balanced`), by pose,
    bristles and the positions of the joints that give way (`bent`): flexible ones, and passive ones that hang.
    """
    plant = Assembly(machine, 'effort')
    pose, joints = ca.SX.sym('pose', 6), ca.SX.sym('joints', len(machine.movable_joints))
    deflections = rest_deflections(machine)
    bristles = ca.SX.sym('bristles', len(deflections))
    of_elements = ca.SX([own.start for own in plant.element_states])
    for k, own in enumerate(plant.element_states):
        if own.balances:
            of_elements[k] = bristles[deflections.index(own.name)]
    q = ca.vertcat(ca.SX(0, 1), *base_coordinates(machine.base.attachment, pose))
    state = ca.densify(ca.vertcat(q, joints, ca.SX(plant.tree.nv, 1), of_elements))
    shares = ca.densify(ca.vertcat(*plant.friction_use.values(), ca.SX(0, 1)))
    holding, used = ca.substitute([plant.static_forces, shares], [plant.x], [state])
    base, nv = plant.tree.base_dofs, plant.tree.nv
    names = [joint.name for joint in machine.movable_joints]
    balanced = [*range(base), *(nv - len(names) + names.index(name) for name in plant.passive)]
    bent = [names.index(name) for name in (*plant.springs, *hanging_joints(machine))]
    unknown = ca.vertcat(pose, bristles, entries(joints, bent))
    jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(entries(holding, balanced), unknown))))
    inputs = [pose, joints, bristles, plant.p]
    outputs = [ca.densify(holding), jacobian, ca.densify(used)]
    meta = {'nv': nv, 'balanced': balanced, 'bent': bent, 'passive': list(plant.passive)}
    meta |= {'deflections': deflections, 'used': list(plant.friction_use)}
    return {'statics': ca.Function('statics', inputs, outputs)}, meta


class Rest(NamedTuple):
    """A machine at rest on its wheels.

    Attributes:
        pose: (6,) of the base: x, y, z, roll, pitch, yaw.
        bristles: deflections of the friction elements in the order of `rest_deflections`, m or rad.
        joints: positions of the movable joints, rad or m: flexible ones have given way.
        holding: (nv,) forces that hold it: of the joints the drive efforts.
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
    """Find the resting pose of the base on its wheels with the driven joints held.

    Height, roll and pitch, what flexible joints give way, where passive joints hang, and the friction that holds the
    machine on a slope (least bristle deflections), are found by Newton steps with the exact Jacobian.

    Args:
        system: any system of the machine.
        p: parameters.
        joints: positions by name; the machine's initial ones where not named.
        pose: (6,) first guess x, y, z, roll, pitch, yaw; x, y and yaw are kept.
        statics: kernel of `statics_functions` with its facts, not compiled; None: it is compiled.

    Raises:
        NoEquilibriumError: no rest was found: it tips, slides or hangs.
    """
    machine = system.machine
    module = _statics_module(machine) if statics is None else statics
    balanced, bent = (np.array(module.meta[key], dtype=np.intp) for key in ('balanced', 'bent'))
    q_joints = joint_vector(machine, joints)
    pose = np.array(pose if pose is not None else machine.initial.pose, dtype=np.float64)
    names = module.meta['used']
    bristles, used = np.zeros(len(module.meta['deflections'])), np.empty(len(names))
    unknowns = 6 + len(bristles) + len(bent)
    holding, flat = np.empty(int(module.meta['nv'])), np.empty(len(balanced) * unknowns)
    if machine.base.attachment == 'fixed' or not machine.initial.settle or not machine.supports:
        module.statics(pose, q_joints, bristles, p, holding, flat, used)
        return Rest(pose, bristles, q_joints, holding)
    weight = (machine.total_mass + p[system.index('parameter', 'payload_mass')]) * np.linalg.norm(p[:3])
    free = np.r_[[2, 3, 4] if machine.base.attachment == 'free' else [2, 4], np.arange(6, unknowns)]
    # the least change: friction only where height, tilt and flexible joints can't give the balance
    ease = np.where((free >= 6) & (free < 6 + len(bristles)), FRICTION_EASE, 1.0)
    residual, unbent = np.inf, q_joints.copy()
    positions = {joint.name: float(q) for joint, q in zip(machine.movable_joints, q_joints)}
    scale = float(p[system.index('parameter', STIFFNESS_SCALE)])
    for guess in standing_guesses(machine, positions, float(p[2]), scale):
        pose[2:5], bristles[:], q_joints[:] = guess, 0.0, unbent
        for _ in range(ITERATIONS):
            module.statics(pose, q_joints, bristles, p, holding, flat, used)
            residual = float(np.abs(holding[balanced]).max() / weight)
            if residual < BALANCED:
                own = dict(zip(positions, map(float, q_joints)))
                if not stands(machine, own, float(pose[2]), float(pose[3]), float(pose[4])):
                    break
                check_friction(machine.name, names, used)
                return Rest(pose, bristles, q_joints, holding)
            jacobian = flat.reshape(len(balanced), -1, order='F')[:, free] * ease
            step = -np.linalg.lstsq(jacobian, holding[balanced], rcond=1e-12)[0] * ease
            change = np.zeros(unknowns)
            change[free] = step * min(1.0, 0.05 / max(float(np.abs(step).max()), 1e-12))
            pose += change[:6]
            bristles += change[6 : 6 + len(bristles)]
            q_joints[bent] += change[6 + len(bristles) :]
    if residual < BALANCED:
        raise NoEquilibriumError(
            f'{machine.name}: no resting pose on three wheels or more in this posture; it balances'
        )
    worst = int(np.argmax(np.abs(holding[balanced]))) - (len(balanced) - len(module.meta['passive']))
    if worst >= 0:
        name = module.meta['passive'][worst]
        raise NoEquilibriumError(f'{machine.name}: nothing holds joint {name!r} in this posture')
    raise NoEquilibriumError(
        f'{machine.name}: no resting pose on the wheels in this posture (unbalanced force {residual:.2e} of the '
        'weight); the machine tips or slides'
    )


def state_of_rest(system: System, rest: Rest, moves: bool = False) -> Array:
    """Return the state (n,) of a machine at rest, or moving as its file says once it has come to rest.

    Raises ValueError for a cylinder at its dead centre.
    """
    machine = system.machine
    x = np.zeros(len(system.state_names))
    plant_q = base_coordinates(machine.base.attachment, rest.pose, system.base)
    q_joints = rest.joints
    x[: len(plant_q)] = plant_q
    x[len(plant_q) : len(plant_q) + len(q_joints)] = q_joints
    bristles = iter(rest.bristles)
    for own in resting_states(machine):
        x[system.index('state', own.name)] = next(bristles) if own.balances else own.start
    hold_joints(system, x, q_joints, rest.holding)
    if moves:
        given = given_velocities(machine, matrix_of_rpy(rest.pose[3:]), system.base)
        for name, value in given.items():
            x[system.index('state', f'{name}_rate')] = value
    return x


def hold_joints(system: Any, x: Array, joints: Array, holding: Array) -> None:
    """Put the actuators of a system or hybrid model into the states that hold its joints.

    Args:
        system: the system; where its inputs are efforts nothing is done.
        x: (n,) state, is changed.
        joints: positions of the movable joints, rad or m.
        holding: (nv,) forces that hold the machine; those of the joints come last.

    Raises:
        ValueError: an actuator holds nothing there, such as a cylinder at its dead centre.
    """
    if system.actuation != 'hydraulic':
        return
    names = [joint.name for joint in system.machine.movable_joints]
    efforts = holding[len(holding) - len(names) :]
    at_rest = states_at_rest(system.machine, dict(zip(names, joints)), dict(zip(names, efforts)))
    for name, value in at_rest.items():
        x[system.index('state', name)] = value
