"""Second-order cones in three dimensions, and the interior-point method over a few of them.

A cone is s0 >= hypot(s1, s2). The program is that of the ground reactions: forces `s` on wheels, in units in which
every friction cone is this one, with

    sum_j C_j s_j + a t = c,    s_j in the cone,    greatest t (or greatest single component of the forces, t fixed),

`C_j` three columns a wheel, `a` the sum of the first ones. Primal-dual path following in the scaling of Nesterov and
Todd with the predictor and corrector of Mehrotra; every iterate is feasible, so that the last one is, too. Its linear
systems are least squares with a QR factorization of 3 w x 6: normal equations lose all digits where a set is thin.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._kernels import kernel

STEPS = 60
GAP = 1e-13
"""Mean product of a force and its price, of 1, at which the program is solved."""
SHORT = 0.99
"""Part of the way to the border of the cones that a step goes."""
STUCK = 1e-10
"""A step below this ends the program: round-off."""


@kernel
def step_to_border(s0, s1, s2, d0, d1, d2):
    """Return how far one can go from `s`, inside the cone, along `d` until the cone ends; inf where it never does."""
    tangential = np.sqrt(s1 * s1 + s2 * s2)
    c = (s0 - tangential) * (s0 + tangential)
    b = s0 * d0 - s1 * d1 - s2 * d2
    a = d0 * d0 - d1 * d1 - d2 * d2
    root = np.sqrt(max(b * b - a * c, 0.0))  # negative by round-off alone: along d the cone ends, or b > 0
    if b > 0.0:
        return -(b + root) / a if a < 0.0 else np.inf
    q = root - b
    return c / q if q > 0.0 else np.inf


@kernel
def scale(s, z, j, w, v):
    """Fill the scaling w[j] and the scaled point v[j] of s[j] and z[j] in the cone; return the factor eta.

    W = eta [[w0, w^T], [w, 1 + w w^T / (1 + w0)]] maps z to v, its inverse s to v.
    """
    rs, rz = np.sqrt(s[j, 1] * s[j, 1] + s[j, 2] * s[j, 2]), np.sqrt(z[j, 1] * z[j, 1] + z[j, 2] * z[j, 2])
    size_s = np.sqrt(max((s[j, 0] - rs) * (s[j, 0] + rs), 1e-300))
    size_z = np.sqrt(max((z[j, 0] - rz) * (z[j, 0] + rz), 1e-300))
    product = (s[j, 0] * z[j, 0] + s[j, 1] * z[j, 1] + s[j, 2] * z[j, 2]) / (size_s * size_z)
    gamma = np.sqrt(0.5 * (1.0 + product))
    w1, w2 = 0.5 * (s[j, 1] / size_s - z[j, 1] / size_z) / gamma, 0.5 * (s[j, 2] / size_s - z[j, 2] / size_z) / gamma
    w0 = np.sqrt(1.0 + w1 * w1 + w2 * w2)
    eta = np.sqrt(size_s / size_z)
    inner = w1 * z[j, 1] + w2 * z[j, 2]
    factor = z[j, 0] + inner / (1.0 + w0)
    w[j, 0], w[j, 1], w[j, 2] = w0, w1, w2
    v[j, 0] = eta * (w0 * z[j, 0] + inner)
    v[j, 1], v[j, 2] = eta * (z[j, 1] + factor * w1), eta * (z[j, 2] + factor * w2)
    return eta


@kernel
def correct(s, ds, dz, w, v, eta, j, centre, u):
    """u[j] = W^-1 d, v o d = centre e - v o v - (W^-1 ds) o (W dz): the corrector of one cone."""
    w0, w1, w2, x0, x1, x2 = w[j, 0], w[j, 1], w[j, 2], v[j, 0], v[j, 1], v[j, 2]
    inner = w1 * ds[j, 1] + w2 * ds[j, 2]
    factor = -ds[j, 0] + inner / (1.0 + w0)
    p0 = (w0 * ds[j, 0] - inner) / eta
    p1, p2 = (ds[j, 1] + factor * w1) / eta, (ds[j, 2] + factor * w2) / eta
    inner = w1 * dz[j, 1] + w2 * dz[j, 2]
    factor = dz[j, 0] + inner / (1.0 + w0)
    o0 = eta * (w0 * dz[j, 0] + inner)
    o1, o2 = eta * (dz[j, 1] + factor * w1), eta * (dz[j, 2] + factor * w2)
    r0 = centre - (p0 * o0 + p1 * o1 + p2 * o2) - (x0 * x0 + x1 * x1 + x2 * x2)
    r1, r2 = -(p0 * o1 + o0 * p1) - 2.0 * x0 * x1, -(p0 * o2 + o0 * p2) - 2.0 * x0 * x2
    d0 = (x0 * r0 - x1 * r1 - x2 * r2) / (x0 * x0 - x1 * x1 - x2 * x2)
    d1, d2 = (r1 - d0 * x1) / x0, (r2 - d0 * x2) / x0
    inner = w1 * d1 + w2 * d2
    factor = -d0 + inner / (1.0 + w0)
    u[j, 0] = (w0 * d0 - inner) / eta
    u[j, 1], u[j, 2] = (d1 + factor * w1) / eta, (d2 + factor * w2) / eta


@kernel
def root_of_block(w, eta, free, j, root):
    """root[j] (3, 3) = F with F F^T the inverse of the block of W^-2 of the free components; F is W where all are.

    The first component is always free, the second only where the third is.
    """
    w0, w1, w2 = w[j, 0], w[j, 1], w[j, 2]
    for i in range(3):
        for k in range(3):
            root[j, i, k] = 0.0
    if free[j, 1]:
        for i in range(1, 3):
            root[j, 0, i], root[j, i, 0] = eta * w[j, i], eta * w[j, i]
            for k in range(1, 3):
                root[j, i, k] = eta * w[j, i] * w[j, k] / (1.0 + w0)
            root[j, i, i] += eta
        root[j, 0, 0] = eta * w0
    elif free[j, 2]:  # triangular factor of the first and third column of W^-1
        x, y, n = -w2, w1 * w2 / (1.0 + w0), 1.0 + w2 * w2 / (1.0 + w0)
        size = np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        along = (w0 * x - w1 * y - w2 * n) / size
        x, y, n = x - along * w0 / size, y + along * w1 / size, n + along * w2 / size
        rest = np.sqrt(x * x + y * y + n * n)
        root[j, 0, 0], root[j, 0, 2], root[j, 2, 2] = eta / size, -eta * along / (size * rest), eta / rest
    else:
        root[j, 0, 0] = eta / np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)


@kernel
def factor_rows(rows, size, diagonal):
    """Put the QR factorization of `rows` (m, 6), its leading columns, into it: Householder vectors and R above them."""
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
def solve_cones(columns, free, rank, with_t, s, z, t, work):
    """Improve feasible s (w, 3) in place until it is optimal; return t.

    Args:
        columns: (w, 3, 6) of which `rank` rows count.
        free: (w, 3) components that may change; the first always.
        rank: rows of the balance, independent.
        with_t: maximize t; otherwise what the prices `z` were made for, with t as it is.
        s: (w, 3) forces inside their cones that keep the balance.
        z: (w, 3) their prices inside the cones: sum of z0 is 1 with t, and z = C^T p - objective for some p.
        t: that belongs to s.
        work: (16, w, 3).
    """
    w, v, u, ds, dz, eta = work[0], work[1], work[2], work[3], work[4], work[5, :, 0]
    count = s.shape[0]
    root, rows = work[6:9].reshape((count, 3, 3)), work[9:15].reshape((3 * count, 6))
    right, diagonal, ahead = work[15].reshape(3 * count), np.empty(6), np.zeros(6)
    for _step in range(STEPS):
        gap = 0.0
        for j in range(count):
            gap += (s[j, 0] * z[j, 0] + s[j, 1] * z[j, 1] + s[j, 2] * z[j, 2]) / count
        if not gap > GAP:
            break
        for j in range(count):
            eta[j] = scale(s, z, j, w, v)
            root_of_block(w, eta[j], free, j, root)
        _scaled_rows(columns, root, rank, rows)
        factor_rows(rows, rank, diagonal)
        if with_t:
            _ahead(columns, rows, rank, diagonal, ahead)
        reach, dt = 0.0, 0.0
        for corrected in range(2):
            for j in range(count):
                if corrected:
                    correct(s, ds, dz, w, v, eta[j], j, (1.0 - min(reach, 1.0)) ** 3 * gap, u)
                else:
                    u[j, 0], u[j, 1], u[j, 2] = -z[j, 0], -z[j, 1], -z[j, 2]
            dt = _direction(columns, free, root, rows, rank, diagonal, ahead, w, eta, u, right, ds, dz)
            reach = _reach(s, ds, z, dz)
        reach = min(1.0, SHORT * reach)
        if not reach > STUCK:
            break
        for j in range(count):
            for k in range(3):
                s[j, k] += reach * ds[j, k]
                z[j, k] += reach * dz[j, k]
        t += reach * dt
    return t


@kernel
def _scaled_rows(columns, root, rank, rows):
    """Fill rows (3 w, 6) with F^T C^T, wheel after wheel."""
    for j in range(columns.shape[0]):
        for k in range(3):
            for i in range(rank):
                rows[3 * j + k, i] = (
                    root[j, 0, k] * columns[j, 0, i]
                    + root[j, 1, k] * columns[j, 1, i]
                    + root[j, 2, k] * columns[j, 2, i]
                )


@kernel
def _ahead(columns, rows, rank, diagonal, ahead):
    """Fill ahead with R^-T a, a the sum of the first columns, those of t."""
    for i in range(rank):
        ahead[i] = 0.0
        for j in range(columns.shape[0]):
            ahead[i] += columns[j, 0, i]
        for k in range(i):
            ahead[i] -= rows[k, i] * ahead[k]
        ahead[i] /= diagonal[i]


@kernel
def _direction(columns, free, root, rows, rank, diagonal, ahead, w, eta, u, right, ds, dz):
    """Fill the direction of Newton for the complementarity `u` = W^-1 (...); return that of t.

    ds = F r with r what is left of the least squares F^T C^T p = F^T u, so that C ds + a dt = 0; dz = C^T p, and of a
    component that is held u - W^-2 ds. `ahead` is zero where t stays.
    """
    count, price = columns.shape[0], np.empty(6)
    for j in range(count):
        for k in range(3):
            right[3 * j + k] = root[j, 0, k] * u[j, 0] + root[j, 1, k] * u[j, 1] + root[j, 2, k] * u[j, 2]
    reflect(rows, rank, diagonal, right, False)
    along, square = 0.0, 0.0
    for i in range(rank):
        along += ahead[i] * right[i]
        square += ahead[i] * ahead[i]
    dt = -along / square if square > 0.0 else 0.0
    for i in range(rank):
        price[i], right[i] = right[i] + dt * ahead[i], -dt * ahead[i]
    back_substitute(rows, rank, diagonal, price)
    reflect(rows, rank, diagonal, right, True)
    for j in range(count):
        for k in range(3):
            ds[j, k] = (
                root[j, k, 0] * right[3 * j] + root[j, k, 1] * right[3 * j + 1] + root[j, k, 2] * right[3 * j + 2]
            )
            dz[j, k] = 0.0
            for i in range(rank):
                dz[j, k] += columns[j, k, i] * price[i]
        inner = 2.0 * (w[j, 0] * ds[j, 0] - w[j, 1] * ds[j, 1] - w[j, 2] * ds[j, 2])
        for k in (1, 2):
            if not free[j, k]:
                dz[j, k] = u[j, k] + (inner * w[j, k] - ds[j, k]) / (eta[j] * eta[j])
    return dt


@kernel
def _reach(s, ds, z, dz):
    """Return how far the step may go before a force or a price leaves its cone."""
    reach = np.inf
    for j in range(s.shape[0]):
        reach = min(reach, step_to_border(s[j, 0], s[j, 1], s[j, 2], ds[j, 0], ds[j, 1], ds[j, 2]))
        reach = min(reach, step_to_border(z[j, 0], z[j, 1], z[j, 2], dz[j, 0], dz[j, 1], dz[j, 2]))
    return reach
