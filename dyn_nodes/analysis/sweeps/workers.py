"""Local processes that execute the parts of a sweep. A killed process is replaced, and its part executed again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from dyn_nodes import __version__
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import Made, run_part
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.processes import MOST_LOSSES, LastingPool, ProcessesLostError


class WorkersLostError(UserError, RuntimeError):
    """Processes end repeatedly; the message has the runs in which they end."""


class Workers(Protocol):
    """Interface of the workers that execute the parts of a sweep."""

    def start(self) -> None:
        """Prepare for the first part."""

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they finish."""

    def close(self) -> None:
        """Release the resources."""


class LocalWorkers:
    """Processes of this computer.

    Args:
        jobs: number of processes; 1 for this process alone; 0 for one per processor.
    """

    def __init__(self, jobs: int = 0) -> None:
        self.count = jobs or os.cpu_count() or 1
        self._pool = LastingPool(self.count)

    @property
    def processes(self) -> list[int]:
        """Process numbers of the operating system."""
        return self._pool.processes

    def start(self) -> None:
        """Start the processes, which import while the driver compiles."""
        if self.count > 1:
            self._pool.start()

    def results(self, sweep: Sweep, parts: Iterable[int]) -> Iterator[tuple[int, Made]]:
        """Yield the rows of parts as they finish.

        Raises:
            WorkersLostError: processes end repeatedly.
        """
        if self.count == 1:
            for part in parts:
                yield part, run_part(*order_of(sweep, part))
            return
        try:
            yield from self._pool.results(run_part, parts, lambda part: order_of(sweep, part))
        except ProcessesLostError as error:
            raise WorkersLostError(losses_text(sweep, list(error.lost))) from None
        finally:
            self.close()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()


def order_of(sweep: Sweep, part: int) -> tuple[Any, ...]:
    """Return the arguments of `run_part` for a part."""
    small, values = sweep.for_part(part)
    return sweep.identity, __version__, small, sweep.runs_of(part).start, values


def losses_text(sweep: Sweep, lost: list[int]) -> str:
    """Return the message of `WorkersLostError` for the parts that were in progress."""
    runs = ', '.join(f'{run_numbers.start} to {run_numbers.stop - 1}' for run_numbers in map(sweep.runs_of, lost[:4]))
    return f'expected processes that stay alive, found {MOST_LOSSES + 1} losses in a row while they had runs {runs}'
