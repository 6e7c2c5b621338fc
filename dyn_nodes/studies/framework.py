"""Studies: the sources' experiments as named functions that run, draw figures and check claims.

    @study('abo-shanab-2003/e3', 'Rigid base, level ground, pick and place')
    def e3(s: StudyRun) -> None:
        run = ...
        s.near('onset of tipping over the front edge, s', 'section 6.6', 9.0, run.onset, relative=0.01)
        s.holds('it comes back', 'p. 53 to 57', run.outcome == 'returned', expected='returned', value=run.outcome)
        s.figure('base_rotation', 'Fig. 4.8: rotation of the base', lambda: draw(run))

A study is defined in a module of a package below `dyn_nodes.studies` named after its source; `load_studies` imports
all of them. A sweep calls `s.map(function, cases, 'stiffness')` and runs on all cores: the function must be defined at
module level, and its cases and results must be picklable. `draw` is called only if figures are requested.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
import math
import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dyn_nodes.common.processes import LastingPool
from dyn_nodes.studies.listing import natural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = float | int | bool | str | list[Any] | None
Case = TypeVar('Case')
Result = TypeVar('Result')
EXACT = 'exact'


@dataclass(frozen=True)
class Claim:
    """One statement that a study checked.

    Attributes:
        study: name, such as `abo-shanab-2003/e3`.
        claim: statement, with its unit, if any.
        source: page or figure of the source, or section of its specification, that contains the statement.
        expected, value: number, text, or a list of them.
        tolerance: greatest accepted difference, in the unit of `expected`; or `exact`.
    """

    study: str
    claim: str
    source: str
    expected: Value
    value: Value
    tolerance: float | str
    passed: bool


@dataclass(frozen=True)
class StudyFigure:
    """A drawn figure; `name`: file name without suffix."""

    study: str
    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Study:
    """A registered study."""

    name: str
    title: str
    function: Callable[[StudyRun], None]

    @property
    def source(self) -> str:
        """Short name of the source."""
        return self.name.split('/')[0]


@dataclass
class StudyResult:
    """Result of a study. `error`: message of an exception that ended it; earlier claims are kept."""

    study: Study
    claims: list[Claim] = field(default_factory=list)
    figures: list[StudyFigure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ''

    @property
    def passed(self) -> bool:
        """True if there is at least one claim and every claim holds."""
        return bool(self.claims) and not self.error and all(claim.passed for claim in self.claims)


class StudyRun:
    """Context of a study function: runs its cases and stores its claims and figures."""

    def __init__(self, study: Study, workers: Workers, plot: bool) -> None:
        self.result = StudyResult(study)
        self.plot = plot
        self._workers = workers

    def map(self, function: Callable[[Case], Result], cases: Iterable[Case], label: str = '') -> list[Result]:
        """Return `function(case)` for every case, in order, on all cores."""
        return self._workers.map(function, list(cases), f'{self.result.study.name} {label}'.strip())

    def near(
        self, claim: str, source: str, expected: float, value: float, *, relative: float = 0.0, absolute: float = 0.0
    ) -> bool:
        """Claim that a number is within max(relative |expected|, absolute) of the expected value."""
        tolerance = max(relative * abs(expected), absolute)
        passed = math.isfinite(value) and abs(value - expected) <= tolerance
        return self._add(claim, source, float(expected), float(value), tolerance, passed)

    def holds(self, claim: str, source: str, passed: object, *, expected: object = True, value: object = None) -> bool:
        """Claim a condition without tolerance; `value`: measured value, None: the verdict itself."""
        actual = bool(passed) if value is None else value
        return self._add(claim, source, _plain(expected), _plain(actual), EXACT, bool(passed))

    def rising(self, claim: str, source: str, values: Sequence[float]) -> bool:
        """Claim that numbers rise strictly, in order; infinity (an overturned machine) may repeat."""
        return self._add(claim, source, 'rising', _plain(values), EXACT, _rises(values))

    def falling(self, claim: str, source: str, values: Sequence[float]) -> bool:
        """Claim that numbers fall strictly, in order; infinity (an overturned machine) may repeat."""
        return self._add(claim, source, 'falling', _plain(values), EXACT, _rises(list(values)[::-1]))

    def figure(self, name: str, caption: str, draw: Callable[[], Figure]) -> None:
        """Keep a figure. `draw` is called with the package's plot style, and only if figures are requested."""
        if not self.plot:
            return
        from dyn_nodes.analysis.plots import style

        with style():
            self.result.figures.append(StudyFigure(self.result.study.name, name, caption, draw()))

    def note(self, text: str) -> None:
        """Keep a remark for the page, such as a difference from the source and its reason."""
        self.result.notes.append(text)

    def _add(
        self, claim: str, source: str, expected: Value, value: Value, tolerance: float | str, passed: bool
    ) -> bool:
        self.result.claims.append(
            Claim(self.result.study.name, claim, source, expected, value, tolerance, bool(passed))
        )
        return bool(passed)


class Workers(AbstractContextManager['Workers']):
    """Processes for the cases of sweeps, started on first use, and a progress bar on standard error.

    Args:
        count: number of processes; None: one per core; 1: everything runs in this process.
        progress: show the bar; None: if standard error is a terminal.
    """

    def __init__(self, count: int | None = None, progress: bool | None = None) -> None:
        self.count = count or _cores()
        self._pool: LastingPool | None = None
        self._stack = ExitStack()
        console = Console(stderr=True)
        shown = console.is_terminal if progress is None else progress
        self._progress = Progress(
            TextColumn('{task.description}'),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not shown,
        )

    def __enter__(self) -> Workers:
        self._stack.enter_context(self._progress)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close(at_once=kind is not None)
        self._stack.close()

    def map(self, function: Callable[[Case], Result], cases: list[Case], label: str = '') -> list[Result]:
        """Return `function(case)` for every case, in order."""
        task = self._progress.add_task(label, total=len(cases))
        results: list[Result] = []
        try:
            for result in self._results(function, cases):
                results.append(result)
                self._progress.advance(task)
        finally:
            self._progress.remove_task(task)
        return results

    def _results(self, function: Callable[[Case], Result], cases: list[Case]) -> Iterable[Result]:
        if self.count == 1 or len(cases) < 2:
            return map(function, cases)
        if self._pool is None:
            # spawned, not forked: a forked child of a process with threads (the bar starts one) may hang
            self._pool = LastingPool(self.count, name='case')
        return self._pool.map(function, cases)


_REGISTRY: dict[str, Study] = {}


def study(name: str, title: str) -> Callable[[Callable[[StudyRun], None]], Callable[[StudyRun], None]]:
    """Register a study under `<source>/<name>`.

    Raises:
        ValueError: another module already uses the name.
    """

    def register(function: Callable[[StudyRun], None]) -> Callable[[StudyRun], None]:
        registered = _REGISTRY.get(name)
        if registered is not None and registered.function.__module__ != function.__module__:
            raise ValueError(
                f'study {name!r}: already in {registered.function.__module__}, again in {function.__module__}'
            )
        _REGISTRY[name] = Study(name, title, function)
        return function

    return register


def load_studies() -> dict[str, Study]:
    """Import every module of every source's package; return the studies in natural order of their names."""
    import dyn_nodes.studies as home

    for package in pkgutil.iter_modules(home.__path__, f'{home.__name__}.'):
        if package.ispkg:
            path = importlib.import_module(package.name).__path__
            for module in pkgutil.iter_modules(path, f'{package.name}.'):
                importlib.import_module(module.name)
    return {name: _REGISTRY[name] for name in sorted(_REGISTRY, key=natural)}


def select(pattern: str) -> list[Study]:
    """Return the studies of `<source>/<name>`, `<source>/all` or `all`. Raises KeyError that lists the known names."""
    studies = load_studies()
    source, _, name = pattern.partition('/')
    if pattern == 'all':
        chosen = list(studies.values())
    elif name == 'all':
        chosen = [entry for entry in studies.values() if entry.source == source]
    else:
        chosen = [studies[pattern]] if pattern in studies else []
    if not chosen:
        sources = sorted({entry.source for entry in studies.values()})
        names = [*studies, *(f'{entry}/all' for entry in sources), 'all']
        near = difflib.get_close_matches(pattern, names, 1)
        same_source = [name for name in names if name.startswith(pattern.partition('/')[0] + '/')]
        listed = ', '.join(same_source or [f'{entry}/all' for entry in sources])
        meant = f' (did you mean {near[0]!r}?)' if near else ''
        raise KeyError(f'unknown study {pattern!r}{meant}; known: {listed}; `dyn-nodes study list` has all')
    return chosen


def run_study(entry: Study, workers: Workers | None = None, plot: bool = False) -> StudyResult:
    """Run one study. An exception inside it propagates.

    Args:
        entry: from `load_studies`.
        workers: already entered; None: everything runs in this process, without a bar.
        plot: draw the figures.
    """
    if workers is None:
        with Workers(1, progress=False) as single:
            return run_study(entry, single, plot)
    return _run(StudyRun(entry, workers, plot))


def _run(run: StudyRun) -> StudyResult:
    start = time.perf_counter()
    try:
        run.result.study.function(run)
    finally:
        run.result.seconds = time.perf_counter() - start
    return run.result


def run_studies(
    entries: Sequence[Study],
    plot: bool = False,
    count: int | None = None,
    progress: bool | None = None,
    finished: Callable[[StudyResult], None] = lambda result: None,
) -> list[StudyResult]:
    """Run studies one after the other, the cases of each on all cores; an exception becomes a failed claim.

    Args:
        entries: of `select`.
        plot: draw the figures.
        count: number of processes.
        progress: of `Workers`.
        finished: called with every result when it is available.
    """
    results = []
    with Workers(count, progress) as workers:
        for entry in entries:
            run = StudyRun(entry, workers, plot)
            result = run.result
            try:
                _run(run)
            except Exception as error:  # a failing study must not hide the others
                traceback.print_exc(file=sys.stderr)
                result.error = f'{type(error).__name__}: {error}'
                result.claims.append(Claim(entry.name, 'runs to its end', '', True, result.error, EXACT, False))
            results.append(result)
            finished(result)
    return results


def as_json(results: Iterable[StudyResult]) -> list[dict[str, Any]]:
    """Return all claims as plain dictionaries; numbers that JSON cannot represent become text."""
    return [{key: _json(value) for key, value in asdict(c).items()} for result in results for c in result.claims]


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return 'overturned' if value == math.inf else str(value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _rises(values: Sequence[float]) -> bool:
    numbers = [float(value) for value in values]
    if any(math.isnan(value) for value in numbers):
        return False
    return all(b > a or a == b == math.inf for a, b in itertools.pairwise(numbers))


def _cores() -> int:
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
