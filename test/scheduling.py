"""Scheduling of two kinds of test files: tests that wait for processes, and tests that compute.

A test that starts nodes, a browser or a shell spends most of its time waiting: two workers with such tests leave two
cores idle half of the time. So there is one worker more than cores, which computes at lower priority: tests of
processes are not slowed down. A worker without files of its kind takes one of the other.
"""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

try:
    from xdist.scheduler import LoadFileScheduling
except ImportError:  # a ROS 2 workspace runs `pytest -m ros2` without pytest-xdist
    LoadFileScheduling = object

WAITING = (
    'system',
    'viewer',
    'sweeps',
    'roslite',
    'ros2',
    'nodes',
    'hostile',
    'middleware',
    'commands',
    'cli',
    'docs',
)
"""Packages whose tests start processes, the longest files first."""
COMPUTING = (
    'examples',
    'governor',
    'analysis',
    'linear',
    'monitor',
    'studies',
    'constraints',
    'simulation',
    'multibody',
    'stability',
    'compile',
)
"""The other packages, the longest files first: the last file must not be a long one."""
PARTS = ('waiting', 'computing')
TESTS = Path(__file__).parent
NICENESS = 5


@cache
def package_of(path: str | Path) -> str:
    """Return the package of a test file, its directory in `test`; '' for `test` itself or elsewhere."""
    whole = TESTS.parent / path
    parts = whole.relative_to(TESTS).parts if whole.is_relative_to(TESTS) else ()
    return parts[0] if len(parts) > 1 else ''


def part_of(path: str | Path) -> str:
    """Return the kind of a test file, one of `PARTS`."""
    return PARTS[0] if package_of(path) in WAITING else PARTS[1]


def position(path: str | Path) -> int:
    """Return the position of a file in the order of assignment."""
    order = [*WAITING, *COMPUTING]
    package = package_of(path)
    return order.index(package) if package in order else len(order)


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle files, and the tests of each, by a seed: tests must not depend on others."""
    dice, files = random.Random(seed), dict[Path, list[pytest.Item]]()
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = sorted(files)
    dice.shuffle(order)
    for path in order:
        dice.shuffle(files[path])
    items[:] = [item for path in order for item in files[path]]


def part_of_worker(worker: str, workers: int) -> str:
    """Return the first kind of a worker: gw0 and gw1 of up to four workers wait."""
    return PARTS[0] if int(worker.removeprefix('gw')) < max(2, (workers + 1) // 2) else PARTS[1]


def yield_to_waiting_tests(config: pytest.Config) -> None:
    """Lower the priority of a computing worker and its child processes."""
    worker = getattr(config, 'workerinput', None)
    if worker is not None and part_of_worker(worker['workerid'], worker['workercount']) == PARTS[1]:
        os.nice(NICENESS)


class TwoKindsScheduling(LoadFileScheduling):
    """Assigns files one by one, to each worker files of its kind while there are any."""

    def _assign_work_unit(self, node: Any) -> None:
        part = part_of_worker(node.gateway.id, self.numnodes)
        path_of_part = next((path for path in self.workqueue if part_of(path) == part), None)
        if path_of_part is not None:
            self.workqueue.move_to_end(path_of_part, last=False)
        super()._assign_work_unit(node)
