"""Cholesky factorization of small dense matrices as array loops; each package compiles it with its own flags."""

from __future__ import annotations

from typing import Any

import numpy as np


def factorize(A: Any, n: int, floor: float) -> bool:
    """Replace the lower triangle of A (n, n) by L, A = L L^T; return False at a pivot at the floor.

    The floor is relative to the diagonal entry of the pivot before elimination.
    """
    for j in range(n):
        before = A[j, j]
        total = before
        for k in range(j):
            total -= A[j, k] * A[j, k]
        if not total > floor * before:
            return False
        root = np.sqrt(total)
        A[j, j] = root
        inverse = 1.0 / root
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total * inverse
    return True


def forward(L: Any, b: Any, n: int) -> None:
    """Replace the first n entries of b by L^-1 b, L lower."""
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * b[k]
        b[i] = total / L[i, i]


def backward(L: Any, b: Any, n: int) -> None:
    """Replace the first n entries of b by L^-T b, L lower."""
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        for k in range(i):
            b[k] -= L[i, k] * b[i]
