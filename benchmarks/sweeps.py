"""What a sweep costs beside its runs: `python -m benchmarks.sweeps [--runs N]`.

Processor time of the runs alone and of the whole sweep in one process, which a busy computer does not change, and wall
time with one and two processes that have started, which it does: the load at the start is printed, too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from dyn_nodes.share import find_resource
from dyn_nodes.sweeps.design import Design
from dyn_nodes.sweeps.driver import run_sweep
from dyn_nodes.sweeps.sweep import Sweep
from dyn_nodes.sweeps.sweep_file import load_sweep
from dyn_nodes.sweeps.trial import Made, run_part
from dyn_nodes.sweeps.workers import LocalWorkers, order_of


def sweep_of(runs: int) -> Sweep:
    """Return the example with so many runs, drawn at random."""
    sweep = load_sweep(find_resource('config/sweeps/log_loader_tip_over.yaml'))
    return replace(sweep, design=Design('monte_carlo', runs, 1))


class Timed(LocalWorkers):
    """One process that counts the processor time of the runs themselves, s."""

    def __init__(self) -> None:
        super().__init__(1)
        self.seconds = 0.0

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts."""
        for part in parts:
            since = time.process_time()
            made = run_part(*order_of(sweep, part))
            self.seconds += time.process_time() - since
            yield part, made


def whole(sweep: Sweep) -> tuple[float, float]:
    """Return the processor time of the runs, and of the sweep with parts, manifest and its first trial, s."""
    with tempfile.TemporaryDirectory() as directory:
        workers, since = Timed(), time.process_time()
        run_sweep(sweep, Path(directory), workers)
        return workers.seconds, time.process_time() - since


def wall(sweep: Sweep, jobs: int) -> float:
    """Return the mean wall time from part to part, s, without those that come while the processes start."""
    times = []
    for _ in LocalWorkers(jobs).results(sweep, range(sweep.parts)):
        times.append(time.perf_counter())
    settled = times[2 * jobs :]
    return (settled[-1] - settled[0]) / (len(settled) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=640)
    args = parser.parse_args()
    sweep = sweep_of(args.runs)
    print(f'load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {args.runs} runs in {sweep.parts} parts')
    whole(sweep_of(32))  # everything is imported and compiled
    alone, total = whole(sweep)
    print(f'runs: {args.runs / alone:.1f} a second of one core, {1e3 * alone / args.runs:.1f} ms each')
    print(f'runner: {100.0 * (total / alone - 1.0):.1f} % over the runs')
    one, two = wall(sweep, 1), wall(sweep, 2)
    print(f'two processes: {one / two:.2f} times one')


if __name__ == '__main__':
    main()
