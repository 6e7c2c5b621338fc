"""Constrained forward dynamics: M a + h = tau + J^T lambda, J a = gamma.

Five methods with the same accelerations where they apply, and the same multipliers where these are unique:

* `operator`: Lambda = J M^-1 J^T, M^-1 by recursion along the tree (yesiloglu-2007, eqs 2.52, 3.38); needs M > 0 and
  independent rows.
** `saddle`: the full system with M and J, J reduced to independent combinations of its rows first. The reference.
* `reduced`: motions along an orthogonal complement N of J, N^T M N; the only inverse is one of independent motions.
** `pseudo_inverse`: Lambda^+; the multipliers of least weighted norm among equivalent ones; needs M > 0.
** `compliant`: the multipliers of rows of finite stiffness, in the limit of stiff rows.

`auto` is `operator` if it applies, else `saddle`. With dependent rows the multipliers of `saddle` and `reduced`
have the least norm. A norm that mixes N and N m depends on units and reference points; accelerations do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import Blocks, ConstraintBlocks
from dyn_nodes.constraints.errors import ContradictoryConstraintsError, MethodError, SingularMotionError
from dyn_nodes.constraints.linear import Subspaces

Method = Literal['auto', 'operator', 'saddle', 'reduced', 'pseudo_inverse', 'compliant']
METHODS: tuple[Method, ...] = ('operator', 'saddle', 'reduced', 'pseudo_inverse', 'compliant')
SINGULAR_MASS = 1e-13
"""Eigenvalue of a scaled mass matrix, relative to the greatest, at which a motion counts as massless."""
CONTRADICTION = 1e-6
"""Accelerations, relative to gamma, by which dependent rows may differ before they count as contradictory."""
UNIQUE = 1e-8


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations and forces of a constrained system at one state.

    Attributes:
        acceleration: (nv,).
        multipliers: (m,) lambda.
        method: method used.
        rank: rank of J.
        unique: (m,) whether a multiplier is determined; if not, it has the least norm.
        closure: greatest entry of J a - gamma.
        slices: rows by constraint name.
    """

    acceleration: Array
    multipliers: Array
    method: Method
    rank: int
    unique: NDArray[np.bool_]
    closure: float
    slices: Mapping[str, slice]

    def force(self, constraint: str) -> Array:
        """Return the multipliers of a constraint. Raises KeyError that lists the constraints."""
        if constraint not in self.slices:
            raise KeyError(f'unknown constraint {constraint!r}; known: {", ".join(self.slices)}')
        return self.multipliers[self.slices[constraint]]

    @property
    def forces(self) -> dict[str, Array]:
        """Return the multipliers by constraint."""
        return {name: self.force(name) for name in self.slices}


def constrained_dynamics(
    system: ConstraintBlocks,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    p: ArrayLike | Mapping[str, float] | None = None,
    method: Method = 'auto',
    weights: ArrayLike | None = None,
    stiffness: ArrayLike | None = None,
    baumgarte: tuple[float, float] | None = None,
) -> Solution:
    """Return accelerations and multipliers.

    Args:
        system: blocks of the tree and its constraints.
        q: (nq,) positions.
        v: (nv,) velocities.
        tau: (nv,) generalized forces of actuators.
        p: parameters, see `ConstraintBlocks.numbers`.
        method: see the module docstring.
        weights: (m,) weights w of `pseudo_inverse`, which minimizes sum w lambda^2; None: 1.
        stiffness: (m,) stiffness for `compliant`, N/m or N m/rad; None: 1.
        baumgarte: damping ratio and frequency, 1/s, of the stabilization; None: none.

    Raises:
        MethodError: the method does not apply here, with the reason.
        SingularMotionError: a motion that moves no mass.
        ContradictoryConstraintsError: dependent rows require different accelerations.
    """
    blocks = system.at(q, v, p)
    gamma = blocks.gamma if baumgarte is None else stabilized(blocks, np.asarray(v, float), system.holonomic, baumgarte)
    load = np.asarray(tau, dtype=np.float64) - blocks.h
    if load.shape != (system.tree.nv,):
        raise ValueError(f'expected tau of {system.tree.nv} numbers, found shape {np.shape(tau)}')
    subspaces = Subspaces(blocks.J)
    reject_contradictions(system, subspaces, gamma)
    chosen = method
    if method == 'auto':
        chosen = 'operator' if subspaces.rank == system.m and definite(blocks.M) else 'saddle'
    if chosen == 'operator':
        a, multipliers = _operator(system, np.asarray(q, float), blocks, load, gamma, subspaces, system.numbers(p))
    elif chosen == 'saddle':
        a, multipliers = _saddle(system, blocks.M, load, gamma, subspaces)
    elif chosen == 'reduced':
        a, multipliers = _reduced(system, blocks.M, load, gamma, subspaces)
    elif chosen == 'pseudo_inverse':
        a, multipliers = _least_norm(blocks, load, gamma, _positive('weights', weights, system.m))
    elif chosen == 'compliant':
        compliance = 1 / _positive('stiffness', stiffness, system.m)
        a, _ = _saddle(system, blocks.M, load, gamma, subspaces)
        multipliers = _shared(blocks.J, blocks.M @ a - load, compliance)
    else:
        raise MethodError(f'unknown method {method!r}; known: auto, {", ".join(METHODS)}')
    closure = float(np.abs(blocks.J @ a - gamma).max(initial=0.0))
    unique = np.abs(subspaces.dependencies).max(axis=1, initial=0.0) < UNIQUE
    return Solution(a, multipliers, chosen, subspaces.rank, unique, closure, system.slices)


def free_acceleration(system: ConstraintBlocks, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Return M^-1 (tau - h) (nv,): the accelerations with every constraint cut (yesiloglu-2007, C7)."""
    blocks = system.at(q, v)
    if not definite(blocks.M):
        raise MethodError('free accelerations need a regular mass matrix; here bodies without mass end a branch')
    return np.asarray(np.linalg.solve(blocks.M, np.asarray(tau, dtype=np.float64) - blocks.h))


def stabilized(blocks: Blocks, v: Array, holonomic: NDArray[np.bool_], baumgarte: tuple[float, float]) -> Array:
    """Return gamma - 2 zeta omega (J v - sigma) - omega^2 residual (m,) (Baumgarte 1972; yesiloglu-2007, G3)."""
    zeta, omega = baumgarte
    slip = blocks.J @ v - blocks.sigma
    return blocks.gamma - 2 * zeta * omega * slip - np.where(holonomic, omega**2 * blocks.residual, 0.0)


def definite(M: Array) -> bool:
    """Return whether a mass matrix is positive definite: no motion is massless."""
    diagonal = np.diag(M)
    if len(M) == 0 or np.any(diagonal <= 0):
        return False
    scale = 1 / np.sqrt(diagonal)
    values = np.linalg.eigvalsh(M * np.outer(scale, scale))
    return bool(values[0] > SINGULAR_MASS * values[-1])


def reject_contradictions(system: ConstraintBlocks, subspaces: Subspaces, gamma: Array) -> None:
    """Raise ContradictoryConstraintsError if dependent rows require different accelerations."""
    dependencies = subspaces.dependencies
    if not dependencies.shape[1]:
        return
    difference = dependencies.T @ gamma
    if np.abs(difference).max() > CONTRADICTION * max(1.0, float(np.abs(gamma).max())):
        worst = dependencies @ difference
        rows = [system.row_names[k] for k in np.argsort(-np.abs(worst)) if abs(worst[k]) > 0.1 * np.abs(worst).max()]
        raise ContradictoryConstraintsError(
            f'rows {", ".join(rows)} depend on each other and require accelerations that differ by '
            f'{np.abs(difference).max():.3g}'
        )


def motion_mass(system: ConstraintBlocks, M: Array, N: Array) -> Array:
    """Return N^T M N (k, k). Raises SingularMotionError that names the velocities of a motion without mass."""
    inertia = N.T @ M @ N
    reject_massless(inertia, N, system.tree.velocity_names)
    return inertia


def reject_massless(inertia: Array, N: Array, names: Sequence[str]) -> None:
    """Raise a SingularMotionError that names the velocities of a motion without mass.

    Args:
        inertia: (k, k) mass matrix of independent speeds.
        N: (nv, k) velocities per speed.
        names: names of the velocities.
    """
    if not inertia.size:
        return
    values, vectors = np.linalg.eigh(inertia)
    if values[0] <= SINGULAR_MASS * max(float(values[-1]), np.finfo(float).tiny):
        motion = np.abs(N @ vectors[:, 0])
        moving = [names[k] for k in np.argsort(-motion) if motion[k] > 0.1 * motion.max()]
        raise SingularMotionError(
            f'the constraints leave a motion of {", ".join(moving[:6])} that moves no mass: '
            'its acceleration is undefined'
        )


def _operator(
    system: ConstraintBlocks, q: Array, blocks: Blocks, load: Array, gamma: Array, subspaces: Subspaces, p: Array
) -> tuple[Array, Array]:
    if subspaces.rank < system.m:
        raise MethodError(f'operator: expected independent rows, found rank {subspaces.rank} of {system.m}')
    if not definite(blocks.M):
        raise MethodError('operator: expected a regular mass matrix, found bodies without mass at the end of a branch')
    free, spread = system.responses(q, load, blocks.J, p)
    multipliers = np.linalg.solve(blocks.J @ spread, gamma - blocks.J @ free) if system.m else np.zeros(0)
    return free + spread @ multipliers, np.asarray(multipliers)


def _saddle(system: ConstraintBlocks, M: Array, load: Array, gamma: Array, subspaces: Subspaces) -> tuple[Array, Array]:
    motion_mass(system, M, subspaces.motions)
    n, r, U = len(M), subspaces.rank, subspaces.row_basis
    J = U.T @ subspaces.J
    matrix = np.block([[M, -J.T], [J, np.zeros((r, r))]])
    solution = np.linalg.solve(matrix, np.concatenate([load, U.T @ gamma]))
    return solution[:n], U @ solution[n:]


def _reduced(
    system: ConstraintBlocks, M: Array, load: Array, gamma: Array, subspaces: Subspaces
) -> tuple[Array, Array]:
    N, inverse = subspaces.motions, subspaces.pseudo_inverse
    particular = inverse @ gamma
    inertia = motion_mass(system, M, N)
    a = particular + N @ np.linalg.solve(inertia, N.T @ (load - M @ particular))
    return a, inverse.T @ (M @ a - load)


def _least_norm(blocks: Blocks, load: Array, gamma: Array, weights: Array) -> tuple[Array, Array]:
    if not definite(blocks.M):
        raise MethodError(
            'pseudo_inverse: expected a regular mass matrix, found bodies without mass at the end of a branch'
        )
    scale = 1 / np.sqrt(weights)
    J = scale[:, None] * blocks.J
    spread = np.linalg.solve(blocks.M, J.T)
    free = np.linalg.solve(blocks.M, load)
    # the rank of J is used: Lambda squares the singular values and would need another threshold
    U = Subspaces(J).row_basis
    Lambda = U.T @ J @ spread @ U
    scaled = U @ np.linalg.solve(Lambda, U.T @ (scale * gamma - J @ free)) if U.size else np.zeros(len(weights))
    return free + spread @ scaled, scale * scaled


def _shared(J: Array, force: Array, compliance: Array) -> Array:
    """Return the multipliers with J^T lambda = force and the least energy sum c lambda^2 / 2."""
    scale = 1 / np.sqrt(compliance)
    return scale * (Subspaces(scale[:, None] * J).pseudo_inverse.T @ force)


def _positive(name: str, values: ArrayLike | None, m: int) -> Array:
    if values is None:
        return np.ones(m)
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (m,) or not np.all(vector > 0):
        raise ValueError(f'expected {m} {name} above zero, found {vector.tolist()}')
    return vector
