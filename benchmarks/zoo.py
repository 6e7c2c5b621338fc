"""`python -m benchmarks.zoo`: robots of others as they are published: `init`, `check`, 5 s as a node.

`--mechanisms`: those with loops or mimic joints, each a minute in which its drives move. Each machine is tried in its
own process, with guard zones around the arrays of compiled kernels. The results go into build/zoo.json or
mechanisms.json, from which an interrupted run continues, and into docs/verification/zoo.md or mechanisms.md. Exit
status 1 if fewer than 25 third-party machines, or 30 mechanisms, pass.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks import mechanism_trial
from benchmarks.zoo_trial import MOST_MOTION, MOST_TILT, SECONDS

ROOT = Path(__file__).resolve().parents[1]


class Collection(NamedTuple):
    """A list of machines: name of its files, module that tries one, seconds of a trial, and how many have to pass."""

    name: str
    module: str
    seconds: float
    least: int

    @property
    def results(self) -> Path:
        """File of the results."""
        return ROOT / 'build' / f'{self.name}.json'

    @property
    def page(self) -> Path:
        """Page that is written."""
        return ROOT / 'docs' / 'verification' / f'{self.name}.md'


ZOO = Collection('zoo', 'benchmarks.zoo_trial', SECONDS, 25)
MECHANISMS = Collection('mechanisms', 'benchmarks.mechanism_trial', mechanism_trial.SECONDS, 30)
LONGEST = 900.0
"""Of one machine, s: most of it is the first compilation."""
HEAD = """\
# The zoo

Machines of others, taken as they are published, and some of our own in the shape of such descriptions. Each goes
through `dyn-nodes init` (which writes its first machine YAML), `dyn-nodes check`, and {seconds:g} s as `dynamics_node`
in lockstep. The joints are held where they start, nothing is commanded, and there are guard zones around the arrays of
all compiled kernels (`DYN_NODES_GUARD=1`). A machine passes where nothing falls and nothing drifts: joints move by less
than {motion:g} rad or m, the base by less than {motion:g} of the greatest distance of two contacts (or m) and by less
than {tilt:g} rad.

    make zoo        # or: python -m benchmarks.zoo

wrote this page. A fixed base means that `init` found no contacts on which the machine stands in its first posture; the
machine YAML gives the reason. Where a machine is refused, the last column says why.
{passed} of {count} pass, {others} of them machines of others. {absent}

| machine | maker | kind | mass, kg | freedoms | contacts | warnings | base moved, m | joints moved | result |
|---|---|---|---|---|---|---|---|---|---|
"""


MECHANISMS_HEAD = """\
# Mechanisms

Published machines with loops or mimic joints, as they are. `dyn-nodes init --lightest 0` writes their first machine
YAML: mimic joints are couplings, loops are constraints, and no light joint is held. An MJCF or SDF file gives its tree
as a URDF (`benchmarks/mechanism_urdf.py`) and its loops by `init --closures`. Then each runs for {seconds:g} s with
steps of {step:g} s. The drives move to and fro at {frequency:g} Hz by {sweep:.0%} of their range, at most {angle:g} rad
or {way:g} m, as far as the loops let them move together. A mechanism passes where something moves and no loop or
coupling ever gapes by more than {gap:g} m or rad.

    make mechanisms

wrote this page. {passed} of {count} pass. {absent}

| mechanism | maker | kind | mass, kg | joints | constraints | greatest gap | joints moved by | result |
|---|---|---|---|---|---|---|---|---|
"""


def machines(collection: Collection = ZOO) -> list[dict[str, str]]:
    """Return the entries of a list."""
    path = ROOT / 'benchmarks' / f'{collection.name}.yaml'
    return list(yaml.safe_load(path.read_text(encoding='utf-8')))


def find(entry: dict[str, str]) -> Path | None:
    """Return the URDF of an entry; None where its package is not installed."""
    package = entry.get('package')
    if package is None:
        return ROOT / entry['file']
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files if str(file).endswith('/' + entry['file'])]
    return Path(str(found[0].locate())).resolve() if found else None


def try_one(urdf: Path, collection: Collection = ZOO) -> dict[str, Any]:
    """Return what came of a machine in a process of its own."""
    environment = {**os.environ, 'DYN_NODES_GUARD': '1'}
    command = [sys.executable, '-m', collection.module, str(urdf), str(collection.seconds)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return {'refused': f'not ready after {LONGEST:g} s'}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ['no message'])[-1]
        return {'refused': f'the process ended with {done.returncode}: {last}'}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def page(results: list[dict[str, Any]], absent: list[str]) -> str:
    """Return the text of docs/verification/zoo.md."""
    passed = [result for result in results if not result['refused']]
    missing = f'Not tried: {", ".join(absent)}.' if absent else ''
    others = sum(result['maker'] != 'dyn_nodes' for result in passed)
    values = {'seconds': SECONDS, 'motion': MOST_MOTION, 'tilt': MOST_TILT, 'count': len(results), 'absent': missing}
    text = HEAD.format(passed=len(passed), others=others, **values).replace('  \n', '\n').replace('. \n', '.\n')
    return text + ''.join(_row(result) for result in results)


def mechanisms_page(results: list[dict[str, Any]], absent: list[str]) -> str:
    """Return the text of docs/verification/mechanisms.md."""
    values = {
        'seconds': mechanism_trial.SECONDS,
        'step': mechanism_trial.STEP,
        'sweep': mechanism_trial.SWEEP,
        'angle': mechanism_trial.ANGLE,
        'way': mechanism_trial.WAY,
        'frequency': mechanism_trial.FREQUENCY,
        'gap': mechanism_trial.GREATEST_GAP,
        'passed': sum(not result['refused'] for result in results),
        'count': len(results),
        'absent': f'Not tried: {", ".join(absent)}.' if absent else '',
    }
    text = MECHANISMS_HEAD.format(**values).replace('. \n', '.\n')
    return text + ''.join(_mechanism_row(result) for result in results)


def _mechanism_row(result: dict[str, Any]) -> str:
    cells = [result['name'], result['maker'], result['kind']]
    if 'mass' in result:
        kinds = f'{result["constraints"]} ({result["kinds"]})' if result['constraints'] else '0'
        cells += [f'{result["mass"]:.4g}', str(result['joints']), kinds]
    else:
        cells += [''] * 3
    cells += [f'{result["gap"]:.0e}', f'{result["moved"]:.2f}'] if 'gap' in result else [''] * 2
    reason = result['refused'].replace('|', '\\|')
    return f'| {" | ".join([*cells, reason or "passes"])} |\n'


def _row(result: dict[str, Any]) -> str:
    cells = [result['name'], result['maker'], result['kind']]
    if 'mass' in result:
        contacts = str(result['contacts']) if result['base'] != 'fixed' else 'fixed base'
        cells += [f'{result["mass"]:.4g}', str(result['freedoms']), contacts, str(result['warnings'])]
    else:
        cells += [''] * 4
    if 'base_motion' in result:
        cells += [_motion(result['base_motion']), _motion(result['joint_motion'])]
    else:
        cells += [''] * 2
    reason = result['refused'].replace('|', '\\|')
    return f'| {" | ".join([*cells, reason or "passes"])} |\n'


def _motion(value: float) -> str:
    return f'{value:.1e}' if value >= 1e-9 else '< 1e-9'


def main() -> int:
    """Try the machines; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', help='machines to try (default: all without a result)')
    parser.add_argument(
        '--mechanisms', action='store_true', help='mechanisms with loops or mimic joints, a minute each'
    )
    parser.add_argument('--again', action='store_true', help='forget the results that are there')
    parser.add_argument('--page', action='store_true', help='write the page from the results that are there')
    args = parser.parse_args()
    collection = MECHANISMS if args.mechanisms else ZOO
    listed = [entry['name'] for entry in machines(collection)]
    for name in args.names:
        if name not in listed:
            parser.error(f'unknown machine {name!r}; known: {", ".join(listed)}')
    known = json.loads(collection.results.read_text()) if collection.results.exists() and not args.again else {}
    results, absent = [], []
    for entry in machines(collection):
        urdf = find(entry)
        if urdf is None:
            absent.append(entry['name'])
            continue
        if entry['name'] in args.names or not (args.names or args.page or entry['name'] in known):
            known[entry['name']] = try_one(urdf, collection)
            print(f'{entry["name"]}: {known[entry["name"]]["refused"] or "passes"}', flush=True)
            collection.results.parent.mkdir(exist_ok=True)
            collection.results.write_text(json.dumps(known, indent=1))
        if entry['name'] in known:
            results.append({**entry, **known[entry['name']]})
        else:
            absent.append(entry['name'])
    if not args.names:
        text = mechanisms_page(results, absent) if args.mechanisms else page(results, absent)
        collection.page.write_text(text, encoding='utf-8')
        passed = sum(not result['refused'] and result['maker'] != 'dyn_nodes' for result in results)
        print(f'{passed} machines of others pass; {collection.page.relative_to(ROOT)} is written')
        return 0 if passed >= collection.least else 1
    return 0 if all(not known[name]['refused'] for name in args.names) else 1


if __name__ == '__main__':
    sys.exit(main())
