"""One launched process: start, log files, end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roslite.launching.description import ChildSpec
from roslite.launching.finished import FILE as FINISHED_FILE
from roslite.launching.finished import VARIABLE as FINISHED_VARIABLE
from roslite.launching.guard import TOKEN_VARIABLE, group_exists

SOURCE_TREE = Path(__file__).resolve().parents[2]
"""Folder of the import packages, added to the path of launched nodes."""
MAXIMUM_LINE = 64 * 1024
LAST_WORDS = 0.5
"""Time between SIGQUIT, on which a node prints the lines of its threads, and SIGKILL, s."""


@dataclass
class LogTail:
    """Follows a growing file line by line.

    Processes write directly to their log files, from which the output for the screen is read. A slow terminal therefore
    never blocks a node, and a node that outlives the launcher for its last second has no broken pipe.
    """

    path: Path
    position: int = 0
    partial: bytes = b''

    def lines(self, final: bool = False) -> Iterator[str]:
        """Yield the complete lines since the last call; with `final` also the last, incomplete line."""
        try:
            with self.path.open('rb') as file:
                file.seek(self.position)
                data = file.read()
        except OSError:
            return
        self.position += len(data)
        *complete, self.partial = (self.partial + data).split(b'\n')
        if len(self.partial) > MAXIMUM_LINE:
            complete.append(self.partial)
            self.partial = b''
        for line in complete:
            yield line.decode('utf-8', 'replace').rstrip('\r')
        if final and self.partial:
            yield self.partial.decode('utf-8', 'replace')
            self.partial = b''


class Child:
    """A `ChildSpec` with its current process."""

    def __init__(self, spec: ChildSpec, label: str, log_directory: Path, token: str):
        self.spec = spec
        self.label = label
        self.token = token
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.returncode: int | None = None
        self.group_gone = False
        self.respawn_at: float | None = None
        self.signal_sent: signal.Signals | None = None
        self.escalate_at = float('inf')
        self.log_path = log_directory / f'{label}.log'
        self.error_path = self.log_path if spec.to_screen else log_directory / f'{label}.stderr.log'
        self.tail = LogTail(self.error_path)
        self.ended_path = log_directory / FINISHED_FILE
        self.last_line = ''

    @property
    def pid(self) -> int | None:
        """Process id, also the id of its group; None if it was never started."""
        return self.process.pid if self.process is not None else None

    @property
    def running(self) -> bool:
        """True if the process was started and its end was not detected yet."""
        return self.process is not None and self.returncode is None

    def command_line(self) -> str:
        """Return the command for messages."""
        return ' '.join(self.spec.command)

    def environment(self) -> dict[str, str]:
        """Return the environment of the child: unbuffered output, launch token, file of ended processes, packages."""
        environment = dict(self.spec.environment)
        environment.setdefault('PYTHONUNBUFFERED', '1')
        environment[TOKEN_VARIABLE] = self.token
        environment[FINISHED_VARIABLE] = str(self.ended_path.absolute())
        if SOURCE_TREE.name not in ('site-packages', 'dist-packages'):
            paths = [str(SOURCE_TREE), *filter(None, environment.get('PYTHONPATH', '').split(os.pathsep))]
            environment['PYTHONPATH'] = os.pathsep.join(dict.fromkeys(paths))
        return environment

    def start(self) -> None:
        """Start the process in a new session and process group.

        Raises:
            OSError: the program cannot be started.
        """
        self.starts += 1
        self.returncode = None
        self.group_gone = False
        self.respawn_at = None
        command = self.spec.command[0] if self.spec.shell else list(self.spec.command)
        with (
            _blocked_signals(self.spec.accepts_signals),
            self.log_path.open('ab') as log,
            self.error_path.open('ab') as errors,
        ):
            self.process = subprocess.Popen(
                command,
                shell=self.spec.shell,
                cwd=self.spec.cwd,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=errors if errors.name != log.name else subprocess.STDOUT,
                start_new_session=True,
            )

    def reap(self) -> bool:
        """Return whether the process has ended since the last call."""
        if self.process is None or self.returncode is not None:
            return False
        self.returncode = self.process.poll()
        return self.returncode is not None

    def group_exists(self) -> bool:
        """Return whether its process group has living members.

        After the group was empty once, the result stays False: the number may be reused by another process.
        """
        if self.process is None or self.group_gone:
            return False
        self.group_gone = self.returncode is not None and not group_exists(self.process.pid)
        return not self.group_gone

    def send(self, signal_number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        if self.process is None or not self.group_exists():
            return
        try:
            os.killpg(self.process.pid, signal_number)
        except (ProcessLookupError, PermissionError):
            return

    def interrupt(self) -> None:
        """Send SIGINT and schedule the next, stronger signal."""
        self.respawn_at = None
        self.signal_sent = signal.SIGINT
        self.send(signal.SIGINT)
        self.escalate_at = time.monotonic() + self.spec.sigterm_timeout

    def escalate(self) -> signal.Signals:
        """Send the next, stronger signal; return it."""
        if self.signal_sent is signal.SIGINT:
            self.signal_sent, timeout = signal.SIGTERM, self.spec.sigkill_timeout
        elif self.signal_sent is signal.SIGTERM:
            self.signal_sent, timeout = signal.SIGQUIT, LAST_WORDS
        else:
            self.signal_sent, timeout = signal.SIGKILL, 1.0
        self.escalate_at = time.monotonic() + timeout
        self.send(self.signal_sent)
        return self.signal_sent

    def failed(self, stopping: bool) -> bool:
        """Return whether its exit status is a failure."""
        if self.returncode in (0, None):
            return False
        if not stopping:
            return True
        if self.signal_sent is signal.SIGKILL:
            return True
        wanted = (-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
        return self.returncode not in wanted


@contextlib.contextmanager
def _blocked_signals(is_wanted: bool) -> Iterator[None]:
    """Block SIGINT and SIGTERM of this thread, which a process that is started in the block inherits."""
    if not is_wanted or not hasattr(signal, 'pthread_sigmask'):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_guard(token: str, sigterm_timeout: float, sigkill_timeout: float) -> subprocess.Popen[bytes]:
    """Start the guard (see `guard.py`) and return its process; its standard input is a pipe."""
    path = Path(__file__).with_name('guard.py')
    command = [sys.executable, '-I', '-S', str(path), token, str(sigterm_timeout), str(sigkill_timeout)]
    return subprocess.Popen(
        [*command, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        bufsize=0,
    )
