"""The driver of a sweep: sends parts to workers and writes their results."""

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
"""Called with the number of finished runs and of all runs."""
Remark = Callable[[str], None]
"""Called with a line for each damaged part that is replaced."""


class SweepError(UserError, RuntimeError):
    """The sweep cannot continue; the message is one line."""


@dataclass(frozen=True)
class Done:
    """Result of `run_sweep`.

    Attributes:
        runs: number of runs executed by the call.  found: number of runs that existed before.
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
    """Execute the runs of a sweep that its directory lacks.

    Args:
        sweep: the sweep.
        directory: directory of the results; existing results of the same sweep are completed.
        workers: processes here or on a cluster. The results are the same bytes for all.
        progress: called with the number of finished runs and of all runs.
        remark: called with a line for each damaged part, whose runs are executed again.

    Raises:
        SweepError: the directory holds something else, or workers end repeatedly.
        OSError: the directory cannot be written.
    """
    total = sweep.design.runs
    try:
        with Store(directory, sweep, remark) as store:
            missing = store.missing()
            remaining = sum(len(sweep.runs_of(part)) for part in missing)
            done = existing = total - remaining
            progress(done, total)
            if missing:
                workers.start()
                _compile(sweep, missing)
            for part, made in workers.results(sweep, missing):
                store.keep(part, made)
                done += len(made.rows)
                progress(done, total)
            return Done(done - existing, existing)
    except (StoreError, WorkersLostError) as error:
        raise SweepError(str(error)) from None


def _compile(sweep: Sweep, parts: list[int]) -> None:
    """Compile the machine of every level and the outcomes into the cache, before many processes need the code."""
    trials = Trials(sweep)
    for level in sweep.machines:
        trials.system(level)
    trials.row(0, sweep.values[sweep.runs_of(parts[0]).start])
