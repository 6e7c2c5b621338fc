"""Least squares of few unknowns by Householder QR factorization, for systems that normal equations cannot solve."""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._kernels import kernel


@kernel
def factor_rows(rows, size, diagonal):
    """Replace the leading columns of `rows` (m, 6) by their QR factorization: Householder vectors and R above them."""
    count = rows.shape[0]
    for i in range(size):
        square = 0.0
        for m in range(i, count):
            square += rows[m, i] * rows[m, i]
        length = np.sqrt(square)
        diagonal[i] = -length if rows[i, i] > 0.0 else length
        rows[i, i] -= diagonal[i]
        square = -rows[i, i] * diagonal[i]
        for k in range(i + 1, size):
            total = 0.0
            for m in range(i, count):
                total += rows[m, i] * rows[m, k]
            total /= square if square > 0.0 else 1.0
            for m in range(i, count):
                rows[m, k] -= total * rows[m, i]


@kernel
def reflect(rows, size, diagonal, x, backwards):
    """Multiply x (m,) in place by Q^T, or by Q."""
    count = rows.shape[0]
    for at in range(size):
        i = size - 1 - at if backwards else at
        square, total = -rows[i, i] * diagonal[i], 0.0
        for m in range(i, count):
            total += rows[m, i] * x[m]
        total /= square if square > 0.0 else 1.0
        for m in range(i, count):
            x[m] -= total * rows[m, i]


@kernel
def back_substitute(rows, size, diagonal, x):
    """Multiply x in place by R^-1."""
    for i in range(size - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, size):
            total -= rows[i, k] * x[k]
        x[i] = total / diagonal[i]


@kernel
def forward_substitute(rows, size, diagonal, x):
    """Multiply x (6,) in place by R^-T."""
    for i in range(size):
        for k in range(i):
            x[i] -= rows[k, i] * x[k]
        x[i] /= diagonal[i]


@kernel
def solve_rows(rows, rank, diagonal, ahead, lack, right, price):
    """Fill price (6,) with the least-squares solution p of rows p = right, and right with the residual; return t.

    Rows are factored; t with its column a, R^-T a = `ahead`, satisfies rows^T right + a t = -b with R^-T b = `lack`,
    and a^T p = 0; it is 0 if `ahead` is 0.
    """
    reflect(rows, rank, diagonal, right, False)
    along, square = 0.0, 0.0
    for i in range(rank):
        along += ahead[i] * (right[i] + lack[i])
        square += ahead[i] * ahead[i]
    dt = -along / square if square > 0.0 else 0.0
    for i in range(rank):
        gained = -lack[i] - dt * ahead[i]
        price[i], right[i] = right[i] - gained, gained
    for i in range(rank, 6):
        price[i] = 0.0
    back_substitute(rows, rank, diagonal, price)
    reflect(rows, rank, diagonal, right, True)
    return dt
