"""Median times of single calls of the Python library: `python -m benchmarks.library_calls`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import dyn_nodes as dn

CALLS = 2000


def median(call: Callable[[], object], calls: int = CALLS) -> float:
    """Return the median time of a call after the first one, s."""
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the times of margins and postures of the log-loader."""
    m = dn.load('log_loader')
    q = m.posture(boom_joint=0.3)
    rows = np.stack([q] * 100)
    measured = {
        'm.margins(q)': median(lambda: m.margins(q)),
        "m.margins(q)['static'].value": median(lambda: m.margins(q)['static'].value),
        'm.margins of the joints alone': median(lambda: m.margins(q[7:])),
        'm.margins of 100 rows, each': median(lambda: m.margins(rows, payload=0.0), 20) / len(rows),
        'm.posture(boom_joint=0.3)': median(lambda: m.posture(boom_joint=0.3), 500),
    }
    for name, seconds in measured.items():
        print(f'{name:32} {1e3 * seconds:.3f} ms')


if __name__ == '__main__':
    main()
