"""Rest of a machine with springs and constraints: loops closed, springs loaded, friction holding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import AssemblyError, ConstraintBlocks
from dyn_nodes.constraints.assembly import assemble, moved
from dyn_nodes.elements.forces.joint_stop import SCALE as STOP_SCALE
from dyn_nodes.elements.wheel import STIFFNESS_SCALE
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.stability.rest import Forces, RestSearch
from dyn_nodes.stability.standing_machine import Conditions, StandingMachine

TOUCHED = 1e-9
"""Entry of a constraint row on the base in the plane of the ground above which the base counts as anchored."""


@dataclass(frozen=True, eq=False)
class ConstrainedStatics:
    """Forces of a machine with constraints at rest, evaluated by CasADi.

    Attributes:
        machine: the machine.
        blocks: its traced system.
    """

    machine: Machine
    blocks: ConstraintBlocks

    @cached_property
    def deflections(self) -> tuple[str, ...]:
        """Names of the element states that follow from the balance."""
        return tuple(state.name for state in self.blocks.element_states if state.balances)

    @cached_property
    def indices(self) -> list[int]:
        """Indices of the deflections in the parameters of the blocks."""
        return [self.blocks.parameters.names.index(name) for name in self.deflections]

    @cached_property
    def _shares(self) -> dict[str, ca.SX]:
        blocks = self.blocks
        shares = [law.friction_use(blocks.state, blocks.parameters) for law in blocks.forces]
        return {name: value for law in shares for name, value in law.items()}

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the deflections with a share of the greatest static friction."""
        return tuple(self._shares)

    @cached_property
    def evaluate(self) -> ca.Function:
        """Function of positions, parameters, multipliers; returns net forces, derivatives, rows, residuals, shares."""
        blocks = self.blocks
        multipliers = ca.SX.sym('multipliers', blocks.m)
        force = ca.densify(blocks.bias - ca.mtimes(blocks.rows.jacobian.T, multipliers))
        deflections = ca.vertcat(*(blocks.parameters[name] for name in self.deflections), ca.SX(0, 1))
        lead = ca.jacobian(blocks.state.position_rate, blocks.v)
        derivatives = [ca.mtimes(ca.jacobian(force, blocks.q), lead), ca.jacobian(force, deflections)]
        shares = ca.vertcat(*self._shares.values(), ca.SX(0, 1))
        outputs = [force, *derivatives, blocks.rows.jacobian, blocks.rows.residual, shares]
        still = ca.substitute(outputs, [blocks.v], [ca.SX.zeros(blocks.tree.nv)])
        inputs = [blocks.q, blocks.parameters.vector, multipliers]
        return ca.Function('rest', inputs, [ca.densify(part) for part in still])

    def settle(self, q: Array, p: Array) -> tuple[Array, dict[str, float]]:
        """Return the position (nq,) at rest and the deflections of friction by name.

        Args:
            q: (nq,) position that closes the loops.
            p: parameters of the blocks.

        Raises:
            NoEquilibriumError: the machine tips over, slides, or a joint is not held.
        """
        model = _BlocksAtRest(self, q, p)
        root = RestSearch(model).settle(model.guesses())
        return root.q, dict(zip(self.deflections, map(float, root.s)))


def in_plane(q: Array) -> Array:
    """Return (6, 3) velocities of a free base that turns about the vertical, moves along x, and along y."""
    R = matrix_of_quaternion(q[3:7])
    motion = np.zeros((6, 3))
    motion[:3, 0], motion[3:, 1:] = R[2], R[:2].T
    return motion


class _BlocksAtRest(StandingMachine):
    """`stability.rest.RestModel` of a machine with constraints."""

    def __init__(self, statics: ConstrainedStatics, q: Array, p: Array) -> None:
        machine, blocks = statics.machine, statics.blocks
        tree, names = blocks.tree, blocks.parameters.names
        payload, stiffness, stops = (
            float(p[names.index(name)]) if name in names else absent
            for name, absent in (('payload_mass', 0.0), (STIFFNESS_SCALE, 1.0), (STOP_SCALE, 1.0))
        )
        gravity = p[[names.index(f'gravity_{axis}') for axis in 'xyz']]
        coordinates = dict(zip(tree.position_names, map(float, q)))
        joints = {joint.name: coordinates[joint.name] for joint in machine.movable_joints}
        pose = machine.initial.pose
        conditions = Conditions(gravity, payload, stiffness, stops)
        super().__init__(machine, tree.position_names, tree.velocity_names, pose, joints, conditions)
        self._statics, self._q, self._p = statics, q, np.array(p)
        self._pose = self.pose(q)
        self.rows, self.deflections, self.used = blocks.m, len(statics.deflections), statics.used
        self._holonomic = blocks.holonomic
        self.anchored = self.anchored or self._is_anchored()

    def _is_anchored(self) -> bool:
        """Return whether constraints hold the base in the plane of the ground."""
        rows = self.at(self._q, np.zeros(self.deflections), np.zeros(self.rows)).rows
        along = rows[:, :1] if self.planar else rows[:, :6] @ in_plane(self._q)
        return bool(np.abs(along).max(initial=0.0) > TOUCHED)

    def guesses(self) -> Iterator[Array]:
        """Yield positions with the base in its postures; loops are closed if possible."""
        tree = self._statics.blocks.tree
        base = list(tree.velocity_names[: tree.base_dofs])
        driven = [joint.name for joint in self.machine.actuated_joints]
        for posture in self.postures():
            guess = self.put(self._q, posture)
            for held in ([*base, *driven], base):
                try:
                    guess = assemble(self._statics.blocks, guess, self._p, held)
                    break
                except AssemblyError:
                    continue
            yield guess

    def at(self, q: Array, s: Array, multipliers: Array) -> Forces:
        """Return the forces in a position."""
        self._p[self._statics.indices] = s
        outputs = [np.array(part) for part in self._statics.evaluate(q, self._p, multipliers)]
        force, K, B, J, gaps, used = outputs
        nv, free = self._statics.blocks.tree.nv, self.free
        B = B.reshape(nv, self.deflections)[free]
        gaps = np.where(self._holonomic, gaps.ravel(), 0.0)
        return Forces(force.ravel()[free], K[np.ix_(free, free)], B, J.reshape(self.rows, nv), gaps, used.ravel())

    def moved(self, q: Array, step: Array) -> Array:
        """Return a position after a displacement (nv,)."""
        return moved(self._statics.blocks.tree, q, step)
