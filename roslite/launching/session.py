"""A running launch: starts, monitors, respawns and stops the processes, and shows their output."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from roslite.launching.child import Child, start_guard
from roslite.launching.description import LaunchDescription, LogMessage, Stop
from roslite.launching.errors import LaunchError
from roslite.launching.finished import FILE as FINISHED_FILE
from roslite.launching.finished import record_finished
from roslite.launching.interpreter import interpret

POLL_PERIOD = 0.03


@dataclass(frozen=True)
class ChildState:
    """State of a launched process.

    Attributes:
        label: label with number: `dynamics_node-1`.
        name: label without number: `dynamics_node`.
        node: fully qualified node name, empty if the launch file specifies none.
        pid: process id and process group; None: it could not be started.
        running: the process is running.
        returncode: exit status after its end; negative for a signal.
        starts: number of starts.
        log: log file.
    """

    label: str
    name: str
    node: str
    pid: int | None
    running: bool
    returncode: int | None
    starts: int
    log: Path


def log_root() -> Path:
    """Return the directory of the logs of all launches: `$ROS_LOG_DIR`, else `~/.dyn_nodes/log`."""
    root = os.environ.get('ROS_LOG_DIR')
    return Path(root) if root else Path.home() / '.dyn_nodes' / 'log'


def new_log_directory() -> Path:
    """Create and return a new directory for the logs of a launch, below `log_root()`."""
    directory = log_root() / f'{time.strftime("%Y-%m-%d-%H-%M-%S")}-{os.getpid()}-{secrets.token_hex(2)}'
    directory.mkdir(parents=True)
    return directory


class LaunchSession:
    """The processes of one launch file.

    A thread monitors them: it shows their output, respawns processes, and stops them with SIGINT, SIGTERM, SIGQUIT and
    SIGKILL in this order. The session ends when all its processes have ended. No process outlives this one, see
    `guard.py`.

    Args:
        description: evaluated launch file.
        log_directory: directory for the logs; None: a new one.
        screen: function for every line for the screen, without newline; None: no output.
    """

    def __init__(
        self,
        description: LaunchDescription,
        log_directory: Path | None = None,
        screen: Callable[[str], None] | None = None,
    ):
        self.description = description
        self.log_directory = log_directory or new_log_directory()
        self.failures: list[str] = []
        self._screen = screen
        self._token = secrets.token_hex(16)
        self._children: list[Child] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()
        self._stop_requests = 0
        self._answered_requests = 0
        self._stop_reason = ''
        self._stopping = False
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='launch', daemon=True)
        self._log = (self.log_directory / 'launch.log').open('a', encoding='utf-8')

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        arguments: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        log_directory: Path | None = None,
        screen: Callable[[str], None] | None = None,
    ) -> LaunchSession:
        """Return the session of a launch file; `start()` starts it.

        Raises:
            LaunchError: a fault of the file or the arguments; no process was started.
        """
        directory = log_directory or new_log_directory()
        try:
            description = interpret(path, arguments, environment=environment, log_directory=directory)
        except LaunchError:
            if log_directory is None and not any(directory.iterdir()):
                directory.rmdir()
            raise
        return cls(description, directory, screen)

    # --- start and state ---------------------------------------------------------------------------------------------

    def start(self) -> LaunchSession:
        """Start all processes in the order of the file.

        Raises:
            LaunchError: a program cannot be started; the processes before it were stopped.
        """
        self._print(f'all log files are in {self.log_directory}')
        (self.log_directory / FINISHED_FILE).unlink(missing_ok=True)  # from an earlier launch in this directory
        self._start_guard()
        error: LaunchError | None = None
        for step in self.description.steps:
            if self._stop_requests:
                break
            if isinstance(step, LogMessage):
                self._print(step.text, step.level)
            elif isinstance(step, Stop):
                self.request_stop(step.reason or '<shutdown> in the launch file')
            else:
                child = Child(step, f'{step.name}-{len(self._children) + 1}', self.log_directory, self._token)
                try:
                    self._start_child(child)
                except OSError as failure:
                    path, _, line = step.origin.rpartition(':')
                    error = LaunchError(f'{child.label} cannot be started: {failure}', path, int(line or 0))
                    self.request_stop(error.problem)
                    continue
                self._children.append(child)
        self._thread.start()
        if error is not None:
            self.wait()
            raise error
        return self

    @property
    def children(self) -> list[ChildState]:
        """State of every process, in the order of their start."""
        with self._lock:
            return [self._state(child) for child in self._children]

    def child(self, name: str) -> ChildState:
        """Return the state of one process.

        Args:
            name: node name (`/yard/talker` or `talker`), label (`talker_node-1`) or executable.

        Raises:
            KeyError: no such process, or several.
        """
        for matches in (
            lambda s: name in (s.label, s.node),
            lambda s: bool(s.node) and s.node.rsplit('/', 1)[1] == name,
            lambda s: s.name == name,
        ):
            states = [state for state in self.children if matches(state)]
            if len(states) == 1:
                return states[0]
            if states:
                raise KeyError(f'{name!r} is the name of {", ".join(state.label for state in states)}')
        raise KeyError(f'no process {name!r}; there are {", ".join(s.label for s in self.children) or "none"}')

    def pid(self, name: str) -> int:
        """Return the process id of one process; see `child()`.

        Raises:
            KeyError: the process is not running.
        """
        state = self.child(name)
        if state.pid is None or not state.running:
            raise KeyError(f'{state.label} is not running')
        return state.pid

    @property
    def stopping(self) -> bool:
        """True if a stop was requested, from outside or by the end of a process with `on_exit="shutdown"`."""
        return self._stop_requests > 0

    # --- ending ------------------------------------------------------------------------------------------------------

    def poll(self) -> int | None:
        """Return the exit status after the end of all processes: 0, or 1 after a failure (`failures`); else None."""
        return self._status() if self._finished.is_set() else None

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until all processes have ended, at most `timeout` seconds; return the result of `poll()`."""
        self._finished.wait(timeout)
        return self.poll()

    def request_stop(self, reason: str = '') -> None:
        """Request the stop of all processes without waiting; a repeated request sends the next signal immediately."""
        # Also called by signal handlers: no lock and no output here; the monitoring thread does the rest.
        self._stop_reason = self._stop_reason or reason
        self._stop_requests += 1

    def stop(self, reason: str = '') -> int:
        """Stop all processes and wait for their end: SIGINT, after 5 s SIGTERM, after 5 s more SIGQUIT and SIGKILL.

        On SIGQUIT a node prints the current line of each of its threads.

        Returns:
            The exit status, see `poll()`.
        """
        if self._thread.ident is None:
            self._finish()
        elif not self._finished.is_set():
            self.request_stop(reason)
            self._finished.wait()
        return self._status()

    def __enter__(self) -> LaunchSession:
        """Start unless already started."""
        return self if self._thread.ident is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    # --- internal ----------------------------------------------------------------------------------------------------

    def _status(self) -> int:
        return 1 if self.failures else 0

    @staticmethod
    def _state(child: Child) -> ChildState:
        spec = child.spec
        return ChildState(
            child.label, spec.name, spec.node, child.pid, child.running, child.returncode, child.starts, child.log_path
        )

    def _print(self, text: str, level: str = 'INFO', source: str = 'launch') -> None:
        self._show(f'[{level}] [{source}]: {text}')

    def _show(self, line: str) -> None:
        with self._lock:
            if not self._log.closed:
                self._log.write(line + '\n')
                self._log.flush()
            if self._screen is not None:
                try:
                    self._screen(line)
                except (OSError, ValueError):  # the terminal or pipe was closed: the logs remain
                    self._screen = None

    def _start_guard(self) -> None:
        specs = self.description.children
        timeouts = [
            max((getattr(s, name) for s in specs), default=5.0) for name in ('sigterm_timeout', 'sigkill_timeout')
        ]
        self._guard = start_guard(self._token, *timeouts)

    def _notify_guard(self, message: str) -> None:
        guard = self._guard
        if guard is None or guard.stdin is None:
            return
        try:
            guard.stdin.write(message.encode())
        except OSError:  # the guard died; `_check_guard` starts a new one
            return

    def _check_guard(self) -> None:
        """Replace a guard that was killed."""
        if self._guard is None or self._guard.poll() is None:
            return
        self._start_guard()
        for child in self._children:
            if child.running:
                self._notify_guard(f'+{child.pid}\n')

    def _start_child(self, child: Child) -> None:
        child.start()
        self._notify_guard(f'+{child.pid}\n')
        self._print(f'process started with pid [{child.pid}]', source=child.label)

    def _watch(self) -> None:
        """Run the monitoring thread until all processes have ended."""
        try:
            while self._step():
                time.sleep(POLL_PERIOD)
        finally:
            self._finish()

    def _step(self) -> bool:
        """Check all processes once; return False when all have ended."""
        with self._lock:
            if self._stop_requests and not self._stopping:
                self._interrupt_all()
            for child in self._children:
                finished = child.reap()
                for line in child.tail.lines(final=finished):
                    child.last_line = line.strip() or child.last_line
                    self._show(f'[{child.label}] {line}')
                if finished:
                    self._on_end(child)
                elif child.respawn_at is not None and time.monotonic() >= child.respawn_at:
                    self._respawn(child)
            if self._stopping:
                self._escalate()
            else:
                self._check_guard()
            left = [self._is_left(child) for child in self._children]  # all groups are checked
            return any(left)

    def _is_left(self, child: Child) -> bool:
        group_exists = child.group_exists()
        return child.running or child.respawn_at is not None or (self._stopping and group_exists)

    def _on_end(self, child: Child) -> None:
        """Report the end of a process, schedule its respawn, or stop the others."""
        if child.failed(self._stopping):
            text = f'process has died [pid {child.pid}, {_status_text(child.returncode)}, cmd {child.command_line()!r}]'
            self.failures.append(f'{child.label}: {_status_text(child.returncode)}')
            self._print(text, 'ERROR', child.label)
        else:
            self._print(f'process has finished cleanly [pid {child.pid}]', source=child.label)
        if child.group_exists():
            child.send(signal.SIGTERM)  # descendants that are still alive
        else:
            self._notify_guard(f'-{child.pid}\n')
        if self._stopping:
            return
        retries = child.spec.respawn_max_retries
        if child.spec.respawn and (retries < 0 or child.starts <= retries):
            child.respawn_at = time.monotonic() + child.spec.respawn_delay
            return
        how = _status_text(child.returncode) + (f': {child.last_line}' if child.last_line else '')
        record_finished(child.ended_path, child.spec.node or child.label, how)
        if child.spec.shutdown_on_exit:
            self.request_stop(f'{child.label} has ended')

    def _respawn(self, child: Child) -> None:
        if child.group_exists():
            child.send(signal.SIGKILL)
        try:
            self._start_child(child)
        except OSError as error:
            child.respawn_at = None
            self.failures.append(f'{child.label}: cannot be started again: {error}')
            self._print(f'cannot be started again: {error}', 'ERROR', child.label)

    def _interrupt_all(self) -> None:
        self._stopping = True
        self._answered_requests = 1
        if self._stop_reason:
            self._print(f'stopping: {self._stop_reason}')
        for child in self._children:
            if child.running or child.group_exists():
                child.interrupt()
            child.respawn_at = None

    def _escalate(self) -> None:
        """Send the next signal to processes after their timeout, or to all after a repeated request."""
        impatient = self._stop_requests > self._answered_requests
        self._answered_requests = self._stop_requests
        for child in self._children:
            if child.group_exists() and (impatient or time.monotonic() >= child.escalate_at):
                sent = child.escalate()
                self._print(f'process [{child.pid}] did not stop; sending {sent.name}', 'WARN', child.label)

    def _finish(self) -> None:
        """Finish the session: last lines, guard, log."""
        with self._lock:
            for child in self._children:
                child.send(signal.SIGKILL)  # a group that outlives its leader in a launch that was not stopped
                for line in child.tail.lines(final=True):
                    self._show(f'[{child.label}] {line}')
            self._notify_guard('quit\n')
            if self._guard is not None and self._guard.stdin is not None:
                self._guard.stdin.close()
                self._guard.wait()
            self._log.close()
        self._finished.set()


def _status_text(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        try:
            return f'killed by {signal.Signals(-returncode).name}'
        except ValueError:
            return f'killed by signal {-returncode}'
    return f'exit code {returncode}'
