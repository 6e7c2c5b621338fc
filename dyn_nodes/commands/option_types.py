"""Types of options for `type=` of `add_argument`; a wrong value is an argparse error with exit status 2."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dyn_nodes.common.printing import printable

Value = TypeVar('Value')
SHOWN = 100
"""Greatest number of characters of a wrong value that are shown."""
PICTURES = ('.png', '.svg', '.pdf')


def wrong(expected: str, text: str) -> argparse.ArgumentTypeError:
    """Return the error for a wrong value of an option."""
    return argparse.ArgumentTypeError(f'expected {expected}, found {printable(text[:SHOWN])}')


def _ranged(
    convert: Callable[[str], Value], accepts: Callable[[Value], bool], expected: str, kind: str
) -> Callable[[str], Value]:
    def checked(text: str) -> Value:
        try:
            value = convert(text)
        except ValueError:
            raise wrong(kind, text) from None
        if not accepts(value):
            raise wrong(expected, text)
        return value

    return checked


def between(least: float, most: float, unit: str = '') -> Callable[[str], float]:
    """Return the type of a number from `least` to `most`; the unit is for the message."""
    return _ranged(float, lambda x: least <= x <= most, f'{least:g} to {most:g} {unit}'.rstrip(), 'a number')


def at_least(least: float, unit: str = '') -> Callable[[str], float]:
    """Return the type of a finite number that is not below `least`."""
    expected = f'{f"{least:g} {unit}".rstrip()} or more'
    return _ranged(float, lambda x: least <= x < math.inf, expected, 'a number')


def positive(most: float = math.inf, unit: str = '') -> Callable[[str], float]:
    """Return the type of a finite number above zero, at most `most`."""
    limit = '' if most == math.inf else f' and at most {most:g} {unit}'.rstrip()
    return _ranged(float, lambda x: 0.0 < x <= most and x < math.inf, f'more than 0{limit}', 'a number')


def count(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return the type of a whole number from `least` to `most`."""
    expected = f'{least} or more' if most is None else f'{least} to {most}'
    return _ranged(int, lambda n: least <= n and (most is None or n <= most), expected, 'a whole number')


def finite(text: str) -> float:
    """Return a finite number."""
    return _ranged(float, math.isfinite, 'a finite number', 'a number')(text)


def numbers_by_name(text: str) -> dict[str, float]:
    """Return the numbers of `NAME=NUMBER,NAME=NUMBER,...`."""
    try:
        pairs = [(name, float(value)) for name, _, value in (part.partition('=') for part in text.split(','))]
    except ValueError:
        pairs = []
    if not pairs or not all(name and math.isfinite(value) for name, value in pairs):
        raise wrong('NAME=NUMBER', text)
    return dict(pairs)


def pair(text: str) -> tuple[float, float]:
    """Return the two finite numbers of `X,Y`."""
    try:
        x, y = map(float, text.split(','))
    except ValueError:
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise wrong('two finite numbers with a comma, such as 0.3,-0.2', text)
    return x, y


def pairs(text: str) -> list[tuple[float, float]]:
    """Return the pairs of `X,Y X,Y ...`."""
    return [pair(part) for part in text.split()]


def picture(text: str) -> Path:
    """Return the path of a picture, PNG, SVG or PDF."""
    if not text.endswith(PICTURES):
        raise wrong('a .png, .svg or .pdf', text)
    return Path(text)


PORT = count(0, 65535)
"""Type of the port of a page; 0 for a free port."""
SEED = count(0, 2**32)
"""Type of a seed of random numbers."""
