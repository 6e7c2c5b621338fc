"""Mutation tests: `python -m mutants run`, then `python -m mutants report`; `make mutants` does both.

Results are written to build/mutants/results.jsonl; the report puts them into mutants/results.txt, which the repository
keeps.
They are not tried again; `--again survived` tries survivors again.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mutants.report import equivalents, keep, kept, latest, merged, report
from mutants.sites import Mutant, mutants_of
from mutants.trial import Copy, Room

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / 'build' / 'mutants'
KEPT = ROOT / 'mutants' / 'results.txt'


def rooms() -> dict[str, dict[str, Any]]:
    """Return rooms.yaml."""
    return yaml.safe_load((Path(__file__).parent / 'rooms.yaml').read_text())


def all_mutants(name: str, settings: dict[str, Any]) -> dict[str, list[Mutant]]:
    """Return the changes of an entry of rooms.yaml by module."""
    room = settings.get('room', name)
    elsewhere = {module for other in settings.get('others', []) for module in rooms()[other]['modules']}
    folder = ROOT / 'dyn_nodes' / room
    modules = settings.get('modules') or sorted({path.stem for path in folder.glob('*.py')} - elsewhere)
    return {
        f'{room}/{module}': mutants_of(f'{room}/{module}', (folder / f'{module}.py').read_text(encoding='utf-8'))
        for module in modules
    }


def _order(found: dict[str, list[Mutant]], first: list[str], seed: int) -> Iterator[Mutant]:
    """Yield the changes of the modules that come first, one of each in turn, then the others, shuffled."""
    chance = random.Random(seed)
    shuffled = {module: chance.sample(mutants, len(mutants)) for module, mutants in sorted(found.items())}
    early = {module for module in shuffled if module.rpartition('/')[2] in first}
    for chosen in (early, shuffled.keys() - early):
        for turn in itertools.zip_longest(*(shuffled[module] for module in sorted(chosen))):
            yield from (mutant for mutant in turn if mutant is not None)


def _results() -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant: of this copy of the repository, and those that it came with."""
    return merged(kept(KEPT), latest(HERE / 'results.jsonl'))


def _run(args: argparse.Namespace) -> int:
    HERE.mkdir(parents=True, exist_ok=True)
    os.environ['DYN_NODES_CACHE'] = str(HERE / 'cache')  # changed texts push the kernels of the present one out
    known = _results()
    place = Copy(ROOT, HERE / f'copy-{os.getpid()}')
    try:
        return _run_rooms(args, place, known)
    finally:
        shutil.rmtree(place.place, ignore_errors=True)


def _run_rooms(args: argparse.Namespace, place: Copy, known: dict[str, dict[str, Any]]) -> int:
    is_equivalent = equivalents()
    for name, settings in rooms().items():
        if args.room and name not in args.room:
            continue
        order = [
            mutant
            for mutant in _order(all_mutants(name, settings), settings.get('first', []), args.seed)
            if fnmatch.fnmatch(mutant.module.partition('/')[2], args.module)
            and (known[mutant.key]['outcome'] in args.again if mutant.key in known else not args.again)
            and not (args.again and is_equivalent(mutant))
        ]
        if not order:
            continue
        given = {key: settings[key] for key in ('tests', 'lower', 'plain', 'skip', 'always') if key in settings}
        room = Room(settings.get('room', name), **{**given, **({'tests': args.tests} if args.tests else {})})
        failed = place.measure(room)
        if failed:
            print(failed[-3000:], f'{name}: the tests fail without any change', sep='\n')
            return 1
        seconds = args.seconds
        for mutant in order[: args.most]:
            result = place.judge(room, mutant)
            seconds -= result['seconds']
            line = {**mutant.as_dict(), **result, 'date': time.strftime('%Y-%m-%d')}
            with (HERE / 'results.jsonl').open('a', encoding='utf-8') as file:
                file.write(json.dumps(line) + '\n')
            if result['outcome'] in ('survived', 'untested') or args.verbose:
                print(f'{mutant.place_text}: {result["outcome"]}: {mutant.before} -> {mutant.after}', flush=True)
            if seconds < 0.0:
                break
    return 0


def _report(args: argparse.Namespace) -> int:
    found: dict[str, list[Mutant]] = {}
    for name, settings in rooms().items():
        found |= all_mutants(name, settings)
    results = _results()
    keep(KEPT, found, results)
    page = args.out.read_text(encoding='utf-8') if args.out.exists() else ''
    text, remaining = report(found, results, page)
    args.out.write_text(text, encoding='utf-8')
    for line in remaining:
        print(line)
    return 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog='python -m mutants', description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser('run', help='try changes')
    run.add_argument('--room', action='append', metavar='ROOM', help='only these (all)')
    run.add_argument('--module', default='*', metavar='PATTERN', help='only these modules (*)')
    run.add_argument('--tests', action='append', metavar='FILE', help='judge by these, such as one just written')
    run.add_argument('--seconds', type=float, default=1200.0, help='processor time for each room (1200)')
    run.add_argument('--most', type=int, default=100_000, metavar='N', help='changes of each room')
    run.add_argument('--seed', type=int, default=1, help='of the order (1)')
    run.add_argument('--again', action='append', default=[], metavar='OUTCOME', help='try these results again')
    run.add_argument('--verbose', action='store_true', help='show the killed ones, too')
    run.set_defaults(do=_run)
    table = commands.add_parser('report', help='write the table and list what survived')
    table.add_argument('--out', type=Path, default=ROOT / 'docs' / 'verification' / 'mutants.md', metavar='FILE')
    table.set_defaults(do=_report)
    args = parser.parse_args()
    return int(args.do(args))


if __name__ == '__main__':
    sys.exit(main())
