"""Linkages of a machine: all joints from the independent ones, the driven joints among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.assembly import assemble
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import AssemblyError, MethodError
from dyn_nodes.constraints.independent import choose_independent
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, joint_vector
from dyn_nodes.multibody import Tree, build_tree
from dyn_nodes.multibody.spatial import Expression, solve_symmetric

WEAKEST = 0.05
"""Least effect of a dependent joint on its loops for a valid prediction, as a share of the initial one."""
NEAR, POSITIONS, ZERO = 0.3, 6, 1e-12
"""Entries of the Jacobian below a part `ZERO` of the greatest count as zero if this holds in random positions; their
greatest distance from the initial one, rad or m, and their number."""


class Linkages:
    """The loops of a machine, solved for the joints that they move.

    The rows J v = 0 give the dependent velocities v_D = -(J_D^T J_D)^-1 J_D^T J_I v_I. Unlike an elimination with fixed
    pivots, this is valid in all positions but dead centres, where columns of J_D depend on each other.

    Args:
        machine: its constraints are holonomic and hold its links relative to each other.
        driven: names of the driven joints, which move independently.
        q, v: (n,) symbols of the positions and velocities of its movable joints.

    Attributes:
        independent: indices of the independent joints among the movable ones: the driven ones, and those in no loop.
        complement: (n, r) velocities of all joints per independent velocity.
        particular: (n,) accelerations of all joints without independent accelerations.
        gap: (n,) displacements that open the loops, to first order: zero for independent joints.
        soundness: below zero near a dead centre, where the loops do not determine the other joints.

    Raises:
        ValueError: a constraint is not holonomic, holds a link to the world or to a load, or moves a joint over the
            time; a row holds a joint; the loops do not close, or the driven joints do not move independently.
    """

    def __init__(self, machine: Machine, driven: Sequence[str], q: Expression, v: Expression) -> None:
        _check(machine)
        tree = _tree_on_held_base(machine)
        blocks = ConstraintBlocks(tree, [entry.on(tree) for entry in machine.constraints])
        if not blocks.holonomic.all():
            rolling = ', '.join(name for name, holds in zip(blocks.row_names, blocks.holonomic) if not holds)
            raise ValueError(f'machine {machine.name!r}: expected constraints of positions, found {rolling}')
        first = initial_positions(machine)
        try:
            start = assemble(blocks, np.array([first[name] for name in tree.position_names]), held=driven)
            at = blocks.at(start)
            partition = choose_independent(at.J, at.M, [tree.velocity_index(name) for name in driven])
        except (AssemblyError, MethodError) as error:
            raise ValueError(f'machine {machine.name!r}: linkages: {error}') from None
        moved = [tree.velocity_names[k] for k in partition.dependent]  # in the order of the movable joints
        if held := sorted(set(driven) & set(moved)):
            raise ValueError(
                f'machine {machine.name!r}: expected drives that move independently of each other, '
                f'found that linkages move {", ".join(held)}'
            )
        jacobian = _sparse(blocks, start)
        dependent = jacobian[:, list(partition.dependent)]
        others = ca.horzcat(-jacobian[:, list(partition.independent)], blocks.rows.gamma, blocks.rows.residual)
        pivots: list[Expression] = []
        solved = solve_symmetric(ca.mtimes(dependent.T, dependent), ca.mtimes(dependent.T, others), pivots)
        self.independent, count = partition.independent, len(partition.independent)
        whole = ca.SX(tree.nv, others.shape[1])
        whole[list(partition.dependent), :] = solved
        whole[list(partition.independent), :count] = ca.SX.eye(count)
        whole = ca.sparsify(whole)
        sound = ca.SX(ca.inf)
        effect = ca.Function('pivots', [blocks.q], [ca.vertcat(*pivots)])(start)
        for pivot, size in zip(pivots, np.array(effect).ravel().tolist()):
            sound = ca.fmin(sound, pivot / (WEAKEST**2 * size) - 1.0)
        columns = whole[:, :count], ca.densify(whole[:, count]), ca.densify(whole[:, count + 1]), sound
        results = ca.substitute(list(columns), [blocks.q, blocks.v], [q, v])
        self.complement, self.particular, self.gap, self.soundness = results

    def closed(self, rates: Expression) -> Expression:
        """Return the rates (n,) of all joints that follow from the independent ones of `rates` (n,)."""
        return ca.densify(ca.mtimes(self.complement, rates[list(self.independent)]))

    def summed(self, efforts: Expression) -> Expression:
        """Return efforts (n,) of the independent joints equal to efforts (n,) of all, and 0 elsewhere."""
        result = ca.SX(efforts.shape[0], 1)
        result[list(self.independent)] = ca.mtimes(self.complement.T, efforts)
        return ca.densify(result)


class Loops:
    """Loops that constraints close between links of a machine, in numbers; joints have the order of its movable ones.

    Args:
        machine: with at least one such constraint.

    Attributes:
        joints: names of the joints that move the ends of each constraint, by its name.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine, tree = machine, _tree_on_held_base(machine)
        self._blocks = blocks = ConstraintBlocks(tree, [entry.on(tree) for entry in _loops(machine)])
        residual, jacobian = blocks.rows.residual, _sparse(blocks, np.array(joint_vector(machine)))
        rows = [(name, part) for name, part in blocks.slices.items() if blocks.holonomic[part].any()]
        self.joints = {
            name: tuple(tree.velocity_names[k] for k in sorted(set(jacobian[part, :].sparsity().get_triplet()[1])))
            for name, part in rows
        }
        gaps = [ca.norm_inf(residual[np.flatnonzero(blocks.holonomic[part]) + part.start]) for _, part in rows]
        values = ca.substitute(ca.vertcat(*gaps), blocks.parameters.vector, blocks.numbers(None))
        function = ca.Function('gaps', [blocks.q], [ca.densify(values)])
        self._positions, self._gaps = np.empty(tree.nq), np.empty(len(rows))
        self._buffer, self._evaluate = function.buffer()
        self._buffer.set_arg(0, memoryview(self._positions))  # type: ignore[arg-type, call-arg]
        self._buffer.set_res(0, memoryview(self._gaps))  # type: ignore[arg-type, call-arg]

    @classmethod
    def of(cls, machine: Machine) -> Loops | None:
        """Return the loops of a machine; None without such constraints."""
        return cls(machine) if _loops(machine) else None

    def gaps(self, positions: Array) -> Array:
        """Return how far positions (n,) of the joints leave each constraint of `joints` open, m or rad."""
        self._positions[:] = positions
        self._evaluate()
        return self._gaps.copy()

    def closed(self, positions: Mapping[str, float]) -> dict[str, float]:
        """Return the positions of all joints by name: those in `positions` as they are, others near the initial ones.

        Raises AssemblyError: the loops do not close; names them and their gaps.
        """
        names = [joint.name for joint in self._machine.movable_joints]
        guess = joint_vector(self._machine, positions)
        return dict(zip(names, assemble(self._blocks, guess, held=[*positions]).tolist()))


def _loops(machine: Machine) -> list[LoopRecord]:
    """Return the constraints between links of a machine, without those to the world and to loads."""
    links = {link.name for link in machine.links}
    loops = [entry for entry in machine.constraints if isinstance(entry, LoopRecord)]
    return [entry for entry in loops if {end.link for end in entry.ends} <= links]


def _tree_on_held_base(machine: Machine) -> Tree:
    """Return the tree of a machine on a held base, without loads and wheels."""
    return build_tree(
        replace(machine, base=replace(machine.base, attachment='fixed'), loads=(), wheels=(), contacts=())
    )


def _check(machine: Machine) -> None:
    """Raise ValueError, with names, for constraints that do more than hold links relative to each other."""
    links = {link.name for link in machine.links}
    unsuitable = [
        entry.name for entry in machine.constraints if entry.moved_joint or {end.link for end in entry.ends} - links
    ]
    unsuitable += [entry.joint for entry in machine.joint_classes if entry.held]
    if unsuitable:
        raise ValueError(
            f'machine {machine.name!r}: expected constraints between links of the machine, without prescribed motion '
            f'and held joints, found {", ".join(unsuitable)}'
        )


def _sparse(blocks: ConstraintBlocks, start: Array) -> Expression:
    """Return the Jacobian (m, n) without entries that are zero in any position, so that each loop is solved alone."""
    rng = np.random.default_rng(0)
    sizes = [np.abs(blocks.at(start + rng.uniform(-NEAR, NEAR, len(start))).J) for _ in range(POSITIONS)]
    rows, columns = np.nonzero(np.max(sizes, axis=0) > ZERO * np.max(sizes))
    result = ca.SX(*blocks.rows.jacobian.shape)
    for i, j in zip(rows.tolist(), columns.tolist()):
        result[i, j] = blocks.rows.jacobian[i, j]
    return result
