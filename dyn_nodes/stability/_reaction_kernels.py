"""Kernels of the admissible ground reactions: balance, split of least norm, margin, ranges; one state after another.

Components of a wheel are (normal, rolling, lateral) here, so that the first is that of the cone. Forces are over the
load, lengths over the size of the footprint.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._cones import factor_rows, reflect, solve_cones, step_to_border
from dyn_nodes.stability._states import kernel, pick
from dyn_nodes.stability.polygon import plane_normal

INDEPENDENT = 1e-9
"""Part of a column that is left beside the others, of 1, above which it counts in the rank of the balance."""
BORDER = 1e-10
"""Margin below zero, over the load, that is still round-off of the border."""


@kernel
def normals_kernel(feet, normal):
    """Fill the normals (t, 3) of the mean planes of feet (t, n, 3)."""
    for k in range(feet.shape[0]):
        plane_normal(feet[k], normal[k])


@kernel
def reactions_kernel(
    points, com, force, moment, normal, friction, rolling, traction, tolerance,
    margin, possible, robust, split, best, slack, use, freedom, mismatch,
):  # fmt: skip
    """Fill the results of a batch; see `AdmissibleReactions`. Leading dimensions of inputs are 1 or t."""
    count = points.shape[1]
    columns, held, target = np.empty((count, 3, 6)), np.empty(count), np.empty(6)
    free, work = np.empty((count, 3), dtype=np.bool_), np.zeros((16, count, 3))
    x, s, z = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    for k in range(margin.shape[0]):
        mu = friction[pick(k, friction.shape[0])]
        scale, rank, left = _prepare(
            points[pick(k, points.shape[0])], com[pick(k, com.shape[0])], force[pick(k, force.shape[0])],
            moment[pick(k, moment.shape[0])], normal[pick(k, normal.shape[0])], mu,
            rolling[pick(k, rolling.shape[0])], traction[pick(k, traction.shape[0])],
            free, held, columns, target, work,
        )  # fmt: skip
        mismatch[k], freedom[k], possible[k], robust[k] = left * scale, 0, False, False
        if not left <= tolerance[pick(k, tolerance.shape[0])]:
            margin[k] = -np.inf if left > 0.0 else np.nan
            split[k], best[k], use[k], slack[k] = np.nan, np.nan, np.nan, margin[k]
            continue
        for j in range(count):
            freedom[k] += int(free[j, 0]) + int(free[j, 1]) + int(free[j, 2])
        freedom[k] -= rank
        _least_norm(columns, free, rank, target, held, x, work)
        robust[k] = _write_split(k, x, mu, scale, split, use)
        t = _start(columns, mu, x, s, z)
        t = solve_cones(columns, free, rank, True, s, z, t, work)
        margin[k] = _write_best(k, s, t, mu, scale, best, slack)
        possible[k] = margin[k] >= -BORDER * scale
        robust[k] = robust[k] and possible[k]


@kernel
def ranges_kernel(
    points, com, force, moment, normal, friction, rolling, traction, best, margin, possible, least, greatest
):  # fmt: skip
    """Fill the ends of what every force can be where `best`, most inside by `margin`, is possible; NaN elsewhere."""
    count = points.shape[1]
    columns, held, target = np.empty((count, 3, 6)), np.empty(count), np.empty(6)
    free, work = np.empty((count, 3), dtype=np.bool_), np.zeros((16, count, 3))
    x, s, z = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    for k in range(possible.shape[0]):
        least[k], greatest[k] = np.nan, np.nan
        if not possible[k]:
            continue
        mu = friction[pick(k, friction.shape[0])]
        scale, rank, _ = _prepare(
            points[pick(k, points.shape[0])], com[pick(k, com.shape[0])], force[pick(k, force.shape[0])],
            moment[pick(k, moment.shape[0])], normal[pick(k, normal.shape[0])], mu,
            rolling[pick(k, rolling.shape[0])], traction[pick(k, traction.shape[0])],
            free, held, columns, target, work,
        )  # fmt: skip
        freedom = -rank
        for j in range(count):
            unit = scale * (mu[j] if mu[j] > 0.0 else 1.0)
            x[j, 0], x[j, 1], x[j, 2] = best[k, j, 2] / scale, best[k, j, 0] / unit, best[k, j, 1] / unit
            for c in range(3):
                freedom += int(free[j, c])
                if c > 0 and mu[j] > 0.0:
                    for i in range(rank):
                        columns[j, c, i] *= mu[j]
        if margin[k] <= BORDER * scale:
            freedom = 0
        behind, ahead = 0.0, 0.0
        if freedom == 1:
            _null_line(columns, free, rank, s, work)
            behind, ahead = _ends_of_line(x, s)
        for j in range(count):
            for c in range(3):
                unit = scale * (mu[j] if c > 0 and mu[j] > 0.0 else 1.0)
                low = high = x[j, c]
                if freedom == 1:
                    one, other = low - behind * s[j, c], low + ahead * s[j, c]
                    low, high = min(one, other), max(one, other)
                elif freedom > 1 and free[j, c]:
                    for sign in (-1.0, 1.0):
                        _ask_for(j, c, sign, x, s, z)
                        solve_cones(columns, free, rank, False, s, z, 0.0, work)
                        if sign > 0.0:
                            high = s[j, c]
                        else:
                            low = s[j, c]
                least[k, j, (c + 2) % 3], greatest[k, j, (c + 2) % 3] = unit * low, unit * high


@kernel
def _prepare(
    points, com, force, moment, normal, mu, rolling, traction, free, held, columns, target, work
):  # fmt: skip
    """Fill what is free, known tractions, and the balance in its range; return load, N, rank, and what is left.

    What is left is the part of the load, of 1, that no forces balance; NaN for inputs that are no numbers.
    """
    count = points.shape[0]
    axes, basis, load_of = np.empty((count, 3, 3)), np.empty((6, 6)), np.empty(6)
    scale = _balance(points, com, force, moment, normal, rolling, axes, columns, load_of)
    known = np.isfinite(scale)
    for j in range(count):
        known = known and np.isfinite(mu[j]) and np.isfinite(columns[j, 2, 5])
        free[j, 0], free[j, 1], free[j, 2] = True, mu[j] > 0.0 and np.isnan(traction[j]), mu[j] > 0.0
        held[j] = 0.0 if np.isnan(traction[j]) else traction[j] / scale
        for i in range(6):
            load_of[i] -= held[j] * columns[j, 1, i]
    if not known:
        return scale, 0, np.nan
    rank = _range_of(columns, free, work, basis)
    return scale, rank, _reduce(columns, free, load_of, basis, rank, target)


@kernel
def _balance(points, com, force, moment, normal, rolling, axes, columns, target):
    """Fill the axes of the wheels, the columns of the balance and what they sum to; return the load, N.

    Rows are force and moment about the middle of the points, over the load and over load times size.
    """
    count = points.shape[0]
    middle, turn = np.zeros(3), np.empty(3)
    for j in range(count):
        for i in range(3):
            middle[i] += points[j, i] / count
    square = 0.0
    for j in range(count):
        for i in range(3):
            square += (points[j, i] - middle[i]) ** 2 / count
    size = np.sqrt(square) if square > 0.0 else 1.0
    _cross(com - middle, force, turn)
    squares = 0.0
    for i in range(3):
        turn[i] = (turn[i] + moment[i]) / size
        squares += force[i] * force[i] + turn[i] * turn[i]
    scale = np.sqrt(squares)
    if scale == 0.0:
        scale = 1.0
    for i in range(3):
        target[i], target[3 + i] = -force[i] / scale, -turn[i] / scale
    length = np.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    arm = np.empty(3)
    for j in range(count):
        for i in range(3):
            axes[j, 0, i] = normal[i] / length
            arm[i] = (points[j, i] - middle[i]) / size
        _tangent(rolling[j], axes[j])
        _cross(axes[j, 0], axes[j, 1], axes[j, 2])
        for c in range(3):
            _cross(arm, axes[j, c], turn)
            for i in range(3):
                columns[j, c, i], columns[j, c, 3 + i] = axes[j, c, i], turn[i]
    return scale


@kernel
def _cross(a, b, out):
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _tangent(direction, axes):
    """axes[1] = unit vector of the direction in the plane with the normal axes[0]; some tangent where it has none."""
    n = axes[0]
    size = np.sqrt(direction[0] ** 2 + direction[1] ** 2 + direction[2] ** 2)
    along = n[0] * direction[0] + n[1] * direction[1] + n[2] * direction[2]
    for i in range(3):
        axes[1, i] = direction[i] - along * n[i]
    length = np.sqrt(axes[1, 0] ** 2 + axes[1, 1] ** 2 + axes[1, 2] ** 2)
    if length <= 1e-9 * size:
        axis = 0 if abs(n[0]) < 0.9 else 1
        for i in range(3):
            axes[1, i] = (1.0 if i == axis else 0.0) - n[axis] * n[i]
        length = np.sqrt(axes[1, 0] ** 2 + axes[1, 1] ** 2 + axes[1, 2] ** 2)
    for i in range(3):
        axes[1, i] /= length


@kernel
def _range_of(columns, free, work, basis):
    """Fill the orthonormal rows of `basis` with the range of the free columns; return how many they are."""
    rest = work.reshape(work.size)[: columns.size].reshape(columns.shape)
    for j in range(columns.shape[0]):
        for c in range(3):
            for i in range(6):
                rest[j, c, i] = columns[j, c, i] if free[j, c] else 0.0
    for rank in range(6):
        most, at, which = 0.0, 0, 0
        for j in range(columns.shape[0]):
            for c in range(3):
                square = 0.0
                for i in range(6):
                    square += rest[j, c, i] ** 2
                if square > most:
                    most, at, which = square, j, c
        if not most > INDEPENDENT**2:
            return rank
        size = np.sqrt(most)
        for i in range(6):
            basis[rank, i] = rest[at, which, i] / size
        for j in range(columns.shape[0]):
            for c in range(3):
                along = 0.0
                for i in range(6):
                    along += basis[rank, i] * rest[j, c, i]
                for i in range(6):
                    rest[j, c, i] -= along * basis[rank, i]
    return 6


@kernel
def _reduce(columns, free, load_of, basis, rank, target):
    """Put columns and target into the range of the balance; return the size of what of the load is outside it."""
    part = np.empty(6)
    for m in range(6):
        target[m] = 0.0
        if m < rank:
            for i in range(6):
                target[m] += basis[m, i] * load_of[i]
    for j in range(columns.shape[0]):
        for c in range(3):
            for i in range(6):
                part[i] = columns[j, c, i]
            for m in range(6):
                columns[j, c, m] = 0.0
                if free[j, c] and m < rank:
                    for i in range(6):
                        columns[j, c, m] += basis[m, i] * part[i]
    outside = 0.0
    for i in range(6):
        rest = load_of[i]
        for m in range(rank):
            rest -= basis[m, i] * target[m]
        outside += rest * rest
    return np.sqrt(outside)


@kernel
def _rows(columns, work):
    """Return the columns of all components as rows (3 w, 6), in memory of their own."""
    rows = work[:6].reshape((3 * columns.shape[0], 6))
    for j in range(columns.shape[0]):
        for c in range(3):
            for i in range(6):
                rows[3 * j + c, i] = columns[j, c, i]
    return rows


@kernel
def _least_norm(columns, free, rank, target, held, x, work):
    """Fill x (w, 3) with the forces of least norm that keep the balance, rolling ones that are given among them."""
    rows, diagonal, right = _rows(columns, work), np.empty(6), x.reshape(x.size)
    factor_rows(rows, rank, diagonal)
    right[:] = 0.0
    for i in range(rank):  # C x = c with C = R^T Q^T
        right[i] = target[i]
        for k in range(i):
            right[i] -= rows[k, i] * right[k]
        right[i] /= diagonal[i]
    reflect(rows, rank, diagonal, right, True)
    for j in range(x.shape[0]):
        if not free[j, 1]:
            x[j, 1] = held[j]


@kernel
def _write_split(k, x, mu, scale, split, use):
    """Write forces and friction uses of the split; return whether all are inside their cones."""
    inside = True
    for j in range(x.shape[0]):
        split[k, j, 0], split[k, j, 1], split[k, j, 2] = scale * x[j, 1], scale * x[j, 2], scale * x[j, 0]
        sliding = np.sqrt(x[j, 1] ** 2 + x[j, 2] ** 2)
        if x[j, 0] > BORDER:
            use[k, j] = sliding / (mu[j] * x[j, 0]) if sliding > 0.0 else 0.0
        else:
            use[k, j] = 0.0 if sliding <= BORDER and x[j, 0] >= -BORDER else np.inf
        inside = inside and x[j, 0] >= -BORDER and sliding <= mu[j] * x[j, 0] + BORDER
    return inside


@kernel
def _start(reduced, mu, x, s, z):
    """Fill forces s (w, 3), normal ones less t, inside their cones, and prices z; return t.

    The columns become those of forces in units in which every cone is the same; x (w, 3) keeps the balance.
    """
    count = x.shape[0]
    t = np.inf
    for j in range(count):
        unit = mu[j] if mu[j] > 0.0 else 1.0
        for c in (1, 2):
            s[j, c] = x[j, c] / unit
            for i in range(6):
                reduced[j, c, i] *= unit
        t = min(t, x[j, 0] - np.sqrt(s[j, 1] ** 2 + s[j, 2] ** 2))
    t -= 1.0 / count
    for j in range(count):
        s[j, 0] = x[j, 0] - t
        z[j, 0], z[j, 1], z[j, 2] = 1.0 / count, 0.0, 0.0
    return t


@kernel
def _write_best(k, s, t, mu, scale, best, slack):
    """Write the forces that are most inside and how far inside every one is; return the least of these, N."""
    smallest = np.inf
    for j in range(s.shape[0]):
        unit = mu[j] if mu[j] > 0.0 else 1.0
        best[k, j, 0], best[k, j, 1] = scale * unit * s[j, 1], scale * unit * s[j, 2]
        best[k, j, 2] = scale * (s[j, 0] + t)
        slack[k, j] = scale * (s[j, 0] + t - np.sqrt(s[j, 1] ** 2 + s[j, 2] ** 2))
        if not slack[k, j] >= smallest:  # NaN is taken, too
            smallest = slack[k, j]
    return smallest


@kernel
def _ends_of_line(x, line):
    """Return how far forces x (w, 3) inside the cones can go against a direction and along it."""
    behind = ahead = np.inf
    for j in range(x.shape[0]):
        ahead = min(ahead, step_to_border(x[j, 0], x[j, 1], x[j, 2], line[j, 0], line[j, 1], line[j, 2]))
        behind = min(behind, step_to_border(x[j, 0], x[j, 1], x[j, 2], -line[j, 0], -line[j, 1], -line[j, 2]))
    return behind, ahead


@kernel
def _null_line(columns, free, rank, line, work):
    """Fill line (w, 3) with the direction of the only forces that balance themselves, of length 1."""
    rows, diagonal, right = _rows(columns, work), np.empty(6), work[6].reshape(line.size)
    factor_rows(rows, rank, diagonal)
    most = -1.0
    for at in range(line.size):
        if not free[at // 3, at % 3]:
            continue
        right[:] = 0.0
        right[at] = 1.0
        reflect(rows, rank, diagonal, right, False)
        right[:rank] = 0.0
        reflect(rows, rank, diagonal, right, True)
        size = np.sqrt(np.sum(right * right))
        if size > most:
            most = size
            for i in range(line.size):
                line[i // 3, i % 3] = right[i] / size


@kernel
def _ask_for(at, which, sign, x, s, z):
    """Start s and z (w, 3) of the program for the greatest (sign 1) or least (-1) component; x (w, 3) is inside."""
    for j in range(x.shape[0]):
        for c in range(3):
            s[j, c], z[j, c] = x[j, c], 0.0
        z[j, 0] = 2.0
    z[at, which] -= sign
