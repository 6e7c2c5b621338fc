"""Runs with a stated accuracy: steps are controlled (`rk32`), and the error is measured by a second run.

A run is repeated with a smaller tolerance until the difference of two successive runs, times a safety factor, is below
the accuracy. The tolerance of a step does not limit the error of a run: some motions amplify errors, such as a stick
that falls against a relief valve, and kinks of the rates occur a little earlier or later with other steps.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from dyn_nodes.simulation import Settings
from dyn_nodes.simulation.run import SystemRun

COARSE, RATIO = 0.75, 0.25
"""Tolerance of the first run, relative to the accuracy, and ratio of the tolerances of successive runs."""
LEAST_TOLERANCE, MOST_RUNS = 1e-11, 8
"""Least tolerance of a step, and greatest number of runs: the last tolerance is 6e-5 of the first."""
SAFETY = 5.0
"""Ratio of the estimated error to the difference of two runs. With 3, the error of 3 of 150 drawn manoeuvres exceeded
the accuracy; with 5, none did."""


class Accurate(NamedTuple):
    """A run and its error.

    Attributes:
        run: with the tolerance that was chosen.
        error: bound of the greatest error of positions (m, rad, components of the quaternion): the accuracy, or the
            estimate if the run does not keep it.
        runs: number of runs that were made.
    """

    run: SystemRun
    error: float
    runs: int


def controlled(period: float, tolerance: float, watch: bool = True) -> Settings:
    """Return settings of controlled steps, at most a period, s, with an absolute tolerance alone."""
    return Settings('rk32', period, rtol=0.0, atol=tolerance, watch=watch)


def run_accurately(run: Callable[[Settings], SystemRun], period: float, accuracy: float) -> Accurate:
    """Return the run with the greatest tolerance whose error stays below the accuracy.

    A run whose error stays above it with the least tolerance has the status `inaccurate`.

    Args:
        run: makes a run with settings of the integrator.
        period: between two samples, s.
        accuracy: greatest error of positions: m of the base, rad or m of joints, components of the quaternion.
    """

    def run_within(tolerance: float, watch: bool = True) -> SystemRun:
        return run(controlled(period, tolerance, watch))

    tolerance = max(COARSE * accuracy, LEAST_TOLERANCE / RATIO)
    with ThreadPoolExecutor(1) as beside:  # machine code releases the interpreter
        first = beside.submit(run_within, tolerance, watch=False)
        tolerance, runs = RATIO * tolerance, 2
        reached = run_within(tolerance)
        error = SAFETY * difference(first.result(), reached)
    while error > accuracy and tolerance > LEAST_TOLERANCE and runs < MOST_RUNS:
        tolerance, runs = RATIO * tolerance, runs + 1
        finer = run_within(tolerance)
        error, reached = SAFETY * difference(reached, finer), finer
    if error <= accuracy:
        return Accurate(reached, accuracy, runs)
    if reached.status == 'done':
        reached.status = 'inaccurate'
        reached.detail = (
            f'accuracy: expected at most {accuracy:g}, estimated {error:.2g} with steps within {tolerance:.2g}'
        )
    return Accurate(reached, error, runs)


def difference(one: SystemRun, other: SystemRun) -> float:
    """Return the greatest difference of positions of two runs at common samples; inf if they end apart."""
    count = min(len(one.times), len(other.times))
    if abs(len(one.times) - len(other.times)) > 1 or _ending(one) != _ending(other):
        return float('inf')
    return float(np.abs(one.q[:count] - other.q[:count]).max())


def _ending(run: SystemRun) -> str:
    return 'done' if run.status == 'inaccurate' else run.status  # checks of a coarser run may fail
