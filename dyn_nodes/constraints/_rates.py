"""dx/dt of a system with constraints as a kernel like any other: `status = code(x, nx, u, nu, p, np, out, n)`.

A state is [q, v, z, time, work, heat]: positions, velocities, states of elements, s, the work of actuators and moving
constraints and the heat of dampers and friction, J. The kernel of the system, `blocks(x, u, p, out)`, writes [dq/dt, M,
h, J by rows, gamma, sigma, residual, heat rate, supplied power, dz/dt]; all other code is common to all systems. Two
arrays describe a system. `layout`, int64: [address of `blocks`, nq, nv, m, element states, length of `out`, method,
rank, some sigma is not zero, address of `changes` or 0, address of `solve`, whether dx/dt needs the multipliers, then
for each input the index of the velocity that it drives or -1, for each row whether it is holonomic and whether its
multiplier must not be negative]. `settings`: [tolerance of the rank, zeta, omega].

`solve`, most of the code, is a C function that the others call by its address, so that it is compiled only once.

If dx/dt does not exist because the rank has changed, rows contradict each other, a motion has no mass or a contact
would pull, the status is `STOPPED` less the reason.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import carray, types

from dyn_nodes.common.loops import code_of, guarded, kernels_of, parts_of
from dyn_nodes.compile.code import POINTER, STOPPED, call_code
from dyn_nodes.constraints._dense_loops import CONTRADICTORY as DISAGREE
from dyn_nodes.constraints._dense_loops import (
    FLAGS,
    SINGULAR,
    accelerate,
    backward,
    coordinates,
    factorize_rows,
    motions,
    reflect,
    reflect_back,
    respond,
)

kernel = kernels_of(__file__, fastmath=FLAGS)
part = parts_of(__file__, fastmath=FLAGS)
HEADER = 12
BLOCKS, NQ, NV, ROWS, ELEMENT_STATES, SIZE, METHOD, RANK, MOVING, CHANGES, SOLVE, WANTED = range(HEADER)
RANK_CHANGED, SINGULAR_MOTION, CONTRADICTORY, LIFTED, FAULT = range(5)
REASONS = (
    'rank changed',
    'motion without mass',
    'contradictory constraints',
    'contact opened',
    'fault inside a guard zone',
)


def reason_of(status: int) -> tuple[int, int]:
    """Return the index in REASONS of a status, and the present rank or the row that opened."""
    value = STOPPED - status
    return value % 8, value // 8


@part
def stopped(reason: int, detail: int) -> int:
    """Return the status of a reason with a detail (rank or row)."""
    return STOPPED - reason - 8 * detail


@part
def outcome(result: int, rank: int) -> int:
    """Return the status of a result of `accelerate`: 0 for the expected rank."""
    if result == rank:
        return 0
    if result == SINGULAR:
        return stopped(SINGULAR_MOTION, rank)
    if result <= DISAGREE:
        result = DISAGREE - result
        if result == rank:
            return stopped(CONTRADICTORY, result)
    return stopped(RANK_CHANGED, result)


@part
def prepared(layout: Any, settings: Any, x: Any, u: Any, p: Any, out: Any) -> int:
    """Evaluate the blocks and complete them in place: h becomes the load, gamma gets Baumgarte's terms."""
    nq, nv, m = layout[NQ], layout[NV], layout[ROWS]
    status: int = call_code(layout[BLOCKS], x, u, p, out)
    if status != 0:
        return status
    at = nq + nv * nv
    for i in range(nv):
        out[at + i] = -out[at + i]
    for k in range(u.shape[0]):
        index = layout[HEADER + k]
        if index >= 0:
            out[at + index] += u[k]
    zeta, omega = settings[1], settings[2]
    if omega > 0.0:
        rows = at + nv
        gamma = rows + m * nv
        marks = HEADER + u.shape[0]
        for i in range(m):
            slip = -out[gamma + m + i]
            for k in range(nv):
                slip += out[rows + i * nv + k] * x[nq + k]
            out[gamma + i] -= 2.0 * zeta * omega * slip
            if layout[marks + i]:
                out[gamma + i] -= omega * omega * out[gamma + 2 * m + i]
    return 0


@part
def equations(layout: Any, out: Any) -> Any:
    """Return M (nv, nv), load (nv,), J (m, nv) and gamma (m,) of the blocks after `prepared`."""
    nq, nv, m = layout[NQ], layout[NV], layout[ROWS]
    load = nq + nv * nv
    rows = load + nv
    gamma = rows + m * nv
    M, J = out[nq:load].reshape((nv, nv)), out[rows:gamma].reshape((m, nv))
    return M, out[load:rows], J, out[gamma : gamma + m]


@part
def solve(layout: Any, settings: Any, x: Any, u: Any, p: Any, out: Any, a: Any, multipliers: Any) -> int:
    """Write accelerations and, if the layout requires them, multipliers at a state; return the status."""
    status = prepared(layout, settings, x, u, p, out)
    if status != 0:
        return status
    M, load, J, gamma = equations(layout, out)
    want = layout[WANTED] != 0
    return outcome(accelerate(M, load, J, gamma, layout[METHOD], settings[0], want, a, multipliers), layout[RANK])


@kernel
def solutions(layout: Any, settings: Any, x: Any, u: Any, p: Any, a: Any, multipliers: Any) -> None:
    """Write accelerations (t, nv) and multipliers (t, m) at states (t, n), including contacts that would pull.

    Missing results are NaN.
    """
    out = np.empty(layout[SIZE])
    for k in range(x.shape[0]):
        if call_code(layout[SOLVE], layout, settings, x[k], u[k], p, out, a[k], multipliers[k]) != 0:
            for i in range(a.shape[1]):
                a[k, i] = np.nan
            for i in range(multipliers.shape[1]):
                multipliers[k, i] = np.nan


@kernel
def rates(layout: Any, settings: Any, x: Any, u: Any, p: Any, rate: Any) -> int:
    """Write dx/dt at a state; return the status."""
    nq, nv, m, nz = layout[NQ], layout[NV], layout[ROWS], layout[ELEMENT_STATES]
    n = nq + nv + nz + 3
    if x.shape[0] != n:
        return (n << 8) + 1
    if u.shape[0] != layout.shape[0] - HEADER - 2 * m:
        return ((layout.shape[0] - HEADER - 2 * m) << 8) + 2
    if rate.shape[0] != n:
        return (n << 8) + 4
    out, a, multipliers = np.empty(layout[SIZE]), np.empty(nv), np.zeros(m)
    unilateral = HEADER + u.shape[0] + m
    status: int = call_code(layout[SOLVE], layout, settings, x, u, p, out, a, multipliers)
    if status != 0:
        return status
    for i in range(m):
        if layout[unilateral + i] != 0 and multipliers[i] < 0.0:
            return stopped(LIFTED, i)
    power = 0.0
    for k in range(u.shape[0]):
        index = layout[HEADER + k]
        if index >= 0:
            power += u[k] * x[nq + index]
    at = nq + nv * nv + nv + m * nv + m
    if layout[MOVING] != 0:
        for i in range(m):
            power += multipliers[i] * out[at + i]
    at += 2 * m
    for i in range(nq):  # assigned slices would compile an error message about shapes
        rate[i] = out[i]
    for i in range(nv):
        rate[nq + i] = a[i]
    for i in range(nz):
        rate[nq + nv + i] = out[at + 2 + i]
    rate[n - 3] = 1.0
    rate[n - 2] = power + out[at + 1]
    rate[n - 1] = out[at]
    return 0


@part
def basic_multipliers(L: Any, V: Any, order: Any, rank: int, rest: Any, multipliers: Any) -> None:
    """Write multipliers of the independent rows, zero for the others; `rest` is load - M a."""
    for i in range(rest.shape[0]):
        rest[i] = -rest[i]
    reflect_back(V, rank, rest)
    backward(L, rest, rank)
    for i in range(multipliers.shape[0]):
        multipliers[i] = 0.0
    for i in range(rank):
        multipliers[order[i]] = rest[i]


@kernel
def jacobian(layout: Any, settings: Any, x: Any, u: Any, p: Any, by_inputs: bool, flat: Any) -> int:
    """Write the exact derivatives of dx/dt by x, or by the inputs, column by column; return the status.

    By implicit differentiation: [M, -J^T; J, 0] d(a, lambda)/ds = d/ds (f - M a + J^T lambda, gamma - J a). The
    system's kernel `changes` computes the right-hand side with a and lambda held. If rows are dependent, a and its
    derivatives satisfy the independent rows of the factorization, and only these have multipliers.
    """
    nq, nv, m, nz = layout[NQ], layout[NV], layout[ROWS], layout[ELEMENT_STATES]
    n, inputs = nq + nv + nz + 3, u.shape[0]
    count = inputs if by_inputs else n
    if flat.shape[0] != n * count:
        return ((n * count) << 8) + 4
    out = np.empty(layout[SIZE])
    status = prepared(layout, settings, x, u, p, out)
    if status != 0:
        return status
    M, load, J, gamma = equations(layout, out)
    sigma = nq + nv * nv + nv + m * nv + m
    L, V, order = J.copy(), np.empty((min(m, nv), nv)), np.empty(m, np.int64)
    rank = factorize_rows(L, V, order, settings[0])
    if rank != layout[RANK]:
        return stopped(RANK_CHANGED, rank)
    free = nv - rank
    N, MN, inertia = np.empty((free, nv)), np.empty((free, nv)), np.empty((free, free))
    a, multipliers, rest, c = np.empty(nv), np.zeros(m), np.empty(nv), np.empty(free)
    if not motions(M, V, rank, N, MN, inertia):
        return stopped(SINGULAR_MOTION, rank)
    coordinates(L, order, rank, gamma, a)
    reflect(V, rank, a)
    respond(M, N, MN, inertia, load, a, rest, c)
    basic_multipliers(L, V, order, rank, rest, multipliers)
    held = np.empty(nv + m + 2)
    for i in range(nv):
        held[i] = a[i]
    for i in range(m):
        held[nv + i] = multipliers[i]
    held[nv + m], held[nv + m + 1] = 2.0 * settings[1] * settings[2], settings[2] * settings[2]
    height = nv + m + nq + nz + 2 + m
    changes = np.empty(height * (n + inputs))
    status = call_code(layout[CHANGES], x, u, p, held, changes)
    if status != 0:
        return status
    multiplier_rates = np.zeros(m)
    for j in range(count):
        column = changes[(j + n if by_inputs else j) * height : (j + n + 1 if by_inputs else j + 1) * height]
        coordinates(L, order, rank, column[nv : nv + m], a)
        reflect(V, rank, a)
        respond(M, N, MN, inertia, column[:nv], a, rest, c)
        basic_multipliers(L, V, order, rank, rest, multiplier_rates)
        k = nv + m
        first = j * n
        for i in range(nq):
            flat[first + i] = column[k + i]
        for i in range(nv):
            flat[first + nq + i] = a[i]
        for i in range(nz):
            flat[first + nq + nv + i] = column[k + nq + i]
        k += nq + nz
        power = column[k + 1]
        for i in range(m):
            power += multiplier_rates[i] * out[sigma + i] + multipliers[i] * column[k + 2 + i]
        for i in range(inputs):
            index = layout[HEADER + i]
            if index >= 0:
                if by_inputs and i == j:
                    power += x[nq + index]
                elif not by_inputs and j == nq + index:
                    power += u[i]
        flat[first + n - 3] = 0.0
        flat[first + n - 2] = power
        flat[first + n - 1] = column[k]
    return 0


def _solve_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n, a, na, multipliers, m):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    arguments, result = (carray(x, nx), carray(u, nu), carray(p, np_)), (carray(a, na), carray(multipliers, m))
    return solve(
        constants[0], constants[1], arguments[0], arguments[1], arguments[2], carray(out, n), result[0], result[1]
    )


def _rate_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    return rates(constants[0], constants[1], carray(x, nx), carray(u, nu), carray(p, np_), carray(out, n))


def _jacobian_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    return jacobian(constants[0], constants[1], carray(x, nx), carray(u, nu), carray(p, np_), False, carray(out, n))


# exceptions cannot leave a C function: the exception of an index check becomes a status
def _checked_solve_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n, a, na, multipliers, m):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    arguments, result = (carray(x, nx), carray(u, nu), carray(p, np_)), (carray(a, na), carray(multipliers, m))
    try:
        return solve(
            constants[0], constants[1], arguments[0], arguments[1], arguments[2], carray(out, n), result[0], result[1]
        )
    except Exception:
        return stopped(FAULT, 0)


def _checked_rate_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    try:
        return rates(constants[0], constants[1], carray(x, nx), carray(u, nu), carray(p, np_), carray(out, n))
    except Exception:
        return stopped(FAULT, 0)


def _checked_jacobian_code(layout, layouts, settings, sizes, x, nx, u, nu, p, np_, out, n):  # type: ignore[no-untyped-def]
    constants = carray(layout, layouts), carray(settings, sizes)
    try:
        return jacobian(constants[0], constants[1], carray(x, nx), carray(u, nu), carray(p, np_), False, carray(out, n))
    except Exception:
        return stopped(FAULT, 0)


def _code(plain: Any, checked: Any, count: int = 4) -> Any:
    """Return the C function of layout, settings, x, u, p and `out` or more vectors, each with its length."""
    signature = types.intp(types.CPointer(types.int64), types.intp, POINTER, types.intp, *[POINTER, types.intp] * count)
    return code_of(__file__, checked if guarded() else plain, signature, fastmath=FLAGS)


@cache
def solve_code() -> Any:
    """Return the C function of `solve`."""
    return _code(_solve_code, _checked_solve_code, 6)


@cache
def rate_code() -> Any:
    """Return the C function of `rates`."""
    return _code(_rate_code, _checked_rate_code)


@cache
def jacobian_code() -> Any:
    """Return the C function of `jacobian` by x."""
    return _code(_jacobian_code, _checked_jacobian_code)
