"""Tables, JSON and progress bars on the terminal, without rich markup, because names may contain `[`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dyn_nodes.common.json_text import json_text

Columns = Sequence[str] | Mapping[str, Callable[[Any], Any]]
"""Headings, or functions of the cell of a record by heading."""

NARROWEST = 120  # least width of a table in a file or a pipe, characters


def console(narrowest: int = NARROWEST, **options: Any) -> Any:
    """Return a rich Console without markup, at least `narrowest` columns wide if it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, emoji=False, markup=False, **options)
    if made.is_terminal:
        return made
    return Console(highlight=False, emoji=False, markup=False, width=max(made.width, narrowest), **options)


def print_sentence(console: Any, text: str, **options: Any) -> None:
    """Print a sentence, wrapped on a terminal, unwrapped in a file or a pipe."""
    if console.is_terminal:
        lines = textwrap.TextWrapper(
            console.width, subsequent_indent='  ', break_long_words=False, break_on_hyphens=False
        )
        text = lines.fill(text)
    console.print(text, soft_wrap=True, **options)


def table(records: Iterable[Any], columns: Columns, title: str = '') -> Any:
    """Return a rich Table: words are left-aligned, numbers right-aligned, long cells folded.

    Args:
        records: one for each row; rows of cells if the columns are only headings.
        columns: headings, or functions of the cell of a record by heading. A cell is a str or a rich Text.
        title: of the table.
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
    """Return a progress bar on standard error, which is disabled if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn('{task.description:<18}'), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
