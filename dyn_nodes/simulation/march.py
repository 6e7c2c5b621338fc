"""A run through given times, whatever the method: steps end at each time, and inputs do not jump in between."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dyn_nodes import integrators
from dyn_nodes.integrators import ADAPTIVE, run_rk4, run_rk4_watched
from dyn_nodes.simulation.events import Event, Watcher
from dyn_nodes.simulation.system import Settings

Array = NDArray[np.float64]
LEAST_STEP = 1e-12
"""Of the adaptive methods, s."""


class March:
    """Advances a system whose state has the time in it.

    Args:
        codes: addresses of its kernels.
        p: parameters.
        time_place: place of the time in a state.
        settings: of the integrator.
        scales: (n,) usual sizes of the states.
        limit: of the guard, below which a run ends.
        watcher: keeps the events of rk4; None: nothing is watched.

    Attributes:
        time: of the last sound state, s.
        counts: steps accepted and rejected by an adaptive method.
        events: what has happened.
    """

    def __init__(
        self,
        codes: NDArray[np.int64],
        p: Array,
        time_place: int,
        settings: Settings,
        scales: Array,
        limit: float,
        watcher: Watcher | None = None,
    ) -> None:
        self._codes, self._p, self._place, self._settings = codes, p, time_place, settings
        self._tolerance, self._limit, self._watcher = scales * settings.atol, limit, watcher
        self.events: list[Event] = []
        self.time = np.nan
        self.counts: dict[str, int] = {} if settings.method == 'rk4' else {'accepted': 0, 'rejected': 0}

    def through(self, x: Array, since: float, ends: Array, knots: Array, table: Array) -> tuple[Array, int]:
        """Advance x in place from a time, s, through rising ones; return the states (t, n) there, and the status."""
        x[self._place] = since
        times = np.array([since, *ends])
        trace = np.full((len(times), len(x)), np.nan)
        reached, status = (self._fixed if self._settings.method == 'rk4' else self._adaptive)(
            x, times, knots, table, trace
        )
        if status != integrators.DIVERGED:
            self.time = float(x[self._place])
        return trace[1:reached], status

    def _fixed(self, x: Array, times: Array, knots: Array, table: Array, trace: Array) -> tuple[int, int]:
        for k, (since, until) in enumerate(pairwise(times)):
            count = max(1, int(np.ceil((until - since) / self._settings.step - 1e-9)))
            x[self._place], h = since, (until - since) / count
            status, taken = self._steps(x, since, h, count, knots, table)
            if status != integrators.DONE:
                self.time = since + (taken - 1) * h
                return k + 1, status
            trace[k + 1] = x
        return len(times), integrators.DONE

    def _steps(self, x: Array, since: float, h: float, count: int, knots: Array, table: Array) -> tuple[int, int]:
        arguments = (self._codes, x, since, h, count, knots, table, self._p, self._limit, 0, np.empty((0, len(x))))
        if self._watcher is None:
            status, taken = run_rk4(*arguments)
            return status, taken
        status, taken, found = run_rk4_watched(*arguments, self._watcher.positive, self._watcher.found)
        self.events += self._watcher.events(found)
        return status, taken

    def _adaptive(self, x: Array, times: Array, knots: Array, table: Array, trace: Array) -> tuple[int, int]:
        settings, run = self._settings, ADAPTIVE[self._settings.method]
        tolerances = settings.rtol, self._tolerance, min(settings.step, float(times[-1] - times[0])), LEAST_STEP
        arguments = (self._codes, x, times, knots, table, self._p, self._limit, *tolerances, trace)
        status, reached, accepted, rejected = run(*arguments)
        self.counts['accepted'] += accepted
        self.counts['rejected'] += rejected
        return reached, status
