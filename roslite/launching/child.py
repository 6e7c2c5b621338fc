"""One launched process: starting it, its log files, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roslite.launching.description import ChildSpec
from roslite.launching.ended import FILE as ENDED_FILE
from roslite.launching.ended import VARIABLE as ENDED_VARIABLE
from roslite.launching.guard import TOKEN_VARIABLE, group_exists

SOURCE_TREE = Path(__file__).resolve().parents[2]
"""Folder of the import packages, from which launched nodes import them too."""
MAXIMUM_LINE = 64 * 1024
LAST_WORDS = 0.5
"""Before SIGKILL comes SIGQUIT, upon which a node says in which line its threads are: time for that, s."""


@dataclass
class LogTail:
    """Follows a growing file line by line.

    The processes write straight into their log files, and what belongs on the screen is read from there. So a slow
    terminal never holds up a node, and a node that outlives the launcher for its last second has no broken pipe.
    """

    path: Path
    position: int = 0
    partial: bytes = b''

    def lines(self, final: bool = False) -> Iterator[str]:
        """The complete lines since the last call; with `final` also the last, unfinished one."""
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
    """A `ChildSpec` with its present process."""

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
        self.ended_path = log_directory / ENDED_FILE
        self.last_line = ''

    @property
    def pid(self) -> int | None:
        """Process id, which is also its group's; None when it never ran."""
        return self.process.pid if self.process is not None else None

    @property
    def running(self) -> bool:
        """Whether its process was started and its end was not seen yet."""
        return self.process is not None and self.returncode is None

    def command_line(self) -> str:
        """The command, for messages."""
        return ' '.join(self.spec.command)

    def environment(self) -> dict[str, str]:
        """The child's environment: unbuffered output, the launch's token, the file of ended processes, the packages."""
        environment = dict(self.spec.environment)
        environment.setdefault('PYTHONUNBUFFERED', '1')
        environment[TOKEN_VARIABLE] = self.token
        environment[ENDED_VARIABLE] = str(self.ended_path.absolute())
        if SOURCE_TREE.name not in ('site-packages', 'dist-packages'):
            paths = [str(SOURCE_TREE), *filter(None, environment.get('PYTHONPATH', '').split(os.pathsep))]
            environment['PYTHONPATH'] = os.pathsep.join(dict.fromkeys(paths))
        return environment

    def start(self) -> None:
        """Start the process in a new session, hence a new process group.

        Raises:
            OSError: The program can't be started.
        """
        self.starts += 1
        self.returncode = None
        self.group_gone = False
        self.respawn_at = None
        command = self.spec.command[0] if self.spec.shell else list(self.spec.command)
        with self.log_path.open('ab') as log, self.error_path.open('ab') as errors:
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
        """Look whether the process has ended since the last call."""
        if self.process is None or self.returncode is not None:
            return False
        self.returncode = self.process.poll()
        return self.returncode is not None

    def group_exists(self) -> bool:
        """Whether anything of its process group is left.

        Once it was seen to be empty the answer stays no: its number may by then be another process's.
        """
        if self.process is None or self.group_gone:
            return False
        self.group_gone = self.returncode is not None and not group_exists(self.process.pid)
        return not self.group_gone

    def send(self, signal_number: signal.Signals) -> None:
        """A signal to the whole group."""
        if self.process is None or not self.group_exists():
            return
        try:
            os.killpg(self.process.pid, signal_number)
        except (ProcessLookupError, PermissionError):
            return

    def begin_stop(self) -> None:
        """SIGINT, and the time of the next, harsher signal."""
        self.respawn_at = None
        self.signal_sent = signal.SIGINT
        self.send(signal.SIGINT)
        self.escalate_at = time.monotonic() + self.spec.sigterm_timeout

    def escalate(self) -> signal.Signals:
        """The next, harsher signal."""
        if self.signal_sent is signal.SIGINT:
            self.signal_sent, patience = signal.SIGTERM, self.spec.sigkill_timeout
        elif self.signal_sent is signal.SIGTERM:
            self.signal_sent, patience = signal.SIGQUIT, LAST_WORDS
        else:
            self.signal_sent, patience = signal.SIGKILL, 1.0
        self.escalate_at = time.monotonic() + patience
        self.send(self.signal_sent)
        return self.signal_sent

    def ended_badly(self, stopping: bool) -> bool:
        """Return whether its exit status shows a failure."""
        if self.returncode in (0, None):
            return False
        if not stopping:
            return True
        if self.signal_sent is signal.SIGKILL:
            return True
        wanted = (-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
        return self.returncode not in wanted


def start_guard(token: str, sigterm_timeout: float, sigkill_timeout: float) -> subprocess.Popen[bytes]:
    """Start the guard (see `guard.py`); its standard input is the pipe to it."""
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
