"""A reduced body with arbitrary rotation: small displacements in axes that turn with its grasps.

The axes follow from the polar decomposition of the grasps' positions against their positions without load. Forces are
exact gradients of the energy, velocity terms follow from Lagrange's equations: energy and both momenta are conserved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.condensation import Condensed
from dyn_nodes.teams.deformable.grasps import on_a_line


class Axes(NamedTuple):
    """The axes of a body for positions of its grasps.

    Attributes:
        R: (3, 3) axes of the body in the world.
        center: (3,) mean of the grasps in the world, m.
        arms: (m, 3) from the center to the grasps, in axes of the body, m.
        turning: (3, 3m) angular velocity by velocities of the grasps, both in axes of the body, 1/m.
    """

    R: Array
    center: Array
    arms: Array
    turning: Array


class CorotatedBody:
    """A condensed body in the world. Its coordinates are positions of the m grasps (3m), then amplitudes of vibrations.

    Args:
        reduced: of a body with three or more grasps that are not on a line.

    Attributes:
        lever: (3, r) first moment of mass per coordinate, kg.
        moment: (3,) first moment of mass about the mean of the grasps, without displacement, kg m.

    Raises:
        ValueError: the body could turn about a line through its grasps.
    """

    def __init__(self, reduced: Condensed) -> None:
        points = reduced.positions.reshape(-1, 3)
        if on_a_line(points):
            raise ValueError(f'expected three or more grasps that are not on a line, found {len(points)} on one')
        self.reduced, self.count = reduced, len(points)
        self.middle = points.mean(axis=0)
        self.arms = points - self.middle
        nodes = np.ascontiguousarray(reduced.shapes).reshape(len(reduced.weights), 3, -1)
        self.lever = np.einsum('n,nij->ij', reduced.weights, nodes)
        self.mass_total = float(reduced.weights.sum())
        self._inverse = np.linalg.inv(reduced.mass)
        self.moment = reduced.first_moment - self.mass_total * self.middle

    def axes(self, position: ArrayLike) -> Axes:
        """Return the axes for positions (m, 3) of the grasps."""
        points = np.asarray(position, dtype=float).reshape(-1, 3)
        center = points.mean(axis=0)
        shape = (points - center).T @ self.arms
        left, size, right = np.linalg.svd(shape)
        sign = np.array([1.0, 1.0, np.linalg.det(left) * np.linalg.det(right)])
        R = left @ (sign[:, None] * right)
        stretch = right.T @ ((sign * size)[:, None] * right)
        spin = np.linalg.inv(np.trace(stretch) * np.eye(3) - stretch)
        turning = np.concatenate([spin @ _skew(arm) for arm in self.arms], axis=1)
        return Axes(R, center, (points - center) @ R, turning)

    def deformation(self, position: ArrayLike, amplitudes: ArrayLike = ()) -> Array:
        """Return (r,) displacements of the grasps in axes of the body, and the amplitudes."""
        here = self.axes(position)
        return np.concatenate([(here.arms - self.arms).ravel(), np.asarray(amplitudes, dtype=float)])

    def shape(self, position: ArrayLike, amplitudes: ArrayLike = ()) -> tuple[Axes, Array]:
        """Return the axes, and displacements (n, 3) of the nodes in them, for drawing."""
        moved = self.reduced.shapes @ self.deformation(position, amplitudes)
        return self.axes(position), moved.reshape(-1, 3)

    def energy(self, position: ArrayLike, amplitudes: ArrayLike = (), gravity: ArrayLike = (0.0, 0.0, 0.0)) -> float:
        """Return the potential energy, elastic and of the weight, J."""
        here, q = self.axes(position), self.deformation(position, amplitudes)
        down = np.asarray(gravity, dtype=float)
        weight = self.mass_total * here.center @ down + (here.R.T @ down) @ (self.moment + self.lever @ q)
        return float(0.5 * q @ self.reduced.stiffness @ q - weight)

    def forces(
        self,
        position: ArrayLike,
        velocity: ArrayLike,
        amplitudes: ArrayLike = (),
        rates: ArrayLike = (),
        gravity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Return (r,) elastic, viscous and velocity terms less weight: mass a + forces = forces of the hands.

        Args:
            position: (m, 3) of the grasps in the world, m.
            velocity: (m, 3) m/s.
            amplitudes: of the vibrations.
            rates: of the amplitudes, 1/s.
            gravity: (3,) in the world, m/s2.
        """
        here = self.axes(position)
        local = self._local_forces(here, velocity, amplitudes, rates, gravity)
        return self._turned(local, here.R)

    def pulls(
        self,
        position: ArrayLike,
        velocity: ArrayLike,
        amplitudes: ArrayLike = (),
        rates: ArrayLike = (),
        gravity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Return `forces` (r,) without the rate of the mass matrix: d(mass v)/dt + pulls = forces of the hands."""
        here = self.axes(position)
        return self._turned(self._local_pulls(here, velocity, amplitudes, rates, gravity), here.R)

    def accelerations(
        self,
        position: ArrayLike,
        velocity: ArrayLike,
        amplitudes: ArrayLike = (),
        rates: ArrayLike = (),
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        pull: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Return (r,) accelerations of the grasps and of the amplitudes under forces of the hands (m, 3), N."""
        here = self.axes(position)
        rest = -self._local_forces(here, velocity, amplitudes, rates, gravity)
        held = np.broadcast_to(np.asarray(pull, dtype=float), (self.count, 3))
        rest[: 3 * self.count] += (held @ here.R).ravel()
        return self._turned(self._inverse @ rest, here.R)

    def _turned(self, local: Array, R: Array) -> Array:
        size = 3 * self.count
        return np.concatenate([(local[:size].reshape(-1, 3) @ R.T).ravel(), local[size:]])

    def _local_forces(
        self, here: Axes, velocity: ArrayLike, amplitudes: ArrayLike, rates: ArrayLike, gravity: ArrayLike
    ) -> Array:
        """Return pulls plus the rate of the mass matrix times velocities."""
        size = 3 * self.count
        speed = np.asarray(velocity, dtype=float).reshape(-1, 3) @ here.R
        omega = here.turning @ speed.ravel()
        added = np.asarray(rates, dtype=float)
        momentum = self.reduced.mass @ np.concatenate([speed.ravel(), added])
        carried = np.concatenate([-_turned_by(omega, speed).ravel(), np.zeros(len(added))])
        local = self._local_pulls(here, velocity, amplitudes, rates, gravity) + self.reduced.mass @ carried
        local[:size] += _turned_by(omega, momentum[:size].reshape(-1, 3)).ravel()
        return np.asarray(local)

    def _local_pulls(
        self, here: Axes, velocity: ArrayLike, amplitudes: ArrayLike, rates: ArrayLike, gravity: ArrayLike
    ) -> Array:
        size = 3 * self.count
        speed = np.asarray(velocity, dtype=float).reshape(-1, 3) @ here.R
        omega = here.turning @ speed.ravel()
        q = np.concatenate([(here.arms - self.arms).ravel(), np.asarray(amplitudes, dtype=float)])
        relative = speed - speed.mean(axis=0) - _turned_by(omega, here.arms)
        rate = np.concatenate([relative.ravel(), np.asarray(rates, dtype=float)])
        down = here.R.T @ np.asarray(gravity, dtype=float)
        inner = self.reduced.stiffness @ q + self.reduced.damping @ rate - self.lever.T @ down
        held = inner[:size].reshape(-1, 3)
        held = held - held.mean(axis=0)
        torque = _skew(down) @ (self.moment + self.lever @ q) - _moment(here.arms, held)
        momentum = self.reduced.mass @ np.concatenate([speed.ravel(), np.asarray(rates, dtype=float)])
        torque = torque + _moment(speed, momentum[:size].reshape(-1, 3))
        local = held + (here.turning.T @ torque).reshape(-1, 3) - self.mass_total / self.count * down
        return np.concatenate([local.ravel(), inner[size:]])

    def mass(self, position: ArrayLike) -> Array:
        """Return the mass matrix (r, r) in the world, kg."""
        turn = np.eye(len(self.reduced.mass))
        size = 3 * self.count
        turn[:size, :size] = np.kron(np.eye(self.count), self.axes(position).R)
        return turn @ self.reduced.mass @ turn.T

    def kinetic_energy(self, position: ArrayLike, velocity: ArrayLike, rates: ArrayLike = ()) -> float:
        """Return the kinetic energy, J."""
        speed = np.concatenate([np.asarray(velocity, dtype=float).ravel(), np.asarray(rates, dtype=float)])
        return float(0.5 * speed @ self.mass(position) @ speed)


def _skew(a: Array) -> Array:
    return np.array([(0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)])


def _turned_by(omega: Array, vectors: Array) -> Array:
    """Return omega x each of (m, 3); numpy.cross takes ten times as long for a few vectors."""
    return vectors @ _skew(omega).T


def _moment(arms: Array, forces: Array) -> Array:
    """Return the sum of arms x forces, both (m, 3)."""
    S = arms.T @ forces
    return np.array((S[1, 2] - S[2, 1], S[2, 0] - S[0, 2], S[0, 1] - S[1, 0]))
