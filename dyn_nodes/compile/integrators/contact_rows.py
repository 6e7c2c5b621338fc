"""Rates and surfaces of a machine on rigid ground in one mode, from the blocks that all of its modes share.

The kernel writes, at a state, `blocks`: [dq/dt, M, load, J by rows, gamma, error of the rows, rates of the elements,
tilt, overturn angle less tilt]. A mode is `ground`, a tuple:

    sizes (4,): nq, nv, rows of J, length of the blocks
    how (6,): damping ratio and frequency, 1/s, of the return to the ground; slack of a gap, m; tilt at which the
        payload is released, rad; friction coefficient of sticking feet, 0 if not watched; 1 while the available
        friction exceeds the required one, -1 otherwise
    rows (r,): the independent active rows
    anchors (rows of J,): reference values of the errors, m: positions of the feet
    normals (c,): the normal row of every contact; -1 - row for a closed contact
    facets (f, r): products with the multipliers are not negative while the ground can push without pulling
    held (rows of J,): 1 for a row with an error in position, 0 for a rolling row

A surface is positive within the mode: facets first, then by contact the gap plus its slack (1 if closed), the overturn
angle less the tilt, the release tilt of the payload less the tilt, and the remaining friction.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.common import cholesky as dense
from dyn_nodes.compile.integrators.codes import kernel

STICKS_AGAIN = 0.95
"""Share of the greatest friction below which a sliding machine counts as sticking."""
NO_GROUND = (
    np.zeros(4, np.int64),
    np.zeros(6),
    np.zeros(0, np.int64),
    np.zeros(0),
    np.zeros(0, np.int64),
    np.zeros((0, 0)),
    np.zeros(0),
)
"""`ground` of a model whose modes have separate right-hand sides."""
PIVOT = 1e-13
cholesky, forward, backward = kernel(dense.factorize), kernel(dense.forward), kernel(dense.backward)


@kernel
def row_motion(ground, blocks, x, a, multipliers):
    """Write accelerations a (nv,) and multipliers (r,) of the mode; NaN if its rows are dependent."""
    sizes, how, rows, anchors, held = ground[0], ground[1], ground[2], ground[3], ground[6]
    nq, nv, m, count = sizes[0], sizes[1], sizes[2], rows.shape[0]
    at = nq
    L = np.empty((nv, nv))
    for i in range(nv):
        for j in range(i + 1):
            L[i, j] = blocks[at + j * nv + i]
    at += nv * nv
    regular = cholesky(L, nv, PIVOT)
    for i in range(nv):
        a[i] = blocks[at + i]
    at += nv
    forward(L, a, nv)
    spread, matrix = np.empty((count, nv)), np.empty((count, count))
    for i in range(count):
        row = rows[i]
        J = blocks[at + row * nv : at + row * nv + nv]
        speed = 0.0
        for j in range(nv):
            spread[i, j] = J[j]
            speed += J[j] * x[nq + j]
        error = held[row] * (blocks[at + m * nv + m + row] - anchors[row])
        forward(L, spread[i], nv)
        total = blocks[at + m * nv + row] - how[1] * (2.0 * how[0] * speed + how[1] * error)
        for j in range(nv):
            total -= spread[i, j] * a[j]
        multipliers[i] = total
        for k in range(i + 1):
            total = 0.0
            for j in range(nv):
                total += spread[i, j] * spread[k, j]
            matrix[i, k] = total
    regular = regular and cholesky(matrix, count, PIVOT)
    forward(matrix, multipliers, count)
    backward(matrix, multipliers, count)
    for i in range(count):
        for j in range(nv):
            a[j] += multipliers[i] * spread[i, j]
    backward(L, a, nv)
    if not regular:
        for i in range(nv):
            a[i] = np.nan


@kernel
def ground_rates(ground, blocks, x, k):
    """Write dx/dt of the mode to k."""
    nq, nv, m = ground[0][0], ground[0][1], ground[0][2]
    a, multipliers = np.empty(nv), np.empty(ground[2].shape[0])
    row_motion(ground, blocks, x, a, multipliers)
    for i in range(nq):
        k[i] = blocks[i]
    for i in range(nv):
        k[nq + i] = a[i]
    at = nq + nv * nv + nv + m * nv + 2 * m
    for i in range(k.shape[0] - nq - nv):
        k[nq + nv + i] = blocks[at + i]


@kernel
def friction_left(ground, multipliers):
    """Return the greatest total friction of all feet less the required friction, N; negated while sliding (how[5] < 0).

    The resultants do not depend on the distribution over the feet; rows are along x, y and z of the world.
    """
    how, rows = ground[1], ground[2]
    total = np.zeros(3)
    for i in range(rows.shape[0]):
        total[rows[i] % 3] += multipliers[i]
    needed = np.sqrt(total[0] * total[0] + total[1] * total[1])
    if how[4] <= 0.0:
        return 1.0
    if how[5] > 0.0:
        return how[4] * total[2] - needed
    return needed - STICKS_AGAIN * how[4] * total[2]


@kernel
def ground_surfaces(ground, blocks, x, values):
    """Write the values of the surfaces of the mode."""
    sizes, how, normals, facets = ground[0], ground[1], ground[4], ground[5]
    nq, nv, m = sizes[0], sizes[1], sizes[2]
    a, multipliers = np.empty(nv), np.empty(ground[2].shape[0])
    row_motion(ground, blocks, x, a, multipliers)
    count = facets.shape[0]
    for i in range(count):
        total = 0.0
        for j in range(multipliers.shape[0]):
            total += facets[i, j] * multipliers[j]
        values[i] = total
    errors = nq + nv * nv + nv + m * nv + m
    for i in range(normals.shape[0]):
        values[count + i] = 1.0 if normals[i] < 0 else blocks[errors + normals[i]] + how[2]
    count += normals.shape[0]
    last = blocks.shape[0] - 1
    values[count] = blocks[last]
    values[count + 1] = how[3] - blocks[last - 1]
    values[count + 2] = friction_left(ground, multipliers)
