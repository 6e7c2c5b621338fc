"""Runs of tests on a copy of the repository: first unchanged, with coverage by test, then with one change at a time.

A run is a fork of this process, which has imported the libraries but nothing of dyn_nodes. The processor time of a run
is bounded, not its wall time, so that a busy computer kills no mutant.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutants.sites import Mutant, changed_source

LIBRARIES = (
    'numpy', 'scipy.optimize', 'scipy.integrate', 'scipy.linalg', 'scipy.spatial.transform', 'scipy.interpolate',
    'casadi', 'numba', 'yaml', 'lxml.etree', 'pytest', 'hypothesis', 'hypothesis.strategies', 'yourdfpy', 'coverage',
    'rosbags.typesys', 'cyclonedds.idl', 'cyclonedds.domain',
)  # fmt: skip
PLUGINS = ('pytest_timeout', '_hypothesis_pytestplugin')
RUN_BY_ALL = ''
LEAST_TIME = 5.0
"""Least limit of processor time of a run, s; a change may make a loop endless."""
TESTS_TIME = 15.0
"""Total time of the tests that judge a change, s, measured without change; the quickest come first."""


@dataclass
class Package:
    """The tests of a package.

    Attributes:
        name: of the package.
        tests: files and directories.
        lower: packages that are imported before, once for all runs.
        plain: array loops run as Python.
        skip: names of excluded tests.
        always: tests that judge a module regardless of coverage.
        covering: tests by file and line.
        seconds: of each test without a change.
    """

    name: str
    tests: list[str]
    lower: list[str] = field(default_factory=list)
    plain: bool = False
    skip: list[str] = field(default_factory=list)
    always: dict[str, list[str]] = field(default_factory=dict)
    covering: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def judges(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        """Return the tests that execute the change, and the tests that may use its results, the quickest first.

        Results in modules, fixtures or caches are made in one test, or at import, and used in others: these are all
        tests of the files that have run the line, or all users of the module if the line runs at import.
        """
        lines = self.covering.get(mutant.module, {})
        first, last = mutant.lines
        tests: set[str] = set().union(*(lines.get(line, set()) for line in range(first, last + 1)))
        users = set().union(*lines.values()) if RUN_BY_ALL in tests else tests
        files = {test.partition('::')[0] for test in users}
        others = {test for test in self.seconds if test.partition('::')[0] in files} - tests
        always = self.always.get(mutant.module.partition('/')[2], [])
        return self._quickest(tests - {RUN_BY_ALL}), [*self._quickest(others), *always]

    def expected(self, tests: list[str]) -> float:
        """Return the time of tests without a change, s."""
        return sum(self.seconds.get(test, 10.0) for test in tests)

    def _quickest(self, tests: set[str]) -> list[str]:
        """Return the quickest tests within `TESTS_TIME`, at least one."""
        chosen, total = [], 0.0
        for test in sorted(tests, key=lambda test: (self.seconds.get(test, 0.0), test)):
            total += self.seconds.get(test, 0.0)
            if chosen and total > TESTS_TIME:
                break
            chosen.append(test)
        return chosen


class _Times:
    """Plugin of pytest that sets the context of coverage to the running test and records processor times."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.start = coverage, 0.0
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)
        self.start = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.coverage.switch_context('')
        self.seconds[nodeid] = time.process_time() - self.start

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


class _Tests:
    """A run of some tests up to the first failure."""

    def __init__(self, package: Package, tests: list[str]) -> None:
        self.arguments = ['-x', *tests, *_deselected(package)]

    def __call__(self) -> int:
        return _pytest(self.arguments)


class Copy:
    """A copy of the tracked files, in which modules are changed and tests run."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root, self.directory = root, directory
        shutil.rmtree(directory, ignore_errors=True)
        listed = ['git', 'ls-files', '--cached', '--others', '--exclude-standard']
        for name in subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines():
            if (root / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, directory / name)
        os.environ['PYTHONPATH'] = str(directory)
        os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'
        sys.path[:] = [str(directory), *(entry for entry in sys.path if entry not in ('', str(root)))]
        for library in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(library)

    def measure(self, package: Package) -> str:
        """Run the tests of a package without a change, for coverage and times. Return the failures, or ''."""
        for lower in package.lower:
            importlib.import_module(f'dyn_nodes.{lower}')
        inside = package.name.replace('/', '.')
        early = [name for name in sys.modules if f'{name}.'.startswith(f'dyn_nodes.{inside}.')]
        if early:
            raise RuntimeError(
                f'lower packages of {package.name}: they import {early[0]}, whose changes would not be seen'
            )
        kept = self.directory / f'{inside}.json'

        def run() -> int:
            import coverage

            tracer = coverage.Coverage(data_file=None, include=[str(self.directory / 'dyn_nodes/*')])
            times = _Times(tracer)
            tracer.start()
            code = _pytest([*package.tests, *_deselected(package)], times)
            tracer.stop()
            data = tracer.get_data()
            lines = {name: data.contexts_by_lineno(name) for name in data.measured_files()}
            kept.write_text(json.dumps({'lines': lines, 'seconds': times.seconds, 'failed': sorted(times.failed)}))
            return 0 if code == 1 and times.failed else code

        code, output, _ = self._fork(run, package.plain, 900, writes=True)
        if code != 0:
            return output
        stored = json.loads(kept.read_text())
        failed = set(stored['failed'])
        for test in sorted(failed):
            print(f'{package.name}: {test} fails without any change: it judges nothing', flush=True)
        package.seconds = {test: time for test, time in stored['seconds'].items() if test not in failed}
        sources = self.directory / 'dyn_nodes'
        for name, lines in stored['lines'].items():
            module = str(Path(name).relative_to(sources).with_suffix(''))
            package.covering[module] = {int(line): set(tests) - failed for line, tests in lines.items()}
        return ''

    def judge(self, package: Package, mutant: Mutant) -> dict[str, Any]:
        """Return the outcome of a change: `killed`, `timeout`, `survived` or `untested`, and the killing test."""
        stages = [tests for tests in package.judges(mutant) if tests]
        path = self.directory / 'dyn_nodes' / f'{mutant.module}.py'
        source = path.read_text(encoding='utf-8')
        for compiled in (path.parent / '__pycache__').glob(f'{path.stem}.*.pyc'):
            compiled.unlink()
        outcome, by, seconds = 'survived' if stages else 'untested', '', 0.0
        try:
            path.write_text(changed_source(mutant, source), encoding='utf-8')
            for tests in stages:
                code, output, used = self._fork(
                    _Tests(package, tests), package.plain, LEAST_TIME + 3.0 * package.expected(tests)
                )
                seconds += used
                if code != 0:
                    outcome = 'timeout' if code < 0 else 'killed'
                    failed = [line for line in output.splitlines() if line.startswith(('FAILED ', 'ERROR '))]
                    by = failed[0].split(' - ')[0].split(' ', 1)[1] if failed else ''
                    break
        finally:
            path.write_text(source, encoding='utf-8')
        return {'outcome': outcome, 'by': by, 'seconds': round(seconds, 2)}

    def _fork(
        self, run: Callable[[], int], plain: bool, seconds: float, writes: bool = False
    ) -> tuple[int, str, float]:
        """Return (exit status, output, processor time) of a function that runs in a child; a signal is negative."""
        out = self.directory / 'output.txt'
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.setpgid(0, 0)
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 3))
                self._prepare(out, plain, writes)
                code = run()
            except BaseException:  # this process ends here in any case
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        before = os.times()
        status = self._wait(child, 20.0 * seconds)
        with contextlib.suppress(ProcessLookupError):  # remaining processes of the tests
            os.killpg(child, signal.SIGKILL)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return os.waitstatus_to_exitcode(status), out.read_text(errors='replace'), round(used, 2)

    @staticmethod
    def _wait(child: int, seconds: float) -> int:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]

    def _prepare(self, out: Path, plain: bool, writes: bool) -> None:
        import numba

        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, 'wb', closefd=False), line_buffering=True)
        sys.stderr = io.TextIOWrapper(os.fdopen(2, 'wb', closefd=False), line_buffering=True)
        os.chdir(self.directory)
        if not writes:  # the time of a file is too coarse to distinguish successive changes
            sys.dont_write_bytecode = True
            os.environ['PYTHONDONTWRITEBYTECODE'] = '1'
        if plain:
            numba.config.DISABLE_JIT = True
            os.environ['NUMBA_DISABLE_JIT'] = '1'


def _pytest(arguments: list[str], *plugins: Any) -> int:
    import pytest

    loaded = [word for plugin in PLUGINS for word in ('-p', plugin)]
    options = ['-q', '--no-header', '--assert=plain', '-m', 'not slow', *loaded]
    return int(pytest.main([*options, *arguments], plugins=list(plugins)))


def _deselected(package: Package) -> list[str]:
    return ['-k', ' and '.join(f'not {name}' for name in package.skip)] if package.skip else []
