"""Tables and bars on the terminal. Names come from files: a `[` in one is a letter, no markup."""

from __future__ import annotations

import textwrap
from typing import Any

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


def progress() -> Any:
    """Return a bar on the terminal's error output; nothing is shown where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn('{task.description:<18}'), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
