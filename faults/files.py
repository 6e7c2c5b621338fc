"""Damaged files: every machine, task, launch and parameter file of the package, byte by byte and part by part.

Worker processes read them. Every case ends in a result or in the error that its reader documents, within a time limit;
anything else is a fault: another exception, a worker that dies, one that does not answer.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
TIME_LIMIT = 60.0
"""Limit of processor time of a case, s; the first ones include the compilation of array code."""
TIMEOUT = 600.0
"""Limit of wall time of a case on an idle computer, s."""
POLL = 1.0
"""Wall time between two checks of a worker, s."""
VALUES = (
    *('', '0', '-1', '1e308', '-1e-308', '5e-324', 'nan', '.inf', '-.inf', '1e999', '9' * 400, 'true', '~', 'x' * 3000),
    *('[]', '{}', '[1, 2]', '&a [*a]', '*nothing', '!!python/name:os.system', '"\\ud800"', 'é\u202e', '$(eval 1/0)'),
    *('&lt;', '<a>', '0 0 0', '1 2 3 4', 'world', 'base_link', '../../etc/passwd', '/dev/zero', '[red]', '$', '%s'),
)
_VALUE = re.compile(r'(?<=[=:] )[^\n]+|"[^"\n]*"|\'[^\'\n]*\'|[-+]?\d[\d.eE+-]*|\w+')
MACHINE = re.compile('<arg name="machine" default="(\\w+)"')
PARAMETERS = """/**:
  ros__parameters:
    machine: log_loader
    mode: lockstep
    exchange_period: 0.001
    measures: [zmp, net_moment]
    gains: {boom_joint: {p: 10.0, i: 0.5}}
node:
  ros__parameters: {use_sim_time: true, count: 3}
"""


def base_files() -> list[tuple[str, Path | None, str]]:
    """Return (kind, path, text) of the good files."""
    files: list[tuple[str, Path | None, str]] = [('parameters', None, PARAMETERS)]
    for kind, pattern in (
        ('urdf', 'urdf/*.urdf'),
        ('machine', 'config/*.yaml'),
        ('task', 'config/tasks/*.yaml'),
        ('launch', 'launch/*.launch.xml'),
    ):
        for path in sorted(ROOT.glob(pattern)):
            if kind != 'machine' or urdf_of(path) is not None:
                files.append((kind, path, path.read_text(encoding='utf-8')))
    levers = sorted((ROOT / 'config').glob('teleop*.yaml'))
    return [*files, *(('levers', path, path.read_text(encoding='utf-8')) for path in levers)]


def urdf_of(config: Path) -> Path | None:
    """Return the URDF of a machine YAML, by its name or its launch file; None if it is no machine."""
    launch, name = ROOT / 'launch' / f'{config.stem}.launch.xml', config.stem
    if launch.exists():
        match = MACHINE.search(launch.read_text(encoding='utf-8'))
        name = match[1] if match else name
    path = ROOT / 'urdf' / f'{name}.urdf'
    return path if path.exists() else None


def damage(text: str, rng: random.Random) -> bytes:
    """Return a text with one to four faults in its bytes, lines and values."""
    data = text.encode()
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice((_bytes, _lines, _value, _value, _value))(data, rng)
    return data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return b'\x00'
    k, n = rng.randrange(len(data)), rng.choice((1, 1, 4, 64))
    choice = rng.randrange(5)
    if choice == 0:
        return data[:k] + bytes(rng.randrange(256) for _ in range(n)) + data[k + n :]
    if choice == 1:
        return data[:k] + data[k + n :]
    if choice == 2:
        return data[:k] + data[k : k + n] * rng.choice((2, 50)) + data[k + n :]
    if choice == 3:
        return data[:k]
    return data[:k] + bytes([data[k] ^ (1 << rng.randrange(8))]) + data[k + 1 :]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b'\n')
    k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(4)
    if choice == 0:
        lines[k], lines[j] = lines[j], lines[k]
    elif choice == 1:
        del lines[k : k + rng.choice((1, 1, 10))]
    elif choice == 2:
        lines[k:k] = lines[j : j + rng.choice((1, 5))]
    else:
        lines[k] = b' ' * rng.choice((1, 2, 40)) + lines[k]
    return b'\n'.join(lines)


def _value(data: bytes, rng: random.Random) -> bytes:
    text = data.decode('utf-8', 'replace')
    spans = [match.span() for match in _VALUE.finditer(text)]
    if not spans:
        return data
    start, end = rng.choice(spans)
    quote = text[start] if text[start] in '"\'' else ''
    if rng.random() < 0.3:  # a value of another key
        other = rng.choice(spans)
        value = text[slice(*other)].strip('"\'')
    else:
        value = rng.choice(VALUES)
    return f'{text[:start]}{quote}{value}{quote}{text[end:]}'.encode('utf-8', 'surrogatepass')


# -- readers, in a worker ---


def _read(kind: str, original: Path | None, path: Path) -> None:
    """Read a damaged file with its usual reader; only the documented errors may be raised."""
    READERS[kind](original, path)


def _machine(urdf: Path, config: Path | None) -> None:
    from dyn_nodes.commands.check import with_plant
    from dyn_nodes.commands.machine_summary import machine_summary
    from dyn_nodes.model import load_machine_report

    report = with_plant(load_machine_report(urdf, config))
    for problem in (*report.problems, *report.warnings):
        if not str(problem).isprintable():
            raise AssertionError(f'a message is no line: {problem!r}')
    if report.machine is not None:
        machine_summary(report.machine)


def _urdf(original: Path | None, path: Path) -> None:
    assert original is not None
    config = ROOT / 'config' / f'{original.stem}.yaml'
    _machine(path, config if config.exists() else None)


def _config(original: Path | None, path: Path) -> None:
    assert original is not None
    urdf = urdf_of(original)
    assert urdf is not None
    _machine(urdf, path)


def _task(original: Path | None, path: Path) -> None:
    from dyn_nodes.control.voltage_profile import TaskError, load_voltage_profile

    with contextlib.suppress(TaskError):
        load_voltage_profile(path, ['boom', 'stick', 'swing'], True)


def _levers(original: Path | None, path: Path) -> None:
    from dyn_nodes.control.lever_pattern import load_lever_pattern
    from dyn_nodes.model import MachineError

    with contextlib.suppress(MachineError):
        load_lever_pattern(path, ['boom', 'stick', 'swing'])


def _launch(original: Path | None, path: Path) -> None:
    from dyn_nodes.middleware.launching import LaunchError, interpret

    with contextlib.suppress(LaunchError):
        interpret(path)


def _parameters(original: Path | None, path: Path) -> None:
    from dyn_nodes.middleware.parameter_files import RCLInvalidROSArgsError
    from roslite.runtime.arguments import parse_arguments

    with contextlib.suppress(RCLInvalidROSArgsError):
        parse_arguments(['node', '--ros-args', '--params-file', str(path)]).parameter_overrides('node', '/')


READERS: dict[str, Callable[[Path | None, Path], None]] = {
    'urdf': _urdf, 'machine': _config, 'task': _task, 'launch': _launch, 'parameters': _parameters, 'levers': _levers,
}  # fmt: skip
SUFFIXES = {'urdf': '.urdf', 'launch': '.launch.xml'}


def case(number: int, seed: int) -> tuple[str, Path | None, bytes]:
    """Return kind, original and damaged content of a case; equal numbers give equal cases."""
    rng = random.Random(f'{seed} {number}')
    files = base_files()
    kinds = sorted({kind for kind, *_ in files})
    kind = rng.choice((*kinds, 'urdf', 'machine', 'machine', 'launch'))
    _, path, text = rng.choice([file for file in files if file[0] == kind])
    return kind, path, damage(text, rng)


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
    with tempfile.TemporaryDirectory() as directory:
        for number in range(start, end):
            kind, original, content = case(number, seed)
            path = Path(directory) / f'damaged{SUFFIXES.get(kind, ".yaml")}'
            path.write_bytes(content)
            print(f'begin {number} {kind}', file=out, flush=True)
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    _read(kind, original, path)
            except Exception as error:
                text = ' '.join(f'{type(error).__name__}: {error}'.split())[:200]
                print(f'fault {number} {kind} {text}', file=out, flush=True)
    print('done', file=out, flush=True)


class Journal:
    """Output of a worker.

    Args:
        out: stream.
        memory: greatest growth of resident memory by a case, KiB.
    """

    def __init__(self, out: IO[str], memory: float) -> None:
        self._out, self._memory, self._peak = out, memory, peak_memory()

    def enter(self, number: int, kind: str, faults: Iterable[str]) -> None:
        """Print a line at the start of a case, and one for each fault, also of exceptions and memory."""
        print(f'begin {number} {kind}', file=self._out, flush=True)
        try:
            for fault in faults:
                self._fault(number, kind, fault)
        except Exception as error:
            self._fault(number, kind, ' '.join(f'{type(error).__name__}: {error}'.split()))
        if peak_memory() > self._peak + self._memory:
            self._fault(number, kind, f'memory {peak_memory() / 1024:.0f} MB')
        self._peak = max(self._peak, peak_memory())

    def _fault(self, number: int, kind: str, text: str) -> None:
        print(f'fault {number} {kind} {text[:300]}', file=self._out, flush=True)


def peak_memory() -> int:
    """Return the greatest resident memory of this process so far, KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# -- the campaign ---


@dataclass
class Outcome:
    """Results of the files: cases by kind, and faults as text."""

    cases: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Return whether there are no faults."""
        return not self.faults


def run(count: int, seed: int = 1, start: int = 0, module: str = 'faults.files') -> Outcome:
    """Read the cases from `start` to `count` in worker processes, one at a time.

    Args:
        count: number after the last case.
        seed: of the random numbers.
        start: number of the first case.
        module: the worker.
    """
    outcome = Outcome()
    while start < count:
        start = _watch_worker(seed, start, count, outcome, module)
    return outcome


def _watch_worker(seed: int, start: int, count: int, outcome: Outcome, module: str = 'faults.files') -> int:
    """Run one worker until it ends or fails; return the number of the next case."""
    command = [sys.executable, '-m', module, str(seed), str(start), str(count)]
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: queue.Queue[str] = queue.Queue()
    assert worker.stdout is not None
    reader = threading.Thread(target=_forward, args=(worker.stdout, lines), daemon=True)
    reader.start()
    number, kind, state = start, '', ''
    try:
        while True:
            words = _next_line(worker.pid, lines).split(' ', 3)
            if words[0] == 'begin':
                number, kind = int(words[1]), words[2]
                outcome.cases[kind] += 1
            elif words[0] == 'fault':
                outcome.faults.append(f'case {words[1]}, {words[2]}: {words[3]}')
            else:
                state = words[0]
                break
    except queue.Empty:
        state = 'hang'
    worker.kill()
    worker.communicate()
    if state == 'done':
        return count
    outcome.faults.append(f'case {number}, {kind}: {"no end" if state == "hang" else "the process died"}')
    return number + 1


def _next_line(pid: int, lines: queue.Queue[str]) -> str:
    """Wait for a worker's next line. Raises queue.Empty if it takes too long."""
    start, used = time.monotonic(), _processor_time(pid)
    while True:
        try:
            return lines.get(timeout=POLL)
        except queue.Empty:
            if _processor_time(pid) - used > TIME_LIMIT or time.monotonic() - start > scaled_timeout(TIMEOUT):
                raise


def scaled_timeout(seconds: float) -> float:
    """Return the wall time, s, to wait for a task that takes at most `seconds` with one runnable process per core."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _processor_time(pid: int) -> float:
    """Return the processor time of a process, s; 0 if it has ended."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _forward(stream: IO[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line.rstrip('\n'))
    lines.put('end')


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
