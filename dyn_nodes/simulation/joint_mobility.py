"""Joint accelerations that joint efforts cause at once, by the machine's own masses."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import build_module
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, build_tree
from dyn_nodes.multibody import dynamics as md
from dyn_nodes.multibody.tree import Tree
from dyn_nodes.simulation.fingerprint import machine_fingerprint

Array = NDArray[np.float64]


class JointMobility:
    """S M^-1 S^T: derivative of the accelerations of some joints by their efforts, (n, n), rad/s2 per N m.

    The base gives way freely: ground, springs and gravity depend on position and velocity, not on an effort of the same
    moment, so that this is exact for a tree. The mass matrix in the base's own axes depends on the joints alone.

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
        self._places = np.array([tree.nv - len(movable) + movable.index(name) for name in joints], dtype=np.intp)
        self._nv, self._q = tree.nv, np.zeros(tree.nq)
        self._first = tree.nq - len(movable)
        if tree.free:
            self._q[6] = 1.0
        self._M = np.empty(tree.nv**2)
        self._columns = np.zeros((tree.nv, len(joints)))
        self._columns[self._places, np.arange(len(joints))] = 1.0
        self._payload = np.empty(1)
        self.module = build_module(
            f'{machine.name}: mass', [machine_fingerprint(machine)], lambda: (_functions(tree), {})
        )

    def at(self, positions: Array) -> Array:
        """Return the mobility (n, n) at the positions of all movable joints, in the machine's order."""
        self._q[self._first :] = positions
        self._payload[0] = self.payload
        self.module.mass_matrix(self._q, self._payload, self._M)
        return np.asarray(np.linalg.solve(self._M.reshape(self._nv, self._nv), self._columns)[self._places])


def _functions(tree: Tree) -> dict[str, ca.Function]:
    q, payload = ca.SX.sym('q', tree.nq), ca.SX.sym('payload')
    state = TreeState(tree, q, ca.SX.zeros(tree.nv), payload)
    return {'mass_matrix': ca.Function('mass_matrix', [q, payload], [ca.densify(ca.vec(md.mass_matrix(state)))])}
