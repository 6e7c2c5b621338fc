"""Kane's equations at one state, with accelerations, multipliers and mount wrenches (tanner-1998, C4, C7, C10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.kane.mounts import Mount, MountWrench
from dyn_nodes.constraints.kane.parts import Part, Placement, ground, part_in, skew
from dyn_nodes.multibody import Frame


class AppliedWrench(NamedTuple):
    """A force (3,), N, at the origin of a frame and a torque (3,), N m, on the body of the frame; world axes."""

    frame: Frame
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class TracedNumbers:
    """Traced quantities of constraints and elements at one state.

    Attributes:
        J, gamma, sigma: (m, nv), (m,), (m,) rows of the constraints, J v = sigma, J dv/dt = gamma.
        applied: (nv,) efforts of springs, tyres and actuators along the velocities.
        gravity: (3,) m/s2.
        Y, Z, drift: (n, nv), (n,), (n,) of the user's speeds u = Y v + Z, drift = dY/dt v + dZ/dt; else (0, nv).
        payload: mass, kg.
    """

    J: Array
    gamma: Array
    sigma: Array
    applied: Array
    gravity: Array
    Y: Array
    Z: Array
    drift: Array
    payload: float


class PullsOnBodies(Protocol):
    """Source of the wrenches of elements and constraints on single bodies; only mounts need them."""

    @property
    def system(self) -> ConstraintBlocks:
        """Return the traced system."""

    def pulls(self, q: Array, v: Array, p: Array) -> tuple[Array, Array]:
        """Return wrenches [moment; force] at the bodies' origins, world axes: elements (6 r,), unit rows (m, 6 r)."""


@dataclass(frozen=True, eq=False)
class KaneEquations:
    """Kane's equations at one state: M du/dt + C + G = efforts + elements + loads, n independent speeds u.

    Attributes:
        formulation: formulation of the equations.
        q, v, p: (nq,) positions, (nv,) velocities that satisfy the constraints, parameters.
        names: (n) names of the speeds.  u: (n,) the speeds.
        W: (nv, n) velocities per speed, v = W u + X.  bias: (nv,) b, dv/dt = W du/dt + b.
        placements, parts: placements of the bodies, and all parts with mass.
        inertia: (n, n) M.
        convective, gravity, elements: (n,) C, G, and efforts of springs, tyres and actuators.
        numbers: traced quantities.
    """

    formulation: PullsOnBodies
    q: Array
    v: Array
    p: Array
    names: tuple[str, ...]
    u: Array
    W: Array
    bias: Array
    placements: tuple[Placement, ...]
    parts: tuple[Part, ...]
    inertia: Array
    convective: Array
    gravity: Array
    elements: Array
    numbers: TracedNumbers

    def partial_velocities(self, frame: Frame) -> tuple[Array, Array]:
        """Return the partial angular velocities, and partial velocities of a frame's origin, (3, n), world axes."""
        placement = self._placement(frame.body)
        return placement.turning @ self.W, placement.moving_at(placement.p + placement.R @ frame.p) @ self.W

    def generalized_force(self, frame: Frame, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0)) -> Array:
        """Return the generalized active force (n,) of a force, N, at a frame's origin and a torque, N m, on its body.

        Both (3,) in world axes. Non-contributing forces give zero.
        """
        turning, moving = self.partial_velocities(frame)
        return np.asarray(moving.T @ np.asarray(force, float) + turning.T @ np.asarray(torque, float))

    def efforts(self, tau: ArrayLike) -> Array:
        """Return the generalized active forces (n,) of efforts tau (nv,) of the joints, N or N m."""
        return np.asarray(self.W.T @ _vector('tau', tau, len(self.v)))

    def speed_rates(self, tau: ArrayLike, loads: Sequence[AppliedWrench] = ()) -> Array:
        """Return du/dt (n,) under efforts tau (nv,) and loads."""
        active = self.efforts(tau) + self.elements + self._loaded(loads)
        return np.asarray(np.linalg.solve(self.inertia, active - self.convective - self.gravity))

    def accelerations(self, tau: ArrayLike, loads: Sequence[AppliedWrench] = ()) -> Array:
        """Return dv/dt (nv,) under efforts tau (nv,) and loads."""
        return np.asarray(self.W @ self.speed_rates(tau, loads) + self.bias)

    def multipliers(self, tau: ArrayLike, loads: Sequence[AppliedWrench] = ()) -> Array:
        """Return the multipliers (m,) of the rows, of least norm if rows depend on each other.

        They balance the forces along velocities that the constraints do not allow.
        """
        a, numbers = self.accelerations(tau, loads), self.numbers
        rest = self.formulation.system.tree.armatures * a - numbers.applied - _vector('tau', tau, len(self.v))
        for part in self.parts:
            force = part.mass * (part.moving @ a + part.acceleration - numbers.gravity)
            rest += part.moving.T @ force - part.turning.T @ part.inertia_torque(part.turning @ a + part.alpha)
        for load in loads:
            placement = self._placement(load.frame.body)
            point = placement.p + placement.R @ load.frame.p
            rest -= placement.moving_at(point).T @ np.asarray(load.force, float)
            rest -= placement.turning.T @ np.asarray(load.torque, float)
        return np.asarray(np.linalg.lstsq(numbers.J.T, rest, rcond=1e-10)[0])

    @property
    def kinetic_energy(self) -> float:
        """Return the kinetic energy of all bodies and rotors, J."""
        total = float(self.formulation.system.tree.armatures @ self.v**2)
        for part in self.parts:
            velocity = part.moving @ self.v
            total += part.mass * float(velocity @ velocity) + float(part.omega @ part.inertia @ part.omega)
        return 0.5 * total

    def mount_wrench(self, mount: Mount, tau: ArrayLike, loads: Sequence[AppliedWrench] = ()) -> MountWrench:
        """Return the wrench of the arm on the vehicle, from the rows of the six extra speeds (C7).

        Args:
            mount: mount of the arm.
            tau: (nv,) efforts of the joints.
            loads: loads on any bodies.
        """
        rates = self.speed_rates(tau, loads)
        placement = self._placement(mount.frame.body)
        axes, point = placement.R @ mount.frame.R, placement.p + placement.R @ mount.frame.p
        rows = np.zeros(6)
        for part in self._parts_beyond(mount):
            moving, turning = _extra(axes, part.centre - point), np.hstack([np.zeros((3, 3)), axes])
            a0 = part.moving @ self.bias + part.acceleration
            alpha0 = part.turning @ self.bias + part.alpha
            inertia = part.mass * moving.T @ (part.moving @ self.W) + turning.T @ part.inertia @ part.turning @ self.W
            convective = part.mass * moving.T @ a0 - turning.T @ part.inertia_torque(alpha0)
            rows -= inertia @ rates + convective - part.mass * moving.T @ self.numbers.gravity
        for force, torque, at in self._forces_beyond(mount, tau, loads):
            rows += _extra(axes, at - point).T @ force
            rows[3:] += axes.T @ torque
        return MountWrench(axes @ rows[:3], axes @ rows[3:], axes)

    def newton_euler_wrench(self, mount: Mount, tau: ArrayLike, loads: Sequence[AppliedWrench] = ()) -> MountWrench:
        """Return the mount wrench as the forces on the arm less the rate of its momentum: an independent check."""
        a = self.accelerations(tau, loads)
        placement = self._placement(mount.frame.body)
        axes, point = placement.R @ mount.frame.R, placement.p + placement.R @ mount.frame.p
        total, about = np.zeros(3), np.zeros(3)
        for part in self._parts_beyond(mount):
            force = part.mass * (self.numbers.gravity - part.moving @ a - part.acceleration)
            total += force
            about += np.cross(part.centre - point, force) + part.inertia_torque(part.turning @ a + part.alpha)
        for force, torque, at in self._forces_beyond(mount, tau, loads):
            total += force
            about += np.cross(at - point, force) + torque
        return MountWrench(total, about, axes)

    @cached_property
    def _pulls(self) -> tuple[Array, Array]:
        return self.formulation.pulls(self.q, self.v, self.p)

    def _placement(self, body: int) -> Placement:
        return self.placements[body] if body >= 0 else ground(len(self.v))

    def _loaded(self, loads: Sequence[AppliedWrench]) -> Array:
        return sum((self.generalized_force(*load) for load in loads), np.zeros(len(self.names)))

    def _parts_beyond(self, mount: Mount) -> list[Part]:
        parts = [part for part in self.parts if part.body in mount.bodies]
        carrier = self._placement(mount.frame.body)
        parts += [part_in(carrier, mount.frame.body, link.mass, link.com, link.inertia) for link in mount.fixed]
        payload = self.formulation.system.tree.payload
        if mount.payload and payload is not None:
            parts.append(part_in(carrier, payload.body, self.numbers.payload, payload.p, np.zeros((3, 3))))
        return parts

    def _forces_beyond(
        self, mount: Mount, tau: ArrayLike, loads: Sequence[AppliedWrench]
    ) -> list[tuple[Array, Array, Array]]:
        """Return force, torque and point of loads, elements and constraints on the bodies of the arm."""
        forces = []
        for load in loads:
            if load.frame.body in mount.bodies:
                placement = self._placement(load.frame.body)
                at = placement.p + placement.R @ load.frame.p
                forces.append((np.asarray(load.force, float), np.asarray(load.torque, float), at))
        pushed, per_row = self._pulls
        wrenches = (pushed + per_row.T @ self.multipliers(tau, loads)).reshape(-1, 6)
        forces += [(wrenches[k, 3:], wrenches[k, :3], self.placements[k].p) for k in sorted(mount.bodies)]
        return forces


def _extra(axes: Array, arm: Array) -> Array:
    """Return the partial velocities (3, 6) of a point of the arm, by the extra speeds: e_k and e_k x arm."""
    return np.hstack([axes, -skew(arm) @ axes])


def _vector(name: str, values: ArrayLike, size: int) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f'expected {name} of {size} numbers, found shape {vector.shape}')
    return vector
