"""Parts of every integrator: kernels by address, tables of inputs, traces.

An integrator gets the addresses of a system's kernels, `codes` (8 + m,), in the order of RHS, GUARD, WATCH, SWITCH,
JACOBIAN and STIFF, 0 for a missing one, then the address of its step, STEP, the formula of fixed steps, FORMULA, and
from PLACES on the indices of its m stiff states. `codes_of` (`addresses`) makes them. A kernel checks the lengths of
its arguments at every call, so an integrator with a wrong vector raises LengthError. The rows of tables and traces,
which no kernel receives, are checked at the start of a run; a wrong number raises ValueError.

The first start compiles these functions, so they avoid slow constructs. Assignment of a slice includes the text of its
shape error: `copy` and `keep` are loops. A literal argument compiles a function once for the literal and once for the
variable: counters start with `np.int64(0)`. Together this saves a third of the time.
"""
# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.loops import kernels_of, parts_of
from dyn_nodes.common.numba_internals import COUNTED, UNCOUNTED
from dyn_nodes.compile.code import STOPPED, call_code
from dyn_nodes.compile.guard import ELEMENTS, GuardError, LengthError

kernel = kernels_of(__file__)
part = parts_of(__file__)
# Numba counts references to every array that a function receives or slices, by atomic additions: in a step these cost
# as much as a kernel. A `bare` function creates no arrays and counts no references; its callees are compiled in the
# same way unless they are `counted`.
counted = parts_of(__file__, **COUNTED)
bare = parts_of(__file__, **UNCOUNTED)
inlined = parts_of(__file__, forceinline=True, **UNCOUNTED)
RHS, GUARD, WATCH, SWITCH, JACOBIAN, STIFF, STEP, FORMULA, PLACES = range(9)
KINDS = ('rhs', 'guard', 'watch', 'switch', 'jacobian', 'stiff')


@counted
def raise_status(status: int, x: int, u: int, p: int, out: int) -> None:
    """Raise the error of a kernel's status; x, u, p and out are the lengths of its arguments."""
    if status < 0:
        raise GuardError('of a run', (-1 - status) // 4, (-1 - status) % 4)
    argument = (status & 255) - 1
    actual = x if argument == 0 else u if argument == 1 else p if argument == 2 else out
    raise LengthError('of a run', argument, ELEMENTS, status >> 8, actual)


@bare
def evaluate(code: int, x: Any, u: Any, p: Any, out: Any) -> int:
    """Run the kernel at an address: fill `out` from state, inputs and parameters.

    Return 0, or a status of at most STOPPED if the kernel has no value there.
    """
    status = call_code(code, x, u, p, out)
    if status != 0 and status > STOPPED:
        raise_status(status, x.shape[0], u.shape[0], p.shape[0], out.shape[0])
    return status


@kernel
def evaluate_rows(code: int, states: Any, p: Any, out: Any) -> None:
    """Run the kernel of x and p at an address for every state (t, n): fill the rows of `out`."""
    for k in range(states.shape[0]):
        status = call_code(code, states[k], p, out[k])
        if status != 0:
            raise_status(status, states.shape[1], p.shape[0], out.shape[1], np.int64(0))


@bare
def guarded_off(codes: Any, x: Any, out: Any, limit: float) -> bool:
    """Return whether the guard of a system, if any, is below its limit at a state."""
    if codes[GUARD] == 0:
        return False
    status = call_code(codes[GUARD], x, out)
    if status != 0:
        raise_status(status, x.shape[0], out.shape[0], np.int64(0), np.int64(0))
    return out[0] < limit


@kernel
def table_input(t, knots, table, cursor, u):
    """Write the inputs at time t to u; return the knot interval, for the next call."""
    last = knots.shape[0] - 1
    while cursor < last and t >= knots[cursor + 1]:
        cursor += 1
    while cursor > 0 and t < knots[cursor]:
        cursor -= 1
    if cursor >= last or t <= knots[cursor]:
        for k in range(u.shape[0]):
            u[k] = table[cursor, k]
    else:
        s = (t - knots[cursor]) / (knots[cursor + 1] - knots[cursor])
        for k in range(u.shape[0]):
            u[k] = table[cursor, k] + s * (table[cursor + 1, k] - table[cursor, k])
    return cursor


@part
def check_run(x, knots, table, rows, trace):
    """Raise ValueError unless there is a row of inputs per knot and room for `rows` states; not checked elsewhere."""
    if knots.shape[0] < 1 or table.shape[0] != knots.shape[0]:
        raise ValueError('inputs: expected as many rows of the table as knots, and one at least')
    if rows > 0 and (trace.shape[0] < rows or trace.shape[1] != x.shape[0]):
        raise ValueError('trace: expected a row a sample and a column a state')


@bare
def sound(x):
    """Return whether every state is finite and at most 1e15 in magnitude."""
    unsound = 0
    for k in range(x.shape[0]):
        unsound += not abs(x[k]) <= 1e15
    return unsound == 0


@bare
def copy(x, y):
    """Write x to y."""
    for i in range(x.shape[0]):
        y[i] = x[i]


@bare
def keep(x, trace, row):
    """Write x to a row of the trace."""
    for i in range(x.shape[0]):
        trace[row, i] = x[i]
