"""`dyn-nodes demo`: runs the tip-over and recovery of the log-loader and writes a report."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out
from dyn_nodes.commands.bag_film import LENGTH, write_film
from dyn_nodes.commands.option_types import count, positive
from dyn_nodes.common.extras import lacking

if TYPE_CHECKING:
    from rich.console import Console

    from dyn_nodes.commands.demo_run import DemoRun

LAUNCH_FILE = 'log_loader.launch.xml'
MACHINE = 'log_loader'
INTERRUPTED = 130


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'demo',
        'Run the log-loader, which tips and recovers, and make a report.',
        'dyn-nodes demo\ndyn-nodes demo --fast --film 180\ndyn-nodes demo --no-recovery --out /tmp/runs',
    )
    parser.add_argument('--fast', action='store_true', help='print lines of progress, without dashboard and cockpit')
    parser.add_argument(
        '--no-viewer', dest='viewer', action='store_false', help='run without the cockpit in the browser'
    )
    parser.add_argument(
        '--port',
        type=count(1024, 65000),
        default=8080,
        metavar='N',
        help='first port to try for the cockpit (8080)',
    )
    parser.add_argument(
        '--no-recovery',
        dest='recovery',
        action='store_false',
        help='keep the arm extended, so that the machine overturns',
    )
    parser.add_argument(
        '--separate',
        dest='compose',
        action='store_false',
        help='run every node in a separate process, as on a real machine',
    )
    parser.add_argument(
        '--duration', type=positive(3600.0, 's'), default=24.0, metavar='S', help='simulated time (default: 24)'
    )
    parser.add_argument('--film', type=LENGTH, metavar='S', help='also make a film of this duration: film.gif')
    add_out(parser, 'directory for the results (runs)', default=Path('runs'))


def run(args: argparse.Namespace) -> int:
    """Run the demonstration.

    Returns:
        0 if the run finished, recovered or overturned; 1 if a node died; 130 after Ctrl-C.

    Raises:
        CommandError: a wrong option, a missing package, or the nodes can't be started.
    """
    absent = lacking('plots', *(['viewer'] if args.film or (args.viewer and not args.fast) else []))
    if absent is not None:
        raise CommandError(absent + ('; --fast and --no-viewer need no cockpit' if 'viser' in absent else ''))
    from rich.console import Console

    from dyn_nodes.commands.demo_cockpit import make_cockpit
    from dyn_nodes.commands.demo_run import run_nodes
    from dyn_nodes.commands.free_domain import claimed_domain, require_no_machine
    from dyn_nodes.commands.run_directory import new_run_directory, point_latest

    started = time.monotonic()
    console = Console(highlight=False, emoji=False)
    with claimed_domain() as domain:
        require_no_machine(domain)
        try:
            directory = new_run_directory(args.out)
        except OSError as error:
            raise CommandError(f'--out: {args.out} cannot be used: {error.strerror}') from None
        cockpit = make_cockpit(args.port) if args.viewer and not args.fast else None
        _greet(console, args, directory, domain)
        outcome = run_nodes(
            LAUNCH_FILE,
            MACHINE,
            directory,
            args.duration,
            args.recovery,
            console,
            domain,
            not args.fast,
            cockpit,
            args.compose,
        )
    if outcome.failure:
        _print_failure(console, outcome)
    status = 1 if outcome.failure else INTERRUPTED if outcome.interrupted else 0
    made = _report(console, args, directory, outcome)
    _print_time(console, time.monotonic() - started, outcome)
    if outcome.bag.is_dir():
        point_latest(directory)  # also without a report: later commands then name this run
        if args.film and not outcome.interrupted:
            write_film(outcome.bag, directory / 'film.gif', MACHINE, args.film)
    return status if made else status or 1


def _greet(console: Console, args: argparse.Namespace, directory: Path, domain: int) -> None:
    task = 'reaches out, tips, and is recovered' if args.recovery else 'reaches out and tips; it is not recovered'
    console.print(f'[bold]A 17-tonne log-loader with 5.1 t in its grapple {task}.[/bold]')
    console.print(f'results go to {directory}', markup=False, soft_wrap=True)
    environment = f'ROS_DOMAIN_ID={domain} ' if domain else ''
    program = 'dyn-nodes' if shutil.which('dyn-nodes') else sys.argv[0]  # `make` runs it without activating .venv
    console.print(
        f'to list the topics in another terminal: {environment}{program} topic list', style='dim', markup=False
    )


def _print_failure(console: Console, outcome: DemoRun) -> None:
    console.print('failed:', style='bold red', end=' ')
    console.print(outcome.failure, markup=False, soft_wrap=True)
    for line in outcome.last_lines:
        console.print(f'  {line}', style='dim', markup=False, soft_wrap=True)
    console.print(f'all logs: {outcome.logs}', markup=False, soft_wrap=True)


def _print_time(console: Console, seconds: float, outcome: DemoRun) -> None:
    run = f', {outcome.wall_time:.1f} s of it from the first simulated instant to the last' if outcome.wall_time else ''
    console.print(f'took {seconds:.1f} s in all{run}', markup=False, soft_wrap=True)


def _report(console: Console, args: argparse.Namespace, directory: Path, outcome: DemoRun) -> bool:
    """Make summary, plots and page from the bag; return False if the bag cannot be used."""
    from dyn_nodes.analysis.bag_reading import BagReadingError
    from dyn_nodes.commands.progress import make_with_progress
    from dyn_nodes.commands.summary_text import print_summary

    words = ['dyn-nodes demo', *(['--fast'] if args.fast else []), *([] if args.recovery else ['--no-recovery'])]
    extra: dict[str, Any] = {'recovery': args.recovery, 'interrupted': outcome.interrupted, 'failure': outcome.failure}
    try:
        made = make_with_progress(
            console,
            outcome.bag,
            directory,
            namespace='',
            wall_time=outcome.wall_time,
            command=' '.join(words),
            extra=extra,
        )
    except BagReadingError as error:
        console.print(f'no report: {error}', style='red', markup=False, soft_wrap=True)
        return False
    if outcome.interrupted or outcome.failure:
        reached = made.summary['duration_s']
        console.print(f'stopped after {reached:.2f} s of {args.duration:g} s; the results cover that part only')
    print_summary(console, made)
    sys.stdout.flush()
    return True
