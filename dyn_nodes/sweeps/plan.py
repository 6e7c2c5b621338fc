"""What a sweep will cost, from a few of its runs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dyn_nodes.sweeps.sweep import Sweep
from dyn_nodes.sweeps.trial import Trials

SAMPLES = 8


@dataclass(frozen=True)
class Plan:
    """The cost of a sweep on this computer.

    Attributes:
        runs, parts: of the sweep.
        machines: that are compiled.
        compile_seconds: wall time to have the first machine's code, from the cache or not, and a first run.
        run_seconds: mean processor time of a run, of `sampled` runs spread over the sweep.
        sampled: runs that were made for this.
        jobs: processes.
        seconds: wall time of all runs on so many free cores, without compiling.
    """

    runs: int
    parts: int
    machines: int
    compile_seconds: float
    run_seconds: float
    sampled: int
    jobs: int
    seconds: float


def plan_of(sweep: Sweep, jobs: int) -> Plan:
    """Return the plan of a sweep; it compiles the machines of the runs that it tries, and keeps nothing else."""
    trials, runs = Trials(sweep), sweep.design.runs
    since = time.perf_counter()
    trials.row(0, sweep.values[0])
    ready = time.perf_counter() - since
    places = np.unique(np.linspace(0, runs - 1, SAMPLES).astype(int))
    for place in places:
        trials.row(int(place), sweep.values[place])  # its machine may have to be compiled
    spent = time.process_time()
    for place in places:
        trials.row(int(place), sweep.values[place])
    each = (time.process_time() - spent) / len(places)
    return Plan(runs, sweep.parts, len(sweep.machines), ready, each, len(places), jobs, each * runs / min(jobs, runs))
