"""Rest positions of passive joints: a load on a hook hangs plumb."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import hanging_joints
from dyn_nodes.monitor.load_model import LoadModel

NEWTON, FARTHEST, LAST = 10, 0.7, 1e-3
"""Greatest number of Newton steps; greatest step, rad or m; step after which none follows, because the error is its
square."""
PROBE = 1e-3
FLAT = 1e-9
"""Curvature, m/rad2, below which the centre of mass does not determine the position of a joint."""


class HangingJoints:
    """The passive joints of a machine from which a load hangs, at rest.

    Their rest position is where the centre of mass of the machine is lowest; Newton steps start from the present
    positions.

    Args:
        machine: with a free base.
        model: its load model.

    Attributes:
        indices: (k,) of them among the movable joints.
    """

    def __init__(self, machine: Machine, model: LoadModel) -> None:
        self.model = model
        joints = machine.movable_joints
        names = hanging_joints(machine)
        self.indices = np.array([k for k, joint in enumerate(joints) if joint.name in names], dtype=np.int64)
        self._lower = np.array([joints[k].lower for k in self.indices])
        self._upper = np.array([joints[k].upper for k in self.indices])
        count = len(self.indices)
        pairs = [(k, other) for k in range(count) for other in range(k)]
        steps = np.eye(count)
        self._pairs = pairs
        both = [sign * (steps[[k]] + steps[[other]]) for k, other in pairs for sign in (1.0, -1.0)]
        self._probes = PROBE * np.vstack([np.zeros((1, count)), steps, -steps, *both])

    def __bool__(self) -> bool:
        """Return whether there are hanging joints."""
        return bool(len(self.indices))

    def at_rest(self, q: Array, payload: float, up: Array) -> Array:
        """Return the positions (n,) with hanging joints at rest and all other joints unchanged.

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
            q[self.indices] = np.clip(q[self.indices] + step, self._lower, self._upper)
            if np.abs(step).max() < LAST:
                break
        return q

    def _newton_step(self, q: Array, payload: float, up: Array) -> Array:
        """Return the step (k,) to the zero of the slope of the centre of mass's height; downhill near a maximum."""
        slope, curvature = self._height(q, payload, up)
        values, vectors = np.linalg.eigh(curvature)
        along = vectors.T @ slope
        return np.asarray(-vectors @ np.where(np.abs(values) > FLAT, along / np.maximum(np.abs(values), FLAT), 0.0))

    def _height(self, q: Array, payload: float, up: Array) -> tuple[Array, Array]:
        """Return slope (k,) and curvature (k, k) of the height of the centre of mass."""
        rows = np.repeat(q[None], len(self._probes), axis=0)
        rows[:, self.indices] += self._probes
        still, base = np.zeros_like(rows), np.zeros((len(rows), 9))
        loads = self.model.evaluate_batch(rows, still, still, base, np.full(len(rows), float(payload)))
        heights, count = loads.com @ up, len(self.indices)
        here, more, less = heights[0], heights[1 : count + 1], heights[count + 1 : 2 * count + 1]
        curvature = np.diag(more - 2.0 * here + less)
        for row, (k, m) in enumerate(self._pairs):
            both = heights[2 * count + 1 + 2 * row : 2 * count + 3 + 2 * row].sum() - 2.0 * here
            curvature[k, m] = curvature[m, k] = 0.5 * (both - curvature[k, k] - curvature[m, m])
        return (more - less) / (2.0 * PROBE), curvature / PROBE**2
