"""DDS domains for tests: each test process owns a block of them, so that concurrent suites do not interfere.

The claim on a block is a lock on a file, which is released at any end of the process.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dyn_nodes.commands.free_domain import is_used

FIRST, BLOCK, BLOCKS = 1, 10, 10
"""Domains 1 to 100: Linux's ephemeral ports start above; 0 is the default of users."""

_claims: list[IO[str]] = []


def _claim(number: int) -> bool:
    file = (Path(tempfile.gettempdir()) / f'dyn_nodes_test_domains_{os.getuid()}_{number}.lock').open('w')
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _claims.append(file)  # the lock lives as long as the open file
    return True


def _block() -> range:
    numbers = random.sample(range(BLOCKS), BLOCKS)
    numbers.sort(key=lambda number: sum(map(is_used, _domains(number))))  # other processes claim nothing
    for number in numbers:
        if _claim(number):
            return _domains(number)
    return _domains(numbers[0])


def _domains(number: int) -> range:
    return range(FIRST + BLOCK * number, FIRST + BLOCK * (number + 1))


def _rotation() -> Iterator[int]:
    yield from itertools.cycle(_block())


_turn = _rotation()


def next_domain() -> int:
    """Return a domain of this process's block: the next one in turn without a participant, or else the next one."""
    candidates = [next(_turn) for _ in range(BLOCK)]
    chosen = next((domain for domain in candidates if not is_used(domain)), candidates[0])
    while next(_turn) != chosen:  # continue behind it next time
        pass
    return chosen
