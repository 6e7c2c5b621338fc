"""Reference numbers of the five sources for studies and tests: `<source>/reference_numbers.yaml`.

A file maps keys to [description, numbers]. Numbers are written as printed: `,` between the numbers of a group, `;`
between groups, ` / ` between planes. A unit may follow the last number of a group; remarks are in parentheses.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

FOLDER = Path(__file__).resolve().parent
FILE = 'reference_numbers.yaml'
REMARK = re.compile(r'\s*\([^)]*\)')
NUMBER = re.compile(r'([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?:(?:\s+(?:1/)?[A-Za-z%][A-Za-z%/]*\d?)+)?')


@cache
def rows(source: str) -> dict[str, tuple[str, str]]:
    """Return description and numbers by key, of a source such as `tanner-1998`."""
    text = (FOLDER / source.replace('-', '_') / FILE).read_text(encoding='utf-8')
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    return {key: (str(description), str(numbers)) for key, (description, numbers) in yaml.load(text, loader).items()}


def row(key: str) -> tuple[str, str]:
    """Return description and numbers of a row, by `<source>/<key>`. Raises KeyError with the key."""
    source, _, name = key.partition('/')
    return rows(source)[name]


def tabulated(key: str) -> Any:
    """Return the numbers of a row, by `<source>/<key>`.

    Returns:
        A float; an array (n,) of a row of one group or of groups of one number, (m, n) of equal groups, (p, m, n) of
        equal planes; else a list of the groups. A group that contains other text is returned as text.
    """
    return _joined([_joined([_group(text) for text in plane.split(';')]) for plane in row(key)[1].split(' / ')])


def _group(text: str) -> Any:
    parts = [NUMBER.fullmatch(part.strip()) for part in REMARK.sub('', text).split(',')]
    numbers = [float(part[1]) for part in parts if part]
    if len(numbers) < len(parts):
        return text.strip()
    return numbers[0] if len(numbers) == 1 else np.array(numbers)


def _joined(parts: list[Any]) -> Any:
    """Return the only part, parts of equal shape as an array, or else the list of parts."""
    if len(parts) == 1:
        return parts[0]
    shapes = {np.shape(part) if not isinstance(part, (str, list)) else None for part in parts}
    return np.array(parts) if len(shapes) == 1 and None not in shapes else parts
