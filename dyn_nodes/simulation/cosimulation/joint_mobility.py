"""Joint mobility: instantaneous joint accelerations per joint effort, from the masses of the machine."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import build_module
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, build_tree
from dyn_nodes.multibody import dynamics as md
from dyn_nodes.multibody.tree import Tree


class JointMobility:
    """S M^-1 S^T: derivative of joint accelerations by joint efforts, (n, n), rad/s2 per N m.

    The base is free: ground, springs and gravity depend on position and velocity and not on the present efforts, so
    that the result is exact for a tree. The mass matrix in the axes of the base depends only on the joints.

    Args:
        machine: the machine, without constraints.
        joints: names of the n joints.

    Attributes:
        payload: kg in the implement.
    """

    def __init__(self, machine: Machine, joints: Sequence[str]) -> None:
        tree = build_tree(machine)
        movable = [joint.name for joint in machine.movable_joints]
        self.payload = machine.payload.mass if machine.payload else 0.0
        self._indices = np.array([tree.nv - len(movable) + movable.index(name) for name in joints], dtype=np.intp)
        self._nv, self._q = tree.nv, np.zeros(tree.nq)
        self._first = tree.nq - len(movable)
        if tree.free:
            self._q[6] = 1.0
        self._M = np.empty(tree.nv**2)
        self._columns = np.zeros((tree.nv, len(joints)))
        self._columns[self._indices, np.arange(len(joints))] = 1.0
        self._payload = np.empty(1)
        self.module = build_module(
            f'{machine.name}: mass', [machine_fingerprint(machine)], lambda: (_functions(tree), {})
        )

    def at(self, positions: Array) -> Array:
        """Return the mobility (n, n) at the positions of all movable joints, in the machine's order."""
        self._q[self._first :] = positions
        self._payload[0] = self.payload
        self.module.mass_matrix(self._q, self._payload, self._M)
        return np.asarray(np.linalg.solve(self._M.reshape(self._nv, self._nv), self._columns)[self._indices])


class ConstrainedMobility:
    """S N (N^T M N)^-1 N^T S^T: joint mobility with constraints, N their motions at the present posture, (n, n).

    The base keeps its initial pose, on which constraints against the world depend.

    Args:
        machine: with constraints and without loads, whose poses are unknown.
        joints: names of the n joints.

    Attributes:
        payload: kg in the implement.
    """

    def __init__(self, machine: Machine, joints: Sequence[str]) -> None:
        # slow imports, needed by few machines
        from dyn_nodes.constraints.linear import Subspaces
        from dyn_nodes.simulation.constrained_machine import constrained_machine

        start = constrained_machine(machine)
        self._system, self._subspaces = start.system, Subspaces
        tree = start.system.blocks.tree
        self._q, self._still = start.q.copy(), np.zeros(tree.nv)
        self._movable = [tree.position_names.index(joint.name) for joint in machine.movable_joints]
        self._indices = [tree.velocity_index(name) for name in joints]
        self.payload = machine.payload.mass if machine.payload else 0.0

    def at(self, positions: Array) -> Array:
        """Return the mobility (n, n) at the positions of all movable joints, in the machine's order."""
        self._q[self._movable] = positions
        system = self._system
        p = system.parameters({'payload_mass': self.payload})
        at = system.constraints.blocks_at(system.state(self._q, self._still), np.zeros(len(system.input_names)), p)
        motions = self._subspaces(at.J).motions
        rows = motions[self._indices]
        return np.asarray(rows @ np.linalg.solve(motions.T @ at.M @ motions, rows.T))


def mobility_of(machine: Machine, joints: Sequence[str]) -> JointMobility | ConstrainedMobility | None:
    """Return the mobility of joints of a machine; None with loads, whose poses are unknown."""
    if machine.loads:
        return None
    return (ConstrainedMobility if machine.needs_constraints else JointMobility)(machine, joints)


def _functions(tree: Tree) -> dict[str, ca.Function]:
    q, payload = ca.SX.sym('q', tree.nq), ca.SX.sym('payload')
    state = TreeState(tree, q, ca.SX.zeros(tree.nv), payload)
    return {'mass_matrix': ca.Function('mass_matrix', [q, payload], [ca.densify(ca.vec(md.mass_matrix(state)))])}
