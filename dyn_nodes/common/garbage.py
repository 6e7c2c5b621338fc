"""Less frequent garbage collection while many permanent objects are created: modules, expressions, machine code."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

SELDOM = 50_000
"""New objects between two collections."""


@contextlib.contextmanager
def seldom_collections() -> Iterator[None]:
    """Collect garbage seldom within a block that creates permanent objects.

    By default a collection follows every 700 objects. A start creates a million and more, nearly all permanent:
    collections would take a sixth of the processor time of a start with machine code from the cache, a tenth of one
    that compiles.
    """
    usual = gc.get_threshold()
    gc.set_threshold(SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
