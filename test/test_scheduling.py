"""Workers start with the files of their kind, and every file is run once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import scheduling

pytest.importorskip('xdist')

FILES = {
    'waiting': ['test/system/test_a.py', 'test/viewer/test_b.py', 'test/cli/test_c.py'],
    'computing': ['test/monitor/test_d.py', 'test/test_e.py'],
}


class Worker:
    """Stores the numbers of the assigned tests."""

    def __init__(self, name: str) -> None:
        self.gateway, self.shutting_down = SimpleNamespace(id=name), False
        self.assigned: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.assigned += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(count: int) -> tuple[Any, list[Worker], list[str]]:
    """Return a scheduler that has assigned its first files to `count` workers, and the tests, five a file."""
    paths = sorted([*FILES['computing'], *FILES['waiting']], key=scheduling.position)
    tests = [f'{path}::test_{k}' for path in paths for k in range(5)]
    options = {'numprocesses': count, 'tx': ['popen'] * count, 'loadscopereorder': False}
    config = SimpleNamespace(option=SimpleNamespace(**options), getvalue=options.__getitem__)
    made = scheduling.TwoKindsScheduling(config)
    workers = [Worker(f'gw{k}') for k in range(count)]
    for worker in workers:
        made.add_node(worker)
    for worker in workers:
        made.add_node_collection(worker, tests)
    made.schedule()
    return made, workers, tests


def test_each_worker_starts_with_files_of_its_kind_and_ends_with_the_rest() -> None:
    made, workers, tests = scheduled(3)

    def files(worker: Worker) -> list[str]:
        return list(dict.fromkeys(tests[number].partition('::')[0] for number in worker.assigned))

    assert [files(worker)[0] for worker in workers] == [*FILES['waiting'][:2], FILES['computing'][0]]
    last = workers[2]
    while made.workqueue:  # the other two are stuck in their first files
        made.mark_test_complete(last, last.assigned[len(done(made, last))])
    assert files(last) == [*FILES['computing'], FILES['waiting'][2]]
    assert sorted(number for worker in workers for number in worker.assigned) == list(range(len(tests)))


def done(made: Any, worker: Worker) -> list[str]:
    units = made.assigned_work[worker].values()
    return [test for unit in units for test, completed in unit.items() if completed]


@pytest.mark.parametrize(('count', 'waiting'), [(1, 1), (2, 2), (3, 2), (4, 2), (8, 4)])
def test_two_workers_or_half_of_them_wait(count: int, waiting: int) -> None:
    parts = [scheduling.part_of_worker(f'gw{k}', count) for k in range(count)]
    assert parts == ['waiting'] * waiting + ['computing'] * (count - waiting)


def test_the_packages_in_the_order_exist_and_are_unique() -> None:
    packages = [*scheduling.WAITING, *scheduling.COMPUTING]
    assert len(set(packages)) == len(packages)
    assert [package for package in packages if not (scheduling.TESTS / package).is_dir()] == []


def test_the_parts_are_the_whole() -> None:
    for part, paths in FILES.items():
        assert {scheduling.part_of(path) for path in paths} == {part}
    assert scheduling.part_of(__file__) == 'computing'
    assert scheduling.part_of('/elsewhere/test_x.py') == 'computing'
