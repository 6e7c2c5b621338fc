"""Damaged results of sweeps: bytes of parts, samples, manifest and note, lines, keys, exchanged files.

Every case is read by the report, replayed, and completed by the driver. A reader ends in the same results, in fewer
runs of a cut manifest, or in an error of printable lines; the driver ends in the undamaged bytes or in its error.
Anything else is a fault: a traceback, other numbers, a file written outside.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from dyn_nodes.analysis.sweeps.driver import SweepError, run_sweep
from dyn_nodes.analysis.sweeps.note import CHECKSUMS
from dyn_nodes.analysis.sweeps.replay import LAUNCH, ReplayError, worst_runs, write_replay
from dyn_nodes.analysis.sweeps.report import read_results, summary
from dyn_nodes.analysis.sweeps.store import MANIFEST, NOTE, PARTS, SAMPLES, StoreError
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import Made, sample_kinds, status_kinds
from faults import files
from faults.bags import run_command

SWEEP = """name: small
machine: log_loader
task: pick_and_place_recovery
step: 0.002
sample_period: 0.02
record_period: 0.1
design: {kind: latin_hypercube, runs: 40, seed: 7}
factors:
  payload: {parameter: payload_mass, from: 0.0, to: 6000.0}
  slope: {machine: slope.pitch, from: deg(-6), to: deg(6)}
  boom: {volts: reach/boom, from: -6.0, to: -4.0}
outcomes: [overturned, greatest_tilt]
expressions: {swing: last(swing_joint)}
"""
MARK = 'MARK'
OUTSIDE = 'outside'
"""Directory with a file, beside the results."""
HOSTILE = (
    '"/><executable cmd="touch MARK"/><a b="', '$(command \'touch MARK\')', "$(eval '1 + 1')", "a'b", 'a"b', '<script>',
    'a\nb', 'a: [b', '../../x', '/etc/passwd', '-', '', ' ', '\x1b[2J', 'é\u202e', 'x' * 5000, '{0.__class__}', '%s',
)  # fmt: skip
VALUES = (None, True, False, 0, -1, 1.5, 10**30, 1e308, float('nan'), float('inf'), [], {}, [1], {'a': 1}, [[]], [None])


@functools.cache
def sweep() -> Sweep:
    """Return the sweep whose results are to be damaged."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / 'small.yaml'
        path.write_text(SWEEP)
        return load_sweep(path)


class Workers:
    """Yield constant runs without simulation."""

    def start(self) -> None:
        """Prepare nothing."""

    def results(self, sweep: Sweep, parts: list[int]) -> Iterator[tuple[int, Made]]:
        """Yield the parts."""
        kinds = status_kinds(sweep)
        columns = sample_kinds(sweep, ['a', 'b'])
        for part in parts:
            rows = []
            for run in sweep.runs_of(part):
                values = iter((run, *sweep.values[run].tolist(), 'done', 16.0, ''))
                outcome = {'flag': run % 3 == 0, 'number': 0.01 * run}
                rows.append(tuple(next(values, outcome.get(kind, 0.0)) for kind in kinds.values()))
            numbers = [run for run in sweep.runs_of(part) for _ in range(5)]
            yield part, Made(rows, {name: _column(kind, numbers) for name, kind in columns.items()})


def _column(kind: str, numbers: list[int]) -> Any:
    import numpy as np

    return np.array(numbers) if kind == 'count' else np.array([0.5 * k for k in numbers])


def write_good(directory: Path) -> None:
    """Write the undamaged results."""
    from unittest import mock

    with mock.patch('dyn_nodes.analysis.sweeps.driver._compile'):
        run_sweep(sweep(), directory, Workers())  # type: ignore[arg-type]


# -- damage ---


def _file(directory: Path, rng: random.Random) -> Path:
    name = rng.choice((NOTE, MANIFEST, PARTS, PARTS, PARTS, SAMPLES))
    path = directory / name
    return path if path.is_file() else rng.choice(sorted(path.iterdir()))


def _byte(directory: Path, rng: random.Random) -> None:
    path = _file(directory, rng)
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _bytes(directory: Path, rng: random.Random) -> None:
    path = _file(directory, rng)
    path.write_bytes(files._bytes(path.read_bytes(), rng))


def _gone(directory: Path, rng: random.Random) -> None:
    _file(directory, rng).unlink()


def _exchanged(directory: Path, rng: random.Random) -> None:
    folder = directory / rng.choice((PARTS, SAMPLES))
    one, two = rng.sample(sorted(folder.iterdir()), 2)
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    if rng.random() < 0.5:
        two.write_bytes(data)


def _other(directory: Path, rng: random.Random) -> None:
    """Replace a file by something that is no file, or by an endless one."""
    path = _file(directory, rng)
    path.unlink()
    rng.choice((path.mkdir, lambda: path.symlink_to('/dev/zero'), lambda: path.symlink_to('nowhere')))()


def _link(directory: Path, rng: random.Random) -> None:
    """Put links to an outside file or directory at the paths of the report and the replays."""
    name = rng.choice(('results.csv', 'results.csv.unfinished', 'boundary.csv', 'map.png', 'tornado.png', 'worst'))
    target = directory.parent / OUTSIDE
    (directory / name).symlink_to(rng.choice((target, target / 'file', target / 'new')))


def _manifest(directory: Path, rng: random.Random) -> None:
    path = directory / MANIFEST
    lines = path.read_text().splitlines()
    k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(6)
    if choice == 0:
        lines[k:k] = [lines[j]] * rng.choice((1, 2, 1000))
    elif choice == 1:
        lines[k], lines[j] = lines[j], lines[k]
    elif choice == 2:
        del lines[k]
    elif choice == 3:
        lines[k] = rng.choice(('{}', '[]', 'null', '{"part": 1}', '[' * 5000, '"x"', '{"part": "../../x"}', ''))
    else:
        entry = json.loads(lines[k])
        key = rng.choice([*entry, 'other'])
        entry[key] = rng.choice((*VALUES, *HOSTILE))
        lines[k] = json.dumps(entry)
    path.write_text('\n'.join(lines) + rng.choice(('\n', '\n', '')))


def _note(directory: Path, rng: random.Random) -> None:
    """Change one key of the note, at any depth; half of the cases recompute the checksums of the changed note."""
    from dyn_nodes.analysis.sweeps.note import note_text

    path = directory / NOTE
    note = json.loads(path.read_text(encoding='utf-8'))
    sums = note.pop(CHECKSUMS)
    holder, key = rng.choice(list(_entries(note)))
    choice = rng.randrange(4)
    if choice == 0:
        del holder[key]
    elif choice == 1 and isinstance(holder, dict):
        holder[rng.choice(HOSTILE)] = holder.pop(key)
    else:
        holder[key] = rng.choice((*VALUES, *HOSTILE))
    made = rng.random() < 0.5
    path.write_text(note_text(note) if made else json.dumps({**note, CHECKSUMS: sums}), encoding='utf-8')


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from _entries(item)


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    'byte': _byte,
    'bytes': _bytes,
    'gone': _gone,
    'exchanged': _exchanged,
    'other': _other,
    'link': _link,
    'manifest': _manifest,
    'note': _note,
}


def make(number: int, seed: int, directory: Path) -> str:
    """Damage results; equal numbers give equal cases. Return the kind."""
    rng = random.Random(f'results {seed} {number}')
    kind = list(DAMAGES)[number % len(DAMAGES)]
    DAMAGES[kind](directory, rng)
    return kind


# -- readers ---


def _content(directory: Path) -> dict[str, bytes]:
    names = (NOTE, MANIFEST, PARTS, SAMPLES)
    paths = [
        path for name in names for path in ((directory / name).rglob('*') if '.' not in name else [directory / name])
    ]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths if path.is_file()}


def _numbers(directory: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    results = read_results(directory)
    return {**summary(results), 'note': {**results.note, CHECKSUMS: None}}, results.table.to_pylist()


def examine(directory: Path, good: Path, command: bool = False) -> Iterator[str]:
    """Read, replay and complete damaged results; yield the faults."""
    yield from _read(directory, good)
    if command:
        for words in (['sweep', 'report', str(directory)], ['sweep', 'worst', str(directory), '--count', '2']):
            if fault := run_command(words, 60):
                yield f'{" ".join(words[:2])}: {fault}'
    yield from _complete(directory, good)


def _lines(error: Exception) -> Iterator[str]:
    if not all(line.isprintable() for line in str(error).split('\n')):
        yield f'an error that is no line: {str(error)!r}'


def _read(directory: Path, good: Path) -> Iterator[str]:
    try:
        about, rows = _numbers(directory)
    except StoreError as error:
        yield from _lines(error)
        return
    about_good, rows_good = _numbers(good)
    if rows != rows_good[: len(rows)] or (len(rows) == len(rows_good) and _same(about) != _same(about_good)):
        yield 'silently other results'
    try:
        results = read_results(directory)
        made = write_replay(results, worst_runs(results, 'greatest_tilt', 1)[0], directory / 'worst')
        launch = made / LAUNCH
        same = results.note.get('definition') == about_good['note'].get(
            'definition'
        )  # the text of another author differs
        if same and len(rows) == len(rows_good) and launch.exists() and launch.read_bytes() != _launch(good):
            yield 'another launch file'
    except ReplayError as error:
        yield from _lines(error)


def _same(about: dict[str, Any]) -> str:
    """Return numbers and note, without keys that another author may choose and that older versions lack."""
    note = {key: value for key, value in about['note'].items() if key not in ('name', 'description', 'definition')}
    return json.dumps({**about, 'name': '', 'note': {**note, 'checksums': None}}, sort_keys=True)


@functools.cache
def _launch(good: Path) -> bytes:
    results = read_results(good)
    with tempfile.TemporaryDirectory() as directory:
        made = write_replay(results, worst_runs(results, 'greatest_tilt', 1)[0], Path(directory))
        return (made / LAUNCH).read_bytes()


def _complete(directory: Path, good: Path) -> Iterator[str]:
    from unittest import mock

    try:
        with mock.patch('dyn_nodes.analysis.sweeps.driver._compile'):
            run_sweep(sweep(), directory, Workers())  # type: ignore[arg-type]
    except (SweepError, OSError) as error:
        yield from _lines(error)
        return
    if _content(directory) != _content(good):
        yield 'the completed results are not the undamaged ones'


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
    with tempfile.TemporaryDirectory() as name:
        good, outside = Path(name) / 'good', Path(name) / OUTSIDE
        write_good(good)
        outside.mkdir()
        (outside / 'file').write_text('as it was')
        for number in range(start, end):
            directory = Path(name) / 'case'
            shutil.copytree(good, directory)
            kind = make(number, seed, directory)
            print(f'begin {number} {kind}', file=out, flush=True)
            try:
                for fault in examine(directory, good, kind == 'link' or number % 20 == 0):
                    print(f'fault {number} {kind} {fault[:300]}', file=out, flush=True)
            except Exception as error:
                text = ' '.join(f'{type(error).__name__}: {error}'.split())[:300]
                print(f'fault {number} {kind} {text}', file=out, flush=True)
            if [path.name for path in outside.iterdir()] != ['file'] or (outside / 'file').read_text() != 'as it was':
                print(f'fault {number} {kind} a file outside was written', file=out, flush=True)
            if list(Path(name).rglob(MARK)):
                print(f'fault {number} {kind} a command has run', file=out, flush=True)
            shutil.rmtree(directory)
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
