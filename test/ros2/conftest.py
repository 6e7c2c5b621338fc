"""Fixtures: separate domains, the stand-in for rclpy, a real ROS 2 if one is sourced."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from domains import next_domain
from timeouts import scaled_timeout

HERE = Path(__file__).parent
STRICT = HERE / 'strict_ros'


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need a real ROS 2, with the reason."""
    if importlib.util.find_spec('rclpy') is None:
        skip = pytest.mark.skip(reason='rclpy is not importable: no ROS 2 is sourced')
        for item in items:
            if item.get_closest_marker('ros2'):
                item.add_marker(skip)


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> int:
    number = next_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(number))
    return number


@pytest.fixture
def start_strict(domain: int, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Start a Python process on the strict stand-in for rclpy; its output goes to `<name>.log`."""
    started: list[subprocess.Popen] = []

    def start(name: str, *words: str, release: str = 'jazzy', **variables: str) -> subprocess.Popen:
        environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join([str(STRICT), str(HERE.parents[1])]),
            'STRICT_ROS_RELEASE': release,
            'PYTHONUNBUFFERED': '1',
            **variables,
        }
        environment.pop('DYN_NODES_MIDDLEWARE', None)
        log = (tmp_path / f'{name}.log').open('w')
        process = subprocess.Popen([sys.executable, *words], env=environment, stdout=log, stderr=subprocess.STDOUT)
        started.append(process)
        return process

    yield start
    for process in started:
        stop(process)


def stop(process: Any, number: int = signal.SIGINT, timeout: float = 20.0) -> int:
    """End a process; its exit status."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(scaled_timeout(timeout))
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(10.0)
