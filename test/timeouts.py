"""Timeouts of tests for other processes; they grow with the load of the computer.

A timeout only ends a wait for something that never comes. It is no measure of speed: a test of a time measures the time
of its thread, or of a clock that stops together with its subject.
"""

from __future__ import annotations

import os
from pathlib import Path

AT_LEAST = 3.0
"""Smallest factor of a timeout."""
LONGEST = 600.0
"""Longest timeout, s: below the 900 s after which pytest ends a test, as the message of a timeout is more useful."""
RUNNABLE = Path('/proc/loadavg')


def scaled_timeout(seconds: float) -> float:
    """Return the wall time, s, to wait for a task that takes at most `seconds` on an idle computer."""
    return max(min(seconds * max(AT_LEAST, 2.0 * load()), LONGEST), seconds)


def load() -> float:
    """Return the number of runnable processes per core: the mean of the last minute or the present one if larger."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
    present = int(RUNNABLE.read_text().split()[3].partition('/')[0]) if RUNNABLE.is_file() else 0
    return max(os.getloadavg()[0], present) / cores
