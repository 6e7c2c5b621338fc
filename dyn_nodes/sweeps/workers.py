"""Processes of this computer that run the parts of a sweep. One that is killed is replaced, and its part run again."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from typing import Any, Protocol

from dyn_nodes import __version__
from dyn_nodes.sweeps.sweep import Sweep
from dyn_nodes.sweeps.trial import Made, run_part

AHEAD = 2
"""Parts handed out for each process: none waits for the driver, few are lost with a process."""
MOST_LOSSES = 5
"""Times in a row that processes may be lost without a part in between."""


class WorkersLostError(RuntimeError):
    """Processes end again and again; the message has the runs in which they do."""


class Workers(Protocol):
    """What runs the parts of a sweep."""

    def begin(self) -> None:
        """Start what can be started before there is a part to run."""

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they come."""

    def close(self) -> None:
        """End what was started for them."""


class LocalWorkers:
    """Processes of this computer.

    Args:
        jobs: number of them; 1: this process itself, without any other.
    """

    def __init__(self, jobs: int = 0) -> None:
        self.count = jobs or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes, of the operating system."""
        return [] if self._pool is None else list(self._pool._processes or ())

    def begin(self) -> None:
        """Start the processes: they import while the driver compiles."""
        if self.count > 1:
            pool = self._processes()
            for _ in range(self.count):
                pool.submit(_ready)

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they come.

        Raises:
            WorkersLostError: processes end again and again.
        """
        if self.count == 1:
            for part in parts:
                yield part, run_part(*order_of(sweep, part))
            return
        try:
            yield from self._shared_out(sweep, deque(parts))
        finally:
            self.close()

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _shared_out(self, sweep: Sweep, waiting: deque[int]) -> Iterator[tuple[int, Made]]:
        running: dict[Future[Made], int] = {}
        losses = 0
        while waiting or running:
            try:
                while waiting and len(running) < AHEAD * self.count:
                    running[self._submit(sweep, waiting[0])] = waiting[0]
                    waiting.popleft()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=running.__getitem__):
                    rows = future.result()
                    part, losses = running.pop(future), 0
                    yield part, rows
            except BrokenProcessPool:
                losses += 1
                lost = sorted(running.values())
                running.clear()
                self.close()
                if losses > MOST_LOSSES:
                    raise WorkersLostError(losses_text(sweep, lost)) from None
                waiting.extendleft(reversed(lost))

    def _submit(self, sweep: Sweep, part: int) -> Future[Made]:
        return self._processes().submit(run_part, *order_of(sweep, part))

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, get_context('spawn'), _begin)
        return self._pool


def order_of(sweep: Sweep, part: int) -> tuple[Any, ...]:
    """Return the arguments of `run_part` for a part."""
    small, values = sweep.for_part(part)
    return sweep.identity, __version__, small, sweep.runs_of(part).start, values


def losses_text(sweep: Sweep, lost: list[int]) -> str:
    """Return the message of `WorkersLostError` for the parts that were being run."""
    runs = ', '.join(f'{own.start} to {own.stop - 1}' for own in map(sweep.runs_of, lost[:4]))
    return f'expected processes that last, found {MOST_LOSSES + 1} losses in a row while they had runs {runs}'


def _ready() -> None:
    """Return: the process has imported this module by then."""


def _begin() -> None:
    """Let a worker end with its driver, however that ends, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
