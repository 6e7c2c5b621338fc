"""States that vector kernels take at once, and their layout: element by element, lane beside lane."""

from __future__ import annotations

from functools import cache

import numpy as np
from llvmlite import binding

from dyn_nodes.common.arrays import Array


@cache
def lane_count() -> int:
    """Return how many states the vector kernels of this computer take at once.

    8 where vectors of the processor have 512 bits, else 4: two or one of AVX2, two of aarch64. In single precision they
    take twice as many.
    """
    features = binding.get_host_cpu_features()
    return 8 if features.get('avx512f', False) else 4


def interleaved(rows: Array, lanes: int) -> Array:
    """Return rows (lanes, n) as vector kernels take them, (n * lanes,)."""
    if len(rows) != lanes:
        raise ValueError(f'expected {lanes} rows, found {len(rows)}')
    return np.ascontiguousarray(rows.T).ravel()


def separated(values: Array, lanes: int) -> Array:
    """Return what vector kernels write, (n * lanes,), as rows (lanes, n)."""
    return np.ascontiguousarray(values.reshape(-1, lanes).T)
