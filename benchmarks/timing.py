"""Times of calls, measured in turns, so that other processes affect all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def best_of(measured: list[Callable[[], Any]], rounds: int, slice_us: float = 500.0) -> list[float]:
    """Return the best time of a call of each, us, of slices measured in turns.

    Slices are equally long, and shorter than the time slices of the operating system: on a busy machine a longer one is
    always interrupted.
    """
    best = [np.inf] * len(measured)
    calls = [1] * len(measured)
    for _ in range(rounds):
        for k, function in enumerate(measured):
            start = time.perf_counter()
            for _ in range(calls[k]):
                function()
            best[k] = min(best[k], 1e6 * (time.perf_counter() - start) / calls[k])
            calls[k] = max(1, int(slice_us / best[k]))
    return best
