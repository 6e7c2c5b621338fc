"""Processes of this computer that share out work. One that is killed is replaced, and what it had is done again.

Imports nothing heavy: the command line knows the error before it knows whether anything is computed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dyn_nodes.common.errors import UserError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Key = TypeVar('Key')
Result = TypeVar('Result')
AHEAD = 2
"""Pieces handed out for each process: none waits for the driver, few are lost with a process."""
MOST_LOSSES = 5
"""Times in a row that processes may be lost without a piece in between."""
SHOWN = 4
"""Lost pieces that a message names."""


class ProcessesLostError(UserError, RuntimeError, Generic[Key]):
    """Processes end again and again.

    Attributes:
        lost: what they had at the last time, in order.
    """

    def __init__(self, lost: Sequence[Key], what: str = '') -> None:
        self.lost = tuple(lost)
        shown = what or ', '.join(map(str, self.lost[:SHOWN]))
        super().__init__(
            f'expected processes that last, found {MOST_LOSSES + 1} losses in a row while they had {shown}: '
            'is there enough memory? fewer jobs need less'
        )


class LastingPool:
    """A pool of processes that outlives the loss of any of them.

    Processes are spawned when first needed. They leave Ctrl-C to the driver, and end when it ends, however that is.

    Args:
        count: of processes.
        begin: called in each process before anything else, with `arguments`.
        name: of the pieces, for messages: `case`.
    """

    def __init__(
        self, count: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = (), name: str = 'piece'
    ) -> None:
        self.count, self.name = count, name
        self._begin = begin, arguments
        self._pool: ProcessPoolExecutor | None = None

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes, of the operating system."""
        return [] if self._pool is None else list(self._pool._processes or ())

    def __enter__(self) -> LastingPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=kind is not None)

    def start(self) -> None:
        """Start the processes: they import while the driver does something else."""
        pool = self._processes()
        for _ in range(self.count):
            pool.submit(_ready)

    def close(self, at_once: bool = False) -> None:
        """End the processes; `at_once`: without waiting for what they do."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((pool._processes or {}).values()) if at_once else []
        for process in processes:
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)

    def results(
        self, function: Callable[..., Result], keys: Iterable[Key], arguments: Callable[[Key], tuple[Any, ...]]
    ) -> Iterator[tuple[Key, Result]]:
        """Yield key and `function(*arguments(key))` as they come; `arguments` are made when a piece is handed out.

        Raises:
            ProcessesLostError: processes end again and again.
        """
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        waiting, losses = deque(enumerate(keys)), 0
        places: dict[Future[Result], tuple[int, Key]] = {}
        while waiting or places:
            try:
                while waiting and len(places) < AHEAD * self.count:
                    future = self._processes().submit(function, *arguments(waiting[0][1]))
                    places[future] = waiting.popleft()
                done, _ = wait(places, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda own: places[own][0]):
                    result = future.result()
                    key, losses = places.pop(future)[1], 0
                    yield key, result
            except BrokenProcessPool:
                losses += 1
                lost = sorted(places.values(), key=lambda own: own[0])
                places.clear()
                self.close()
                if losses > MOST_LOSSES:
                    names = ', '.join(f'{self.name} {number}' for number, _ in lost[:SHOWN])
                    raise ProcessesLostError([key for _, key in lost], names) from None
                waiting.extendleft(reversed(lost))

    def map(self, function: Callable[[Key], Result], items: Iterable[Key], together: int = 1) -> Iterator[Result]:
        """Yield `function(item)` in the order of the items, `together` of them handed out as one piece.

        Raises:
            ProcessesLostError: processes end again and again.
        """
        rows = list(items)
        pieces = [rows[k : k + together] for k in range(0, len(rows), together)]
        done: dict[int, list[Result]] = {}
        due = 0
        for number, results in self.results(_each, range(len(pieces)), lambda k: (function, pieces[k])):
            done[number] = results
            while due in done:
                yield from done.pop(due)
                due += 1

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            self._pool = ProcessPoolExecutor(self.count, get_context('spawn'), _start, self._begin)
        return self._pool


def _each(function: Callable[[Key], Result], items: Sequence[Key]) -> list[Result]:
    return [function(item) for item in items]


def _ready() -> None:
    """Return: the process has imported its modules by then."""


def _start(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Let a process end with its driver, leave Ctrl-C to that, and call `begin`."""
    import signal
    import threading
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver.sentinel,), daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_after(sentinel: int) -> None:
    from multiprocessing import connection

    connection.wait([sentinel])
    os._exit(1)
