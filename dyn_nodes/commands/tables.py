"""Tables, JSON and bars on the terminal. Names come from files: a `[` in one is a letter, no markup."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dyn_nodes.common.json_text import json_text

Columns = Sequence[str] | Mapping[str, Callable[[Any], Any]]
"""Headings, or the cell of a record by heading."""

NARROWEST = 120  # columns of a table that goes into a file or a pipe


def console(narrowest: int = NARROWEST, **options: Any) -> Any:
    """Return a rich Console without markup; it is at least `narrowest` columns wide where it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, emoji=False, markup=False, **options)
    if made.is_terminal:
        return made
    return Console(highlight=False, emoji=False, markup=False, width=max(made.width, narrowest), **options)


def say(console: Any, text: str, **options: Any) -> None:
    """Print a sentence: between words on lines of the terminal, whole where it goes into a file or a pipe."""
    if console.is_terminal:
        lines = textwrap.TextWrapper(
            console.width, subsequent_indent='  ', break_long_words=False, break_on_hyphens=False
        )
        text = lines.fill(text)
    console.print(text, soft_wrap=True, **options)


def table(records: Iterable[Any], columns: Columns, title: str = '') -> Any:
    """Return a rich Table: words begin at the left of a column, numbers end at its right, long cells are folded.

    Args:
        records: What the rows are about; rows of cells where the columns are headings alone.
        columns: Headings, or the cell of a record by heading. A cell is a text, or a rich Text.
        title: Above the table.
    """
    from rich.table import Table

    cells = columns.values() if isinstance(columns, Mapping) else None
    rows = [record if cells is None else [cell(record) for cell in cells] for record in records]
    made = Table(title=title or None, title_justify='left', title_style='bold')
    for heading, column in zip(columns, zip(*rows) if rows else [()] * len(columns)):
        counts = all(not str(cell) or str(cell)[0] in '+-(.0123456789' for cell in column)
        made.add_column(heading, justify='right' if counts and any(map(str, column)) else 'left', overflow='fold')
    for row in rows:
        made.add_row(*row)
    return made


def show(records: Iterable[Any], columns: Columns, as_json: bool = False, title: str = '') -> None:
    """Print records as a `table`, or as JSON."""
    if as_json:
        print_json(list(records))
    else:
        console().print(table(records, columns, title))


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON, see `json_text`."""
    print(json_text(value, indent))


def progress() -> Any:
    """Return a bar on the terminal's error output; nothing is shown where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn('{task.description:<18}'), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
