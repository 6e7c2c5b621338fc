"""Kinematically deficient arms (yesiloglu-2007, C11 and C12): pseudo joints, and the subspace form with its check.

Neither is needed for the motion: `constrained_dynamics` keeps all closure equations and accepts deficient arms. Pseudo
joints give the internal forces along chosen directions; the subspace form of the source is right only if its check
passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces, rank_of
from dyn_nodes.constraints.solve import motion_mass

Case = Literal['regular', 'indeterminate reactions', 'dependent rows remain']


@dataclass(frozen=True, eq=False)
class PseudoJoints:
    """Motion with pseudo joints held at rest, and the forces that hold them.

    Attributes:
        acceleration: (nv,) zero for the pseudo joints.
        efforts: by pseudo joint, the internal force or moment along its axis, N or N m.
        multipliers: (m,) of the system with the pseudo joints; of least norm if they are not unique.
        d4: (k, k) response of the pseudo joints to their own efforts (eq. 4.37).
        rank: of d4.
        rows_rank: of the rows with the pseudo joints free.
        case: `regular`: both have full rank. `indeterminate reactions`: d4 is rank deficient, because the mechanism
            without pseudo joints has dependent rows; the efforts have least norm. `dependent rows remain`: the rows are
            dependent even with the pseudo joints.
    """

    acceleration: Array
    efforts: dict[str, float]
    multipliers: Array
    d4: Array
    rank: int
    rows_rank: int
    case: Case


def hold_pseudo_joints(
    system: ConstraintBlocks,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    pseudo: Sequence[str],
    p: ArrayLike | Mapping[str, float] | None = None,
) -> PseudoJoints:
    """Return the motion with the pseudo joints at rest (yesiloglu-2007, eqs 4.37 and 4.38).

    With the response D = N (N^T M N)^-1 N^T of the system to forces, d4 is the block of the pseudo joints. It is
    regular if and only if the rows without the pseudo joints are independent (rank theorem of the specification).

    Args:
        system: of the tree with the pseudo joints as ordinary joints.
        q: (nq,) positions.
        v: (nv,) velocities; zero for the pseudo joints.
        tau: (nv,) generalized forces of actuators.
        pseudo: names of the pseudo joints.
        p: parameters, see `ConstraintBlocks.numbers`.

    Raises:
        ValueError: a pseudo joint that moves.
        KeyError: an unknown joint.
    """
    indices = [system.tree.velocity_index(name) for name in pseudo]
    velocity = np.asarray(v, dtype=np.float64)
    if np.any(velocity[indices] != 0):
        raise ValueError('expected pseudo joints at rest')
    blocks = system.at(q, velocity, p)
    load = np.asarray(tau, dtype=np.float64) - blocks.h
    subspaces = Subspaces(blocks.J)
    N = subspaces.motions
    response = N @ np.linalg.solve(motion_mass(system, blocks.M, N), N.T)
    particular = subspaces.pseudo_inverse @ blocks.gamma
    d4 = response[np.ix_(indices, indices)]
    active = load.copy()
    active[indices] = 0.0
    moved = particular + response @ (active - blocks.M @ particular)
    scale = np.abs(np.diag(response)).max()
    rank = int(np.count_nonzero(np.linalg.svd(d4, compute_uv=False) > RANK_TOLERANCE * scale)) if indices else 0
    held = (
        -np.linalg.pinv(d4, rcond=RANK_TOLERANCE, hermitian=True) @ moved[indices] if rank else np.zeros(len(indices))
    )
    total = active.copy()
    total[indices] = held
    acceleration = particular + response @ (total - blocks.M @ particular)
    efforts = held + blocks.h[indices]
    multipliers = subspaces.pseudo_inverse.T @ (blocks.M @ acceleration - total)
    case: Case = 'regular' if rank == len(indices) else 'indeterminate reactions'
    if subspaces.rank < system.m:
        case = 'dependent rows remain'
    named = {name: float(effort) for name, effort in zip(pseudo, efforts)}
    return PseudoJoints(acceleration, named, multipliers, d4, rank, subspaces.rank, case)


@dataclass(frozen=True, eq=False)
class SubspaceSolution:
    """Solution of the subspace form.

    Attributes:
        acceleration: (nv,).
        multipliers: (m,) without components outside the subspaces of the arms.
        residual: greatest closure error outside the subspaces, m/s2 or rad/s2.
        valid: True if the residual is round-off, so that the form is right here.
    """

    acceleration: Array
    multipliers: Array
    residual: float
    valid: bool


def subspace_dynamics(
    system: ConstraintBlocks,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    arms: Mapping[str, Sequence[str]],
    strict: bool = True,
    tolerance: float = 1e-8,
) -> SubspaceSolution:
    """Return the source's reduction to the directions in which each arm's tip can move (eqs 4.32 to 4.35).

    It drops closure and reaction along all other directions. That is wrong unless the load satisfies the closure there;
    the residual checks this (fault F24).

    Args:
        system: of the tree and its constraints; regular mass matrix.
        q: (nq,) positions.
        v: (nv,) velocities.
        tau: (nv,) generalized forces of actuators.
        arms: names of an arm's velocities, by the constraint at its tip.
        strict: raise an error if the form is wrong.
        tolerance: of the residual, relative to 1 plus the greatest acceleration.

    Raises:
        MethodError: the form is wrong here.
        KeyError: an unknown constraint or velocity.
    """
    blocks = system.at(q, v)
    R = np.zeros((0, system.m))
    for name, rows in system.slices.items():
        if name not in arms:
            block = np.eye(rows.stop - rows.start)
        else:
            columns = [system.tree.velocity_index(joint) for joint in arms[name]]
            block = Subspaces(blocks.J[rows][:, columns]).row_basis.T
        part = np.zeros((len(block), system.m))
        part[:, rows] = block
        R = np.vstack([R, part])
    unknown = set(arms) - set(system.slices)
    if unknown:
        raise KeyError(f'unknown constraint {sorted(unknown)[0]!r}; known: {", ".join(system.slices)}')
    J, gamma = R @ blocks.J, R @ blocks.gamma
    if rank_of(J) < len(J):
        raise MethodError('subspace form: the rows that are left depend on each other')
    load = np.asarray(tau, dtype=np.float64) - blocks.h
    spread, free = np.linalg.solve(blocks.M, J.T), np.linalg.solve(blocks.M, load)
    multipliers = np.linalg.solve(J @ spread, gamma - J @ free)
    a = free + spread @ multipliers
    missed = blocks.J @ a - blocks.gamma
    residual = float(np.abs(missed - R.T @ (R @ missed)).max(initial=0.0))
    valid = residual <= tolerance * (1 + np.abs(a).max())
    if strict and not valid:
        worst = system.row_names[int(np.argmax(np.abs(missed - R.T @ (R @ missed))))]
        raise MethodError(
            f'subspace form: the load would leave the arms along directions in which they can not move, '
            f'{worst} by {residual:.4g} m/s2 (or rad/s2); keep all closure equations instead'
        )
    return SubspaceSolution(a, R.T @ multipliers, residual, valid)
