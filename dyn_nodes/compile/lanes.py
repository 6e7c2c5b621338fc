"""Number of states per call of vector kernels, and their layout: element by element, with adjacent lanes."""

from __future__ import annotations

from functools import cache

import numpy as np
from llvmlite import binding

from dyn_nodes.common.arrays import Array


@cache
def lane_count() -> int:
    """Return the number of states per call of the vector kernels of this computer.

    8 if vectors of the processor have 512 bits, else 4: one vector of AVX2, two of aarch64. In single precision twice
    as many.
    """
    features = binding.get_host_cpu_features()
    return 8 if features.get('avx512f', False) else 4


def interleaved(rows: Array, lanes: int) -> Array:
    """Return rows (lanes, n) in the layout of vector kernels (n * lanes,)."""
    if len(rows) != lanes:
        raise ValueError(f'expected {lanes} rows, found {len(rows)}')
    return np.ascontiguousarray(rows.T).ravel()


def separated(values: Array, lanes: int) -> Array:
    """Return the output (n * lanes,) of vector kernels as rows (lanes, n)."""
    return np.ascontiguousarray(values.reshape(-1, lanes).T)
