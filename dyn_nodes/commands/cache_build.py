"""`dyn-nodes cache build`: compiles what runs, measures, nodes and governor of machines need, before they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from dyn_nodes.commands import CommandError
from dyn_nodes.commands.free_domain import claimed_domain
from dyn_nodes.common.share import share_directory
from dyn_nodes.model import Machine

LIBRARY = """
import contextlib, sys, dyn_nodes
machine = dyn_nodes.load(*sys.argv[1:])
machine.simulate(0.02)
with contextlib.suppress(ValueError):  # fewer than three supports, or no payload
    machine.margins()
    machine.tipping()
"""
LONGEST = 1800.0
"""Time after which a command counts as failed, s."""


class Step(NamedTuple):
    """A command that compiles.

    Attributes:
        title: printed when it has finished.
        command: arguments of the interpreter.
    """

    title: str
    command: tuple[str, ...]


def build(names: Sequence[str], config: str) -> int:
    """Compile for machines, one process per core, and print each finished step; return 0, or 1 after failures.

    Args:
        names: of machines of the package, or paths of URDFs.
        config: path or name of the machine YAML of all of them; '': the one of the same name, or none for a path.

    Raises:
        CommandError: no such machine, one with faults, or a cache that cannot be written.
    """
    from dyn_nodes.common.sealing import cache_directory, chosen_directory
    from dyn_nodes.nodes.machines import machine_of

    if cache_directory() != chosen_directory():
        raise CommandError(f'expected a cache that this user can write, found {chosen_directory()}')
    try:
        steps = [step for name in names for step in _steps(name, config, machine_of(name, config))]
    except ValueError as error:
        raise CommandError(str(error).replace("parameter 'machine': ", ''), 2) from None
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(_run, step): step for step in steps}
        for run in as_completed(runs):
            seconds, fault = run.result()
            failed += bool(fault)
            print(f'{runs[run].title}: {fault or "done"}, {seconds:.0f} s', flush=True)
    return 1 if failed else 0


def _steps(name: str, config: str, machine: Machine) -> Iterator[Step]:
    """Yield the commands of a machine, the longest first."""
    governed = _governor_options(machine)
    option = ('--config', config) if config else ()
    if governed is not None:
        options = '--runs', '1', '--duration', '1', '--only-governed', *governed, *option
        yield Step(f'{name}, governor', ('-m', 'dyn_nodes', 'governor', 'test', name, *options))
    is_packaged = (share_directory() / 'launch' / f'{name}.launch.xml').is_file()
    launched = (name,) if is_packaged else ('machine', f'machine:={_absolute(name)}')
    files = (f'config:={_absolute(config)}',) if config else ()
    yield Step(f'{name}, nodes', ('-m', 'dyn_nodes', 'launch', *launched, *files, 'mode:=lockstep', 'duration:=0.02'))
    yield Step(f'{name}, runs and margins', ('-c', LIBRARY, name, *option[1:]))


def _absolute(name: str) -> str:
    """Return the absolute path of a file, or the name of a machine of the package."""
    return str(Path(name).resolve()) if Path(name).is_file() else name


def _governor_options(machine: Machine) -> tuple[str, ...] | None:
    """Return the options of `governor test`, by valves or by efforts; None for a machine that cannot be governed.

    With the criterion `tipping` a start on tracks is certified.
    """
    from dyn_nodes.commands.governor_box import as_governed
    from dyn_nodes.governor.campaign.cases import box_of

    for options in ((), ('--efforts',)):
        try:
            box_of(as_governed(machine, bool(options)), bool(options))
        except ValueError:
            continue
        return options if machine.base.attachment == 'planar' else (*options, '--criterion', 'tipping')
    return None


def _run(step: Step) -> tuple[float, str]:
    """Run a command; return its time, s, and the last line that it printed if it failed."""
    start = monotonic()
    command = [sys.executable, *step.command]
    try:
        with claimed_domain({}) as domain:
            environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
            run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return monotonic() - start, f'no end within {LONGEST:g} s'
    lines = f'{run.stdout}\n{run.stderr}'.strip().splitlines()
    return monotonic() - start, '' if run.returncode == 0 else lines[-1] if lines else f'exit status {run.returncode}'
