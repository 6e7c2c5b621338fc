"""Text from outside, as it may be printed: imports nothing heavy, so that every help text starts at once."""

from __future__ import annotations

from collections.abc import Iterable


def printable(text: str) -> str:
    """Return a text from outside without what would break a line, move a cursor or change a terminal's colours."""
    return ''.join(c if c.isprintable() else '\N{REPLACEMENT CHARACTER}' for c in text)


def near(word: str, known: Iterable[str], prefix: str = '') -> str:
    """Return ` (did you mean 'x'?)` for a word that is nearly one of those known, '' for any other.

    Args:
        word: as it was written.
        known: the words that there are.
        prefix: before the word in the answer, left out of the comparison.
    """
    import difflib

    found = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f' (did you mean {prefix + found[0]!r}?)' if found else ''
