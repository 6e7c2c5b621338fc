"""Collections of garbage while much is made that stays: modules, expressions, machine code."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

SELDOM = 50_000
"""New objects between two collections."""


@contextlib.contextmanager
def seldom_collections() -> Iterator[None]:
    """Collect garbage seldom within a block that makes what stays.

    By default a collection follows every 700 objects. A start makes a million and more, nearly all of which stay: it
    would be a sixth of the processor time of a start with machine code from the cache, a tenth of one that compiles.
    """
    usual = gc.get_threshold()
    gc.set_threshold(SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
