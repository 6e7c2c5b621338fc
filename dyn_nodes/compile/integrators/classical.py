"""A step of a Runge-Kutta method with four stages as a C function, and its work array.

The state of the last stage is x + h ((1 - s) k2 + s k3), with the rates k2 and k3 of the two middle stages. With s = 1
it is the classical method, of order 4. For any s its order is at least 3, and x' = -a x is multiplied by
1 - z + z^2/2 - z^3/6 + s z^4/24, z = h a: with s = 1/2 a step is stable up to z = 5.15 instead of 2.79. If damping
limits the step and kinks of the rates determine the error, a run needs fewer steps in this ratio.

Integrators call a step by its address, like kernels: its text is compiled once, and not again into its callers. It uses
preallocated arrays without Numba's reference counts: counting them in every step took a quarter of the time of a run.
"""
# mypy: ignore-errors

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types

from dyn_nodes.common.loops import code_of, guarded
from dyn_nodes.common.numba_internals import UNCOUNTED
from dyn_nodes.compile.code import POINTER, call_code, matrix_at, vector_at
from dyn_nodes.compile.integrators.codes import FORMULA, RHS, inlined, table_input

SINCE, UNTIL, LENGTH, CURSOR, HEAD = range(5)
"""Offsets in the room of a step: start, end and length, s, and the last interval of the knots. They are followed by
three vectors of the size of a state, for rates, the state of a stage and a sum of rates."""
CLASSICAL, DAMPED = 0, 1
"""Formulas of a step: s = 1, s = 1/2."""
INDEX_FAULT = -(1 << 30)
"""Status of a step that used an index beyond its array (`DYN_NODES_GUARD`)."""
INTEGERS = types.CPointer(types.int64)
STEP_SIGNATURE = types.intp(*(kind for pointer in (INTEGERS, *[POINTER] * 7) for kind in (pointer, types.intp)))
"""Signature of steps as C functions: pointer and length of codes, x, knots, table (its rows), p, u, room and out."""


@cache
def classical_code() -> Any:
    """Return the C function of a step."""
    return step_code(classical_step, _checked_step)


def step_code(step: Any, checked: Any) -> Any:
    """Return a step as a C function; with index checks, `checked`, which returns their exceptions as a status."""
    return code_of(__file__, checked if guarded() else step, STEP_SIGNATURE, **UNCOUNTED)


@inlined
def is_damped(codes):
    """Return whether the steps of a system have s = 1/2."""
    return codes[FORMULA] == DAMPED


@inlined
def weigh_stage(stage, h, x, k, y, twice, out, damped):
    """Add the rates of a stage, k (n,), to the sums, and write the state of the next stage to y.

    The last stage writes the end of the step to out. `damped`: s = 1/2.
    """
    n = x.shape[0]
    if stage == 0:
        for i in range(n):
            out[i] = k[i]
            y[i] = x[i] + 0.5 * h * k[i]
    elif stage == 1:
        for i in range(n):
            twice[i] = k[i]
            y[i] = x[i] + 0.5 * h * k[i]
    elif stage == 2:
        for i in range(n):
            twice[i] += k[i]
            y[i] = x[i] + (0.5 * h * twice[i] if damped else h * k[i])
    else:
        for i in range(n):
            out[i] = x[i] + h / 6.0 * (out[i] + 2.0 * twice[i] + k[i])


def classical_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    """Write the state after one step from x to out and the inputs at its end to u. Return a status."""
    codes, x, out = vector_at(codes, c), vector_at(x, n), vector_at(out, no)
    knots, table = vector_at(knots, s), matrix_at(table, r, nu)
    p, u, room = vector_at(p, m), vector_at(u, nu), vector_at(room, b)
    k, y, twice = room[HEAD : HEAD + n], room[HEAD + n : HEAD + 2 * n], room[HEAD + 2 * n : HEAD + 3 * n]
    since, until, h = room[SINCE], room[UNTIL], room[LENGTH]
    cursor, damped = np.int64(room[CURSOR]), is_damped(codes)
    for i in range(n):
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        time = until if stage == 3 else since if stage == 0 else since + 0.5 * h
        cursor = table_input(time, knots, table, cursor, u)
        room[CURSOR] = cursor
        status = call_code(codes[RHS], y, u, p, k)
        if status != 0:
            return status
        weigh_stage(stage, h, x, k, y, twice, out, damped)
    return np.int64(0)


_classical = inlined(classical_step)


# an exception cannot leave a C function: an exception of an index check is returned as a status
def _checked_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    try:
        return _classical(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no)
    except Exception:
        return np.int64(INDEX_FAULT)
