"""What a sweep will cost, from a few of its runs."""

from __future__ import annotations

import math
import pickle
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.sweeps.store import Store
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import Made, run_part
from dyn_nodes.analysis.sweeps.workers import order_of
from dyn_nodes.common.processes import LastingPool

SAMPLES, LEVELS = 64, 8
"""Runs that a plan makes, of so many machines at most."""
WRITTEN = 5
"""Parts that a plan writes, into a directory that it deletes."""


@dataclass(frozen=True)
class Share:
    """A sweep on some processes that have a free core each.

    Attributes:
        workers: their number.
        seconds: wall time, machine code there.
        overhead: part of the time of the runs themselves that is added to it: start, driver, processes that wait at the
            end because others still have a part.
    """

    workers: int
    seconds: float
    overhead: float


@dataclass(frozen=True)
class Plan:
    """The cost of a sweep on this computer.

    Attributes:
        runs, parts: of the sweep.  part_runs: runs of a part.
        machines: that are compiled.
        compile_seconds: wall time to have the code of the sampled machines, from the cache or not, and first runs.
        run_seconds: mean processor time of a run, of `sampled` runs spread over the sweep.
        sampled: runs that were made for this.
        driver_seconds: processor time of the driver for a part: it is handed out, taken back and written.
        start_seconds: processor time of a new process until its first run has ended, machine code in its cache.
        jobs: processes.
        seconds: wall time of all runs on so many free cores, without compiling.
    """

    runs: int
    parts: int
    part_runs: int
    machines: int
    compile_seconds: float
    run_seconds: float
    sampled: int
    driver_seconds: float
    start_seconds: float
    jobs: int
    seconds: float

    @property
    def driver_share(self) -> float:
        """Processor time of the driver over that of the runs."""
        return self.parts * self.driver_seconds / (self.runs * self.run_seconds)

    def shared(self, workers: int) -> Share:
        """Return the sweep on some processes: one driver serves all, and none of them takes part of a part."""
        busiest = min(-(-self.parts // workers) * self.part_runs, self.runs) * self.run_seconds
        seconds = self.start_seconds + self.driver_seconds + max(busiest, self.parts * self.driver_seconds)
        alone = self.runs * self.run_seconds / workers
        return Share(workers, seconds, seconds / alone - 1.0)

    def most_workers(self, overhead: float) -> Share:
        """Return the most processes whose overhead is below a limit; one where it is above for all."""
        found = [own for own in map(self.shared, range(1, self.parts + 1)) if own.overhead < overhead]
        return found[-1] if found else self.shared(1)

    def shares(self) -> list[Share]:
        """Return the sweep on 1, 2, 4, ... processes, as many as it has parts."""
        return [self.shared(2**k) for k in range(int(math.log2(self.parts)) + 1)]


def plan_of(sweep: Sweep, jobs: int) -> Plan:
    """Return the plan of a sweep; it compiles the machines of the runs that it tries, and keeps nothing else."""
    runs, places = sweep.design.runs, _samples(sweep)
    since = time.perf_counter()
    for place in places:  # machine code, of vectors and of the outcomes
        made = _made(sweep, place)
    ready, spent = time.perf_counter() - since, time.process_time()
    for place in places:
        made = _made(sweep, place)
    sampled = sum(map(len, places))
    each = (time.process_time() - spent) / sampled
    driver, start = _driver_seconds(sweep, made), _start_seconds(sweep, places[0][:1])
    seconds = each * runs / min(jobs, runs)
    return Plan(
        runs, sweep.parts, sweep.part_size, len(sweep.machines), ready, each, sampled, driver, start, jobs, seconds
    )


def _samples(sweep: Sweep) -> list[NDArray[np.intp]]:
    """Return numbers of runs spread over the sweep, by machine."""
    structural = [k for k, own in enumerate(sweep.factors) if own.structural]
    rows = sweep.values[:, structural]
    levels = np.unique(rows, axis=0) if structural else np.zeros((1, 0))
    levels = levels[np.unique(np.linspace(0, len(levels) - 1, LEVELS).astype(int))]
    found = []
    for level in levels:
        alike = np.flatnonzero((rows == level).all(axis=1))
        found.append(alike[np.unique(np.linspace(0, len(alike) - 1, SAMPLES // len(levels)).astype(int))])
    return found


def _made(sweep: Sweep, places: NDArray[np.intp]) -> Made:
    """Make some runs of one machine together, as those of a part are."""
    identity, version, *_ = order_of(sweep, 0)
    return run_part(identity, version, sweep, 0, sweep.values[places])


def _driver_seconds(sweep: Sweep, made: Made) -> float:
    """Return the processor time of the driver for a part, of a few parts that hold the same runs again and again."""
    count = len(sweep.runs_of(0))
    times = -(-count // len(made.rows))
    samples = None if made.samples is None else {name: np.tile(own, times) for name, own in made.samples.items()}
    part = Made((made.rows * times)[:count], samples)
    whole = [k for k in range(min(WRITTEN, sweep.parts)) if len(sweep.runs_of(k)) == count]
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory), sweep) as store:
        store.keep(0, part)  # what is imported and made once
        pickle.dumps(order_of(sweep, 0))
        since = time.process_time()
        for k in whole:
            pickle.loads(pickle.dumps(order_of(sweep, k)))
            store.keep(k, pickle.loads(pickle.dumps(part)))
        return (time.process_time() - since) / len(whole)


def _start_seconds(sweep: Sweep, places: NDArray[np.intp]) -> float:
    """Return the processor time of a new process until it has made a run."""
    with LastingPool(1, name='the first run') as pool:
        return next(pool.map(partial(_first_run, sweep), [places]))


def _first_run(sweep: Sweep, places: NDArray[np.intp]) -> float:
    _made(sweep, places)
    return time.process_time()
