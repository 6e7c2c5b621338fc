"""A separate domain for each test, and processes of scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from domains import next_domain
from script_processes import ScriptProcess, scripts_of


@pytest.fixture(autouse=True)
def _separate_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    for name in ('ROS_LOCALHOST_ONLY', 'CYCLONEDDS_URI'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')  # rclpy would use every interface


@pytest.fixture
def start() -> Iterator[Callable[..., ScriptProcess]]:
    with scripts_of(Path(__file__).parent / 'processes') as run:
        yield run
