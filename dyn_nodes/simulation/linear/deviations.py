"""Minimal coordinates of deviations from a state: rotation vectors for quaternions, independent motions of loops.

Deviations dx of a state x satisfy d(dx)/dt = A dx. Not every dx is admissible: a quaternion keeps its norm, and
constraints hold at the levels of position and velocity. With dx = T z and z = L dx, L T = 1,

    dz/dt = (L A T + (dL/dt) T) z,

exactly, along any nominal motion; dL/dt results from the quaternions and is zero at rest. The elements of z have the
names of the machine: independent joints and rates, world position and rotation vector (in body axes) of a free body,
states of actuators and contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody import Tree

RANK_TOLERANCE = 1e-10
RELUCTANCE = 1e-3
"""Preferred coordinates become dependent only if the others are worse conditioned by the inverse of this factor."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Indices of the independent coordinates among the minimal positions and among the velocities."""

    positions: NDArray[np.intp]
    velocities: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Deviations:
    """Minimal coordinates z (n,) of deviations from a state x0 (N,).

    Attributes:
        names: of z.
        x: the state.
        out_of: L (n, N), z = L dx.
        into: T (N, n), dx = T z.
        turning: (dL/dt) T (n, n).
        choice: of the independent coordinates.
    """

    names: tuple[str, ...]
    x: Array
    out_of: Array
    into: Array
    turning: Array
    choice: Choice
    quaternions: tuple[int, ...] = ()

    def of(self, x: ArrayLike) -> Array:
        """Return the deviation (n,) of a state (N,); rotations as rotation vectors of any size."""
        other = np.asarray(x, float)
        change = other - self.x
        for at in self.quaternions:
            nominal, there = self.x[at : at + 4], other[at : at + 4]
            turn = (Rotation.from_quat(nominal).inv() * Rotation.from_quat(there)).as_rotvec()
            change[at : at + 4] = 0.5 * spread(nominal) @ turn
        return np.asarray(self.out_of @ change)

    def reduced(self, A: Array, B: Array) -> tuple[Array, Array]:
        """Return A (n, n) and B (n, m) of z from A (N, N) and B (N, m) of x."""
        return self.out_of @ A @ self.into + self.turning, self.out_of @ B


def spread(quaternion: Array) -> Array:
    """Return Q (4, 3): the rate of a quaternion (x, y, z, w) is Q w / 2 for an angular velocity w in body axes."""
    x, y, z, w = quaternion
    return np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])


class Coordinates:
    """Independent coordinates of the states of a system.

    Args:
        tree: of the system; its positions and velocities come first in the state.
        state_names: of the whole state.
        blocks: constraints of the system, or None.
        dropped: states without deviations: time, work, discrete states.
        preferred: names of positions that should be independent, such as driven joints.
    """

    def __init__(
        self,
        tree: Tree,
        state_names: Sequence[str],
        blocks: Any = None,
        dropped: Sequence[str] = (),
        preferred: Sequence[str] = (),
    ) -> None:
        self.tree, self.blocks, self.state_names = tree, blocks, tuple(state_names)
        self.free = [body for body in tree.bodies if body.kind == 'free']
        self.quaternions = tuple(body.q + 3 for body in self.free)
        self.names = self._minimal_names()
        nq, nv = tree.nq, tree.nv
        self.rate_names = self.state_names[nq : nq + nv]
        self.further = [k for k in range(nq + nv, len(self.state_names)) if self.state_names[k] not in dropped]
        self.preferred = np.array([name in preferred for name in self.names], dtype=bool)

    def _minimal_names(self) -> tuple[str, ...]:
        names: list[str] = []
        for body in self.tree.bodies:
            names_of_body = self.tree.position_names[body.q : body.q + (7 if body.kind == 'free' else 1)]
            if body.kind == 'free':
                prefix = names_of_body[3].removesuffix('qx')
                names += [*names_of_body[:3], *(f'{prefix}r{axis}' for axis in 'xyz')]
            else:
                names += names_of_body
        return tuple(names)

    def _maps(self, q: Array, quaternion_rates: Array | None = None) -> tuple[Array, Array, Array]:
        """Return the maps from minimal to all positions (nq, nv), back (nv, nq), and from minimal rates (nv, nv)."""
        nq, nv = self.tree.nq, self.tree.nv
        into, back, velocity = np.zeros((nq, nv)), np.zeros((nv, nq)), np.zeros((nv, nv))
        row = 0
        for body in self.tree.bodies:
            if body.kind != 'free':
                into[body.q, row] = back[row, body.q] = velocity[body.v, row] = 1.0
                row += 1
                continue
            translation, turn = slice(body.q, body.q + 3), slice(body.q + 3, body.q + 7)
            Q = spread(q[turn])
            into[translation, row : row + 3] = back[row : row + 3, translation] = np.eye(3)
            into[turn, row + 3 : row + 6], back[row + 3 : row + 6, turn] = 0.5 * Q, 2.0 * Q.T / (q[turn] @ q[turn])
            R = Rotation.from_quat(q[turn]).as_matrix()
            velocity[body.v : body.v + 3, row + 3 : row + 6] = np.eye(3)
            velocity[body.v + 3 : body.v + 6, row : row + 3] = R.T
            row += 6
        return into, back, velocity

    def _turning(self, q: Array, rate: Array) -> Array:
        """Return the rate of `back` times `into` (nv, nv); only rotating quaternions contribute."""
        result, row = np.zeros((self.tree.nv, self.tree.nv)), 0
        for body in self.tree.bodies:
            if body.kind == 'free':
                turn = slice(body.q + 3, body.q + 7)
                result[row + 3 : row + 6, row + 3 : row + 6] = spread(rate[turn]).T @ spread(q[turn])
                row += 6
            else:
                row += 1
        return result

    @cached_property
    def _slip_slope(self) -> ca.Function:
        """Jacobian of J v - sigma by the positions."""
        blocks = self.blocks
        slip = ca.mtimes(blocks.rows.jacobian, blocks.v) - blocks.rows.sigma
        slope = ca.densify(ca.jacobian(slip, blocks.q))
        return ca.Function('slip_slope', [blocks.q, blocks.v, blocks.parameters.vector], [slope])

    def at(self, x: Array, rate: Array, numbers: Array | None = None, choice: Choice | None = None) -> Deviations:
        """Return the minimal coordinates at a state.

        Args:
            x: (N,) state.
            rate: (N,) dx/dt there.
            numbers: parameters of the blocks, for constraints.
            choice: of another state, to be kept; None: the best conditioned here.

        Raises:
            ValueError: the choice does not determine the motion here.
        """
        nq, nv = self.tree.nq, self.tree.nv
        q, v = x[:nq], x[nq : nq + nv]
        into, back, velocity = self._maps(q)
        N, M, K, chosen = self._constrained(q, v, velocity, into, numbers, choice)
        positions, velocities = chosen.positions, chosen.velocities
        n_q, n_v, n_further = len(positions), len(velocities), len(self.further)
        T, L = np.zeros((len(x), n_q + n_v + n_further)), np.zeros((n_q + n_v + n_further, len(x)))
        T[:nq, :n_q] = into @ N
        T[nq : nq + nv, :n_q], T[nq : nq + nv, n_q : n_q + n_v] = K, M
        L[:n_q, :nq] = back[positions]
        L[n_q + np.arange(n_v), nq + velocities] = 1.0
        T[self.further, n_q + n_v + np.arange(n_further)] = L[n_q + n_v + np.arange(n_further), self.further] = 1.0
        turning = np.zeros((len(L), len(L)))
        turning[:n_q, :n_q] = (self._turning(q, rate) @ N)[positions]
        names = [self.names[k] for k in positions] + [self.rate_names[k] for k in velocities]
        names += [self.state_names[k] for k in self.further]
        return Deviations(tuple(names), x.copy(), L, T, turning, chosen, self.quaternions)

    def _constrained(
        self, q: Array, v: Array, velocity: Array, into: Array, numbers: Array | None, choice: Choice | None
    ) -> tuple[Array, Array, Array, Choice]:
        """Return the derivatives of positions and velocities by independent ones, and of velocities by positions."""
        nv = self.tree.nv
        if self.blocks is None or self.blocks.m == 0:
            every = np.arange(nv)
            return np.eye(nv), np.eye(nv), np.zeros((nv, nv)), Choice(every, every)
        assert numbers is not None
        at = self.blocks.at(q, v, numbers)
        held = at.J[self.blocks.holonomic] @ velocity
        rolling = not self.blocks.holonomic.all()
        preferred = self._preferred_velocities(velocity)
        if choice is None:
            positions = independent(held, self.preferred)
            same = None if rolling else self._same_velocities(positions)
            if same is None:
                same = independent(at.J, preferred)
            choice = Choice(positions, same)
        N = by_independent(held, choice.positions, self.names)
        M = by_independent(at.J, choice.velocities, self.rate_names)
        slope = np.array(self._slip_slope(q, v, numbers)) @ into @ N
        dependent = np.setdiff1d(np.arange(nv), choice.velocities)
        K = np.zeros((nv, len(choice.positions)))
        if dependent.size:
            K[dependent] = -np.linalg.lstsq(at.J[:, dependent], slope, rcond=RANK_TOLERANCE)[0]
        return N, M, K, choice

    def _preferred_velocities(self, velocity: Array) -> NDArray[np.bool_]:
        preferred: NDArray[np.bool_] = np.asarray(np.abs(velocity[:, self.preferred]).sum(axis=1) > 0.5)
        return preferred

    def _same_velocities(self, positions: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return the velocities of independent positions, or None if one belongs to a free body."""
        joints, row = {}, 0
        for body in self.tree.bodies:
            if body.kind != 'free':
                joints[row] = body.v
            row += 6 if body.kind == 'free' else 1
        if any(int(k) not in joints for k in positions):
            return None
        return np.array([joints[int(k)] for k in positions], dtype=np.intp)


def independent(J: Array, preferred: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices of independent columns of J (m, n), preferably the preferred ones."""
    if not J.size:
        return np.arange(J.shape[1])
    weighted = J * np.where(preferred, RELUCTANCE, 1.0)
    _, R, order = qr(weighted, mode='economic', pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE * sizes[0])) if sizes.size and sizes[0] > 0 else 0
    return np.sort(order[rank:]).astype(np.intp)


def by_independent(J: Array, chosen: NDArray[np.intp], names: Sequence[str]) -> Array:
    """Return N (n, k) with J N = 0 and unit rows at the chosen indices.

    Raises:
        ValueError: the chosen coordinates do not determine the others.
    """
    n = J.shape[1]
    N = np.zeros((n, len(chosen)))
    N[chosen, np.arange(len(chosen))] = 1.0
    rest = np.setdiff1d(np.arange(n), chosen)
    if not rest.size:
        return N
    solution, _, rank, _ = np.linalg.lstsq(J[:, rest], J[:, chosen], rcond=RANK_TOLERANCE)
    if rank < len(rest) or np.abs(J[:, rest] @ solution - J[:, chosen]).max(initial=0.0) > 1e-6 * np.abs(J).max():
        listed = ', '.join(names[k] for k in chosen) or 'no coordinates'
        raise ValueError(
            f'{listed}: expected coordinates that determine the motion, found a position where they do not'
        )
    N[rest] = -solution
    return N
