"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """Return an HTML table; texts are escaped.

    Args:
        heads: of the columns.
        rows: cells.
        caption: above the table.
    """
    head = ''.join(f'<th>{escape(text)}</th>' for text in heads)
    body = ''.join('<tr>' + ''.join(f'<td>{escape(str(cell))}</td>' for cell in row) + '</tr>' for row in rows)
    return f'<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>'
