"""Second-order cones in three dimensions, and the interior-point method over a few of them.

A cone is s0 >= hypot(s1, s2). The program is that of the ground reactions: forces `s` on wheels, in units in which
every friction cone is this one, with

    sum_j C_j s_j + a t = c,    s_j in the cone,    greatest t (or greatest single component of the forces, t fixed),

`C_j` three columns a wheel, `a` the sum of the first ones. Primal-dual path following in the scaling of Nesterov and
Todd with the predictor and corrector of Mehrotra; every iterate is feasible, so that the last one is, too. Its linear
systems are least squares of 3 w x 6 by normal equations, with two refinements that remove what round-off has left.
Where a set is so thin that this does not do, a QR factorization goes on.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._kernels import kernel
from dyn_nodes.stability._least_squares import column_ahead, factor_rows, solve_rows

STEPS = 60
GAP = 1e-11
"""Mean product of a force and its price, of 1, at which the program is solved."""
SHORT = 0.99
"""Part of the way to the border of the cones that a step goes."""
SLOW = 0.1
"""A step below this means that the normal equations have lost their digits."""
ROUNDS = 3
"""Solutions of the normal equations of one step, the later ones for what round-off has left. A predictor needs one."""
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
def factor_normal(rows, rank, lower):
    """Fill lower (6, 6) with the Cholesky factor of rows^T rows, its diagonal inverted; return whether there is one.

    Columns of rows (m, 6) from `rank` on are zero; there the factor is that of the identity. The sums are written out:
    machine code of loops over so few terms takes six times as long.
    """
    for i in range(6):
        for k in range(i + 1):
            lower[i, k] = 1.0 if i == k and i >= rank else 0.0
    for m in range(rows.shape[0]):
        a, b, c, d, e, f = rows[m, 0], rows[m, 1], rows[m, 2], rows[m, 3], rows[m, 4], rows[m, 5]
        lower[0, 0] += a * a
        lower[1, 0] += b * a
        lower[1, 1] += b * b
        lower[2, 0] += c * a
        lower[2, 1] += c * b
        lower[2, 2] += c * c
        lower[3, 0] += d * a
        lower[3, 1] += d * b
        lower[3, 2] += d * c
        lower[3, 3] += d * d
        lower[4, 0] += e * a
        lower[4, 1] += e * b
        lower[4, 2] += e * c
        lower[4, 3] += e * d
        lower[4, 4] += e * e
        lower[5, 0] += f * a
        lower[5, 1] += f * b
        lower[5, 2] += f * c
        lower[5, 3] += f * d
        lower[5, 4] += f * e
        lower[5, 5] += f * f
    for i in range(6):
        pivot = lower[i, i]
        for n in range(i):
            pivot -= lower[i, n] * lower[i, n]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / np.sqrt(pivot)
        lower[i, i] = inverse
        for k in range(i + 1, 6):
            rest = lower[k, i]
            for n in range(i):
                rest -= lower[k, n] * lower[i, n]
            lower[k, i] = rest * inverse
    return True


@kernel
def solve_normal(lower, x):
    """Multiply x (6,) in place by the inverse of the factored matrix."""
    for i in range(6):
        for n in range(i):
            x[i] -= lower[i, n] * x[n]
        x[i] *= lower[i, i]
    for at in range(6):
        i = 5 - at
        for n in range(i + 1, 6):
            x[i] -= lower[n, i] * x[n]
        x[i] *= lower[i, i]


@kernel
def solve_cones(columns, free, rank, with_t, s, z, t, work, system):
    """Improve feasible s (w, 3) in place until it is optimal; return t.

    Args:
        columns: (w, 3, 6) of which `rank` rows count, the others zero, as are columns that are not free.
        free: (w, 3) components that may change; the first always.
        rank: rows of the balance, independent.
        with_t: maximize t; otherwise what the prices `z` were made for, with t as it is.
        s: (w, 3) forces inside their cones that keep the balance.
        z: (w, 3) their prices inside the cones: sum of z0 is 1 with t, and z = C^T p - objective for some p.
        t: that belongs to s.
        work: (16, w, 3).
        system: (10, 6).
    """
    w, v, u, ds, dz, eta = work[0], work[1], work[2], work[3], work[4], work[5, :, 0]
    count = s.shape[0]
    root, rows = work[6:9].reshape((count, 3, 3)), work[9:15].reshape((3 * count, 6))
    right, lower, ahead, along = work[15].reshape(3 * count), system[:6], system[6], system[9]
    for i in range(6):  # the column of t: the sum of those of the normal forces
        along[i] = 0.0
        for j in range(count):
            along[i] += columns[j, 0, i] if with_t else 0.0
    exact, diagonal = False, np.empty(6)
    for _step in range(STEPS):
        gap = 0.0
        for j in range(count):
            gap += s[j, 0] * z[j, 0] + s[j, 1] * z[j, 1] + s[j, 2] * z[j, 2]
        gap /= count
        if not gap > GAP:
            break
        for j in range(count):
            eta[j] = scale(s, z, j, w, v)
            root_of_block(w, eta[j], free, j, root)
        _scaled_rows(columns, root, rows)
        exact = exact or not factor_normal(rows, rank, lower)
        for i in range(6):
            ahead[i] = 0.0 if exact else along[i]
        if not exact:
            solve_normal(lower, ahead)
        else:
            factor_rows(rows, rank, diagonal)
            if with_t:
                column_ahead(columns, rows, rank, diagonal, ahead)
        reach, dt = 0.0, 0.0
        for corrected in range(2):
            for j in range(count):
                if corrected:
                    correct(s, ds, dz, w, v, eta[j], j, (1.0 - min(reach, 1.0)) ** 2 * gap, u)
                else:
                    u[j, 0], u[j, 1], u[j, 2] = -z[j, 0], -z[j, 1], -z[j, 2]
            rounds = ROUNDS if corrected else 1
            dt = _direction(columns, free, root, rows, system, w, eta, u, right, ds, dz, exact, rank, diagonal, rounds)
            reach = _reach(s, ds, z, dz)
        reach = min(1.0, SHORT * reach)
        if not exact and not reach > SLOW:
            exact = True
            continue
        if not reach > STUCK:
            break
        for j in range(count):
            for k in range(3):
                s[j, k] += reach * ds[j, k]
                z[j, k] += reach * dz[j, k]
        t += reach * dt
    return t


@kernel
def _scaled_rows(columns, root, rows):
    """Fill rows (3 w, 6) with F^T C^T, wheel after wheel."""
    for j in range(columns.shape[0]):
        for k in range(3):
            a, b, c = root[j, 0, k], root[j, 1, k], root[j, 2, k]
            for i in range(6):
                rows[3 * j + k, i] = a * columns[j, 0, i] + b * columns[j, 1, i] + c * columns[j, 2, i]


@kernel
def products(rows, x, sums):
    """Fill sums (6,) with rows^T x."""
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(rows.shape[0]):
        own = x[m]
        a += rows[m, 0] * own
        b += rows[m, 1] * own
        c += rows[m, 2] * own
        d += rows[m, 3] * own
        e += rows[m, 4] * own
        f += rows[m, 5] * own
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = a, b, c, d, e, f


@kernel
def _direction(columns, free, root, rows, system, w, eta, u, right, ds, dz, exact, rank, diagonal, rounds):
    """Fill the direction of Newton for the complementarity `u` = W^-1 (...); return that of t.

    ds = F r with r what is left of the least squares F^T C^T p = F^T u, so that C ds + a dt = 0; dz = C^T p, and of a
    component that is held u - W^-2 ds.
    """
    count, price = columns.shape[0], system[7]
    for j in range(count):
        for k in range(3):
            right[3 * j + k] = root[j, 0, k] * u[j, 0] + root[j, 1, k] * u[j, 1] + root[j, 2, k] * u[j, 2]
    if exact:
        dt = solve_rows(rows, rank, diagonal, system[6], right, price)
    else:
        dt = _solve_normal(rows, system, right, rounds)
    a, b, c, d, e, f = price[0], price[1], price[2], price[3], price[4], price[5]
    for j in range(count):
        for k in range(3):
            ds[j, k] = (
                root[j, k, 0] * right[3 * j] + root[j, k, 1] * right[3 * j + 1] + root[j, k, 2] * right[3 * j + 2]
            )
            own = columns[j, k]
            dz[j, k] = own[0] * a + own[1] * b + own[2] * c + own[3] * d + own[4] * e + own[5] * f
        inner = 2.0 * (w[j, 0] * ds[j, 0] - w[j, 1] * ds[j, 1] - w[j, 2] * ds[j, 2])
        for k in (1, 2):
            if not free[j, k]:
                dz[j, k] = u[j, k] + (inner * w[j, k] - ds[j, k]) / (eta[j] * eta[j])
    return dt


@kernel
def _solve_normal(rows, system, right, rounds):
    """Solve the normal equations, again for what round-off has left: price in system[7], `right` what is left.

    Returns the direction of t, whose column is system[9] and its solution system[6]; 0 where they are.
    """
    lower, ahead, price, part, along = system[:6], system[6], system[7], system[8], system[9]
    size, dt = 0.0, 0.0
    for i in range(6):
        price[i] = 0.0
        size += along[i] * ahead[i]
    for _round in range(rounds):
        products(rows, right, part)
        for i in range(6):
            part[i] += dt * along[i]
        solve_normal(lower, part)
        more = 0.0
        if size > 0.0:
            for i in range(6):
                more -= along[i] * (part[i] + price[i])
            more /= size
        dt += more
        for i in range(6):
            part[i] += more * ahead[i]
            price[i] += part[i]
        a, b, c, d, e, f = part[0], part[1], part[2], part[3], part[4], part[5]
        for m in range(right.size):
            right[m] -= (
                rows[m, 0] * a + rows[m, 1] * b + rows[m, 2] * c + rows[m, 3] * d + rows[m, 4] * e + rows[m, 5] * f
            )
    return dt


@kernel
def _reach(s, ds, z, dz):
    """Return how far the step may go before a force or a price leaves its cone; 0 along what is no number."""
    reach = np.inf
    for j in range(s.shape[0]):
        if not np.isfinite(ds[j, 0] + ds[j, 1] + ds[j, 2] + dz[j, 0] + dz[j, 1] + dz[j, 2]):
            return 0.0
        reach = min(reach, step_to_border(s[j, 0], s[j, 1], s[j, 2], ds[j, 0], ds[j, 1], ds[j, 2]))
        reach = min(reach, step_to_border(z[j, 0], z[j, 1], z[j, 2], dz[j, 0], dz[j, 1], dz[j, 2]))
    return reach
