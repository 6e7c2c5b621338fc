"""Estimate of the cost of a sweep from a few of its runs."""

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
"""Runs that a plan executes; greatest number of machines among them."""
WRITTEN = 5
"""Parts that a plan writes into a temporary directory."""


@dataclass(frozen=True)
class Share:
    """Estimate for a sweep on a number of processes with a free core each.

    Attributes:
        workers: number of processes.
        seconds: wall time with cached machine code, s.
        overhead: wall time over the ideal time of the runs, less 1: start, driver, and processes that wait at the end
            while others still work on a part.
    """

    workers: int
    seconds: float
    overhead: float


@dataclass(frozen=True)
class SweepPlan:
    """The cost of a sweep on this computer.

    Attributes:
        runs, parts: of the sweep.  part_runs: runs of a part.
        machines: number of machines to compile.
        compile_seconds: wall time to compile or load the code of the sampled machines, and of first runs.
        run_seconds: mean processor time of a run, from `sampled` runs spread over the sweep.
        sampled: number of runs that the plan executed.
        driver_seconds: processor time of the driver for a part: dispatch, reception and writing.
        start_seconds: processor time of a new process up to the end of its first run, with cached machine code.
        jobs: number of processes.
        seconds: wall time of all runs on as many free cores, without compilation.
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
        """Processor time of the driver over the processor time of the runs."""
        return self.parts * self.driver_seconds / (self.runs * self.run_seconds)

    def shared(self, workers: int) -> Share:
        """Return the estimate for a number of processes: one driver serves all, and parts are not divided."""
        busiest = min(-(-self.parts // workers) * self.part_runs, self.runs) * self.run_seconds
        seconds = self.start_seconds + self.driver_seconds + max(busiest, self.parts * self.driver_seconds)
        alone = self.runs * self.run_seconds / workers
        return Share(workers, seconds, seconds / alone - 1.0)

    def most_workers(self, overhead: float) -> Share:
        """Return the estimate with the most processes whose overhead is below a limit; else for one process."""
        shares = [share for share in map(self.shared, range(1, self.parts + 1)) if share.overhead < overhead]
        return shares[-1] if shares else self.shared(1)

    def shares(self) -> list[Share]:
        """Return the estimates for 1, 2, 4, ... processes, up to the number of parts."""
        return [self.shared(2**k) for k in range(int(math.log2(self.parts)) + 1)]


def plan_of(sweep: Sweep, jobs: int) -> SweepPlan:
    """Return the plan of a sweep. The compiled machines of the sampled runs stay in the cache."""
    runs, samples = sweep.design.runs, _samples(sweep)
    since = time.perf_counter()
    for indices in samples:  # machine code, of vectors and of the outcomes
        made = _made(sweep, indices)
    ready, spent = time.perf_counter() - since, time.process_time()
    for indices in samples:
        made = _made(sweep, indices)
    sampled = sum(map(len, samples))
    each = (time.process_time() - spent) / sampled
    driver, start = _driver_seconds(sweep, made), _start_seconds(sweep, samples[0][:1])
    seconds = each * runs / min(jobs, runs)
    return SweepPlan(
        runs, sweep.parts, sweep.part_size, len(sweep.machines), ready, each, sampled, driver, start, jobs, seconds
    )


def _samples(sweep: Sweep) -> list[NDArray[np.intp]]:
    """Return numbers of runs spread over the sweep, by machine."""
    structural = [k for k, factor in enumerate(sweep.factors) if factor.structural]
    rows = sweep.values[:, structural]
    levels = np.unique(rows, axis=0) if structural else np.zeros((1, 0))
    levels = levels[np.unique(np.linspace(0, len(levels) - 1, LEVELS).astype(int))]
    samples = []
    for level in levels:
        alike = np.flatnonzero((rows == level).all(axis=1))
        samples.append(alike[np.unique(np.linspace(0, len(alike) - 1, SAMPLES // len(levels)).astype(int))])
    return samples


def _made(sweep: Sweep, indices: NDArray[np.intp]) -> Made:
    """Execute some runs of one machine together, like the runs of a part."""
    identity, version, *_ = order_of(sweep, 0)
    return run_part(identity, version, sweep, 0, sweep.values[indices])


def _driver_seconds(sweep: Sweep, made: Made) -> float:
    """Return the processor time of the driver for a part, from a few parts that repeat the same runs."""
    count = len(sweep.runs_of(0))
    times = -(-count // len(made.rows))
    samples = None if made.samples is None else {name: np.tile(values, times) for name, values in made.samples.items()}
    part = Made((made.rows * times)[:count], samples)
    whole = [k for k in range(min(WRITTEN, sweep.parts)) if len(sweep.runs_of(k)) == count]
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory), sweep) as store:
        store.keep(0, part)  # imports and initialisation
        pickle.dumps(order_of(sweep, 0))
        since = time.process_time()
        for k in whole:
            pickle.loads(pickle.dumps(order_of(sweep, k)))
            store.keep(k, pickle.loads(pickle.dumps(part)))
        return (time.process_time() - since) / len(whole)


def _start_seconds(sweep: Sweep, indices: NDArray[np.intp]) -> float:
    """Return the processor time of a new process up to the end of its first run."""
    with LastingPool(1, name='the first run') as pool:
        return next(pool.map(partial(_first_run, sweep), [indices]))


def _first_run(sweep: Sweep, indices: NDArray[np.intp]) -> float:
    _made(sweep, indices)
    return time.process_time()
