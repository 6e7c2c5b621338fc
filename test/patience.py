"""Limits of time for what other processes do: they grow with the load of the computer.

A limit tells what never comes from what is late. It has nothing to do with how fast something has to be: a test that is
set by time measures the time of a clock that stands still with its subject, or of its own thread.
"""

from __future__ import annotations

import os
from pathlib import Path

AT_LEAST = 3.0
LONGEST = 600.0
"""Of a wait, s: the message of a wait that ends is worth more than that of pytest, which ends a test after 900 s."""
RUNNABLE = Path('/proc/loadavg')


def patience(seconds: float) -> float:
    """Return the wall time, s, to wait for what takes `seconds` at most on a computer that does nothing else."""
    return max(min(seconds * max(AT_LEAST, 2.0 * load()), LONGEST), seconds)


def load() -> float:
    """Return the processes that want to run, per core: the mean of the last minute, or now where that is more."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
    present = int(RUNNABLE.read_text().split()[3].partition('/')[0]) if RUNNABLE.is_file() else 0
    return max(os.getloadavg()[0], present) / cores
