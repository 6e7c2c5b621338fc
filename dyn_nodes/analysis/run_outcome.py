"""Results of a run from its bag: summary, plots, page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dyn_nodes.analysis.report import write_report
from dyn_nodes.analysis.run_plots import PLOTS, make_plots
from dyn_nodes.analysis.run_record import read_run
from dyn_nodes.analysis.summary import states_of, summarize, write_summary

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Outcome:
    """Results of a bag."""

    summary: dict[str, Any]
    summary_file: Path
    report_file: Path
    plots: dict[str, Path]


def make_outcome(
    bag: Path,
    directory: Path,
    config: Path | str | None = None,
    namespace: str | None = None,
    wall_time: float | None = None,
    command: str = '',
    extra: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Read a bag; write `summary.json`, PNG plots and `report.html`.

    Args:
        bag: path of the bag.
        directory: directory of the results, created if it does not exist.
        config: see `read_run`.
        namespace: see `read_run`.
        wall_time: wall time of the simulation, s, if available.
        command: command line that produced the run, for the page.
        extra: further entries of the summary.
        progress: called with the current step and the finished share of the work, 0 to 1.

    Raises:
        BagReadingError, MachineError: see `read_run`.
        OSError: the directory cannot be written.
    """

    def notify(text: str, share: float) -> None:
        if progress is not None:
            progress(text, share)

    notify('reading the bag', 0.0)
    record = read_run(bag, config, namespace, lambda done, total: notify('reading the bag', 0.5 * done / total))
    summary = summarize(record, wall_time)
    summary['made_at'] = datetime.now().astimezone().strftime('%Y-%m-%d %H:%M')
    summary['states'] = states_of(record, namespace)
    summary.update(extra or {})
    directory.mkdir(parents=True, exist_ok=True)
    files = directory / 'summary.json', directory / 'report.html'
    write_summary(summary, files[0])
    made = 0

    def drawn(name: str) -> None:
        nonlocal made
        notify(f'drawing {name.replace("_", " ")}', 0.5 + 0.5 * made / len(PLOTS))
        made += 1

    plots = make_plots(record, directory, drawn)
    write_report(record, summary, files[1], plots, command)
    notify('done', 1.0)
    return Outcome(summary, files[0], files[1], {name: plot.file for name, plot in plots.items()})
