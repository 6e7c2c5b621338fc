"""A whole number on the command line of a benchmark, and its help."""

from __future__ import annotations

import argparse


def count_of(doc: str | None, what: str, default: int) -> int:
    """Return the only argument of a benchmark, above 0; `--help` prints its docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(what, nargs='?', type=_above_zero, default=default, help=f'default: {default:,}')
    return int(getattr(parser.parse_args(), what))


def _above_zero(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f'expected a whole number above 0, found {text}')
    return number
