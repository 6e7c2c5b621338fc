"""A pool of processes survives the loss of any of them, with the results of one process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from timeouts import scaled_timeout

from dyn_nodes.cli import main
from dyn_nodes.common.processes import MOST_LOSSES, LastingPool, ProcessesLostError

PACKAGE = Path(__file__).resolve().parents[1] / 'dyn_nodes'


def square(number: int) -> int:
    return number * number


def fragile(work: tuple[str, int]) -> int:
    """Kill this process, once for each number missing in the folder."""
    folder, number = work
    mark = Path(folder) / str(number)
    if number % 5 == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def deadly(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def greet(greeting: str) -> None:
    os.environ['TEST_GREETING'] = greeting


def greeting(number: int) -> str:
    return f'{os.environ["TEST_GREETING"]} {number}'


@pytest.mark.parametrize('together', [1, 3])
def test_results_are_complete_and_in_order_whatever_process_is_killed(tmp_path, together):
    with LastingPool(2) as pool:
        results = list(pool.map(fragile, [(str(tmp_path), number) for number in range(12)], together))
    assert results == [number * number for number in range(12)]
    assert {path.name for path in tmp_path.iterdir()} == {'3', '8'}


def test_a_process_that_is_replaced_starts_as_the_others(tmp_path):
    with LastingPool(1, greet, ('hello',)) as pool:
        results = pool.map(greeting, range(4))
        assert next(results) == 'hello 0'
        os.kill(pool.processes[0], signal.SIGKILL)
        assert list(results) == ['hello 1', 'hello 2', 'hello 3']


def test_work_that_ends_every_process_is_named():
    with LastingPool(2, name='case') as pool, pytest.raises(ProcessesLostError) as lost:
        list(pool.map(deadly, range(3)))
    assert f'found {MOST_LOSSES + 1} losses in a row while they had case 1' in str(lost.value)


def test_an_exception_of_the_work_is_the_drivers():
    with LastingPool(2) as pool, pytest.raises(TypeError):
        list(pool.map(square, [1, None, 3]))


def test_the_command_line_reports_lost_processes_in_one_line(monkeypatch, capsys):
    from dyn_nodes.commands import cache

    def lose(args: object) -> int:
        raise ProcessesLostError([7], 'case 7')

    monkeypatch.setattr(cache, 'run', lose)
    assert main(['cache']) == 1
    assert capsys.readouterr().err == (
        'dyn-nodes: expected processes that last, found 6 losses in a row while they had case 7: '
        'is there enough memory? fewer jobs need less\n'
    )


@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
def test_no_process_outlives_its_driver(tmp_path):
    script = (
        'import os, signal, sys; sys.path.insert(0, "test"); import test_lasting_pool as own\n'
        'pool = own.LastingPool(2); results = pool.map(own.square, range(9)); next(results)\n'
        'print(*pool.processes, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    path = tmp_path / 'driver.py'
    path.write_text('if __name__ == "__main__":\n' + ''.join(f'    {line}\n' for line in script.splitlines()))
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(PACKAGE.parent / 'test'), str(PACKAGE.parent)])}
    made = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, cwd=PACKAGE.parent)
    pids = [int(word) for word in made.stdout.split()]
    assert len(pids) == 2, made.stderr
    end = time.monotonic() + scaled_timeout(10)
    while any(Path(f'/proc/{pid}').exists() for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_no_other_module_makes_a_pool_of_its_own():
    users = [
        str(path.relative_to(PACKAGE.parent))
        for package in (PACKAGE, PACKAGE.parent / 'roslite')
        for path in package.rglob('*.py')
        if re.search(r'(ProcessPoolExecutor|\.Pool)\(', path.read_text())
    ]
    assert users == ['dyn_nodes/common/processes.py']
