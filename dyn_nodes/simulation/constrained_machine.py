"""Systems and initial states of machines with constraints.

Constraints that cannot be satisfied are rejected with their line in the machine YAML: a loop that does not close, a
wheel in the air, contradicting locks, a motion without mass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import (
    Analysis,
    AssemblyError,
    BeyondLimitsError,
    ConstraintBlocks,
    ConstraintError,
    ContradictoryConstraintsError,
    analyse,
    assemble_within,
    constrained_dynamics,
    projected_velocity,
)
from dyn_nodes.constraints.assembly import gaps
from dyn_nodes.constraints.drives import dependent_drives
from dyn_nodes.constraints.kane.mounts import fixed_beyond
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.elements.actuators import states_at_rest
from dyn_nodes.model.constraint import ConstraintRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import MachineError, Problem
from dyn_nodes.model.rotations import matrix_of_quaternion, quaternion_of_matrix
from dyn_nodes.multibody import Tree
from dyn_nodes.multibody.base_motion import base_coordinates, base_pose, initial_velocities
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.machine_rows import machine_dynamics
from dyn_nodes.simulation.system import System
from dyn_nodes.simulation.wheel_sets import reject_wheels_that_hold
from dyn_nodes.stability.constrained_rest import ConstrainedStatics

NEAR = 0.01
"""Permitted change of the velocities of the file by the constraints, relative to the greatest of them."""


class AtRest(NamedTuple):
    """A machine with constraints at rest.

    Attributes:
        q: (nq,) position.
        states: of its elements, by name.
        efforts: that hold the driven joints, by name, N m or N.
    """

    q: Array
    states: dict[str, float]
    efforts: dict[str, float]


@dataclass(frozen=True, eq=False)
class ConstrainedMachine:
    """A machine with closed loops. Its state at rest is computed at the first use and cached per parameters.

    Attributes:
        machine: as loaded, with the requested joint positions at the start.
        system: its inputs are the efforts `<joint>/effort` of joints and the commands of its actuators.
        assembled: (nq,) position with closed loops, before it settles.
        statics: forces that determine the rest; None: no springs under the machine, or it starts as the file specifies.
    """

    machine: Machine
    system: System
    assembled: Array
    statics: ConstrainedStatics | None
    _rests: dict[bytes, AtRest] = field(default_factory=dict, init=False)

    @property
    def q(self) -> Array:
        """(nq,) position at the start with the default parameters; sets the initial element states of `system.state`.

        Raises the errors of `at_rest`.
        """
        rest = self.at_rest()
        self.system.blocks.parameters.start(rest.states)
        return rest.q

    @cached_property
    def v(self) -> Array:
        """(nv,) velocity at the start: of the file, else zero except for prescribed motions at time 0."""
        return self._velocity(self.q)

    @cached_property
    def analysis(self) -> Analysis:
        """Rank, mobility, underactuation and redundancy at the start."""
        driven = tuple(joint.name for joint in self.machine.actuated_joints)
        return analyse(self.system.blocks, self.assembled, actuated=driven)

    @property
    def x(self) -> Array:
        """(n,) state at the start with the default parameters, including deflections of friction."""
        return self._state(self.at_rest())

    def at_rest(self, p: Array | None = None) -> AtRest:
        """Return the state at rest: on its springs, if it has any; its actuators hold the joints.

        The efforts have the least norm. If no efforts hold the machine, the residual forces are the least.

        Args:
            p: (n,) parameters of the blocks; None: the defaults.

        Raises:
            NoEquilibriumError: a machine on springs tips or slides.
            ValueError: a cylinder at its dead centre.
        """
        blocks = self.system.constraints.blocks
        numbers, starts = blocks.numbers(p).copy(), [state.start for state in blocks.element_states]
        numbers[blocks.parameters.state_indices] = starts
        key = numbers.tobytes()
        if key not in self._rests:
            self._rests.clear()
            self._rests[key] = self._rest(numbers)
        return self._rests[key]

    def _rest(self, numbers: Array) -> AtRest:
        blocks, driven = self.system.constraints.blocks, [joint.name for joint in self.machine.actuated_joints]
        q, indices = self.assembled, {name: k for k, name in enumerate(blocks.parameters.names)}
        states = {state.name: state.start for state in blocks.element_states}
        if self.statics is not None:
            q, deflections = self.statics.settle(q, numbers)
            states |= deflections
            numbers[[indices[name] for name in deflections]] = list(deflections.values())
        at = blocks.at(q, None, numbers)
        motions = Subspaces(at.J).motions
        driven_indices = [blocks.tree.velocity_index(name) for name in driven]
        solution = np.linalg.lstsq(motions[driven_indices].T, motions.T @ at.h, rcond=1e-9)[0]
        efforts = dict(zip(driven, (float(effort) for effort in solution)))
        if self.system.actuation == 'hydraulic':
            states |= states_at_rest(self.machine, dict(zip(blocks.tree.position_names, q)), efforts)
        return AtRest(q, states, efforts)

    def state_at_rest(self, p: Array) -> tuple[Array, dict[str, float]]:
        """Return the state at the rest position with the velocities of the file, and the efforts at rest by name.

        Raises the errors of `at_rest`.
        """
        constraints = self.system.constraints
        still = self.system.state(self.assembled, np.zeros(self.system.nv))
        rest = self.at_rest(constraints.numbers(p, still))
        return self._state(rest), rest.efforts

    def _velocity(self, q: Array) -> Array:
        with _as_problems(self.machine):
            return starting_velocity(self.machine, self.system.blocks, q)

    def _state(self, rest: AtRest) -> Array:
        x = self.system.state(rest.q, self._velocity(rest.q))
        for name, value in rest.states.items():
            x[self.system.index('state', name)] = value
        return x


def constrained_machine(
    machine: Machine,
    joints: Mapping[str, float] | None = None,
    actuation: Actuation = 'effort',
    system: System | None = None,
) -> ConstrainedMachine:
    """Return the assembled system of a machine with its constraints.

    The positions in `initial` of the YAML are kept if the loops close with them; otherwise all positions may change.

    Args:
        machine: with constraints.
        joints: positions at the start by name, instead of the positions of the YAML; these are always kept.
        actuation: `hydraulic`: voltages are inputs, actuators hold the joints at the start; `effort`: joint efforts are
            inputs.
        system: of this machine, if already traced; None: it is traced.

    Raises:
        MachineError: constraints that cannot be satisfied, with name, line and gap; a reaction at a fixed joint beyond
            which a contact or constraint holds a link that does not move; as many drives as freedoms on a fixed base
            that do not determine the motion; wheels that leave no motion.
    """
    if joints:
        initial = replace(machine.initial, joint_positions={**machine.initial.joint_positions, **joints})
        machine = replace(machine, initial=initial)
    if system is None:
        system = System.of(machine_dynamics(machine, actuation))  # a tree has no rows
    blocks = system.constraints.blocks
    _reject_reactions(machine, blocks.tree)
    driven = tuple(joint.name for joint in machine.actuated_joints)
    q = _assembled(machine, blocks, list(joints or ()))
    settles = machine.supports and machine.initial.settle and machine.base.attachment != 'fixed'
    with _as_problems(machine):
        still = np.zeros(blocks.tree.nv)
        constrained_dynamics(blocks, q, starting_velocity(machine, blocks, q), still, method='saddle')
    _reject_dependent_drives(machine, blocks, q, driven)
    reject_wheels_that_hold(machine, blocks, q)
    return ConstrainedMachine(machine, system, q, ConstrainedStatics(machine, blocks) if settles else None)


@contextmanager
def _as_problems(machine: Machine) -> Iterator[None]:
    """Convert a ConstraintError into a MachineError."""
    try:
        yield
    except ConstraintError as error:
        raise MachineError([_problem(machine, '', 'constraints that allow a defined motion', str(error))]) from error


def _reject_reactions(machine: Machine, tree: Tree) -> None:
    """Raise MachineError for reactions at fixed joints with contacts or constraints beyond them.

    A fixed link is one body with its carrier, so that a force on it acts on both.
    """
    holding = [(contact.link, f'contact {contact.name!r}') for contact in machine.ground_contacts]
    for entry in machine.constraints:
        holding += [(end.link, f'constraint {entry.name!r}') for end in entry.ends]
    for name in (name for name in machine.reactions if not machine.joint(name).movable):
        within = fixed_beyond(machine, tree, name)
        held = [holder for link, holder in holding if link in within]
        if held:
            expected = 'fixed joints beyond which nothing holds a link that does not move'
            found = f'{name!r}, beyond which {held[0]} does'
            raise MachineError([Problem(machine.sources[-1], 0, 'reactions', expected, found)])


def _reject_dependent_drives(machine: Machine, blocks: ConstraintBlocks, q: Array, driven: tuple[str, ...]) -> None:
    """Raise MachineError for a fixed base with as many drives as freedoms that never determine the motion."""
    dependent = dependent_drives(blocks, q, driven) if machine.base.attachment == 'fixed' else ()
    if dependent:
        line = min((entry.line for entry in machine.joint_classes), default=0)
        expected = 'drives that determine the motion, as many as there are freedoms'
        found = f'{", ".join(dependent)}, whose rates depend on each other in every position'
        raise MachineError([Problem(machine.sources[-1], line, 'joints', expected, found)])


def starting_velocity(machine: Machine, blocks: ConstraintBlocks, q: Array) -> Array:
    """Return the velocity (nv,) at the start: of the file; constraints and prescribed motions determine the rest.

    Velocities of the file that violate the constraints by less than NEAR are replaced by the nearest permitted ones,
    because a base that has settled on springs is slightly inclined.

    Raises MachineError if the constraints do not permit the velocities of the file.
    """
    _, turn = base_pose(machine.base.attachment, q)
    specified = initial_velocities(machine, matrix_of_quaternion(turn))
    wanted = np.zeros(blocks.tree.nv)
    indices = [blocks.tree.velocity_index(name) for name in specified]
    wanted[indices] = list(specified.values())
    try:
        near = _nearest(blocks, q, wanted, indices)
        if np.abs(near - wanted).max() <= NEAR * np.abs(wanted).max(initial=0.0):
            wanted = near
        return projected_velocity(blocks, q, wanted, held=list(specified))
    except ContradictoryConstraintsError as error:
        if not machine.initial.moves:
            raise
        expected, line = 'velocities that the constraints allow', machine.initial.line
        raise MachineError([Problem(machine.sources[-1], line, 'initial', expected, str(error))]) from error


def _nearest(blocks: ConstraintBlocks, q: Array, wanted: Array, indices: list[int]) -> Array:
    """Return velocities (nv,) with the least change at some indices that satisfies the constraints."""
    at = blocks.at(q, wanted)
    spaces = Subspaces(at.J)
    N, particular = spaces.motions, spaces.pseudo_inverse @ at.sigma
    motion = np.linalg.lstsq(N[indices], (wanted - particular)[indices], rcond=1e-9)[0]
    result = wanted.copy()
    result[indices] = (particular + N @ motion)[indices]
    return np.asarray(result)


def initial_guess(machine: Machine, tree: Tree) -> Array:
    """Return the positions (nq,) of `initial` and of the loads; loops may be open."""
    q = tree.neutral
    base = base_coordinates(machine.base.attachment, machine.initial.pose)
    q[: len(base)] = base
    for name, value in machine.initial.joint_positions.items():
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
    specified = [name for name in machine.initial.joint_positions if name in blocks.tree.velocity_names]
    base = _base_velocities(blocks.tree)
    turning = base[:3] if machine.base.attachment == 'free' else base  # puts a wheel near the ground down on it
    limits = {joint.name: (joint.lower, joint.upper) for joint in machine.movable_joints}
    failure: AssemblyError | BeyondLimitsError
    for held in ([*specified, *base], [*specified, *turning], specified, [*chosen, *base], chosen):
        try:
            return assemble_within(blocks, guess, limits, held=held)
        except (AssemblyError, BeyondLimitsError) as error:
            failure = error
    if isinstance(failure, BeyondLimitsError):
        residuals = gaps(blocks, blocks.at(guess).residual)
        widest = max(residuals, key=lambda name: residuals[name])
        expected = 'a loop that closes within the limits of the joints'
        raise MachineError([_problem(machine, widest, expected, str(failure))]) from failure
    raise MachineError(
        [
            _problem(machine, name, *_gap(machine, name, gap, blocks, guess))
            for name, gap in sorted(failure.gaps.items(), key=lambda item: -item[1])
        ]
    ) from failure


def _base_velocities(tree: Tree) -> list[str]:
    return list(tree.velocity_names[: tree.base_dofs])


def _gap(machine: Machine, name: str, gap: float, blocks: ConstraintBlocks, guess: Array) -> tuple[str, str]:
    of_joint = ConstraintRecord(name=name)  # a joint of class locked or pseudo has no record
    record = next((entry for entry in machine.constraints if entry.name == name), of_joint)
    return record.miss(gap, float(blocks.at(guess).residual[blocks.slices[name]][-1]))


def _problem(machine: Machine, name: str, expected: str, found: str) -> Problem:
    lines = {entry.name: entry.line for entry in machine.constraints}
    lines |= {entry.joint: entry.line for entry in machine.joint_classes if entry.joint not in lines}
    section = 'constraints' if name in {entry.name for entry in machine.constraints} else 'joints'
    where = f'{section}.{name}' if name else 'constraints'
    return Problem(machine.sources[-1], lines.get(name, 0), where, expected, found)
