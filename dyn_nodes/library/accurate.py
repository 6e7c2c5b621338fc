"""Runs with a stated accuracy: the longest step whose error, measured on the same run, stays below it.

A run is repeated with a shorter step until the difference of two successive runs bounds the error of the shorter one.
The bound assumes order 2 with a safety factor, although the integrators have order 3 and 4: lift-off, stops and sticking
friction lower their order. The runs that are compared differ in their step only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_nodes.simulation import Settings
from dyn_nodes.simulation.run import SystemRun

PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of steps in a period that are tried."""
SAFETY = 4.0
"""Safety factor of the bound; `test/library/test_accuracy.py` compares it with solutions of fine steps."""
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
    method = 'rk3' if accuracy >= FINE else 'rk4'

    def with_parts(parts: int) -> SystemRun:
        return run(Settings(method=method, step=period / parts, watch=True))

    coarse, runs, error = with_parts(PARTS[0]), 1, np.inf
    parts = _parts_of(coarse, period)
    while (finer := next((count for count in PARTS if count > parts), 0)) and np.isfinite(coarse.step):
        wanted = parts * (0.5 * error / accuracy) ** (1.0 / 3.0) if np.isfinite(error) else finer
        finer = max(finer, next((count for count in PARTS if count >= wanted), PARTS[-1]))
        fine = with_parts(finer)
        runs += 1
        ratio = fine.step / coarse.step
        if not ratio < 1.0:
            break
        error = SAFETY * difference(coarse, fine) * ratio**2 / (1.0 - ratio**2)
        coarse, parts = fine, _parts_of(fine, period)
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


def _parts_of(run: SystemRun, period: float) -> int:
    """Return the number of steps in a period of a run, which may have been refined."""
    return round(period / run.step) if np.isfinite(run.step) else PARTS[-1]
