"""Processes of this computer that run the parts of a sweep. One that is killed is replaced, and its part run again."""

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
        self._pool = LastingPool(self.count)

    @property
    def processes(self) -> list[int]:
        """Numbers of the processes, of the operating system."""
        return self._pool.processes

    def begin(self) -> None:
        """Start the processes: they import while the driver compiles."""
        if self.count > 1:
            self._pool.start()

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
    """Return the message of `WorkersLostError` for the parts that were being run."""
    runs = ', '.join(f'{own.start} to {own.stop - 1}' for own in map(sweep.runs_of, lost[:4]))
    return f'expected processes that last, found {MOST_LOSSES + 1} losses in a row while they had runs {runs}'
