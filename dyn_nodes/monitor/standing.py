"""Stability of a machine in another posture, with another payload or another motion, on its present ground.

The ground keeps its measured slope. `StandingGround` gives the stability degree of such states: the distance from the
zero moment point to the nearest edge of the support polygon over the polygon's inradius (abo-shanab-2003, eqs 2.4 and
2.5), 1 at best, 0 where the machine starts to tip.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array, Indices
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.ground_kernels import corners_kernel, present_kernel
from dyn_nodes.monitor.ground_observer import GroundObserver, ground_axes
from dyn_nodes.monitor.hanging import HangingJoints
from dyn_nodes.monitor.load_model import GroundLoad, LoadModel
from dyn_nodes.stability.polygon import polygon_fault_kernel
from dyn_nodes.stability.zmp import zmp_kernel

ROUNDS = 3
SETTLED = 1e-5
STILL = np.zeros(3)


class StandingGround:
    """The ground below a machine, from a monitor or assumed.

    Args:
        machine: with a free base on three wheels or more.
        model: its load model.

    Attributes:
        plane: (4,) of the present ground in the base's axes.
        up: (3,) against gravity in the base's axes, unit.
        hanging: passive joints from which loads hang.
    """

    def __init__(self, machine: Machine, model: LoadModel | None = None) -> None:
        self.machine = machine
        self.model = model or LoadModel(machine)
        self.hanging = HangingJoints(machine, self.model)
        self._springs = GroundObserver(machine)
        self._still = np.zeros(len(self.model.joints))
        self.plane = np.array([0.0, 0.0, 1.0, 0.0])
        self.up = np.array([0.0, 0.0, 1.0])

    def set_ground(self, plane: Array, up: Array) -> None:
        """Set the plane of the ground (4,) and the direction against gravity (3,)."""
        self.plane, self.up = np.array(plane), np.array(up)

    def fault(self, q: Array) -> str:
        """Return why the ground points of the wheels form no support polygon at positions (n,); '' if they do."""
        attachments = self._attachments(q)
        self._learn_polygon(attachments)
        return self._springs.fault(attachments, self.plane[:3])

    @property
    def corners(self) -> Indices:
        """Indices (k,) of the springs at the corners of the support polygon, counter-clockwise."""
        assert self._springs.polygon is not None
        return self._springs.polygon.astype(np.int64)

    def first_attachments(self) -> Array:
        """Return the attachments (s, 3) of the springs in the initial posture, in axes of the base link, m.

        Raises:
            ValueError: they form no support polygon.
        """
        first = initial_positions(self.machine)
        positions = np.array([first[joint.name] for joint in self.machine.movable_joints])
        if fault := self.fault(positions):
            raise ValueError(f'machine {self.machine.name!r}: {fault}')
        return self._attachments(positions)

    def _attachments(self, q: Array) -> Array:
        still = self._still
        return self.model.evaluate(q, still, still, STILL, STILL, STILL, 0.0).attachments

    def standing_degree(self, q: Array, payload: float) -> float:
        """Return the stability degree at rest, with the suspension deflected accordingly and hanging loads at rest.

        Args:
            q: (n,) joint positions; for hanging joints the start of the search.
            payload: kg.
        """
        still = self._still
        slope = ground_axes(self.plane).T @ self.up
        plane = self.plane
        degree = -np.inf
        for _ in range(ROUNDS):
            up = ground_axes(plane) @ slope
            specific_force, q = up * self.machine.gravity, self.hanging.at_rest(q, payload, up)
            load = self.model.evaluate(q, still, still, STILL, STILL, specific_force, payload)
            loads = self._springs.statics(load)
            corners = np.ascontiguousarray(loads.feet[self._springs.polygon])
            normal = loads.plane[:3]
            degree = float(_degrees(corners[None], load.force[None].copy(), load.moment[None].copy(), normal)[0])
            if not (loads.pressed and loads.balanced):
                return degree
            if np.abs(loads.plane - plane).max() < SETTLED:
                break
            plane = loads.plane
        return degree

    def present_degree(self, q: Array, payload: float) -> float:
        """Return the stability degree at rest on the present plane, at positions (n,) and with a payload, kg."""
        if self._springs.polygon is None:
            self._learn_polygon(self._attachments(q))
        model, order = self.model, self._springs.polygon
        specific_force = self.up * self.machine.gravity
        return float(present_kernel(model.code, model.size, q, specific_force, float(payload), self.plane, order))

    def moving_degrees(self, q: Array, v: Array, a: Array, payload: float) -> Array:
        """Return the stability degrees (t,) of t states, the base at rest on the present plane.

        Args:
            q: (t, n) positions of the joints.
            v: (t, n) velocities.
            a: (t, n) accelerations.
            payload: kg.
        """
        load = self.moving_loads(q, v, a, payload)
        return _degrees(self.feet(load.attachments), load.force, load.moment, self.plane[:3])

    def moving_loads(self, q: Array, v: Array, a: Array, payload: float) -> GroundLoad:
        """Return the loads of t states, the base at rest."""
        base = np.zeros((len(q), 9))
        base[:, 6:] = self.up * self.machine.gravity
        q, v, a = (np.ascontiguousarray(part) for part in (q, v, a))
        return self.model.evaluate_batch(q, v, a, base, np.full(len(q), float(payload)))

    def feet(self, attachments: Array) -> Array:
        """Return the corners (..., n, 3) of the polygon: points of the ground below the wheels, in its order."""
        self._learn_polygon(attachments)
        order, points = self._springs.polygon, attachments.reshape(-1, *attachments.shape[-2:])
        assert order is not None
        corners = np.empty((len(points), len(order), 3))
        corners_kernel(points, order, self.plane, corners)
        return corners.reshape(*attachments.shape[:-2], len(order), 3)

    def _learn_polygon(self, attachments: Array) -> None:
        if self._springs.polygon is None:
            self._springs.learn_polygon(attachments.reshape(-1, *attachments.shape[-2:])[0])


def _degrees(corners: Array, force: Array, moment: Array, normal: Array) -> Array:
    """Return the stability degrees (t,) of loads at the origin, on corners (t, n, 3); -inf if these form no polygon."""
    degrees: Array = zmp_kernel(corners, np.zeros_like(force), force, moment)[0]
    up = np.ascontiguousarray(normal[np.newaxis])
    if polygon_fault_kernel(corners, up)[2]:
        crossed = [polygon_fault_kernel(corners[s : s + 1], up)[2] > 0 for s in range(len(corners))]
        degrees[np.array(crossed)] = -np.inf
    return degrees
