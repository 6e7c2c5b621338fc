"""All tests, the slow ones too, in an order drawn by a seed, and a page of what came of them: `make nightly`.

The draws of property tests are those of the seed, too. The same command with the seed of a page repeats its run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
OUTCOMES = ('failure', 'error', 'skipped')
LONGEST = 10
"""Tests that the page lists by their time."""
HEAD = """# Nightly tests

`make nightly` runs all tests, the slow ones too: files and tests in an order drawn by a seed, property tests with draws
of that seed. Written by `{command}`: {cases} in {minutes:.0f} minutes; {cores} cores, load {load:.1f}.

"""


def run(words: list[str], report: Path) -> None:
    """Run pytest and let it write a report."""
    command = [sys.executable, '-m', 'pytest', '-q', f'--junitxml={report}', *words]
    subprocess.run(command, cwd=ROOT, check=False)


def page(report: Path, command: str) -> tuple[str, bool]:
    """Return the page of a report of pytest, and whether all tests passed."""
    suite = next(ElementTree.parse(report).iter('testsuite'))
    outcomes, times, failures = Counter[str](), dict[str, float](), list[str]()
    for case in suite.iter('testcase'):
        name = f'{(case.get("classname") or "").replace(".", "/")}.py::{case.get("name")}'
        outcome = next((kind for kind in OUTCOMES if case.find(kind) is not None), 'passed')
        outcomes[outcome] += 1
        times[name] = float(case.get('time') or 0.0)
        if outcome in OUTCOMES[:2]:
            text = (case.find(outcome).get('message') or '').split('\n')[0]  # type: ignore[union-attr]
            failures.append(f'| {_cell(name)} | {_cell(text)} |')
    counts = ', '.join(f'{count} {outcome}' for outcome, count in sorted(outcomes.items())) or 'no tests'
    text = HEAD.format(command=command, cases=counts, minutes=float(suite.get('time') or 0.0) / 60.0,
                       cores=os.cpu_count(), load=os.getloadavg()[2])  # fmt: skip
    text += '\n'.join(['| failed | because |', '|---|---|', *sorted(failures), '']) if failures else 'None failed.\n'
    longest = sorted(times, key=lambda name: -times[name])[:LONGEST]
    text += '\n'.join(['', '| longest | seconds |', '|---|---:|'])
    text += ''.join(f'\n| {_cell(name)} | {times[name]:.0f} |' for name in longest) + '\n'
    return text, bool(outcomes) and not failures


def _cell(text: str) -> str:
    return re.sub(r'([|\[<*_`])', r'\\\1', ''.join(c if c.isprintable() else ' ' for c in text)[:200])


def main(words: list[str] | None = None) -> int:
    """Run the tests, write the page; return 0 where all passed."""
    parser = argparse.ArgumentParser(prog='python test/nightly.py', description=__doc__)
    parser.add_argument('--seed', type=int, default=random.SystemRandom().randrange(10**6), help='of order and draws')
    parser.add_argument('--jobs', default='3', help='workers of pytest (3)')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the page, such as docs/verification/nightly.md')
    parser.add_argument('tests', nargs='*', default=['test'], help='a part of the tests (test)')
    args = parser.parse_args(words)
    seeds = [f'--shuffle={args.seed}', f'--hypothesis-seed={args.seed}']
    workers = ['-n', args.jobs, '--dist', 'loadfile', '--no-loadscope-reorder', '--max-worker-restart=0']
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / 'report.xml'
        run([*workers, *seeds, *args.tests], report)
        if not report.exists():
            return 1
        parts = ['python', 'test/nightly.py', '--seed', str(args.seed), *args.tests]
        text, passed = page(report, shlex.join(parts))
    if args.out is not None:
        args.out.write_text(text, encoding='utf-8')
    print(text)
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
