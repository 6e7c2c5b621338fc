"""Workers of a Dask cluster: the same parts, on as many computers as it has.

Every worker needs this package in the same version; files of the sweep and of the machine stay with the driver. What a
scheduler or a worker that ends takes with it is run again: the driver alone writes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import Made, run_part
from dyn_nodes.analysis.sweeps.workers import WorkersLostError, losses_text, order_of
from dyn_nodes.common.processes import AHEAD, MOST_LOSSES

CONNECT, PERIOD = 10.0, 1.0
"""Time for a scheduler to answer, and between two looks at it, s."""


class ClusterError(WorkersLostError):
    """The scheduler does not answer, or has gone."""


class DaskWorkers:
    """Workers of a cluster.

    Args:
        address: of the scheduler, such as `tcp://127.0.0.1:8786`.

    Raises:
        ClusterError: no scheduler answers there.
        ImportError: `distributed` is not installed.
    """

    def __init__(self, address: str) -> None:
        from distributed import Client

        self.address = address
        try:
            self._client: Any = Client(address, timeout=CONNECT)
        except (OSError, ValueError, TypeError) as error:
            text = ' '.join(str(error).split())[:200]
            raise ClusterError(f'{address}: expected the scheduler of a Dask cluster, found {text}') from None
        self._attempts = 0

    @property
    def count(self) -> int:
        """Threads of the workers that the cluster has now; 1 where it has none yet."""
        return max(1, sum(self._client.nthreads().values()))

    def begin(self) -> None:
        """Do nothing: the workers are there."""

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        self._client.close()

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they come. Workers may come and go; without any it waits.

        Raises:
            ClusterError: the scheduler has gone.
            WorkersLostError: workers end again and again with the same runs, or have another version of this package.
        """
        waiting, running, losses = deque(parts), dict[Any, int](), 0
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.count:
                    running[self._submit(sweep, waiting[0])] = waiting[0]
                    waiting.popleft()
                for future in self._ended(running):
                    part = running.pop(future)
                    made = self._made(future)
                    if made is not None:
                        losses = 0
                        yield part, made
                        continue
                    losses += 1
                    self._judge(future, sweep, part, losses)
                    waiting.appendleft(part)
        except (OSError, TimeoutError) as error:
            raise self._gone(' '.join(str(error).split())[:200] or type(error).__name__) from None
        finally:
            if running and self._client.status == 'running':
                self._client.cancel(list(running))

    def _submit(self, sweep: Sweep, part: int) -> Any:
        self._attempts += 1
        key = f'dyn_nodes-{sweep.identity[:16]}-{part}-{id(self)}-{self._attempts}'
        return self._client.submit(run_part, *order_of(sweep, part), key=key)

    def _ended(self, running: dict[Any, int]) -> list[Any]:
        """Wait until a part has ended, whichever way; return all that have, in order."""
        from distributed import wait

        while not (ended := [future for future in running if future.status != 'pending']):
            if self._client.status != 'running':
                raise self._gone(f'a connection that is {self._client.status}')
            try:
                wait(list(running), timeout=PERIOD, return_when='FIRST_COMPLETED')
            except (TimeoutError, _cancelled()):
                continue
        return sorted(ended, key=running.__getitem__)

    def _made(self, future: Any) -> Made | None:
        """What a part has made; None where it failed, or where its result was lost on the way from its worker."""
        if future.status != 'finished':
            return None
        try:
            made: Made = future.result()
        except _cancelled():
            return None
        return made

    def _judge(self, future: Any, sweep: Sweep, part: int, losses: int) -> None:
        """Raise what ends the sweep: a fault of the runs themselves, the scheduler's end, too many losses."""
        from distributed import KilledWorker

        if self._client.status != 'running':
            raise self._gone(f'a connection that is {self._client.status}')
        try:
            error = future.exception() if future.status == 'error' else None
        except _cancelled():
            error = None
        if error is not None and not isinstance(error, KilledWorker):
            raise WorkersLostError(f'runs {sweep.runs_of(part).start} and following: {error}') from error
        if losses > MOST_LOSSES:
            raise WorkersLostError(losses_text(sweep, [part]))

    def _gone(self, found: str) -> ClusterError:
        kept = 'what is done is kept, the same command goes on'
        return ClusterError(f'{self.address}: expected the scheduler to stay, found {found}; {kept}')


def quiet_log() -> None:
    """Leave it to the messages of this package what a program shows: Dask logs a lost connection with its traceback."""
    import distributed  # noqa: F401  (makes its loggers)

    for name in [own for own in logging.root.manager.loggerDict if own.partition('.')[0] == 'distributed']:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _cancelled() -> type[BaseException]:
    from distributed import CancelledError

    found: type[BaseException] = CancelledError
    return found
