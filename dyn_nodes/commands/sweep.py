"""`dyn-nodes sweep`: runs a machine for many combinations of the factors of a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import (
    CommandError,
    Subparsers,
    add_command,
    add_jobs,
    add_out,
    sweep_report,
    sweep_worst,
    tables,
)

if TYPE_CHECKING:
    from dyn_nodes.analysis.sweeps.driver import Progress
    from dyn_nodes.analysis.sweeps.plan import Share, SweepPlan
    from dyn_nodes.analysis.sweeps.sweep import Sweep
    from dyn_nodes.analysis.sweeps.workers import Workers

SHARES: dict[str, Callable[[Share], str]] = {
    'workers': lambda share: f'{share.workers}',
    'wall time, s': lambda share: f'{share.seconds:.0f}',
    'over the runs': lambda share: f'{100.0 * share.overhead:.1f} %',
}
LITTLE = 0.05
"""Overhead over the time of the runs that counts as small."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the `sweep` command to the command line."""
    parser = add_command(
        subparsers,
        'sweep',
        'Run a machine for many values of factors, on all cores or on a cluster.',
        'dyn-nodes sweep run log_loader_tip_over --plan\n'
        'dyn-nodes sweep run my_sweep.yaml --out runs/mine\n'
        'dyn-nodes sweep report runs/mine --outcome overturned',
    )
    parser.implied = 'run'
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    running = add_command(
        verbs,
        'run',
        'Make the runs that earlier calls have not made.',
        'dyn-nodes sweep run my_sweep.yaml --out runs/mine\n'
        'dyn-nodes sweep run my_sweep.yaml --out runs/mine --scheduler tcp://127.0.0.1:8786',
    )
    running.add_argument('file', metavar='FILE', help='YAML of the sweep, or the name of one of this package')
    add_out(running, 'directory for the results, which is completed (runs/sweeps/NAME)')
    workers = running.add_mutually_exclusive_group()
    add_jobs(workers)
    workers.add_argument('--scheduler', metavar='ADDRESS', help='of a Dask cluster, such as tcp://127.0.0.1:8786')
    running.add_argument('--plan', action='store_true', help='print the estimated cost without running the sweep')
    sweep_report.add_verb(verbs)
    sweep_worst.add_verb(verbs)
    for verb in verbs.choices.values():
        verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Run the verb; return its exit status."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise CommandError("sweeps need pyarrow: pip install 'dyn_nodes[sweep]'") from None
    return {'run': _sweep, 'report': sweep_report.report, 'worst': sweep_worst.worst}[args.verb](args)


def _sweep(args: argparse.Namespace) -> int:
    sweep = _loaded(args.file)
    if args.plan:
        from dyn_nodes.analysis.sweeps.plan import plan_of

        _show_plan(plan_of(sweep, args.jobs), args.json)
        return 0
    return _run(args, sweep)


def _loaded(file: str) -> Sweep:
    from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
    from dyn_nodes.model.problems import MachineError

    try:
        return load_sweep(file)
    except (MachineError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None


def _workers(args: argparse.Namespace) -> Workers:
    from dyn_nodes.analysis.sweeps.cluster import ClusterError, DaskWorkers, quiet_log
    from dyn_nodes.analysis.sweeps.workers import LocalWorkers

    if args.scheduler is None:
        return LocalWorkers(args.jobs)
    try:
        quiet_log()
        return DaskWorkers(args.scheduler)
    except ImportError:
        raise CommandError("--scheduler needs distributed: pip install 'dyn_nodes[cluster]'") from None
    except ClusterError as error:
        raise CommandError(f'--scheduler {error}') from None


def _run(args: argparse.Namespace, sweep: Sweep) -> int:
    from dyn_nodes.analysis.sweeps.driver import run_sweep
    from dyn_nodes.analysis.sweeps.report import read_results, summary

    directory = args.out or Path('runs') / 'sweeps' / sweep.name
    since = time.monotonic()
    try:
        with closing(_workers(args)) as workers, _progress() as progress:
            done = run_sweep(sweep, directory, workers, progress, _remark)
        seconds = time.monotonic() - since
        result = {
            'directory': str(directory),
            'made': done.runs,
            'seconds': seconds,
            **summary(read_results(directory)),
        }
    except OSError as error:
        raise CommandError(f'--out: {error.filename or directory}: {error.strerror or error}') from None
    except KeyboardInterrupt:
        print(f'dyn-nodes: finished parts are in {directory}; the same command continues the sweep', file=sys.stderr)
        raise
    if args.json:
        tables.print_json(result)
    else:
        sweep_report.print_summary(result)
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


def _show_plan(plan: SweepPlan, as_json: bool) -> None:
    if as_json:
        tables.print_json({**asdict(plan), 'shared': plan.shares()})
        return
    print(f'{plan.runs} runs in {plan.parts} parts, {plan.machines} compiled machine(s)')
    print(f'machine code and first runs: {plan.compile_seconds:.1f} s')
    print(f'a run: {1e3 * plan.run_seconds:.1f} ms of one core, mean of {plan.sampled}')
    hours = plan.run_seconds * plan.runs / 3600.0
    print(f'all runs: {plan.seconds:.0f} s on {plan.jobs} free core(s), {hours:.3g} core hours')
    part = f'{1e3 * plan.driver_seconds:.1f} ms a part of {plan.part_runs} runs'
    print(f'driver: {part}, {100.0 * plan.driver_share:.2f} % of the runs')
    print(f'a new process: {plan.start_seconds:.1f} s until its first run has finished')
    tables.show(plan.shares(), SHARES, title='a free core each, with cached machine code')
    most = plan.most_workers(LITTLE)
    print(f'below {100.0 * LITTLE:.0f} % up to {most.workers} workers: {most.seconds:.0f} s')
