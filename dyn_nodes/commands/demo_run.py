"""Starts, monitors and stops the nodes of the demonstration."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from dyn_nodes.commands import CommandError
from dyn_nodes.commands.live_state import LiveState, render

if TYPE_CHECKING:
    from dyn_nodes.commands.demo_cockpit import DemoCockpit
    from dyn_nodes.commands.live_feed import LiveFeed
    from dyn_nodes.middleware.launching import ChildState, LaunchSession

MAIN_NODES = ('composition_node', 'dynamics_node')
SPARE = ('viewer_node',)  # a run continues without these
PERIOD = 0.12  # between two checks, s
LINE_PERIOD = 2.0  # between two lines of progress, s
STANDSTILL = 180.0  # timeout without progress of simulated time or compilation, s of wall time
LAST_LINES = 15


@dataclass(eq=False)
class DemoRun:
    """Result of a run of the nodes.

    Attributes:
        bag: the bag's directory.
        logs: directory of the nodes' logs.
        wall_time: from the first step of simulated time to the last, s; None if time never started.
        interrupted: by Ctrl-C or SIGTERM.
        failure: reason of a failure, '' for none.
        last_lines: end of the log of the node that failed.
    """

    bag: Path
    logs: Path
    wall_time: float | None = None
    interrupted: bool = False
    failure: str = ''
    last_lines: list[str] = field(default_factory=list)


def run_nodes(
    launch_file: str,
    machine_name: str,
    directory: Path,
    duration: float,
    recovery: bool,
    console: Console,
    domain: int,
    dashboard: bool,
    cockpit: DemoCockpit | None = None,
    compose: bool = True,
) -> DemoRun:
    """Run a launch file in a domain, show the run, and stop all nodes when the dynamics node has finished.

    Raises:
        CommandError: the nodes can't be started.
    """
    from dyn_nodes.middleware.launching import LaunchError, LaunchSession, find_launch_file

    run = DemoRun(directory / 'bag', directory / 'log')
    run.logs.mkdir(parents=True, exist_ok=True)
    state = LiveState(f'{machine_name}: {"reach, tip, recover" if recovery else "reach and overturn"}', duration)
    arguments = {
        'mode': 'lockstep',
        'compose': 'true' if compose else 'false',
        'record': 'true',
        'bag': str(run.bag),
        'recovery': 'true' if recovery else 'false',
        'duration': str(duration),
    }
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    if cockpit is not None:
        arguments |= {'viewer': 'true', 'port': str(cockpit.port)}
        environment |= cockpit.variables
    live = dashboard and console.is_terminal
    try:
        path = find_launch_file(launch_file)
        session = LaunchSession.from_file(
            path, arguments, environment=environment, log_directory=run.logs, screen=state.add_line
        )
        # the nodes start more slowly than the feed, which receives their first messages
        with _signals(session, run), session, _feed(machine_name, state, live, domain) as feed:
            preload()
            _watch(session, feed, run, console, live, cockpit)
    except LaunchError as error:
        raise CommandError(error.text) from None
    return run


def _feed(machine_name: str, state: LiveState, detailed: bool, domain: int) -> LiveFeed:
    """Return the feed that fills the state from the topics of a machine in a domain."""
    from dyn_nodes.commands.live_feed import LiveFeed
    from dyn_nodes.measures import DEFAULT_MEASURES
    from dyn_nodes.nodes.machines import machine_of

    machine = machine_of(machine_name, '')
    state.weight = machine.gravity * (machine.total_mass + (machine.payload.mass if machine.payload else 0.0))
    return LiveFeed(machine, state, DEFAULT_MEASURES, detailed=detailed, domain=domain)


def preload() -> threading.Thread:
    """Import the modules of the report in a background thread; return the thread."""
    thread = threading.Thread(target=importlib.import_module, args=('dyn_nodes.commands.progress',), daemon=True)
    thread.start()
    return thread


def _watch(
    session: LaunchSession, feed: LiveFeed, run: DemoRun, console: Console, live: bool, cockpit: DemoCockpit | None
) -> None:
    with _shown(console, feed.state, live) as show:
        watcher = _Watcher(session, feed.state, run)
        while session.wait(PERIOD) is None:
            feed.poll()
            watcher.check()
            if cockpit is not None and cockpit.open_when_ready():  # printed once it answers
                console.print(cockpit.announcement(), markup=False, soft_wrap=True)
            show()
        feed.poll()
        watcher.check()
        show()
    run.wall_time = watcher.wall_time
    run.failure = watcher.failure or _unsuccessful(session, run)


@contextlib.contextmanager
def _signals(session: LaunchSession, run: DemoRun) -> Iterator[None]:
    """Stop the nodes on Ctrl-C or SIGTERM; repeated signals stop them harder."""

    def stop(number: int, frame: Any) -> None:
        run.interrupted = True
        session.request_stop(signal.Signals(number).name)

    saved = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _shown(console: Console, state: LiveState, live: bool) -> Iterator[Any]:
    """Yield a function that shows the state: a dashboard, or a line of progress every `LINE_PERIOD`."""
    if not live:
        shown_at, shown = time.monotonic(), ''

        def print_line() -> None:
            nonlocal shown_at, shown
            line = state.line()
            if time.monotonic() - shown_at >= LINE_PERIOD and line != shown:
                shown_at, shown = time.monotonic(), line
                console.print(line, markup=False, soft_wrap=True)

        yield print_line
        return
    with Live(render(state), console=console, auto_refresh=False) as display:
        yield lambda: display.update(render(state), refresh=True)


class _Watcher:
    """Monitors the processes: ends the run with the dynamics node, detects nodes that died or hang."""

    def __init__(self, session: LaunchSession, state: LiveState, run: DemoRun) -> None:
        self.session, self.state, self.run = session, state, run
        self.failure = ''
        self._moved = self._before = time.monotonic()
        self._seen: float | None = None
        self._first: tuple[float, float] | None = None  # wall and simulated time
        self._last: tuple[float, float] | None = None

    @property
    def wall_time(self) -> float | None:
        """Wall time of the simulation, s, extrapolated to the time before the first check.

        For a run that was over at the first check: time since the previous check, an upper bound.
        """
        if self._first is None or self._last is None:
            return None
        if self._last[1] <= self._first[1]:
            return self._last[0] - self._before
        (wall, simulated), (wall_end, simulated_end) = self._first, self._last
        return (wall_end - wall) * simulated_end / (simulated_end - simulated)

    def check(self) -> None:
        """Check the processes and the progress of simulated time once."""
        self._check_time()
        if self.session.stopping:
            self._check_end()
            return
        for child in self.session.children:
            if not child.running:
                self.state.compilers.pop(child.label, None)
            if child.running or child.name in SPARE:
                continue
            if child.name in MAIN_NODES and child.returncode == 0:
                self.session.request_stop('the run is over')
            else:
                self._fail(child)
            return

    def _check_end(self) -> None:
        """Report a failure if the dynamics node, with which the launch ends, has failed."""
        for child in self.session.children:
            if child.name in MAIN_NODES and child.returncode and not (self.failure or self.run.interrupted):
                self._fail(child)

    def _check_time(self) -> None:
        now, simulated = time.monotonic(), self.state.time
        if simulated is not None and simulated != self._seen:
            self._moved, self._seen = now, simulated
            self._last = (now, simulated)
            self._first = self._first or self._last
            return
        if self._first is None:
            self._before = now
        if self.state.compiling:  # compilation has no time limit; a node that dies meanwhile ends the run
            self._moved = now
        if now - self._moved > STANDSTILL and not self.session.stopping:
            self.failure = f'simulated time has stood still for {STANDSTILL:g} s, at {simulated or 0.0:.2f} s'
            self.session.request_stop(self.failure)

    def _fail(self, child: ChildState) -> None:
        code = child.returncode
        how = f'was killed by {signal.Signals(-code).name}' if code is not None and code < 0 else f'ended with {code}'
        when = 'before the run started' if self.state.time is None else f'at {self.state.time:.2f} s'
        self.failure = f'{child.name} {how} {when}'
        self.run.last_lines = last_lines(child.log)
        self.session.request_stop(self.failure)


def _unsuccessful(session: LaunchSession, run: DemoRun) -> str:
    """Return the failures that no check detected, such as while stopping."""
    if run.interrupted:
        return ''
    spare = tuple(f'{child.label}:' for child in session.children if child.name in SPARE)
    failures = [failure for failure in session.failures if not failure.startswith(spare)]
    for child in session.children:
        if any(failure.startswith(f'{child.label}:') for failure in failures):
            run.last_lines = last_lines(child.log)
            break
    return '; '.join(failures)


def last_lines(path: Path, count: int = LAST_LINES) -> list[str]:
    """Return the last lines of a log."""
    try:
        return path.read_text(encoding='utf-8', errors='replace').splitlines()[-count:]
    except OSError:
        return []
