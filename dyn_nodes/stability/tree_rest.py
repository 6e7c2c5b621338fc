"""Rest of a machine with springs and without constraints: forces from one kernel of its statics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import length, matrix_of_quaternion, product, quaternion_about
from dyn_nodes.stability.rest import Forces
from dyn_nodes.stability.standing_machine import Conditions, StandingMachine


class TreeAtRest(StandingMachine):
    """`stability.rest.RestModel` of a machine without constraints.

    Args:
        machine: the machine.
        module: kernel of `simulation.initial.statics_functions` with its metadata.
        p: parameters of the system.
        pose: (6,) of the base; x, y and yaw are kept.
        joints: positions of the movable joints by name.
        conditions: the parameters on which the search depends.
    """

    def __init__(
        self, machine: Machine, module: Any, p: Array, pose: Array, joints: Mapping[str, float], conditions: Conditions
    ) -> None:
        meta = module.meta
        super().__init__(machine, meta['positions'], meta['velocities'], pose, joints, conditions)
        self._statics, self._p = module.statics, p
        self.deflections, self.used = len(meta['deflections']), meta['used']
        n, k, nv = len(self.free), self.deflections, int(meta['nv'])
        self._numbers = [np.empty(size) for size in (nv, n * n, n * k, len(self.used))]
        self._rows, self._gaps = np.zeros((0, nv)), np.zeros(0)

    def holding(self, q: Array, s: Array) -> Array:
        """Return the holding forces (nv,)."""
        self._statics(q, s, self._p, *self._numbers)
        return self._numbers[0].copy()

    def at(self, q: Array, s: Array, multipliers: Array) -> Forces:
        """Return the forces in a position."""
        force, n = self.holding(q, s)[self.free], len(self.free)
        _, stiffness, by_deflection, used = self._numbers
        K, B = (part.reshape((n, -1) if part.size else (n, 0), order='F').copy() for part in (stiffness, by_deflection))
        return Forces(force, K, B, self._rows, self._gaps, used.copy())

    def moved(self, q: Array, step: Array) -> Array:
        """Return a position after a displacement (nv,)."""
        if self.planar:
            return q + step
        result = np.array(q)
        result[:3] += matrix_of_quaternion(q[3:7]) @ step[3:6]
        angle = length(step[:3])
        if angle > 0.0:
            result[3:7] = product(q[3:7], quaternion_about(step[:3] / angle, angle))
        result[7:] += step[6:]
        return result
