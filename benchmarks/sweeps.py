"""Overhead of a sweep beside its runs: `python -m benchmarks.sweeps [--runs N] [--cluster]`.

Processor time of the runs alone and of the whole sweep in one process, which is independent of the load, and wall time
with one and two started processes, which depends on it: the load at the start is printed, too. `whole`: the
wall time of a sweep from the call to the last byte, machine code there, with one and two processes.

`--cluster`: processor time of the driver and of Dask's scheduler for a part of the sweep `tip_over_million`, on a
cluster of two processes that return generated results.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dyn_nodes.analysis.sweeps.design import Design
from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import Made, run_part
from dyn_nodes.analysis.sweeps.workers import LocalWorkers, order_of
from dyn_nodes.common.share import find_resource


def sweep_of(runs: int) -> Sweep:
    """Return the example with a number of random runs."""
    sweep = load_sweep(find_resource('config/sweeps/log_loader_tip_over.yaml'))
    return replace(sweep, design=Design('monte_carlo', runs, 1))


class Timed(LocalWorkers):
    """One process that sums the processor time of the runs, s."""

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
    """Return the mean wall time from part to part, s, without the parts computed while the processes start."""
    times = []
    for _ in LocalWorkers(jobs).results(sweep, range(sweep.parts)):
        times.append(time.perf_counter())
    settled = times[2 * jobs :]
    return (settled[-1] - settled[0]) / (len(settled) - 1)


def whole_wall(sweep: Sweep, jobs: int) -> float:
    """Return the wall time of a whole sweep, s."""
    with tempfile.TemporaryDirectory() as directory:
        since = time.perf_counter()
        run_sweep(sweep, Path(directory), LocalWorkers(jobs))
        return time.perf_counter() - since


def made_up(row: tuple[Any, ...], identity: str, version: str, sweep: Sweep, first: int, values: Any) -> Made:
    """Return copies of a row for the runs of a part."""
    return Made([(first + k, *row[1:]) for k in range(len(values))])


def cluster(parts: int) -> float:
    """Return the processor time of driver and scheduler for a part, s."""
    from distributed import LocalCluster

    from dyn_nodes.analysis.sweeps.cluster import DaskWorkers
    from dyn_nodes.analysis.sweeps.store import Store

    class Empty(DaskWorkers):
        def _submit(self, sweep: Sweep, part: int) -> Any:
            return self._client.submit(made_up, row, *order_of(sweep, part), key=f'part-{part}')

    sweep = load_sweep(find_resource('config/sweeps/tip_over_million.yaml'))
    row = run_part(*order_of(sweep, 0)[:-1], sweep.values[:1]).rows[0]
    local = {'host': '127.0.0.1', 'dashboard_address': '127.0.0.1:0', 'silence_logs': 50}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **local) as made,
        tempfile.TemporaryDirectory() as directory,
        Store(Path(directory), sweep) as store,
    ):
        workers = Empty(made.scheduler_address)
        list(workers.results(sweep, range(4)))
        since = time.process_time()
        for part, rows in workers.results(sweep, range(4, 4 + parts)):
            store.keep(part, rows)
        spent = time.process_time() - since
        workers.close()
    return spent / parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=640)
    parser.add_argument('--cluster', action='store_true', help='the cost of a Dask cluster')
    args = parser.parse_args()
    if args.cluster:
        print(f'driver and scheduler: {1e3 * cluster(60):.1f} ms of processor time for a part of 1000 runs')
        return
    sweep = sweep_of(args.runs)
    print(f'load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {args.runs} runs in {sweep.parts} parts')
    whole(sweep_of(32))  # everything is imported and compiled
    alone, total = whole(sweep)
    print(f'runs: {args.runs / alone:.1f} a second of one core, {1e3 * alone / args.runs:.1f} ms each')
    print(f'runner: {100.0 * (total / alone - 1.0):.1f} % over the runs')
    one, two = wall(sweep, 1), wall(sweep, 2)
    print(f'two processes: {one / two:.2f} times one')
    one, two = whole_wall(sweep, 1), whole_wall(sweep, 2)
    print(f'whole, with its start: {one:.1f} s and {two:.1f} s, {one / two:.2f} times')


if __name__ == '__main__':
    main()
