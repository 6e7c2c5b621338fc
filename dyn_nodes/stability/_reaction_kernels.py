"""Kernels of the admissible ground reactions: balance, split of least norm, margin, ranges; one state after another.

Components of a wheel are (normal, rolling, lateral) here; the first is the axis of the cone. Forces are divided by the
load, lengths by the size of the footprint.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._cones import solve_cones, step_to_border
from dyn_nodes.stability._least_squares import factor_rows, reflect
from dyn_nodes.stability._states import kernel, pick
from dyn_nodes.stability.polygon import plane_normal

INDEPENDENT = 1e-9
"""Component of a column independent of the others, of 1, above which it counts in the rank of the balance."""
BORDER = 1e-10
"""Negative margin, over the load, that counts as round-off of the border."""


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
    middle, columns, pull, basis = np.empty(3), np.empty((count, 3, 6)), np.empty((count, 6)), np.empty((6, 6))
    rows, diagonal, target, system = np.empty((3 * count, 6)), np.empty(6), np.empty(6), np.empty((11, 6))
    free, work = np.empty((count, 3), dtype=np.bool_), np.zeros((17, count, 3))
    x, s, z = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    size, rank, held = 1.0, 0, np.empty(count)
    for k in range(margin.shape[0]):
        mu, drive = friction[pick(k, friction.shape[0])], traction[pick(k, traction.shape[0])]
        if k == 0 or not _still(points, normal, friction, rolling, traction):
            size, rank = _geometry(
                points[pick(k, points.shape[0])], normal[pick(k, normal.shape[0])], mu,
                rolling[pick(k, rolling.shape[0])], drive, middle, columns, pull, basis, free, work,
            )  # fmt: skip
            _factored(columns, rank, rows, diagonal)
            _to_unit_cones(columns, mu)
        scale, left = _load(
            com[pick(k, com.shape[0])], force[pick(k, force.shape[0])], moment[pick(k, moment.shape[0])],
            drive, middle, size, pull, basis, rank, held, target, work,
        )  # fmt: skip
        mismatch[k], freedom[k], possible[k], robust[k] = left * scale, 0, False, False
        if not left <= tolerance[pick(k, tolerance.shape[0])]:
            margin[k] = -np.inf if left > 0.0 else np.nan
            split[k], best[k], use[k], slack[k] = np.nan, np.nan, np.nan, margin[k]
            continue
        freedom[k] = _count(free) - rank
        _least_norm(rows, diagonal, free, rank, target, held, x)
        robust[k] = _write_split(k, x, mu, scale, split, use)
        t = _start(mu, x, s, z)
        t = solve_cones(columns, free, rank, target, True, s, z, t, work, system)
        margin[k] = _write_best(k, s, t, mu, scale, best, slack)
        possible[k] = margin[k] >= -BORDER * scale
        robust[k] = robust[k] and possible[k]


@kernel
def ranges_kernel(
    points, com, force, moment, normal, friction, rolling, traction, best, margin, possible, least, greatest
):  # fmt: skip
    """Fill the range of every force if `best`, inside by `margin`, is possible; else NaN."""
    count = points.shape[1]
    middle, columns, pull, basis = np.empty(3), np.empty((count, 3, 6)), np.empty((count, 6)), np.empty((6, 6))
    rows, diagonal, target, system = np.empty((3 * count, 6)), np.empty(6), np.empty(6), np.empty((11, 6))
    free, work = np.empty((count, 3), dtype=np.bool_), np.zeros((17, count, 3))
    x, s, z = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    held = np.empty(count)
    for k in range(possible.shape[0]):
        least[k], greatest[k] = np.nan, np.nan
        if not possible[k]:
            continue
        mu, drive = friction[pick(k, friction.shape[0])], traction[pick(k, traction.shape[0])]
        size, rank = _geometry(
            points[pick(k, points.shape[0])], normal[pick(k, normal.shape[0])], mu,
            rolling[pick(k, rolling.shape[0])], drive, middle, columns, pull, basis, free, work,
        )  # fmt: skip
        _to_unit_cones(columns, mu)
        scale, _ = _load(
            com[pick(k, com.shape[0])], force[pick(k, force.shape[0])], moment[pick(k, moment.shape[0])],
            drive, middle, size, pull, basis, rank, held, target, work,
        )  # fmt: skip
        for j in range(count):
            unit = scale * (mu[j] if mu[j] > 0.0 else 1.0)
            x[j, 0], x[j, 1], x[j, 2] = best[k, j, 2] / scale, best[k, j, 0] / unit, best[k, j, 1] / unit
        freedom = _count(free) - rank
        if margin[k] <= BORDER * scale:
            freedom = 0
        behind, ahead = 0.0, 0.0
        if freedom == 1:
            _factored(columns, rank, rows, diagonal)
            _null_line(rows, diagonal, free, rank, s, work)
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
                        solve_cones(columns, free, rank, target, False, s, z, 0.0, work, system)
                        if sign > 0.0:
                            high = s[j, c]
                        else:
                            low = s[j, c]
                least[k, j, (c + 2) % 3], greatest[k, j, (c + 2) % 3] = unit * low, unit * high


@kernel
def _still(points, normal, friction, rolling, traction):
    """Return whether all states share footprint, friction and tractions."""
    states = max(points.shape[0], normal.shape[0], friction.shape[0], rolling.shape[0], traction.shape[0])
    return states == 1


@kernel
def _count(free):
    """Return the number of components that may change."""
    total = 0
    for j in range(free.shape[0]):
        total += int(free[j, 0]) + int(free[j, 1]) + int(free[j, 2])
    return total


@kernel
def _geometry(points, normal, mu, rolling, traction, middle, columns, pull, basis, free, work):
    """Fill free components and the balance in its range; return the size of the footprint, m, and the rank.

    Rows are force and moment about the middle of the points, over the load and over load times size; pull (w, 6) is
    the column of the rolling force before its projection on the range. The rank is -1 for inputs that are not finite.
    """
    count = points.shape[0]
    for i in range(3):
        middle[i] = 0.0
        for j in range(count):
            middle[i] += points[j, i] / count
    square = 0.0
    for j in range(count):
        for i in range(3):
            square += (points[j, i] - middle[i]) ** 2 / count
    size = np.sqrt(square) if square > 0.0 else 1.0
    length = np.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    arm, turn, axes, finite = np.empty(3), np.empty(3), np.empty((3, 3)), np.isfinite(size)
    for j in range(count):
        for i in range(3):
            axes[0, i] = normal[i] / length
            arm[i] = (points[j, i] - middle[i]) / size
        _tangent(rolling[j], axes)
        _cross(axes[0], axes[1], axes[2])
        for c in range(3):
            _cross(arm, axes[c], turn)
            for i in range(3):
                columns[j, c, i], columns[j, c, 3 + i] = axes[c, i], turn[i]
        for i in range(6):
            pull[j, i] = columns[j, 1, i]
        finite = finite and np.isfinite(mu[j]) and np.isfinite(columns[j, 2, 5])
        free[j, 0], free[j, 1], free[j, 2] = True, mu[j] > 0.0 and np.isnan(traction[j]), mu[j] > 0.0
    if not finite:
        return size, -1
    rank = _range_of(columns, free, work, basis)
    _reduce(columns, free, basis, rank)
    return size, rank


@kernel
def _load(com, force, moment, traction, middle, size, pull, basis, rank, held, target, work):
    """Fill prescribed tractions and the load to be balanced, in its range; return the load, N, and the residual.

    The residual is the fraction of the load that no forces balance; NaN for inputs that are not finite.
    """
    turn, arm, whole = work[0, 0], work[0, 1], work[1:3].reshape(work[1:3].size)
    for i in range(3):
        arm[i] = com[i] - middle[i]
    _cross(arm, force, turn)
    squares = 0.0
    for i in range(3):
        turn[i] = (turn[i] + moment[i]) / size
        squares += force[i] * force[i] + turn[i] * turn[i]
    scale = np.sqrt(squares)
    if rank < 0 or not np.isfinite(scale):
        return scale, np.nan
    if scale == 0.0:
        scale = 1.0
    for i in range(3):
        whole[i], whole[3 + i] = -force[i] / scale, -turn[i] / scale
    for j in range(held.size):
        held[j] = 0.0 if np.isnan(traction[j]) else traction[j] / scale
        if held[j] != 0.0:
            for i in range(6):
                whole[i] -= held[j] * pull[j, i]
    for m in range(6):
        target[m] = 0.0
        if m < rank:
            for i in range(6):
                target[m] += basis[m, i] * whole[i]
    outside = 0.0
    for i in range(6):
        rest = whole[i]
        for m in range(rank):
            rest -= basis[m, i] * target[m]
        outside += rest * rest
    return scale, np.sqrt(outside)


@kernel
def _cross(a, b, out):
    out[0], out[1], out[2] = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _tangent(direction, axes):
    """Set axes[1] to the unit vector of the direction in the plane of normal axes[0]; any tangent if it is normal."""
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
    """Fill the orthonormal rows of `basis` with the range of the free columns; return the rank."""
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
def _reduce(columns, free, basis, rank):
    """Project the columns on the range of the balance."""
    part = np.empty(6)
    for j in range(columns.shape[0]):
        for c in range(3):
            for i in range(6):
                part[i] = columns[j, c, i]
            for m in range(6):
                columns[j, c, m] = 0.0
                if free[j, c] and m < rank:
                    for i in range(6):
                        columns[j, c, m] += basis[m, i] * part[i]


@kernel
def _factored(columns, rank, rows, diagonal):
    """Fill rows (3 w, 6) with the QR factorization of the columns of all components."""
    for j in range(columns.shape[0]):
        for c in range(3):
            for i in range(6):
                rows[3 * j + c, i] = columns[j, c, i]
    factor_rows(rows, max(rank, 0), diagonal)


@kernel
def _to_unit_cones(columns, mu):
    """Scale the columns to units of force in which all cones are equal."""
    for j in range(columns.shape[0]):
        if mu[j] > 0.0:
            for c in (1, 2):
                for i in range(6):
                    columns[j, c, i] *= mu[j]


@kernel
def _least_norm(rows, diagonal, free, rank, target, held, x):
    """Fill x (w, 3) with the forces of least norm that satisfy the balance, including prescribed rolling forces."""
    right = x.reshape(x.size)
    for i in range(right.size):
        right[i] = 0.0
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
def _start(mu, x, s, z):
    """Fill forces s (w, 3) inside their cones, normal forces less t, and prices z; return t. x (w, 3) is balanced."""
    count = x.shape[0]
    t = np.inf
    for j in range(count):
        unit = mu[j] if mu[j] > 0.0 else 1.0
        for c in (1, 2):
            s[j, c] = x[j, c] / unit
        t = min(t, x[j, 0] - np.sqrt(s[j, 1] ** 2 + s[j, 2] ** 2))
    t -= 1.0 / count
    for j in range(count):
        s[j, 0] = x[j, 0] - t
        z[j, 0], z[j, 1], z[j, 2] = 1.0 / count, 0.0, 0.0
    return t


@kernel
def _write_best(k, s, t, mu, scale, best, slack):
    """Write the forces of the greatest margin and their slack; return the least slack, N."""
    smallest = np.inf
    for j in range(s.shape[0]):
        unit = mu[j] if mu[j] > 0.0 else 1.0
        best[k, j, 0], best[k, j, 1] = scale * unit * s[j, 1], scale * unit * s[j, 2]
        best[k, j, 2] = scale * (s[j, 0] + t)
        slack[k, j] = scale * (s[j, 0] + t - np.sqrt(s[j, 1] ** 2 + s[j, 2] ** 2))
        if not slack[k, j] >= smallest:  # also for NaN
            smallest = slack[k, j]
    return smallest


@kernel
def _ends_of_line(x, line):
    """Return the distances of forces x (w, 3) to the borders of the cones, against a direction and along it."""
    behind = ahead = np.inf
    for j in range(x.shape[0]):
        ahead = min(ahead, step_to_border(x[j, 0], x[j, 1], x[j, 2], line[j, 0], line[j, 1], line[j, 2]))
        behind = min(behind, step_to_border(x[j, 0], x[j, 1], x[j, 2], -line[j, 0], -line[j, 1], -line[j, 2]))
    return behind, ahead


@kernel
def _null_line(rows, diagonal, free, rank, line, work):
    """Fill line (w, 3) with the unit vector of the self-balanced forces."""
    right = work[6].reshape(line.size)
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
    """Fill s and z (w, 3) for the program of the greatest (sign 1) or least (-1) component; x (w, 3) is inside."""
    for j in range(x.shape[0]):
        for c in range(3):
            s[j, c], z[j, c] = x[j, c], 0.0
        z[j, 0] = 2.0
    z[at, which] -= sign
