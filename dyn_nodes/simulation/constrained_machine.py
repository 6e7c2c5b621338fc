"""A machine with constraints becomes a system that runs: rows, springs, and an initial state that meets them.

What can't be met is refused with the place in the machine YAML: a loop that does not close, a wheel in the air, locks
that contradict each other, a motion that moves no mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import (
    Analysis,
    AssemblyError,
    ConstraintBlocks,
    ConstraintError,
    Coupling,
    Distance,
    Lock,
    Loop,
    Prescribed,
    RollingWheel,
    analyse,
    assemble,
    constrained_dynamics,
    projected_velocity,
)
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.actuators import ActuatorForces, actuator_elements, states_at_rest
from dyn_nodes.forces.joint_elements import joint_elements
from dyn_nodes.forces.joint_spring import rest_position
from dyn_nodes.model.constraint import WORLD, End, MachineConstraint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import MachineError, Problem
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.multibody import Frame, Tree, build_tree
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.constrained import ConstrainedSystem
from dyn_nodes.simulation.profiles import motion_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstrainedMachine:
    """A machine whose constraints are met.

    Attributes:
        machine: as loaded.
        system: that runs; its inputs are the efforts of the actuated joints, and the commands of actuators inside.
        q: (nq,) initial position; v: (nv,) at rest, but for what a prescribed motion moves at time 0.
        analysis: rank, mobility, underactuation, redundancy at the start.
        actuators: inside.
    """

    machine: Machine
    system: ConstrainedSystem
    q: Array
    v: Array
    analysis: Analysis
    actuators: ActuatorForces

    def actuators_at_rest(self, p: Array | None = None) -> dict[str, float]:
        """Return the states of the actuators inside that hold the initial position, by name.

        The efforts are those of least norm. Where no efforts hold it, the forces left over are the least.

        Args:
            p: (n,) parameters; None: the defaults.

        Raises:
            ValueError: a cylinder at its dead centre.
        """
        if not self.actuators.actuators:
            return {}
        blocks, driven = self.system.blocks, [joint.name for joint in self.machine.actuated_joints]
        numbers = blocks.numbers(p).copy()
        for state in self.actuators.states:
            numbers[blocks.parameters.names.index(state.name)] = state.start
        at = blocks.at(self.q, None, numbers)
        motions = Subspaces(at.J).motions
        places = [blocks.tree.velocity_index(name) for name in driven]
        efforts = np.linalg.lstsq(motions[places].T, motions.T @ at.h, rcond=1e-9)[0]
        positions = dict(zip(blocks.tree.position_names, self.q))
        return states_at_rest(self.machine, positions, dict(zip(driven, efforts)))


def constrained_machine(
    machine: Machine, joints: Mapping[str, float] | None = None, actuation: Actuation = 'effort'
) -> ConstrainedMachine:
    """Return the system of a machine with its constraints, assembled.

    What the YAML's `initial` gives stays where it is, if the loops close that way; else everything may move.

    Args:
        machine: with constraints.
        joints: positions at the start by name, over those of the YAML; these stay in any case.
        actuation: `hydraulic`: voltages in, actuators inside that hold the joints at the start; `effort`: efforts in.

    Raises:
        MachineError: the constraints can't be met; says which, where, and by how much.
        ValueError: a cylinder at its dead centre.
    """
    _refuse_contacts(machine)
    if joints:
        initial = replace(machine.initial, joint_positions={**machine.initial.joint_positions, **joints})
        machine = replace(machine, initial=initial)
    tree = build_tree(machine)
    constraints = [_constraint(entry, tree) for entry in machine.constraints]
    constraints += [
        Lock(entry.joint, entry.joint, rest_position(machine, entry))
        for entry in machine.joint_classes
        if entry.kind in ('locked', 'pseudo')
    ]
    payload = machine.payload.mass if machine.payload is not None else 0.0
    gravity = gravity_vector(machine.gravity, machine.slope)
    inside = ActuatorForces(machine, actuator_elements(machine) if actuation == 'hydraulic' else ())
    blocks = ConstraintBlocks(tree, constraints, (*joint_elements(machine), inside), gravity, payload)
    driven = tuple(joint.name for joint in machine.actuated_joints)
    moved = {own.joint for own in inside.actuators}
    actuated = tuple(name for name in driven if name not in moved)
    q = _assembled(machine, blocks, list(joints or ()))
    try:
        v = projected_velocity(blocks, q, np.zeros(tree.nv))
        constrained_dynamics(blocks, q, v, np.zeros(tree.nv), method='saddle')
    except ConstraintError as error:
        raise MachineError([_problem(machine, '', 'constraints that allow a defined motion', str(error))]) from error
    watched = [f'{entry.name}/normal' for entry in machine.constraints if entry.kind == 'wheel']
    system = ConstrainedSystem(machine.name, blocks, actuated, watched)
    start = ConstrainedMachine(machine, system, q, v, analyse(blocks, q, actuated=driven), inside)
    blocks.parameters.start(start.actuators_at_rest())
    return start


def _refuse_contacts(machine: Machine) -> None:
    if machine.wheels:
        found = f'wheels on springs ({", ".join(wheel.name for wheel in machine.wheels)}) beside constraints'
        raise MachineError([_problem(machine, '', 'wheels that are constraints of kind wheel', found)])


def initial_guess(machine: Machine, tree: Tree) -> Array:
    """Return (nq,) what `initial` and the loads say, loops open or not."""
    q = tree.neutral
    start = machine.initial
    for name, value in start.joint_positions.items():
        q[tree.position_names.index(name)] = value
    x, y, z = start.base_position
    turn = Rotation.from_euler('z', start.base_yaw).as_quat()
    if machine.base.attachment == 'free':
        q[0:3], q[3:7] = (x, y, z), turn
    elif machine.base.attachment == 'planar':
        for name, value in (('base_x', x), ('base_z', z)):
            q[tree.position_names.index(name)] = value
    for load in machine.loads:
        if load.motion == 'free':
            at = tree.bodies[tree.body(load.name)].q
            q[at : at + 3], q[at + 3 : at + 7] = load.position, quaternion_of_matrix(load.rotation)
        else:
            pitch = float(np.arctan2(load.rotation[0, 2], load.rotation[0, 0]))
            for suffix, value in (('x', load.position[0]), ('z', load.position[2]), ('pitch', pitch)):
                q[tree.position_names.index(f'{load.name}_{suffix}')] = value
    return q


def _assembled(machine: Machine, blocks: ConstraintBlocks, chosen: list[str]) -> Array:
    guess = initial_guess(machine, blocks.tree)
    given = [name for name in machine.initial.joint_positions if name in blocks.tree.velocity_names]
    base = _base_velocities(blocks.tree)
    for held in ([*given, *base], given, [*chosen, *base], chosen):
        try:
            return assemble(blocks, guess, held=held)
        except AssemblyError as error:
            failure = error
    raise MachineError(
        [
            _problem(machine, name, *_gap(machine, name, gap, blocks, guess))
            for name, gap in sorted(failure.gaps.items(), key=lambda item: -item[1])
        ]
    ) from failure


def _base_velocities(tree: Tree) -> list[str]:
    return list(tree.velocity_names[: tree.base_dofs])


def _gap(machine: Machine, name: str, gap: float, blocks: ConstraintBlocks, guess: Array) -> tuple[str, str]:
    kinds = {entry.name: entry.kind for entry in machine.constraints}
    if kinds.get(name) == 'wheel':
        rows = blocks.slices[name]
        above = float(blocks.at(guess).residual[rows][-1])
        side = 'above' if above > 0 else 'below'
        return 'a wheel on the ground', f'one {abs(above):.4g} m {side} it; nearest the others allow: {gap:.4g} m'
    if kinds.get(name, 'lock') in ('lock', 'coupling', 'prescribed'):
        return 'a joint position that the other constraints allow', f'one that misses them by {gap:.4g} rad or m'
    return 'a loop that closes', f'ends that stay {gap:.4g} m (or rad) apart'


def _problem(machine: Machine, name: str, expected: str, found: str) -> Problem:
    lines = {entry.name: entry.line for entry in machine.constraints}
    lines |= {entry.joint: entry.line for entry in machine.joint_classes if entry.joint not in lines}
    section = 'constraints' if name in {entry.name for entry in machine.constraints} else 'joints'
    where = f'{section}.{name}' if name else 'constraints'
    return Problem(machine.sources[-1], lines.get(name, 0), where, expected, found)


def _frame(end: End, tree: Tree) -> Frame:
    """Return the frame of an end in its body."""
    if end.link == WORLD:
        return Frame(-1, end.rotation, end.position)
    link = tree.frame(end.link)
    return Frame(link.body, link.R @ end.rotation, link.p + link.R @ end.position)


def _constraint(entry: MachineConstraint, tree: Tree) -> Constraint:
    if entry.kind == 'lock':
        return Lock(entry.name, entry.joint, entry.position)
    if entry.kind == 'coupling':
        return Coupling(entry.name, dict(entry.coefficients), entry.offset)
    if entry.kind == 'prescribed':
        assert entry.profile is not None
        return Prescribed(Lock(entry.name, entry.joint), motion_of(entry.profile))
    assert entry.first is not None
    first = _frame(entry.first, tree)
    if entry.kind == 'wheel':
        ground = None if entry.ground is None else motion_of(entry.ground)
        return RollingWheel(entry.name, first, entry.axis, entry.radius, ground)
    assert entry.second is not None
    second = _frame(entry.second, tree)
    if entry.kind == 'distance':
        return Distance(entry.name, first, second, entry.length)
    if entry.kind == 'planar':
        return Loop(entry.name, first, second, ('ry', 'x', 'z'))
    along = {'hinge': Loop.hinge, 'slider': Loop.slider, 'line': Loop.on_line, 'plane': Loop.on_plane}
    if entry.kind in along:
        loop = along[entry.kind](entry.name, first, second, entry.axis)
        return loop if entry.profile is None else Prescribed(loop, motion_of(entry.profile))
    return Loop.frame(entry.name, first, second) if entry.kind == 'frame' else Loop.point(entry.name, first, second)
