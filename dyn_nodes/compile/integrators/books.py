"""Energy account of a machine that advances period by period, as one compiled call per state."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.integrators.codes import copy, kernel, raise_status

FLOWS = 4
"""Kinetic energy, potential energy, work and heat, J."""
NOW, SHIFT, LOW, HIGH = 0, FLOWS, 2 * FLOWS, 3 * FLOWS
START, ERROR, WEIGHT, LEVEL, GAP, GREATEST_GAP, SIZE = range(4 * FLOWS, 4 * FLOWS + 7)
"""Offsets in an account: current flows, their corrections, their least and greatest values, balance at the start,
greatest energy error, J, weight, N, greatest energy, J, current gap and greatest gap, m or rad."""
OPEN, DEPART, ARRIVE = range(3)
"""Calls: open the account; enter the state at the start of a period; enter the state at its end."""


@kernel
def keep_account(code, call, x, p, first, kept_x, kept_p, row, account):
    """Enter a state into an account.

    Args:
        code: address of the kernel `inspect`.
        call: OPEN, DEPART or ARRIVE.
        x: (n,) state.
        p: (k,) parameters.
        first: index of the work in the state; the heat follows.
        kept_x: (n,) state of the last call.
        kept_p: (k,) parameters of the last call.
        row: (4,) room.
        account: (SIZE,) changed in place.
    """
    is_new = False
    for i in range(p.shape[0]):
        is_new = is_new or p[i] != kept_p[i]
    if call == DEPART:
        moved = is_new
        for i in range(x.shape[0]):
            moved = moved or x[i] != kept_x[i]
        if not moved:
            return
    status = call_code(code, x, p, row)
    if status != 0:
        raise_status(status, x.shape[0], p.shape[0], row.shape[0], np.int64(0))
    account[WEIGHT], account[GAP] = max(account[WEIGHT], row[2]), row[3]
    account[LEVEL] = max(account[LEVEL], abs(row[0]), abs(row[1]))
    account[GREATEST_GAP] = max(account[GREATEST_GAP], row[3])
    row[2], row[3] = x[first], x[first + 1]
    for i in range(FLOWS):
        if call == DEPART or (call == ARRIVE and is_new):
            account[SHIFT + i] = account[NOW + i] - row[i]
        account[NOW + i] = row[i] + account[SHIFT + i]
        if call == OPEN:
            account[LOW + i] = account[HIGH + i] = account[NOW + i]
        account[LOW + i] = min(account[LOW + i], account[NOW + i])
        account[HIGH + i] = max(account[HIGH + i], account[NOW + i])
    total = account[0] + account[1] - account[2] + account[3]
    if call == OPEN:
        account[START] = total
    account[ERROR] = max(account[ERROR], abs(total - account[START]))
    copy(x, kept_x)
    copy(p, kept_p)
