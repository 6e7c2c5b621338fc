"""Status, reason and checks at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import integrators
from dyn_nodes.simulation.guards.checks import judge

GREATEST = 1e15
"""Magnitude of a state, in its unit, beyond which a run has diverged (`integrators.codes.sound`)."""
OPENED = 'contact opened'
"""Status of a run in which a constraint on the ground would have to pull."""


def conclude(run: Any, status: int, solver: Any = None) -> None:
    """Set status, reason and checks of a run from the status of its integrator."""
    system, x, p = run.system, run.last, run.parameters
    u = np.zeros(len(system.input_names))
    run.status = integrators.STATUS[status] if status >= 0 else ''
    if status == integrators.GUARDED:
        run.status, run.detail = system.dynamics.guarded(x)
    elif status != integrators.DONE:
        reasons = []
        if status < 0:
            run.status, text = solver.reason(status)
            reasons.append(text)
        elif status == integrators.DIVERGED:
            x = run.states[-1]
            reasons.append(f'{beyond(system.state_names, run.last)} left the range of numbers')
        else:
            reasons.append('no step is short enough for the tolerance')
        if run.status != OPENED and system.constraints is not None:
            reasons.append(system.constraints.trouble(x, u, p))
        run.detail = '; '.join([f'at t = {run.end_time:.6g} s', *(text for text in reasons if text)])
    judge(run)


def beyond(names: Sequence[str], x: Array) -> str:
    """Return the name of the first state that is not finite or exceeds GREATEST."""
    return next((name for name, value in zip(names, x) if not abs(value) <= GREATEST), 'a state')
