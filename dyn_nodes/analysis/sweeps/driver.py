"""The driver of a sweep: hands parts to workers and writes what they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dyn_nodes.analysis.sweeps.store import Store, StoreError
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import Trials
from dyn_nodes.analysis.sweeps.workers import Workers, WorkersLostError
from dyn_nodes.common.errors import UserError

Progress = Callable[[int, int], None]
"""Called with the runs that are there, and all."""
Remark = Callable[[str], None]
"""Called with a line on each thing that was damaged and is made again."""


class SweepError(UserError, RuntimeError):
    """A sweep that cannot go on; one line says why."""


@dataclass(frozen=True)
class Done:
    """What a call did.

    Attributes:
        runs: made now.  found: that were there before.
    """

    runs: int
    found: int


def run_sweep(
    sweep: Sweep,
    directory: Path,
    workers: Workers,
    progress: Progress = lambda done, total: None,
    remark: Remark = lambda text: None,
) -> Done:
    """Make the runs of a sweep that its directory lacks.

    Args:
        sweep: the sweep.
        directory: where its results go; results of the same sweep are kept and completed.
        workers: processes here or on a cluster. The results are the same bytes for all.
        progress: is called with how far it is.
        remark: is called with a line on each part that was damaged there, whose runs are made again.

    Raises:
        SweepError: the directory holds something else, or workers end again and again.
        OSError: the directory cannot be written.
    """
    total = sweep.design.runs
    try:
        with Store(directory, sweep, remark) as store:
            missing = store.missing()
            wanted = sum(len(sweep.runs_of(part)) for part in missing)
            done = found = total - wanted
            progress(done, total)
            if missing:
                workers.begin()
                _compile(sweep, missing)
            for part, made in workers.results(sweep, missing):
                store.keep(part, made)
                done += len(made.rows)
                progress(done, total)
            return Done(done - found, found)
    except (StoreError, WorkersLostError) as error:
        raise SweepError(str(error)) from None


def _compile(sweep: Sweep, parts: list[int]) -> None:
    """Put machine code into the cache once, before many processes ask for it: of every level, and of the outcomes."""
    trials = Trials(sweep)
    for level in sweep.machines:
        trials.system(level)
    trials.row(0, sweep.values[sweep.runs_of(parts[0]).start])
