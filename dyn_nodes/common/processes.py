"""Worker processes on this computer. A killed process is replaced, and its work is repeated.

Imports nothing heavy, so that the command line can handle the error before it is decided whether anything is computed.
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
"""Number of pieces submitted per process: no process waits for the driver, and few pieces are lost with a process."""
MOST_LOSSES = 5
"""Permitted number of losses in a row without a finished piece in between."""
SHOWN = 4
"""Number of lost pieces that a message names."""


class ProcessesLostError(UserError, RuntimeError, Generic[Key]):
    """Processes end repeatedly.

    Attributes:
        lost: pieces of the last loss, in order.
    """

    def __init__(self, lost: Sequence[Key], description: str = '') -> None:
        self.lost = tuple(lost)
        shown = description or ', '.join(map(str, self.lost[:SHOWN]))
        super().__init__(
            f'expected processes that last, found {MOST_LOSSES + 1} losses in a row while they had {shown}: '
            'is there enough memory? fewer jobs need less'
        )


class LastingPool:
    """A pool of processes that survives the loss of any of them.

    Processes are spawned when first needed. They leave Ctrl-C to the driver, and end when it ends for any reason.

    Args:
        count: of processes.
        initializer: called in each process before anything else, with `arguments`.
        name: of the pieces, for messages: `case`.
    """

    def __init__(
        self,
        count: int,
        initializer: Callable[..., None] | None = None,
        arguments: tuple[Any, ...] = (),
        name: str = 'piece',
    ) -> None:
        self.count, self.name = count, name
        self._initializer = initializer, arguments
        self._pool: ProcessPoolExecutor | None = None

    @property
    def processes(self) -> list[int]:
        """Process identifiers of the operating system."""
        return [] if self._pool is None else list(self._pool._processes or ())

    def __enter__(self) -> LastingPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=kind is not None)

    def start(self) -> None:
        """Start the processes, which import modules while the driver continues."""
        pool = self._processes()
        for _ in range(self.count):
            pool.submit(_ready)

    def close(self, at_once: bool = False) -> None:
        """End the processes; with `at_once` without waiting for their work."""
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
        """Yield key and `function(*arguments(key))` as they finish; `arguments` is called when a piece is submitted.

        Raises:
            ProcessesLostError: processes end repeatedly.
        """
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        waiting, losses = deque(enumerate(keys)), 0
        submitted: dict[Future[Result], tuple[int, Key]] = {}
        while waiting or submitted:
            try:
                while waiting and len(submitted) < AHEAD * self.count:
                    future = self._processes().submit(function, *arguments(waiting[0][1]))
                    submitted[future] = waiting.popleft()
                done, _ = wait(submitted, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: submitted[future][0]):
                    result = future.result()
                    key, losses = submitted.pop(future)[1], 0
                    yield key, result
            except BrokenProcessPool:
                losses += 1
                lost = sorted(submitted.values(), key=lambda piece: piece[0])
                submitted.clear()
                self.close()
                if losses > MOST_LOSSES:
                    names = ', '.join(f'{self.name} {number}' for number, _ in lost[:SHOWN])
                    raise ProcessesLostError([key for _, key in lost], names) from None
                waiting.extendleft(reversed(lost))

    def map(self, function: Callable[[Key], Result], items: Iterable[Key], together: int = 1) -> Iterator[Result]:
        """Yield `function(item)` in the order of the items, with `together` items submitted as one piece.

        Raises:
            ProcessesLostError: processes end repeatedly.
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

            self._pool = ProcessPoolExecutor(self.count, get_context('spawn'), _start, self._initializer)
        return self._pool


def _each(function: Callable[[Key], Result], items: Sequence[Key]) -> list[Result]:
    return [function(item) for item in items]


def _ready() -> None:
    """Return, after the process has imported its modules."""


def _start(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """Let a process end with its driver, leave Ctrl-C to the driver, and call `initializer`."""
    import signal
    import threading
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver.sentinel,), daemon=True).start()
    if initializer is not None:
        initializer(*arguments)


def _end_after(sentinel: int) -> None:
    from multiprocessing import connection

    connection.wait([sentinel])
    os._exit(1)
