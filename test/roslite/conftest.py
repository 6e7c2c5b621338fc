"""A separate domain for each test process, contexts, and processes of scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from domains import next_domain
from script_processes import ScriptProcess, scripts_of
from timeouts import scaled_timeout

from roslite.runtime.api import Context, Node, SingleThreadedExecutor, init

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _separate_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    for name in ('ROS_LOCALHOST_ONLY', 'CYCLONEDDS_URI'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')  # rclpy would use every interface


@pytest.fixture
def make_context() -> Iterator[Callable[..., Context]]:
    made: list[Context] = []

    def make(*args: str) -> Context:
        context = Context()
        init(args=['program', *args], context=context)
        made.append(context)
        return context

    yield make
    for context in made:
        context.try_shutdown()


@pytest.fixture
def context(make_context: Callable[..., Context]) -> Context:
    return make_context()


@pytest.fixture
def node(context: Context) -> Node:
    return Node('tester', context=context)


class Spinner:
    """Spins nodes of one context until a condition holds."""

    def __init__(self, context: Context, *nodes: Node) -> None:
        self.executor = SingleThreadedExecutor(context=context)
        for item in nodes:
            self.executor.add_node(item)

    def until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        deadline = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < deadline, 'it did not happen in time'
            self.executor.spin_once(timeout_sec=0.02)

    def for_seconds(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)


@pytest.fixture
def make_spinner() -> type[Spinner]:
    return Spinner


@pytest.fixture
def spinner_of() -> type[Spinner]:
    """Make a spinner of a context and selected nodes."""
    return Spinner


@pytest.fixture
def spinner(context: Context, node: Node) -> Spinner:
    return Spinner(context, node)


@pytest.fixture
def start() -> Iterator[Callable[..., ScriptProcess]]:
    with scripts_of(HERE / 'processes') as run:
        yield run
