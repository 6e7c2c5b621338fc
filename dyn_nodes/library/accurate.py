"""Runs with a stated accuracy: the longest step whose error, measured on the same run, stays below it.

A run is repeated with half the step until the difference of two successive runs, times a safety factor, is below the
accuracy. Lift-off, stops and sticking friction occur a little earlier or later with another step, so the errors scatter
and do not fall with the order of the integrator. The runs that are compared differ in their step only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_nodes.simulation import Settings
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.settings import Method

MOST_PARTS = 256
"""Greatest number of steps in a period."""
SAFETY = 5.0
"""Error of a run over its difference from the run with twice the step: at most 4.1 in 120 comparisons of drawn runs."""
FINE = 1e-5
"""Accuracy below which order 4 needs less work than order 3."""


class Accurate(NamedTuple):
    """A run and its error.

    Attributes:
        run: with the step that was chosen.
        error: bound of the greatest error of positions (m, rad, components of the quaternion).
        runs: number of runs that were made.
    """

    run: SystemRun
    error: float
    runs: int


def run_accurately(run: Callable[[Settings], SystemRun], period: float, accuracy: float) -> Accurate:
    """Return the run with the longest step whose error stays below the accuracy.

    A run whose error stays above it with the shortest step has the status `inaccurate`.

    Args:
        run: makes a run with settings of the integrator.
        period: between two samples, s.
        accuracy: greatest error of positions: m of the base, rad or m of joints, components of the quaternion.
    """
    method: Method = 'rk3' if accuracy >= FINE else 'rk4'

    error, runs = np.inf, 1
    coarse = run(Settings(method=method, step=period, watch=True))
    while np.isfinite(coarse.step) and coarse.step > period / MOST_PARTS:
        fine = run(Settings(method=method, step=0.5 * coarse.step, watch=True))
        error, coarse, runs = SAFETY * difference(coarse, fine), fine, runs + 1
        if error <= accuracy:
            return Accurate(fine, error, runs)
    if coarse.status == 'done':
        coarse.status = 'inaccurate'
        coarse.detail = (
            f'accuracy: expected at most {accuracy:g}, estimated {error:.2g} with steps of {coarse.step:g} s'
        )
    return Accurate(coarse, error, runs)


def difference(one: SystemRun, other: SystemRun) -> float:
    """Return the greatest difference of positions of two runs at common samples; inf if they end apart."""
    count = min(len(one.times), len(other.times))
    if abs(len(one.times) - len(other.times)) > 1 or one.status != other.status:
        return float('inf')
    return float(np.abs(one.q[:count] - other.q[:count]).max())
