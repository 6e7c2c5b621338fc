"""Settings of the whole suite."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
from pathlib import Path
from typing import Any

# Before NumPy is imported, here and in child processes: the threads of OpenBLAS wait for each other by spinning. On
# matrices of ten rows, with two test workers on two cores, they make SciPy's triangular solution 200 times slower.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import pytest
import scheduling

from dyn_nodes.common.garbage import SELDOM

try:
    from hypothesis import settings
except ImportError:  # a ROS 2 workspace runs `pytest -m ros2` without it
    settings = None

if settings is not None:
    # No deadline: an example may compile a machine, and the computer may be busy. Derandomized: a check that fails
    # today and passed yesterday must have a change of the code as its cause.
    settings.register_profile('house', deadline=None, derandomize=True)
    settings.register_profile('nightly', deadline=None, derandomize=False, database=None)
    settings.load_profile('house')


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--part', choices=scheduling.PARTS, help='only files whose tests wait for processes, or compute')
    parser.addoption('--shuffle', type=int, metavar='SEED', help='files and tests in an order drawn by a seed')


def pytest_configure(config: pytest.Config) -> None:
    """Restore Ctrl-C: a shell that starts the suite in the background makes all its processes ignore it."""
    gc.set_threshold(SELDOM, 20, 20)
    scheduling.yield_to_waiting_tests(config)
    if settings is not None and config.getoption('--shuffle') is not None:
        settings.load_profile('nightly')
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests never leave the loopback interface. The embedded runtime stays there by default, rclpy does not.
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ.pop('ROS_LOCALHOST_ONLY', None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Start some workers with the tests that wait for processes, and the others with computing tests."""
    return scheduling.TwoKindsScheduling(config, log) if config.getvalue('dist') == 'loadfile' else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with the longest files: files are assigned to workers one by one, and the last one delays the end.

    Collected items live until the end: they are frozen for the garbage collector.
    """
    if (seed := config.getoption('--shuffle')) is None:
        items.sort(key=lambda item: scheduling.position(item.path))
    else:
        scheduling.shuffle(items, seed)
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m ros2` import only files with such tests: the others need packages that a ROS 2 workspace lacks."""
    part = config.getoption('part')
    if part and collection_path.suffix == '.py' and scheduling.part_of(collection_path) != part:
        return True
    if config.option.markexpr != 'ros2':
        return None
    if collection_path.name in ('middleware', 'roslite') and importlib.util.find_spec('cyclonedds') is None:
        return True
    if collection_path.suffix != '.py':
        return None
    return 'mark.ros2' not in collection_path.read_text(encoding='utf-8') or None
