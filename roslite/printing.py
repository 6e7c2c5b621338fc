"""Safe printing of untrusted text.

This module imports only light modules, for a fast start of help texts.
"""

from __future__ import annotations

from collections.abc import Iterable


def printable(text: str) -> str:
    """Return a text with replacements for line breaks, control characters and terminal sequences."""
    return ''.join(c if c.isprintable() else '\N{REPLACEMENT CHARACTER}' for c in text)


def near(word: str, words: Iterable[str], prefix: str = '') -> str:
    """Return ` (did you mean 'x'?)` if a word is similar to a valid one, else ''.

    Args:
        word: word of the user.
        words: valid words.
        prefix: text before the word in the result, not compared.
    """
    import difflib

    matches = difflib.get_close_matches(word, list(words), 1, 0.6)
    return f' (did you mean {prefix + matches[0]!r}?)' if matches else ''


def xml_remark(text: str) -> str:
    """Return a text that is valid in an XML comment, without `--`."""
    return printable(text).replace('--', '- -').replace('--', '- -')


def yaml_word(text: str) -> str:
    """Return a printable text as a YAML string for block and flow style, quoted if necessary."""
    plain = text.replace('_', 'a').isalnum() and not text[:1].isdigit() and text.lower() not in YAML_WORDS
    return text if plain and text.isascii() else "'" + printable(text).replace("'", "''") + "'"


YAML_WORDS = frozenset(('yes', 'no', 'on', 'off', 'true', 'false', 'null', 'y', 'n'))
"""Words that YAML does not read as strings."""
