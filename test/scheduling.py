"""Which worker runs which file: a part of the workers begins with the tests that wait for other processes.

A test that starts nodes, a browser or a shell spends most of its time waiting: two workers with such tests leave two
cores idle half of the time. So there is a worker more than cores, which computes beside them, with less priority: tests
of processes run as if it were not there. A worker without files of its kind takes one of the other.
"""

from __future__ import annotations

import os

import pytest
from xdist.scheduler import LoadFileScheduling

WAITING = ('system', 'viewer', 'ros2', 'middleware', 'nodes', 'recording', 'launching', 'hostile', 'cli', 'docs')
"""Rooms whose tests start processes, those with the longest files first."""
COMPUTING = ('vehicles', 'simulation', 'control')
"""Rooms with the longest of the other files, which begin: the last file must not be a long one."""
NICENESS = 5


def waits(path: str) -> bool:
    """Tell whether the tests of a file wait for processes."""
    return room_of(path) in WAITING


def room_of(path: str) -> str:
    """Return the room of a test file: the directory that it lies in."""
    return os.path.basename(os.path.dirname(path))


def place(path: str) -> int:
    """Return where a file stands in the order of its kind."""
    order = [*WAITING, *COMPUTING]
    room = room_of(path)
    return order.index(room) if room in order else len(order)


def is_waiting_worker(worker: str, workers: int) -> bool:
    """Tell whether a worker begins with tests that wait: gw0 of two workers, gw0 and gw1 of three or four."""
    return int(worker.removeprefix('gw')) < (workers + 1) // 2


def yield_to_waiting_tests(config: pytest.Config) -> None:
    """Give a worker that computes less priority; what it starts inherits that."""
    given = getattr(config, 'workerinput', None)
    if given is not None and not is_waiting_worker(given['workerid'], given['workercount']):
        os.nice(NICENESS)


class TwoKindsScheduling(LoadFileScheduling):
    """Hands out files one by one, to each worker those of its kind as long as there are any."""

    def _assign_work_unit(self, node: object) -> None:
        is_waiting = is_waiting_worker(node.gateway.id, self.numnodes)
        own = next((path for path in self.workqueue if waits(path) == is_waiting), None)
        if own is not None:
            self.workqueue.move_to_end(own, last=False)
        super()._assign_work_unit(node)
