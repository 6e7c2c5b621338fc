"""`dyn-nodes sweep`: thousands of runs of a machine over factors of a file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.sweep_report import report, show
from dyn_nodes.commands.sweep_worst import worst

if TYPE_CHECKING:
    from dyn_nodes.analysis.sweeps.driver import Progress
    from dyn_nodes.analysis.sweeps.plan import Plan
    from dyn_nodes.analysis.sweeps.sweep import Sweep
    from dyn_nodes.analysis.sweeps.workers import Workers

OF_RESULTS = {'report': report, 'worst': worst}
"""Words in place of a file that act on the directory of a sweep."""
MOST_JOBS = 1024
LITTLE = 0.05
"""Part of the time of the runs that a plan takes for a small overhead."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the `sweep` command to the command line."""
    parser = add_command(
        subparsers,
        'sweep',
        'Run a machine thousands of times over factors, on all cores or on a cluster.',
        'dyn-nodes sweep log_loader_tip_over --plan\n'
        'dyn-nodes sweep my_sweep.yaml --out runs/mine\n'
        'dyn-nodes sweep my_sweep.yaml --out runs/mine --scheduler tcp://127.0.0.1:8786\n'
        'dyn-nodes sweep report runs/tip_over --outcome overturned\n'
        'dyn-nodes sweep worst runs/tip_over --outcome least_zmp --count 3',
    )
    parser.add_argument(
        'file', metavar='FILE', help='YAML of the sweep, or the name of one of this package; or `report` or `worst`'
    )
    parser.add_argument('directory', metavar='DIR', nargs='?', type=Path, help='with these: of a sweep')
    parser.add_argument(
        '--out', metavar='DIR', type=Path, help='where the results go (runs/sweeps/NAME); what is there is completed'
    )
    parser.add_argument('--jobs', metavar='N', type=int, help='processes of this computer (all cores)')
    parser.add_argument('--scheduler', metavar='ADDRESS', help='of a Dask cluster, such as tcp://127.0.0.1:8786')
    parser.add_argument('--plan', action='store_true', help='show what the sweep will cost, and run nothing')
    parser.add_argument('--outcome', metavar='NAME', help='with `report` and `worst`: column (the first outcome)')
    parser.add_argument(
        '--where',
        metavar='CONDITION',
        action='append',
        help='with `report`: points that trends count, by their first run: a flag, or NAME>NUMBER, or NAME<NUMBER',
    )
    parser.add_argument('--count', metavar='N', type=int, help='with `worst`: runs to write (5)')
    parser.add_argument(
        '--end', choices=['least', 'greatest'], help='with `worst`: which values are the worst (by name)'
    )
    parser.add_argument('--factors', metavar=('X', 'Y'), nargs=2, help='with `report`: of the map (the two strongest)')
    parser.add_argument(
        '--limit',
        metavar='VALUE',
        type=float,
        help='with `report`: of the boundary in the map (half of the runs of a flag)',
    )
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Run a sweep, plan it or report on one."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise CommandError("sweeps need pyarrow: pip install 'dyn_nodes[sweep]'") from None
    if args.file in OF_RESULTS:
        return OF_RESULTS[args.file](args)
    if args.directory is not None:
        raise CommandError(f'expected one sweep, found {args.file} and {args.directory}', 2)
    for name in ('outcome', 'factors', 'limit', 'where', 'count', 'end'):
        if getattr(args, name) is not None:
            raise CommandError(f'--{name}: expected with `report` or `worst` alone', 2)
    if args.jobs is not None and args.scheduler is not None:
        raise CommandError('expected --jobs or --scheduler, found both', 2)
    jobs = args.jobs if args.jobs is not None else os.cpu_count() or 1
    if not 1 <= jobs <= MOST_JOBS:
        raise CommandError(f'--jobs: expected 1 to {MOST_JOBS}, found {jobs}', 2)
    sweep = _loaded(args.file)
    if args.plan:
        from dyn_nodes.analysis.sweeps.plan import plan_of

        _show_plan(plan_of(sweep, jobs), args.json)
        return 0
    return _run(args, sweep, jobs)


def _loaded(file: str) -> Sweep:
    from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
    from dyn_nodes.model.problems import MachineError

    try:
        return load_sweep(file)
    except (MachineError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None


def _workers(args: argparse.Namespace, jobs: int) -> Workers:
    from dyn_nodes.analysis.sweeps.cluster import ClusterError, DaskWorkers, quiet_log
    from dyn_nodes.analysis.sweeps.workers import LocalWorkers

    if args.scheduler is None:
        return LocalWorkers(jobs)
    try:
        quiet_log()
        return DaskWorkers(args.scheduler)
    except ImportError:
        raise CommandError("--scheduler needs distributed: pip install 'dyn_nodes[cluster]'") from None
    except ClusterError as error:
        raise CommandError(f'--scheduler {error}') from None


def _run(args: argparse.Namespace, sweep: Sweep, jobs: int) -> int:
    from dyn_nodes.analysis.sweeps.driver import run_sweep
    from dyn_nodes.analysis.sweeps.report import read_results, summary

    directory = args.out or Path('runs') / 'sweeps' / sweep.name
    since = time.monotonic()
    try:
        with closing(_workers(args, jobs)) as workers, _progress() as progress:
            done = run_sweep(sweep, directory, workers, progress, _remark)
        seconds = time.monotonic() - since
        found = {'directory': str(directory), 'made': done.runs, 'seconds': seconds, **summary(read_results(directory))}
    except OSError as error:
        raise CommandError(f'--out: {error.filename or directory}: {error.strerror or error}') from None
    except KeyboardInterrupt:
        print(f'dyn-nodes: what is done is kept in {directory}; the same command goes on', file=sys.stderr)
        raise
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
        rate = f', {done.runs / seconds:.1f} a second' if done.runs else ''
        print(f'{done.runs} runs in {seconds:.1f} s{rate}; results: {directory}')
    return 0


def _remark(text: str) -> None:
    print(f'dyn-nodes: warning: {text}', file=sys.stderr)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show runs, their rate and the time left; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    rate = TextColumn('{task.fields[rate]}')
    columns = (TextColumn('runs'), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task('runs', total=None, rate='')
        first: list[tuple[float, int]] = []

        def progress(done: int, total: int) -> None:
            first.append((time.monotonic(), done))
            since, before = first[0]
            text = f'{(done - before) / (time.monotonic() - since):.1f}/s' if done > before else ''
            bar.update(task, total=total, completed=done, rate=text)

        yield progress


def _show_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        print(json.dumps({**asdict(plan), 'shared': [asdict(own) for own in plan.shares()]}, indent=2))
        return
    print(f'{plan.runs} runs in {plan.parts} parts, {plan.machines} compiled machine(s)')
    print(f'machine code and first runs: {plan.compile_seconds:.1f} s')
    print(f'a run: {1e3 * plan.run_seconds:.1f} ms of one core, mean of {plan.sampled}')
    hours = plan.run_seconds * plan.runs / 3600.0
    print(f'all runs: {plan.seconds:.0f} s on {plan.jobs} free core(s), {hours:.3g} core hours')
    part = f'{1e3 * plan.driver_seconds:.1f} ms a part of {plan.part_runs} runs'
    print(f'driver: {part}, {100.0 * plan.driver_share:.2f} % of the runs')
    print(f'a new process: {plan.start_seconds:.1f} s until its first run has ended')
    print('workers  wall time, s  over the runs   (a free core each, machine code there)')
    for own in plan.shares():
        print(f'{own.workers:7d} {own.seconds:13.0f} {100.0 * own.overhead:12.1f} %')
    most = plan.most_workers(LITTLE)
    print(f'below {100.0 * LITTLE:.0f} % up to {most.workers} workers: {most.seconds:.0f} s')
