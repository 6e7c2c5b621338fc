"""The fault campaign: `python -m faults`, or `make faults`. Exit status 0 only where nothing went wrong.

It runs step by step, prints each step, and stores the results in build/faults.jsonl: `--resume` continues with the
first step that is missing there.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from unittest.mock import patch

from dyn_nodes.commands.free_domain import claimed_domain
from dyn_nodes.commands.option_types import SEED, count
from dyn_nodes.middleware import RUNTIME
from faults import bombs, clocks, computer, files, messages, processes, starts
from faults.report import Row, write
from faults.setups import SETUPS, Setup

PROGRESS = Path('build') / 'faults.jsonl'
BATCH = 500
"""Files of a step."""
BAG_BATCH, FORK_BATCH = 50, 100


Step = tuple[str, Callable[[], Iterator[Row]]]
"""Name, and what gives its lines."""


def _read(name: str, start: int, end: int, seed: int, module: str) -> Iterator[Row]:
    found = files.run(end, seed, start, module)
    kinds = ', '.join(f'{count} {kind}' for kind, count in sorted(found.cases.items()))
    yield Row(name, sum(found.cases.values()), found.faults, kinds)


def _batches(name: str, count: int, size: int, seed: int, module: str) -> Iterator[Step]:
    for start in range(0, count, size):
        end = min(start + size, count)
        yield f'{name} {start} to {end - 1}', partial(_read, name, start, end, seed, module)


def _message(name: str, mode: str, count: int, seed: int) -> Iterator[Row]:
    found = messages.fuzz(name, mode, count, seed)
    kinds = ('escaped', 'caught', 'unsafe')
    faults = [f'{kind}: {text}' for kind in kinds for text in getattr(found, kind)]
    yield Row(f'messages: {name}, {mode}', found.sent, faults)


def _outcomes(found: Iterator[processes.Outcome]) -> Iterator[Row]:
    began = time.monotonic()
    for outcome in found:
        yield Row(outcome.name, outcome.cases, outcome.faults, outcome.seen, time.monotonic() - began)
        began = time.monotonic()


def _nodes(setup: Setup, mode: str, chosen: list[tuple[str, str]]) -> Iterator[Row]:
    return _outcomes(processes.run(mode, chosen, setup=setup))


def _part(part: Callable[[], Iterator[processes.Outcome]]) -> Iterator[Row]:
    return _outcomes(part())


def steps(args: argparse.Namespace) -> Iterator[Step]:
    """Yield the steps that are asked for."""
    yield from _batches('damaged files', args.files, BATCH, args.seed, 'faults.files')
    yield from _batches('damaged inputs', args.inputs, BATCH, args.seed, 'faults.inputs')
    yield from _batches('damaged results', args.results, BATCH, args.seed, 'faults.results')
    yield from _batches('hostile bags', args.bags, BAG_BATCH, args.seed, 'faults.bags')
    yield from _batches('hostile launch files', args.launches, BATCH, args.seed, 'faults.launches')
    yield from _batches('hostile containers', args.containers, BATCH, args.seed, 'faults.containers')
    yield from _batches('wrong calls', args.calls, BATCH, args.seed, 'faults.calls')
    yield from _batches('wrong launches', args.forks, FORK_BATCH, args.seed, 'faults.forks')
    cases = [(name, mode) for name in messages.NODES for mode in messages.MODES]
    for name, mode in cases if args.messages else ():
        each = -(-args.messages // len(cases))
        yield f'messages: {name}, {mode}', partial(_message, name, mode, each, args.seed)
    for name, setup in SETUPS.items() if args.nodes else ():
        for mode in processes.MODES:
            yield f'nodes of {name}, {mode}', partial(_nodes, setup, mode, setup.cases()[: args.nodes])
    if not args.no_computer:
        for part in (*computer.PARTS, *clocks.PARTS):
            yield part.__name__.replace('_', ' '), partial(_part, part)
    for part in starts.PARTS if args.starts else ():
        yield part.__name__.replace('_', ' '), partial(_part, part)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog='python -m faults', description=__doc__)
    most = max(len(setup.cases()) for setup in SETUPS.values())
    for name, default, text in (
        ('files', 2000, 'damaged files'),
        ('inputs', 1000, 'damaged inputs of commands'),
        ('results', 1600, 'damaged results of sweeps'),
        ('bags', 600, f'bags, {len(bombs.BOMBS)} bombs first'),
        ('launches', 400, 'hostile launch files'),
        ('containers', 1200, 'archives, meshes and logs that expand'),
        ('calls', 1000, 'calls, parameters and pools with mistakes'),
        ('forks', 1000, 'launches with a mistake, forked, not started'),
        ('messages', 10_000, 'absurd messages'),
        ('nodes', most, 'failures of each machine in each mode'),
    ):
        parser.add_argument(f'--{name}', type=count(), default=default, metavar='N', help=f'{text} ({default})')
    parser.add_argument(
        '--no-starts', action='store_false', dest='starts', help='leave out launches and command lines with mistakes'
    )
    parser.add_argument('--no-computer', action='store_true', help='leave out disk, home, memory, port and clocks')
    parser.add_argument(
        '--only',
        metavar='PATTERN',
        action='append',
        help="these steps alone, such as 'damaged inputs*', once or more; of the report only their lines are renewed",
    )
    parser.add_argument('--seed', type=SEED, default=1, help='of chance (1)')
    parser.add_argument('--resume', action='store_true', help='continue where the last campaign stopped')
    parser.add_argument(
        '--out', type=Path, metavar='FILE', help='write the report, such as docs/verification/faults.md'
    )
    return parser.parse_args(words)


def _chosen(words: list[str] | None) -> list[str]:
    """Return the words of a command line without those that do not change the results."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument('--out')
    parser.add_argument('--resume', action='store_true')
    return parser.parse_known_args(words)[1]


def known_steps(resume: bool, settings: str) -> dict[str, list[Row]]:
    """Return the lines of the steps that are done, by step; none where the campaign had other settings."""
    if not resume or not PROGRESS.exists():
        return {}
    first, *lines = PROGRESS.read_text(encoding='utf-8').splitlines()
    if first != settings:
        raise SystemExit(f'{PROGRESS}: expected the settings {settings}, found {first}: start without --resume')
    found = [json.loads(line) for line in lines if line.endswith('}')]
    return {entry['step']: [Row(**row) for row in entry['rows']] for entry in found}


def run(chosen: list[Step], known: dict[str, list[Row]]) -> Iterator[Row]:
    """Run the steps that are not known; print and keep each, and yield their lines."""
    began = time.monotonic()
    for number, (name, make) in enumerate(chosen, 1):
        if name not in known:
            start = time.monotonic()
            known[name] = []
            for row in make():
                row.name = f'{"" if RUNTIME == "embedded" else f"{RUNTIME}: "}{row.name}'
                row.seconds = row.seconds or time.monotonic() - start
                known[name].append(row)
                elapsed = time.monotonic() - began
                print(f'[{number}/{len(chosen)}] {elapsed / 60.0:5.1f} min  {name}: {str(row)[2:-2]}', flush=True)
            with PROGRESS.open('a', encoding='utf-8') as file:
                file.write(json.dumps({'step': name, 'rows': [asdict(row) for row in known[name]]}) + '\n')
        yield from known[name]


def main(words: list[str] | None = None) -> int:
    """Run the campaign and write the report."""
    args = arguments(words)
    settings = {key: value for key, value in vars(args).items() if key not in ('resume', 'out')}
    text = json.dumps(settings, sort_keys=True)
    known = known_steps(args.resume, text)
    if not known:
        PROGRESS.parent.mkdir(exist_ok=True)
        PROGRESS.write_text(f'{text}\n', encoding='utf-8')
    lines: dict[str, Row] = {}
    chosen = [step for step in steps(args) if any(fnmatch(step[0], pattern) for pattern in args.only or '*')]
    if not chosen:
        raise SystemExit(f'--only: expected the name of a step, found {", ".join(args.only)}')
    with claimed_domain() as domain, patch.dict(os.environ, ROS_DOMAIN_ID=str(domain)):
        for row in run(chosen, known):
            if row.name in lines:
                lines[row.name].add(row)
            else:
                lines[row.name] = row
    if args.out is not None:
        command = shlex.join(['python', '-m', 'faults', *_chosen(words)])
        write(args.out, command, list(lines.values()), bool(args.only))
    faults = sum(len(row.faults) for row in lines.values())
    print(f'{faults} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
