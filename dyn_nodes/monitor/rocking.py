"""Rocking of a machine on its suspension, predicted from the motion of its joints alone: for monitors without an IMU.

The base is a rigid body on springs and dampers; the motion of the joints is measured, so the base's equations of motion
can be integrated. Friction holds it to the ground: it acts in the plane of the ground and has no moment about axes in
that plane. Three coordinates are left, the height of the base and two angles, and three equations: forces along the
ground's normal, and moments about two axes in the ground below the base link's origin.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import cross
from dyn_nodes.monitor.ground_observer import Footing, ground_axes
from dyn_nodes.monitor.load_model import GroundLoad, LoadModel

SUBSTEP = 1.7e-3
GREATEST_TILT = 0.3
"""Tilt against the ground, rad, above which the prediction stops."""


class RockingModel:
    """Integrates the rocking of a machine.

    Args:
        machine: on three wheels or more, or on two tracks.
        model: its load model.

    Attributes:
        plane: (4,) of the ground in the base's axes; None before `start`.
    """

    def __init__(self, machine: Machine, model: LoadModel) -> None:
        self.machine, self.model = machine, model
        self.stiffness = np.array([spring.stiffness for spring in machine.supports])
        self.damping = np.array([spring.damping for spring in machine.supports])
        self.free_length = np.array([spring.free_length for spring in machine.supports])
        self.plane: Array | None = None
        self._omega, self._climb = np.zeros(3), 0.0

    def start(self, plane: Array) -> None:
        """Start at rest on a plane (4,)."""
        self.plane = np.array(plane)
        self._omega, self._climb = np.zeros(3), 0.0

    @property
    def rate(self) -> Array:
        """Angular velocity (3,) of the base in its axes, rad/s; 0 without a prediction."""
        return self._omega if self.plane is not None else np.zeros(3)

    @property
    def upright(self) -> bool:
        """Whether the base is near its initial attitude; the prediction is not valid for one that lies on its side."""
        return self.plane is not None and bool(self.plane[2] > np.cos(GREATEST_TILT))

    def advance(
        self, q: Array, v: Array, a: Array, payload: float, slope_up: Array, step: float
    ) -> tuple[GroundLoad, Footing]:
        """Advance by a step; return the load at its end and the footing.

        Args:
            q: (n,) positions of the joints, at the end of the step.
            v: (n,) velocities.
            a: (n,) accelerations.
            payload: kg.
            slope_up: (3,) against gravity in the axes of the ground.
            step: s.
        """
        assert self.plane is not None
        axes = ground_axes(self.plane)
        loads = self._loads(q, v, a, payload, axes, slope_up)
        # rows: normal force and moments about the ground's two axes, of the load alone and of unit accelerations
        rows = self._rows(loads, axes)
        inertia = (rows[1:] - rows[0]).T
        wheels = loads.attachments[0]
        steps = max(1, int(np.ceil(step / SUBSTEP - 1e-6)))
        for _ in range(steps):
            push, _ = self._pushes(wheels)
            acceleration = self._acceleration(inertia, rows[0], push, wheels, axes)
            self._climb += step / steps * acceleration[0]
            self._omega = self._omega + step / steps * (axes[:, :2] @ acceleration[1:])
            normal = self.plane[:3] - step / steps * cross(self._omega, self.plane[:3])
            normal /= np.linalg.norm(normal)
            self._omega -= (self._omega @ normal) * normal
            self.plane = np.append(normal, self.plane[3] - step / steps * self._climb)
        push, feet = self._pushes(wheels)
        acceleration = self._acceleration(inertia, rows[0], push, wheels, axes)
        parts = [part[0] + np.tensordot(acceleration, part[1:] - part[0], 1) for part in loads]
        load = GroundLoad(*parts)
        plane = self.plane
        pressed = bool(push.sum() > 0.0)
        return load, Footing(push, plane, feet, load.force, load.moment, pressed, pressed)

    def _loads(self, q: Array, v: Array, a: Array, payload: float, axes: Array, slope_up: Array) -> GroundLoad:
        """Return the loads without acceleration of the base, with unit ones upwards and about the ground's two axes."""
        assert self.plane is not None
        base = np.zeros((4, 9))
        base[:, 0:3] = self._omega
        height = -self.plane[3]
        base[:, 6:9] = axes @ slope_up * self.machine.gravity
        base[1, 6:9] += axes[:, 2]
        for k in (0, 1):
            base[2 + k, 3:6] = axes[:, k]
            base[2 + k, 6:9] += cross(axes[:, k], height * axes[:, 2])
        q, v, a = (np.tile(part, (4, 1)) for part in (q, v, a))
        return self.model.evaluate_batch(q, v, a, base, np.full(4, float(payload)))

    def _rows(self, loads: GroundLoad, axes: Array) -> Array:
        assert self.plane is not None
        foot = self.plane[3] * self.plane[:3]
        moment = loads.moment - np.cross(foot, loads.force)
        return np.column_stack((loads.force @ axes[:, 2], moment @ axes[:, 0], moment @ axes[:, 1]))

    def _pushes(self, wheels: Array) -> tuple[Array, Array]:
        assert self.plane is not None
        normal = self.plane[:3]
        height = wheels @ normal - self.plane[3]
        rate = self._climb - wheels @ cross(self._omega, normal)
        squeeze = self.free_length - height
        push = np.where(squeeze > 0.0, np.maximum(0.0, self.stiffness * squeeze - self.damping * rate), 0.0)
        return push, wheels - np.outer(height, normal)

    def _acceleration(self, inertia: Array, load: Array, push: Array, wheels: Array, axes: Array) -> Array:
        x, y = wheels @ axes[:, 0], wheels @ axes[:, 1]
        ground = np.array([push.sum(), push @ y, -push @ x])
        result: Array = np.linalg.solve(inertia, -(load + ground))
        return result
