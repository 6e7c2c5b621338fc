"""Second-order cones in three dimensions, and the interior-point method over a few of them.

A cone is s0 >= hypot(s1, s2). The program determines ground reactions: forces `s` on wheels, in units in which every
friction cone is this cone, with

    sum_j C_j s_j + a t = c,    s_j in the cone,    greatest t (or greatest single component of the forces, t fixed),

`C_j` three columns a wheel, `a` the sum of the first ones. Primal-dual path following in the scaling of Nesterov and
Todd with the predictor and corrector of Mehrotra, in the scaled space, where force and price of a wheel are one point
v. Its linear systems are least squares of 3 w x 6 by normal equations. The next step corrects the round-off of the
balance, since a step aims at the load and not at a difference. If a set is too thin for normal equations, the method
continues with a QR factorization.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._kernels import inlined, kernel
from dyn_nodes.stability._least_squares import factor_rows, forward_substitute, solve_rows

STEPS = 60
GAP = 1e-11
"""Mean product of a force and its price at convergence, of 1."""
SHORT = 0.99
"""Length of a step over the distance to the border of the cones."""
SLOW = 0.1
"""Length of a step below which the normal equations count as inaccurate."""
ROUNDS = 4
"""Greatest number of corrections of the balance at the end."""
BALANCED = 1e-13
"""Permissible residual of the balance, of 1."""
STUCK = 1e-10
"""Length of a step below which the program ends because of round-off."""


@kernel
def step_to_border(s0, s1, s2, d0, d1, d2):
    """Return the distance from `s`, inside the cone, along `d` to the border of the cone; inf if there is none."""
    tangential = np.sqrt(s1 * s1 + s2 * s2)
    c = (s0 - tangential) * (s0 + tangential)
    b = s0 * d0 - s1 * d1 - s2 * d2
    a = d0 * d0 - d1 * d1 - d2 * d2
    root = np.sqrt(max(b * b - a * c, 0.0))  # negative by round-off alone: along d the cone ends, or b > 0
    if b > 0.0:
        return -(b + root) / a if a < 0.0 else np.inf
    q = root - b
    return c / q if q > 0.0 else np.inf


@inlined
def scale(s, z, j, w, v, size):
    """Fill scaling and scaled point v[j] of s[j] and z[j] in the cone; size[j] = eta, 1 / (1 + w0), v0^2 - v1^2 - v2^2.

    W = eta [[w0, w^T], [w, 1 + w w^T / (1 + w0)]] maps z to v, its inverse s to v.
    """
    rs, rz = np.sqrt(s[j, 1] * s[j, 1] + s[j, 2] * s[j, 2]), np.sqrt(z[j, 1] * z[j, 1] + z[j, 2] * z[j, 2])
    size_s = np.sqrt(max((s[j, 0] - rs) * (s[j, 0] + rs), 1e-300))
    size_z = np.sqrt(max((z[j, 0] - rz) * (z[j, 0] + rz), 1e-300))
    over_s, over_z = 1.0 / size_s, 1.0 / size_z
    product = (s[j, 0] * z[j, 0] + s[j, 1] * z[j, 1] + s[j, 2] * z[j, 2]) * over_s * over_z
    half = 0.5 / np.sqrt(0.5 * (1.0 + product))
    w1, w2 = half * (s[j, 1] * over_s - z[j, 1] * over_z), half * (s[j, 2] * over_s - z[j, 2] * over_z)
    w0 = np.sqrt(1.0 + w1 * w1 + w2 * w2)
    eta, part = np.sqrt(size_s * over_z), 1.0 / (1.0 + w0)
    inner = w1 * z[j, 1] + w2 * z[j, 2]
    factor = z[j, 0] + inner * part
    w[j, 0], w[j, 1], w[j, 2] = w0, w1, w2
    v[j, 0] = eta * (w0 * z[j, 0] + inner)
    v[j, 1], v[j, 2] = eta * (z[j, 1] + factor * w1), eta * (z[j, 2] + factor * w2)
    size[j, 0], size[j, 1], size[j, 2] = eta, part, size_s * size_z


@inlined
def scaled(w, size, j, a, b, c):
    """Return W (a, b, c)."""
    w0, w1, w2, eta = w[j, 0], w[j, 1], w[j, 2], size[j, 0]
    inner = w1 * b + w2 * c
    factor = a + inner * size[j, 1]
    return eta * (w0 * a + inner), eta * (b + factor * w1), eta * (c + factor * w2)


@inlined
def unscaled(w, size, j, a, b, c):
    """Return W^-1 (a, b, c)."""
    w0, w1, w2, less = w[j, 0], w[j, 1], w[j, 2], 1.0 / size[j, 0]
    inner = w1 * b + w2 * c
    factor = inner * size[j, 1] - a
    return less * (w0 * a - inner), less * (b + factor * w1), less * (c + factor * w2)


@inlined
def correct(v, p, o, square, j, centre, d):
    """Fill d[j] with v o d = centre e - p o o: Mehrotra's corrector for scaled steps p of the force, o of the price."""
    x0, x1, x2, p0, p1, p2, o0, o1, o2 = v[j, 0], v[j, 1], v[j, 2], p[j, 0], p[j, 1], p[j, 2], o[j, 0], o[j, 1], o[j, 2]
    r0 = centre - (p0 * o0 + p1 * o1 + p2 * o2)
    r1, r2 = -(p0 * o1 + o0 * p1), -(p0 * o2 + o0 * p2)
    d0, less = (x0 * r0 - x1 * r1 - x2 * r2) / square, 1.0 / x0
    d[j, 0], d[j, 1], d[j, 2] = d0, (r1 - d0 * x1) * less, (r2 - d0 * x2) * less


@inlined
def nearness(v, square, j, d):
    """Return the inverse of the distance from v[j] along d[j] to the border of the cone; 0 or less if there is none.

    It is the greater root of square x^2 + 2 b x + a, `square` the product of v[j] with itself.
    """
    d0, d1, d2 = d[j, 0], d[j, 1], d[j, 2]
    b = v[j, 0] * d0 - v[j, 1] * d1 - v[j, 2] * d2
    a = d0 * d0 - d1 * d1 - d2 * d2
    root = np.sqrt(max(b * b - a * square, 0.0))  # negative by round-off alone
    return -a / (b + root) if b > 0.0 else (root - b) / square


@kernel
def root_of_block(w, size, free, j, root):
    """Fill root[j] (3, 3) = F, F F^T the inverse of the block of W^-2 of the free components; F = W if all are free.

    The first component is always free, the second only if the third is.
    """
    w0, w1, w2, eta = w[j, 0], w[j, 1], w[j, 2], size[j, 0]
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
        length = np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        along = (w0 * x - w1 * y - w2 * n) / length
        x, y, n = x - along * w0 / length, y + along * w1 / length, n + along * w2 / length
        rest = np.sqrt(x * x + y * y + n * n)
        root[j, 0, 0], root[j, 0, 2], root[j, 2, 2] = eta / length, -eta * along / (length * rest), eta / rest
    else:
        root[j, 0, 0] = eta / np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)


@inlined
def normal_matrix(columns, free, root, rank, w, size, lower):
    """Fill the lower triangle of lower (6, 6) with the sum of C F F^T C^T, F = W if all components are free.

    Rows of the columns from `rank` on are zero; there the matrix is the identity. `root` is filled by `root_of_block`
    for wheels with held components. The sums are unrolled: loops over so few terms take six times as long. The cheaper
    form 2 w w^T - J of W^2 loses the digits that make the matrix positive definite.
    """
    for i in range(6):
        for k in range(i + 1):
            lower[i, k] = 1.0 if i == k and i >= rank else 0.0
    for j in range(columns.shape[0]):
        if free[j, 1]:
            eta, w0, w1, w2, part = size[j, 0], w[j, 0], w[j, 1], w[j, 2], size[j, 1]
            across = eta * part * w1 * w2
            _add_outer(columns, j, eta * w0, eta * w1, eta * w2, lower)
            _add_outer(columns, j, eta * w1, eta * (1.0 + part * w1 * w1), across, lower)
            _add_outer(columns, j, eta * w2, across, eta * (1.0 + part * w2 * w2), lower)
        else:
            for k in range(3):
                _add_outer(columns, j, root[j, 0, k], root[j, 1, k], root[j, 2, k], lower)


@inlined
def _add_outer(columns, j, w0, w1, w2, lower):
    """Add q q^T with q = C_j w to a lower triangle."""
    a = w0 * columns[j, 0, 0] + w1 * columns[j, 1, 0] + w2 * columns[j, 2, 0]
    b = w0 * columns[j, 0, 1] + w1 * columns[j, 1, 1] + w2 * columns[j, 2, 1]
    c = w0 * columns[j, 0, 2] + w1 * columns[j, 1, 2] + w2 * columns[j, 2, 2]
    d = w0 * columns[j, 0, 3] + w1 * columns[j, 1, 3] + w2 * columns[j, 2, 3]
    e = w0 * columns[j, 0, 4] + w1 * columns[j, 1, 4] + w2 * columns[j, 2, 4]
    f = w0 * columns[j, 0, 5] + w1 * columns[j, 1, 5] + w2 * columns[j, 2, 5]
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


@inlined
def factor_normal(lower):
    """Replace lower (6, 6) by its Cholesky factor with inverted diagonal; return whether the factor exists."""
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


@inlined
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
def solve_cones(columns, free, rank, target, with_t, s, z, t, work, system):
    """Improve feasible s (w, 3) in place until it is optimal; return t.

    Args:
        columns: (w, 3, 6); rows from `rank` on and columns that are not free are zero.
        free: (w, 3) components that may change; the first always.
        rank: number of independent rows of the balance.
        target: (6,) load that the free components have to balance.
        with_t: maximize t; otherwise the objective of the prices `z`, with constant t.
        s: (w, 3) forces inside their cones that satisfy the balance.
        z: (w, 3) their prices inside the cones: sum of z0 is 1 with t, and z = C^T p - objective for some p.
        t: value that belongs to s.
        work: (17, w, 3).
        system: (11, 6).
    """
    w, v, p, o, d, dz, size = work[0], work[1], work[2], work[3], work[4], work[5], work[16]
    count = s.shape[0]
    root, rows = work[6:9].reshape((count, 3, 3)), work[9:15].reshape((3 * count, 6))
    right, lower, price = work[15].reshape(3 * count), system[:6], system[7]
    ahead, along, aim = system[6], system[9], system[10]
    whole = True
    for j in range(count):
        whole = whole and free[j, 1]
    for i in range(6):  # the column of t: the sum of the columns of the normal forces
        along[i] = 0.0
        for j in range(count):
            along[i] += columns[j, 0, i]
    exact, tried, stepped, diagonal = False, False, False, np.empty(6)
    for _step in range(STEPS):
        gap = 0.0
        for j in range(count):
            gap += s[j, 0] * z[j, 0] + s[j, 1] * z[j, 1] + s[j, 2] * z[j, 2]
        gap /= count
        if not gap > GAP:
            break
        for j in range(count):
            scale(s, z, j, w, v, size)
            if exact or not whole:
                root_of_block(w, size, free, j, root)
        if not exact:
            normal_matrix(columns, free, root, rank, w, size, lower)
            exact = not factor_normal(lower)
            if exact:
                continue
            _aim(columns, free, root, target, s, z, t, along, aim)
            for i in range(6):
                ahead[i] = along[i] if with_t else 0.0
            solve_normal(lower, ahead)
        else:
            _scaled_rows(columns, root, rows)
            factor_rows(rows, rank, diagonal)
            _lack(columns, target, along, s, t, aim)
            forward_substitute(rows, rank, diagonal, aim)
            for i in range(6):
                ahead[i] = along[i] if with_t else 0.0
            forward_substitute(rows, rank, diagonal, ahead)
        nearest, dt = 0.0, 0.0
        for corrected in range(2):
            for j in range(count):
                if corrected:
                    reach = min(1.0, 1.0 / nearest) if nearest > 0.0 else 1.0
                    correct(v, p, o, size[j, 2], j, (1.0 - reach) ** 2 * gap, d)
                else:
                    d[j, 0], d[j, 1], d[j, 2] = 0.0, 0.0, 0.0
            if exact:
                dt = _exact_direction(
                    columns, root, rows, ahead, aim, price, w, size, v, d, p, o, dz, right, rank, diagonal
                )
            else:
                _right_side(columns, free, root, w, size, d, aim, price)
                dt = _direction(columns, free, root, lower, ahead, along, price, w, size, v, d, p, o, dz)
            nearest = _nearest(v, size, p, o)
        reach = SHORT / nearest if nearest > SHORT else 1.0
        if not np.isfinite(nearest):
            reach = 0.0
        if not exact and not reach > SLOW:
            t = _put_right(columns, free, root, target, lower, ahead, along, price, w, size, dz, s, t)
            exact, tried = tried, True
            continue
        if not reach > STUCK:
            break
        _go(free, w, size, p, o, dz, reach, s, z)
        t += reach * dt
        stepped, tried = True, False
    if stepped and exact:
        return _put_right_exactly(columns, root, rows, target, ahead, along, aim, price, right, rank, diagonal, s, t)
    if stepped:
        return _put_right(columns, free, root, target, lower, ahead, along, price, w, size, dz, s, t)
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
def _through_root(root, w, size, j, a, b, c):
    """Return F^T W^-1 (a, b, c)."""
    a, b, c = unscaled(w, size, j, a, b, c)
    return _root_transposed(root, j, a, b, c)


@kernel
def _root_transposed(root, j, a, b, c):
    """Return F^T (a, b, c)."""
    return (
        root[j, 0, 0] * a + root[j, 1, 0] * b + root[j, 2, 0] * c,
        root[j, 0, 1] * a + root[j, 1, 1] * b + root[j, 2, 1] * c,
        root[j, 0, 2] * a + root[j, 1, 2] * b + root[j, 2, 2] * c,
    )


@kernel
def _from_root(root, j, a, b, c):
    """Return F (a, b, c)."""
    return (
        root[j, 0, 0] * a + root[j, 0, 1] * b + root[j, 0, 2] * c,
        root[j, 1, 0] * a + root[j, 1, 1] * b + root[j, 1, 2] * c,
        root[j, 2, 0] * a + root[j, 2, 1] * b + root[j, 2, 2] * c,
    )


@inlined
def _balanced(columns, j, a, b, c, sums):
    """Add C_j (a, b, c) to sums (6,)."""
    for i in range(6):
        sums[i] += columns[j, 0, i] * a + columns[j, 1, i] * b + columns[j, 2, i] * c


@inlined
def _aim(columns, free, root, target, s, z, t, along, aim):
    """Fill aim (6,) with the right side of the predictor: C F F^T (-z) less the residual of the balance of s and t.

    A wheel without held components has F F^T z = s, so only the load and t remain.
    """
    for i in range(6):
        aim[i] = along[i] * t - target[i]
    for j in range(s.shape[0]):
        if free[j, 1]:
            continue
        x, y, n = _root_transposed(root, j, z[j, 0], z[j, 1], z[j, 2])
        x, y, n = _from_root(root, j, x, y, n)
        _balanced(columns, j, s[j, 0] - x, s[j, 1] - y, s[j, 2] - n, aim)


@inlined
def _direction(columns, free, root, lower, ahead, along, price, w, size, v, d, p, o, dz):
    """Fill the Newton direction in the scaled space, p of the forces and o of the prices; return the direction of t.

    p + o = d - v, with o = W dz, dz = C^T price, and C W p from the balance. Held components have p = 0 and dependent
    prices. `price` contains the right side on entry.
    """
    dt = _solve_with_t(lower, ahead, along, price)
    for j in range(v.shape[0]):
        _follow_price(columns, free, root, price, w, size, v, d, j, p, o, dz)
    return dt


@inlined
def _solve_with_t(lower, ahead, along, price):
    """Solve the normal equations, right side in price (6,), with `along` . price = 0; return the step of t."""
    solve_normal(lower, price)
    dt, length = 0.0, 0.0
    for i in range(6):
        dt -= along[i] * price[i]
        length += along[i] * ahead[i]
    dt = dt / length if length > 0.0 else 0.0
    for i in range(6):
        price[i] += dt * ahead[i]
    return dt


@inlined
def _lack(columns, target, along, s, t, lack):
    """Fill lack (6,) with the residual of the balance of s and t; return its greatest magnitude."""
    most = 0.0
    for i in range(6):
        lack[i] = along[i] * t - target[i]
    for j in range(s.shape[0]):
        _balanced(columns, j, s[j, 0], s[j, 1], s[j, 2], lack)
    for i in range(6):
        most = max(most, abs(lack[i]))
    return most


@kernel
def _put_right(columns, free, root, target, lower, ahead, along, price, w, size, dz, s, t):
    """Restore the balance of s and t, lost in normal equations, by the least change of scaled forces; return t.

    The scaling of the last step is used, so forces near their borders stay there.
    """
    for _round in range(ROUNDS):
        if not _lack(columns, target, along, s, t, price) > BALANCED:
            break
        dt = _solve_with_t(lower, ahead, along, price)
        if not np.isfinite(dt + np.sum(price)):
            break
        t += dt
        for j in range(s.shape[0]):
            _price_of(columns, j, price, dz)
            if free[j, 1]:
                a, b, c = scaled(w, size, j, dz[j, 0], dz[j, 1], dz[j, 2])
                a, b, c = scaled(w, size, j, a, b, c)
            else:
                a, b, c = _root_transposed(root, j, dz[j, 0], dz[j, 1], dz[j, 2])
                a, b, c = _from_root(root, j, a, b, c)
            s[j, 0] -= a
            s[j, 1] -= b
            s[j, 2] -= c
    return t


@kernel
def _put_right_exactly(columns, root, rows, target, ahead, along, lack, price, right, rank, diagonal, s, t):
    """Restore the balance of s and t like `_put_right`, by QR."""
    if not _lack(columns, target, along, s, t, lack) > BALANCED:
        return t
    forward_substitute(rows, rank, diagonal, lack)
    for m in range(right.size):
        right[m] = 0.0
    dt = solve_rows(rows, rank, diagonal, ahead, lack, right, price)
    if not np.isfinite(dt + np.sum(right)):
        return t
    for j in range(s.shape[0]):
        a, b, c = _from_root(root, j, right[3 * j], right[3 * j + 1], right[3 * j + 2])
        s[j, 0] += a
        s[j, 1] += b
        s[j, 2] += c
    return t + dt


@inlined
def _follow_price(columns, free, root, price, w, size, v, d, j, p, o, dz):
    """Fill the direction of a wheel from the price (6,)."""
    _price_of(columns, j, price, dz)
    g0, g1, g2 = d[j, 0] - v[j, 0], d[j, 1] - v[j, 1], d[j, 2] - v[j, 2]
    if free[j, 1]:
        a, b, c = scaled(w, size, j, dz[j, 0], dz[j, 1], dz[j, 2])
        o[j, 0], o[j, 1], o[j, 2] = a, b, c
        p[j, 0], p[j, 1], p[j, 2] = g0 - a, g1 - b, g2 - c
    else:
        x, y, n = _through_root(root, w, size, j, g0, g1, g2)
        a, b, c = _root_transposed(root, j, dz[j, 0], dz[j, 1], dz[j, 2])
        _left_over(root, w, size, j, x - a, y - b, n - c, g0, g1, g2, p, o)


@inlined
def _right_side(columns, free, root, w, size, d, aim, price):
    """Fill price (6,) with the right side of the corrector: `aim` of the predictor plus C F F^T W^-1 d."""
    for i in range(6):
        price[i] = aim[i]
    for j in range(d.shape[0]):
        if free[j, 1]:
            a, b, c = scaled(w, size, j, d[j, 0], d[j, 1], d[j, 2])
        else:
            a, b, c = _through_root(root, w, size, j, d[j, 0], d[j, 1], d[j, 2])
            a, b, c = _from_root(root, j, a, b, c)
        _balanced(columns, j, a, b, c, price)


@kernel
def _exact_direction(columns, root, rows, ahead, lack, price, w, size, v, d, p, o, dz, right, rank, diagonal):
    """Fill the Newton direction like `_direction`, by QR."""
    for j in range(v.shape[0]):
        a, b, c = _through_root(root, w, size, j, d[j, 0] - v[j, 0], d[j, 1] - v[j, 1], d[j, 2] - v[j, 2])
        right[3 * j], right[3 * j + 1], right[3 * j + 2] = a, b, c
    dt = solve_rows(rows, rank, diagonal, ahead, lack, right, price)
    for j in range(v.shape[0]):
        _price_of(columns, j, price, dz)
        g0, g1, g2 = d[j, 0] - v[j, 0], d[j, 1] - v[j, 1], d[j, 2] - v[j, 2]
        _left_over(root, w, size, j, right[3 * j], right[3 * j + 1], right[3 * j + 2], g0, g1, g2, p, o)
    return dt


@inlined
def _price_of(columns, j, price, dz):
    """Set dz[j] = C_j^T price."""
    a, b, c, d, e, f = price[0], price[1], price[2], price[3], price[4], price[5]
    for k in range(3):
        dz[j, k] = (
            columns[j, k, 0] * a + columns[j, k, 1] * b + columns[j, k, 2] * c
            + columns[j, k, 3] * d + columns[j, k, 4] * e + columns[j, k, 5] * f
        )  # fmt: skip


@kernel
def _left_over(root, w, size, j, a, b, c, g0, g1, g2, p, o):
    """Set p[j] = W^-1 F (a, b, c), o[j] = g - p[j]."""
    a, b, c = _from_root(root, j, a, b, c)
    a, b, c = unscaled(w, size, j, a, b, c)
    p[j, 0], p[j, 1], p[j, 2] = a, b, c
    o[j, 0], o[j, 1], o[j, 2] = g0 - a, g1 - b, g2 - c


@inlined
def _nearest(v, size, p, o):
    """Return the inverse of the greatest step that keeps forces and prices in their cones; NaN if not finite."""
    nearest = 0.0
    for j in range(v.shape[0]):
        force, price = nearness(v, size[j, 2], j, p), nearness(v, size[j, 2], j, o)
        if not np.isfinite(force + price):
            return np.nan
        nearest = max(nearest, force, price)
    return nearest


@inlined
def _go(free, w, size, p, o, dz, reach, s, z):
    """Take the step: forces by W p, prices by dz, prices of held components by W^-1 o."""
    for j in range(s.shape[0]):
        a, b, c = scaled(w, size, j, p[j, 0], p[j, 1], p[j, 2])
        s[j, 0] += reach * a
        if not (free[j, 1] and free[j, 2]):
            _x, y, n = unscaled(w, size, j, o[j, 0], o[j, 1], o[j, 2])
            dz[j, 1], dz[j, 2] = dz[j, 1] if free[j, 1] else y, dz[j, 2] if free[j, 2] else n
        s[j, 1] += reach * b if free[j, 1] else 0.0
        s[j, 2] += reach * c if free[j, 2] else 0.0
        for k in range(3):
            z[j, k] += reach * dz[j, k]
