"""Where passive joints come to rest below the others: a load on a hook hangs plumb."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import hanging_joints
from dyn_nodes.monitor.load_model import LoadModel

NEWTON, FARTHEST, LAST = 10, 0.7, 1e-3
"""Steps at most, the longest of them, and one after which its square is left: none follows, rad or m."""
PROBE = 1e-3
FLAT = 1e-9
"""Curvature, m/rad2, below which the centre of mass does not hold a joint anywhere."""


class HangingJoints:
    """The joints of a machine on which something hangs, at rest.

    Their place of rest is where the centre of mass of the machine is lowest, which Newton steps find from the place
    where they are.

    Args:
        machine: with a free base.
        model: its load model.

    Attributes:
        places: (k,) indices of them among the movable joints.
    """

    def __init__(self, machine: Machine, model: LoadModel) -> None:
        self.model = model
        joints = machine.movable_joints
        names = hanging_joints(machine)
        self.places = np.array([k for k, joint in enumerate(joints) if joint.name in names], dtype=np.int64)
        self._lower = np.array([joints[k].lower for k in self.places])
        self._upper = np.array([joints[k].upper for k in self.places])
        count = len(self.places)
        pairs = [(k, other) for k in range(count) for other in range(k)]
        steps = np.eye(count)
        self._pairs = pairs
        both = [sign * (steps[[k]] + steps[[other]]) for k, other in pairs for sign in (1.0, -1.0)]
        self._probes = PROBE * np.vstack([np.zeros((1, count)), steps, -steps, *both])

    def __bool__(self) -> bool:
        """Return whether anything hangs."""
        return bool(len(self.places))

    def at_rest(self, q: Array, payload: float, up: Array) -> Array:
        """Return the positions (n,) at which what hangs is at rest and all other joints are where they are.

        Args:
            q: (n,) joint positions.
            payload: kg.
            up: (3,) against gravity in the base's axes, unit.
        """
        if not self:
            return q
        q = q.copy()
        for _ in range(NEWTON):
            step = np.clip(self._newton_step(q, payload, up), -FARTHEST, FARTHEST)
            q[self.places] = np.clip(q[self.places] + step, self._lower, self._upper)
            if np.abs(step).max() < LAST:
                break
        return q

    def _newton_step(self, q: Array, payload: float, up: Array) -> Array:
        """The step (k,) to where the height of the centre of mass has no slope; downhill where that is a summit."""
        slope, curvature = self._height(q, payload, up)
        values, vectors = np.linalg.eigh(curvature)
        along = vectors.T @ slope
        return np.asarray(-vectors @ np.where(np.abs(values) > FLAT, along / np.maximum(np.abs(values), FLAT), 0.0))

    def _height(self, q: Array, payload: float, up: Array) -> tuple[Array, Array]:
        """Slope (k,) and curvature (k, k) of the height of the centre of mass."""
        rows = np.repeat(q[None], len(self._probes), axis=0)
        rows[:, self.places] += self._probes
        still, base = np.zeros_like(rows), np.zeros((len(rows), 9))
        loads = self.model.evaluate_batch(rows, still, still, base, np.full(len(rows), float(payload)))
        heights, count = loads.com @ up, len(self.places)
        here, more, less = heights[0], heights[1 : count + 1], heights[count + 1 : 2 * count + 1]
        curvature = np.diag(more - 2.0 * here + less)
        for row, (k, m) in enumerate(self._pairs):
            both = heights[2 * count + 1 + 2 * row : 2 * count + 3 + 2 * row].sum() - 2.0 * here
            curvature[k, m] = curvature[m, k] = 0.5 * (both - curvature[k, k] - curvature[m, m])
        return (more - less) / (2.0 * PROBE), curvature / PROBE**2
