"""Orthogonal complements of J by decomposition, which the natural one avoids (saha-1991, 2.44 to 2.49)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.studies.formulations.witnesses.answer import Answer, Witness, complement_of, partition_at

Complement = Callable[[Array], tuple[Array, Array]]
"""From J (m, nv) to a basis (nv, n) of the motions that it allows, and a pseudo-inverse X (nv, m)."""


def by_svd(J: Array) -> tuple[Array, Array]:
    """Return the right singular vectors of the zero singular values, and the pseudo-inverse."""
    spaces = Subspaces(J)
    return spaces.motions, spaces.pseudo_inverse


def by_qr(J: Array) -> tuple[Array, Array]:
    """Return the last columns of Q in J^T P = Q R, and the pseudo-inverse."""
    if not len(J):
        return np.eye(J.shape[1]), np.zeros((J.shape[1], 0))
    Q, R, order = qr(J.T, pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE * sizes[0]))
    inverse = np.zeros((J.shape[1], len(J)))
    # the first rows in pivot order determine the motion: J_p = R_1^T Q_1^T
    inverse[:, order[:rank]] = Q[:, :rank] @ np.linalg.inv(R[:rank, :rank].T)
    return Q[:, rank:], inverse


def by_eigenvectors(J: Array) -> tuple[Array, Array]:
    """Return the eigenvectors of J^T J for the eigenvalue zero (2.49); J^T J has the squared condition of J."""
    values, vectors = np.linalg.eigh(J.T @ J)
    zero = values < 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    rest = vectors[:, ~zero]
    return vectors[:, zero], rest @ (rest.T / values[~zero][:, None]) @ J.T


def by_gram_schmidt(J: Array) -> tuple[Array, Array]:
    """Return a basis by orthonormalizing the rows, twice for accuracy, then unit vectors against all of them."""
    n = J.shape[1]
    basis: list[Array] = []
    weights: list[Array] = []
    size = max(float(np.linalg.norm(J, axis=1).max(initial=0.0)), np.finfo(float).tiny)
    for k, row in enumerate(J):
        rest, weight = row.copy(), np.eye(len(J))[k]
        for _ in range(2):
            for unit, unit_weight in zip(basis, weights):
                part = unit @ rest
                rest, weight = rest - part * unit, weight - part * unit_weight
        length = np.linalg.norm(rest)
        if length > 1e-9 * size:
            basis.append(rest / length)
            weights.append(weight / length)
    count = len(basis)
    while len(basis) < n:
        have = np.array(basis).reshape(-1, n)
        rest = np.eye(n)[int(np.argmin((have**2).sum(axis=0)))]
        for _ in range(2):
            rest = rest - have.T @ (have @ rest)
        basis.append(rest / np.linalg.norm(rest))
    inverse = sum((np.outer(u, w) for u, w in zip(basis[:count], weights)), np.zeros((n, len(J))))
    return np.array(basis[count:]).reshape(-1, n).T, inverse


def _with(complement: Complement) -> Callable[[ConstraintBlocks], Witness]:
    def build(system: ConstraintBlocks) -> Witness:
        def solve(q: Array, v: Array, tau: Array) -> Answer:
            b = system.at(q, v)
            N, inverse = complement(b.J)
            start, load = inverse @ b.gamma, tau - b.h
            a = start + N @ np.linalg.solve(N.T @ b.M @ N, N.T @ (load - b.M @ start))
            return Answer(a, inverse.T @ (b.M @ a - load))

        return solve

    return build


svd, qr_factors, eigenvectors, gram_schmidt = map(_with, (by_svd, by_qr, by_eigenvectors, by_gram_schmidt))


def coordinate_partition(system: ConstraintBlocks) -> Witness:
    """Return the equations with dependent joint rates from independent ones by LU of J_D."""

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        b = system.at(q, v)
        N, start = complement_of(partition_at(b.J, b.M), b.J, b.gamma)
        return Answer(N @ np.linalg.solve(N.T @ b.M @ N, N.T @ (tau - b.h - b.M @ start)) + start)

    return solve
