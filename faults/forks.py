"""Launches with a mistake by the hundred: their launcher and their nodes are forks of a worker that has imported them.

A base without driven joints runs to its end; a node that cannot start, or is killed, ends its launch; a second machine
in the same domain rejects its start and names the first one. No output has a traceback; every failed launch has a
message.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from faults.bags import run_command
from faults.computer import environment
from faults.files import ROOT, Journal, scaled_timeout
from faults.starts import WRONG, misspelt, problems, write_base

MOST_MEMORY = 1.0e6
"""Greatest growth of resident memory by a case, KiB."""
TIMEOUT = 120.0
"""Limit of wall time of a launch on an idle computer, s."""
IMPORTED = (
    'nodes.controller_node', 'nodes.composition_node', 'nodes.dynamics_node', 'nodes.platform_controller_node',
    'nodes.hydraulic_actuator_node', 'commands.launch', 'launching.runner',
)  # fmt: skip
FIRST = ('four_bar', 'five_bar', 'slider_crank')
LEASE = 1.0
"""Wall time for which a killed process may stay in the graph, s: none is killed next to a second machine."""


class Fork:
    """The part of `subprocess.Popen` that a launcher uses, for a fork that executes `run` and exits with its status.

    Args:
        run: returns the exit status.
        output: file of standard output and standard error.
        variables: of the environment.
    """

    def __init__(self, run: Callable[[], int], output: IO[Any], variables: Mapping[str, str]) -> None:
        sys.stdout.flush()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_life(run, output, variables))

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float) -> bool:
        """Wait for the end; return False on timeout. Time while this process is stopped does not count."""
        left = timeout
        while self.poll() is None and left > 0.0:
            start = time.monotonic()
            time.sleep(0.02)
            left -= min(time.monotonic() - start, 1.0)
        return self.returncode is not None

    def end(self) -> None:
        """Interrupt the process and wait for it; kill its session if it does not end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGINT)
            if not self.wait(30.0):
                os.killpg(self.pid, signal.SIGKILL)
                self.wait(30.0)


def _life(run: Callable[[], int], output: IO[Any], variables: Mapping[str, str]) -> int:
    """Set up a separate process: session, output, variables, signals; return the exit status."""
    os.setsid()
    for target in (1, 2):
        os.dup2(output.fileno(), target)
    sys.stdout, sys.stderr = (open(target, 'w', buffering=1, closefd=False) for target in (1, 2))  # noqa: SIM115
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(variables)
    try:
        status = run()
    except SystemExit as error:
        status = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return status


def _module(words: list[str]) -> int:
    """Run `-m module words`, as the interpreter does."""
    sys.argv = words[1:]
    runpy.run_module(words[1], run_name='__main__', alter_sys=True)
    return 0


def _starter(victim: str, die: Callable[[], int]) -> Callable[..., Any]:
    """Return the function that starts processes for a launcher: nodes are forks; `die` replaces the node `victim`."""

    def start(command: list[str], **options: Any) -> Any:
        if command[1:2] != ['-m']:
            return subprocess.Popen(command, **options)
        output = options['stdout'] if options['stderr'] == subprocess.STDOUT else options['stderr']
        run = die if victim and command[2].endswith(f'.{victim}') else lambda: _module(command[1:])
        return Fork(run, output, options['env'])

    return start


def _nothing() -> int:
    return 0


def launch(words: list[str], output: IO[Any], victim: str = '', die: Callable[[], int] = _nothing) -> Fork:
    """Start a launcher with words of its command line, in a fork; return it."""

    def run() -> int:
        from dyn_nodes.cli import main
        from roslite.launching import child

        child.subprocess = SimpleNamespace(**{**vars(subprocess), 'Popen': _starter(victim, die)})  # type: ignore
        return main(['launch', *words])

    return Fork(run, output, environment(ROS_LOG_DIR=str(Path(output.name).parent / 'log')))


def launched(words: list[str], good: int, expected: str, **options: Any) -> Iterator[str]:
    """Launch and wait for the end; yield the faults."""
    with tempfile.TemporaryDirectory() as name, (Path(name) / 'output').open('w+', errors='replace') as output:
        process = launch(words, output, **options)
        if not process.wait(scaled_timeout(TIMEOUT)):
            yield f'{" ".join(words)}: no end'
            process.end()
        output.seek(0)
        for problem in problems(output.read(), process.returncode, (good,), expected):
            yield f'{" ".join(words)}: {problem}'


def _ways(rng: random.Random) -> list[str]:
    return [f'mode:={rng.choice(("lockstep", "realtime"))}', f'compose:={rng.choice(("true", "false"))}']


def _base(rng: random.Random) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        words = [*write_base(Path(name), rng), *_ways(rng), 'duration:=0.2', f'slope:={rng.uniform(-0.1, 0.1):.3f}']
        yield from launched(['machine', *words], 0, 'the run of 0.2 s is over')


def _overturned(rng: random.Random) -> Iterator[str]:
    """Launch a base on a slope too steep for it."""
    with tempfile.TemporaryDirectory() as name:
        slope = rng.choice((-1.0, 1.0)) * rng.uniform(1.3, 1.5)
        words = [*write_base(Path(name), rng), *_ways(rng), 'duration:=3', f'slope:={slope:.3f}']
        yield from launched(['machine', *words], 1, 'dynamics_node: generated_base: ')  # it tips, or slides


def _value(rng: random.Random) -> Iterator[str]:
    """Launch with a value that an awaited node rejects."""
    file, words, right, expected = rng.choice(WRONG)
    arguments = words.format(misspelt(right, rng)).split()
    yield from launched([file, *arguments, *_ways(rng), 'duration:=0.2'], 1, expected)


def _killed(rng: random.Random) -> Iterator[str]:
    """Launch with an awaited node that dies before it is ready."""
    seconds, signals = rng.uniform(0.0, 1.5), (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, 0)
    number, status = rng.choice(signals), rng.choice((1, 3, 255))

    def die() -> int:
        time.sleep(seconds)
        if number:
            os.kill(os.getpid(), number)
        return status

    mode, victim = rng.choice(('lockstep', 'realtime')), rng.choice(('controller_node', 'dynamics_node'))
    words = ['machine', f'machine:={rng.choice(FIRST)}', f'mode:={mode}', 'duration:=0.2']
    yield from launched(words, 1, 'process has died', victim=victim, die=die)


def _machines(rng: random.Random) -> Iterator[str]:
    """Launch a second machine, the same one or another, in the namespace of a running one."""
    from dyn_nodes.nodes import neighbours

    neighbours.LEASE = LEASE
    space = rng.choice(('', 'yard', 'a/b'))
    with tempfile.TemporaryDirectory() as name, (Path(name) / 'output').open('w+', errors='replace') as output:
        arguments = rng.choice((write_base(Path(name), rng), [f'machine:={rng.choice(FIRST)}']))
        others = rng.choice((arguments, [f'machine:={rng.choice(FIRST)}']))
        first = launch(['machine', *arguments, *_ways(rng), f'namespace:={space}'], output)
        try:
            until = time.monotonic() + scaled_timeout(TIMEOUT)
            while 'degrees of freedom' not in Path(output.name).read_text() and time.monotonic() < until:
                time.sleep(0.05)
            words = ['machine', *others, *_ways(rng), f'namespace:={space}', 'duration:=0.2']
            yield from launched(words, 1, 'in this domain already')
            if first.poll() is not None:
                yield f'the first machine has ended with {first.returncode}: {Path(output.name).read_text()[-200:]!r}'
        finally:
            first.end()


KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    'base': _base,
    'overturned': _overturned,
    'value': _value,
    'killed': _killed,
    'machines': _machines,
}


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Launch the cases from `start` to `end`; print a line at each start and one for each fault."""
    for name in IMPORTED:
        importlib.import_module(f'dyn_nodes.{name}')
    with tempfile.TemporaryDirectory() as directory:  # forks inherit these modules
        base, config = (word.partition(':=')[2] for word in write_base(Path(directory), random.Random(seed)))
        for words in ([base, '--config', config], *([name] for name in FIRST)):
            run_command(['check', *words])
    os.chdir(ROOT)
    journal = Journal(out, MOST_MEMORY)
    for number in range(start, end):
        kind = list(KINDS)[number % len(KINDS)]
        journal.enter(number, kind, KINDS[kind](random.Random(f'launch {seed} {number}')))
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
