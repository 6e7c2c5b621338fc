"""Text from outside, as it may be printed and written into files for people.

This module imports nothing heavy, so that every help text starts at once.
"""

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


def xml_remark(text: str) -> str:
    """Return a text from outside as it may stand in a comment of XML, which `--` would end."""
    return printable(text).replace('--', '- -').replace('--', '- -')


def yaml_word(text: str) -> str:
    """Return a printable text as YAML takes it, in block and flow style: quoted where it might be something else."""
    plain = text.replace('_', 'a').isalnum() and not text[:1].isdigit() and text.lower() not in YAML_WORDS
    return text if plain and text.isascii() else "'" + printable(text).replace("'", "''") + "'"


YAML_WORDS = frozenset(('yes', 'no', 'on', 'off', 'true', 'false', 'null', 'y', 'n'))
"""Words that YAML does not read as texts."""
