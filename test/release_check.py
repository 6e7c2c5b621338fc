"""`make release-check`: the check-list of a release. Every step prints one line; exit status 1 if a step fails.

    python test/release_check.py [--only STEP ...] [--skip STEP ...]

Steps, in order: versions, changelog, style, docs, tests, bench, build, install, demo. `build` makes a source
distribution and a wheel; `install` installs the wheel in a new environment with the locked dependencies; `demo` runs
`dyn-nodes demo` from it, outside of the clone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST_ENTRY = 30
"""Greatest number of lines of the changelog for one version."""
PLACEHOLDER = '.invalid'
"""End of the maintainer's address until a person enters one in package.xml."""


class Failed(Exception):
    """A step of the check-list does not hold; the message names expected and found values."""


def package_version(root: Path = ROOT) -> str:
    """Return the version of package.xml."""
    return ElementTree.parse(root / 'package.xml').getroot().findtext('version', '').strip()


def versions(root: Path = ROOT) -> str:
    """Compare the version of package.xml with those of the packages, the citation and the changelog."""
    expected = package_version(root)
    texts = {
        'dyn_nodes/__init__.py': r"^__version__ = '(.*)'",
        'roslite/__init__.py': r"^__version__ = '(.*)'",
        'CITATION.cff': r'^version: (.*)$',
        'CHANGELOG.rst': r'^(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)$',
    }
    for name, pattern in texts.items():
        match = re.search(pattern, (root / name).read_text(encoding='utf-8'), re.MULTILINE)
        if match is None or match.group(1) != expected:
            raise Failed(f'{name}: expected version {expected} of package.xml, found {match and match.group(1)}')
    return expected


def changelog(root: Path = ROOT) -> str:
    """Check that the newest entry of the changelog is dated, is that of the citation, and is short."""
    text = (root / 'CHANGELOG.rst').read_text(encoding='utf-8')
    _, version, date, entry, *_ = re.split(r'^(\S+) \((\d{4}-\d{2}-\d{2})\)\n-+\n', text, flags=re.MULTILINE)
    lines = len(entry.strip().splitlines())
    if lines > LONGEST_ENTRY or 'Forthcoming' in text:
        raise Failed(
            f'CHANGELOG.rst: expected at most {LONGEST_ENTRY} lines for {version}, found {lines} or Forthcoming'
        )
    if f'date-released: {date}' not in (root / 'CITATION.cff').read_text(encoding='utf-8'):
        raise Failed(f'CITATION.cff: expected date-released: {date}')
    return f'{lines} lines for {version}'


def run(*command: object, folder: Path = ROOT, timeout: float = 7200.0) -> str:
    """Run a command and return its output; raise `Failed` with the end of it if the exit status is not 0."""
    words = [str(word) for word in command]
    environment = {**os.environ, 'PYTHONDONTWRITEBYTECODE': '', 'NO_MKDOCS_2_WARNING': '1'}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode:
        tail = '\n'.join((done.stdout + done.stderr).splitlines()[-15:])
        raise Failed(f'{" ".join(words)}: exit status {done.returncode}\n{tail}')
    return done.stdout


def bench() -> str:
    """Check the bars of build/bench.json; measure first if there is no file."""
    file = ROOT / 'build' / 'bench.json'
    if not file.exists():
        run(sys.executable, '-m', 'benchmarks')
    return f'{len(json.loads(file.read_text()))} lines in build/bench.json'


def build(folder: Path) -> str:
    """Make a source distribution and a wheel, and check that launch files, machines and data are in both."""
    hook = (
        'import setuptools.build_meta as backend, sys; folder = sys.argv[1]; '
        'backend.build_sdist(folder); backend.build_wheel(folder)'
    )
    run(sys.executable, '-c', hook, folder)
    (wheel,), (source,) = folder.glob('*.whl'), folder.glob('*.tar.gz')
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as sources:
        lists = {wheel.name: archive.namelist(), source.name: sources.getnames()}
    for name in (
        'launch/log_loader.launch.xml',
        'urdf/log_loader.urdf',
        'config/log_loader.yaml',
        'reference_numbers.yaml',
    ):
        for archive_name, members in lists.items():
            if not any(member.endswith(name) for member in members):
                raise Failed(f'{archive_name}: expected {name}, found none')
    return f'{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB'


def size(folder: Path) -> float:
    """Return the size of the files of a folder, MB."""
    return sum(path.lstat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6


def install(folder: Path) -> str:
    """Install the wheel with the locked dependencies of `full` in a new environment."""
    environment = folder / 'environment'
    run(sys.executable, '-m', 'venv', environment)
    pip = (environment / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile')
    run(*pip, '--require-hashes', '-r', ROOT / 'lock' / 'build.txt')
    run(*pip, '--require-hashes', '--no-build-isolation', '-r', ROOT / 'lock' / 'full.txt')
    run(*pip, '--no-deps', next(folder.glob('*.whl')))
    run(environment / 'bin' / 'pip', 'check')
    return f'{size(environment):.0f} MB with the extra `full`'


def demo(folder: Path) -> str:
    """Run the demo of the installed wheel in an empty folder, and check bag and report."""
    empty = folder / 'empty'
    empty.mkdir()
    run(folder / 'environment' / 'bin' / 'dyn-nodes', 'demo', '--fast', folder=empty)
    if not list(empty.glob('runs/latest/bag/metadata.yaml')) or not list(empty.glob('runs/latest/report.html')):
        raise Failed(f'dyn-nodes demo: expected a bag and report.html, found {sorted(empty.rglob("*"))[:10]}')
    return 'bag and report from the wheel'


def main() -> int:
    """Run the steps; return the exit status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps: dict[str, Callable[[], str]] = {
            'versions': versions,
            'changelog': changelog,
            'style': lambda: run('make', '--silent', 'style') and 'ruff, mypy',
            'docs': lambda: run('make', '--silent', 'docs-site') or 'build/site',
            'tests': lambda: run('bash', '.ci/run').strip().splitlines()[-1],
            'bench': bench,
            'build': lambda: build(folder),
            'install': lambda: install(folder),
            'demo': lambda: demo(folder),
        }
        parser = argparse.ArgumentParser(description='The check-list of a release.')
        parser.add_argument(
            '--only', nargs='+', choices=steps, default=list(steps), metavar='STEP', help=', '.join(steps)
        )
        parser.add_argument('--skip', nargs='+', choices=steps, default=[], metavar='STEP')
        args = parser.parse_args()
        failed = []
        for step in (step for step in steps if step in args.only and step not in args.skip):
            start = time.monotonic()
            try:
                outcome = f'ok    {steps[step]()}'
            except Failed as error:
                failed.append(step)
                outcome = f'FAILED {error}'
            print(f'{step:10} {time.monotonic() - start:6.0f} s  {outcome}', flush=True)
    address = ElementTree.parse(ROOT / 'package.xml').getroot().find('maintainer')
    if address is not None and address.get('email', '').endswith(PLACEHOLDER):
        print('note: package.xml has a placeholder as the address of the maintainer; enter one before publishing')
    print(f'failed: {", ".join(failed)}' if failed else 'all steps passed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
