"""Text from outside, as it may be printed: this module imports nothing, so that every help text starts at once."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text from outside without what would break a line, move a cursor or change a terminal's colours."""
    return ''.join(c if c.isprintable() else '\N{REPLACEMENT CHARACTER}' for c in text)
