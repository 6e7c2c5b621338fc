"""`python -m benchmarks.zoo`: robots of others as they are published: `init`, `check`, 5 s as a node.

Each machine is tried in its own process, with guard zones around the arrays of compiled kernels. The results go into
build/zoo.json, from where an interrupted run goes on, and into docs/zoo.md. Exit status 1 where fewer than 25 machines
of others pass.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from benchmarks.zoo_trial import MOST_MOTION, MOST_TILT, SECONDS

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / 'benchmarks' / 'zoo.yaml'
RESULTS, PAGE = ROOT / 'build' / 'zoo.json', ROOT / 'docs' / 'zoo.md'
LEAST = 25
LONGEST = 900.0
"""Of one machine, s: most of it is the first compilation."""
HEAD = """\
# The zoo

Machines of others, taken as they are published, and two of our own in the shape of such descriptions. Each goes
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


def machines() -> list[dict[str, str]]:
    """Return the entries of the list."""
    return list(yaml.safe_load(LIST.read_text(encoding='utf-8')))


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


def try_one(urdf: Path, seconds: float = SECONDS) -> dict[str, Any]:
    """Return what came of a machine in a process of its own."""
    environment = {**os.environ, 'DYN_NODES_GUARD': '1'}
    command = [sys.executable, '-m', 'benchmarks.zoo_trial', str(urdf), str(seconds)]
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
    """Return the text of docs/zoo.md."""
    passed = [result for result in results if not result['refused']]
    missing = f'Not tried: {", ".join(absent)}.' if absent else ''
    others = sum(result['maker'] != 'dyn_nodes' for result in passed)
    values = {'seconds': SECONDS, 'motion': MOST_MOTION, 'tilt': MOST_TILT, 'count': len(results), 'absent': missing}
    text = HEAD.format(passed=len(passed), others=others, **values).replace('  \n', '\n').replace('. \n', '.\n')
    return text + ''.join(_row(result) for result in results)


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
    parser.add_argument('names', nargs='*', help='machines to try (all without a result in build/zoo.json)')
    parser.add_argument('--again', action='store_true', help='forget the results that are there')
    parser.add_argument('--page', action='store_true', help='write the page from the results that are there')
    args = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() and not args.again else {}
    results, absent = [], []
    for entry in machines():
        urdf = find(entry)
        if urdf is None:
            absent.append(entry['name'])
            continue
        if entry['name'] in args.names or not (args.names or args.page or entry['name'] in known):
            known[entry['name']] = try_one(urdf)
            print(f'{entry["name"]}: {known[entry["name"]]["refused"] or "passes"}', flush=True)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(known, indent=1))
        if entry['name'] in known:
            results.append({**entry, **known[entry['name']]})
        else:
            absent.append(entry['name'])
    if not args.names:
        PAGE.write_text(page(results, absent), encoding='utf-8')
        passed = sum(not result['refused'] and result['maker'] != 'dyn_nodes' for result in results)
        print(f'{passed} machines of others pass; {PAGE.relative_to(ROOT)} is written')
        return 0 if passed >= LEAST else 1
    return 0 if all(not known[name]['refused'] for name in args.names) else 1


if __name__ == '__main__':
    sys.exit(main())
