"""Progress bar for the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from dyn_nodes.analysis.run_outcome import Outcome, make_outcome


def make_with_progress(console: Console, bag: Path, directory: Path, **options: Any) -> Outcome:
    """Return the result of `make_outcome`; show its progress on a terminal."""
    columns = (TextColumn('{task.description:<28}'), BarColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task('reading the bag', total=1.0)
        return make_outcome(
            bag,
            directory,
            progress=lambda text, share: bar.update(task, description=text, completed=share),
            **options,
        )
