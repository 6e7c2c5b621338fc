"""Time of all stability measures for a million states in one call.

python benchmarks/measures.py [states]
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.counts import count_of
from dyn_nodes.stability import all_measures

ROUNDS = 3


def states(count: int) -> dict[str, np.ndarray]:
    """Return random states of a machine on four wheels on uneven ground; everything differs from state to state."""
    rng = np.random.default_rng(0)
    wheels = np.array([(1.55, -1.1, 0.0), (1.55, 1.1, 0.0), (-1.55, 1.1, 0.0), (-1.55, -1.1, 0.0)])
    spread = rng.normal(size=(count, 3, 3)) * 50.0
    return {
        'feet': wheels + 0.05 * rng.normal(size=(count, 4, 3)),
        'com': rng.normal(size=(count, 3)) * 0.3 + (0.0, 0.0, 1.5),
        'force': rng.normal(size=(count, 3)) * 1e4 + (0.0, 0.0, -2e5),
        'moment': rng.normal(size=(count, 3)) * 1e4,
        'mass': rng.uniform(1.7e4, 2.3e4, count),
        'inertia': spread @ np.swapaxes(spread, 1, 2) + 2e4 * np.eye(3),
        'normal_loads': rng.uniform(0.0, 1e5, (count, 4)),
    }


def measure(count: int = 1_000_000) -> dict[str, Any]:
    """Return the least times of a few rounds for all measures, on all cores and on one, us a state."""
    inputs = states(count)
    all_measures(**{name: values[:1] for name, values in inputs.items()})  # compiles
    best = {}
    for threads in (None, 1):
        times = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            result = all_measures(**inputs, threads=threads)
            times.append(time.perf_counter() - begun)
        best[threads] = 1e6 * min(times) / count
    return {
        'name': 'measures_batch',
        'value': best[None],
        'unit': 'us/state',
        'states': count,
        'measures': list(result),
        'cores': os.cpu_count(),
        'one_core': best[1],
    }


if __name__ == '__main__':
    print(json.dumps(measure(count_of(__doc__, 'states', 1_000_000)), indent=2))
