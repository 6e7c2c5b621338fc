"""Runs of constrained systems in minimal form.

    run = run_minimal(system, q, v, 2.0, Inputs.constant({'left_drive': -0.5}), step=1e-3)

A run ends when the choice of independent motions becomes unsound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators import STATUS, codes_of, run_rk4
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.studies.formulations.minimal_system import MinimalSystem

UNSOUND = 'the choice of independent motions no longer holds: the rank changes, or a pivot vanishes'


class MinimalRun(NamedTuple):
    """A run: times (t,), positions (t, nq), velocities (t, nv); status `done`, or the reason of its end at `end`, s."""

    times: Array
    q: Array
    v: Array
    status: str
    end: float


def run_minimal(
    system: MinimalSystem,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    inputs: Inputs | None = None,
    step: float = 1e-3,
    stride: int = 1,
    p: ArrayLike | None = None,
) -> MinimalRun:
    """Simulate by classical Runge-Kutta steps from q (nq,), v (nv,) and keep every `stride`-th state.

    Raises:
        ValueError: vectors of another length, a duration that is no whole number of strides.
    """
    steps = round(duration / step)
    if steps < 1 or steps % stride or abs(steps * step - duration) > 1e-9 * duration:
        raise ValueError(f'expected a duration of whole multiples of {stride} x {step:g} s, found {duration:g} s')
    x = system.state(q, v)
    trace = np.empty((steps // stride + 1, len(x)))
    trace[0] = x
    knots, table = (inputs or Inputs.constant()).aligned(system.actuated)
    status, taken = run_rk4(
        codes_of(system.module), x, 0.0, step, steps, knots, table, system.blocks.numbers(p), 0.0, stride, trace
    )
    kept = taken // stride + 1
    nq = system.blocks.tree.nq
    reason = UNSOUND if STATUS[status] == 'guarded' else STATUS[status]
    return MinimalRun(trace[:kept, -1], trace[:kept, :nq], trace[:kept, nq:-1], reason, taken * step)
