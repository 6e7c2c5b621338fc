"""Workers of a Dask cluster: the same parts, on all computers of the cluster.

Every worker needs this package in the same version; files of the sweep and of the machine stay with the driver. Runs
that are lost with a scheduler or a worker are executed again: only the driver writes.
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
"""Time limit for a scheduler to answer, and period of checks of its connection, s."""


class ClusterError(WorkersLostError):
    """The scheduler does not answer, or the connection to it is lost."""


class DaskWorkers:
    """Workers of a cluster.

    Args:
        address: address of the scheduler, such as `tcp://127.0.0.1:8786`.

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
        """Number of threads of the cluster's current workers; 1 if there are none yet."""
        return max(1, sum(self._client.nthreads().values()))

    def start(self) -> None:
        """Do nothing: the workers exist already."""

    def close(self) -> None:
        """Disconnect from the cluster; it continues to run."""
        self._client.close()

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they finish. Workers may join and leave; without workers the iterator waits.

        Raises:
            ClusterError: the connection to the scheduler is lost.
            WorkersLostError: workers end repeatedly with the same runs, or have another version of this package.
        """
        waiting, running, losses = deque(parts), dict[Any, int](), 0
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.count:
                    running[self._submit(sweep, waiting[0])] = waiting[0]
                    waiting.popleft()
                for future in self._finished(running):
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

    def _finished(self, running: dict[Any, int]) -> list[Any]:
        """Wait until a part has finished or failed; return all such parts in order."""
        from distributed import wait

        while not (finished := [future for future in running if future.status != 'pending']):
            if self._client.status != 'running':
                raise self._gone(f'a connection that is {self._client.status}')
            try:
                wait(list(running), timeout=PERIOD, return_when='FIRST_COMPLETED')
            except (TimeoutError, _cancelled()):
                continue
        return sorted(finished, key=running.__getitem__)

    def _made(self, future: Any) -> Made | None:
        """Return the result of a part; None if it failed, or if the result was lost in transfer."""
        if future.status != 'finished':
            return None
        try:
            made: Made = future.result()
        except _cancelled():
            return None
        return made

    def _judge(self, future: Any, sweep: Sweep, part: int, losses: int) -> None:
        """Raise the error that ends the sweep: an error in the runs, a lost scheduler, or too many losses."""
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

    def _gone(self, actual: str) -> ClusterError:
        kept = 'finished parts are kept, the same command continues'
        return ClusterError(f'{self.address}: expected a running scheduler, found {actual}; {kept}')


def quiet_log() -> None:
    """Switch off the loggers of Dask, which log a lost connection with a traceback; this package reports it."""
    import distributed  # noqa: F401  (creates its loggers)

    for name in [logger for logger in logging.root.manager.loggerDict if logger.partition('.')[0] == 'distributed']:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _cancelled() -> type[BaseException]:
    from distributed import CancelledError

    error: type[BaseException] = CancelledError
    return error
