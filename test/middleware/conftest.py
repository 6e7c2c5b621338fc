"""A domain of its own for each test process, contexts, and child processes that never outlive their test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from domains import next_domain
from patience import patience

from dyn_nodes.middleware.embedded.api import Context, Node, SingleThreadedExecutor, init

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _own_domain(monkeypatch: pytest.MonkeyPatch) -> None:
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
    """Spins nodes of one context until something holds."""

    def __init__(self, context: Context, *nodes: Node) -> None:
        self.executor = SingleThreadedExecutor(context=context)
        for item in nodes:
            self.executor.add_node(item)

    def until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        deadline = time.monotonic() + patience(timeout)
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
    """Make a spinner of a context and nodes of one's choice."""
    return Spinner


@pytest.fixture
def spinner(context: Context, node: Node) -> Spinner:
    return Spinner(context, node)


class Child(subprocess.Popen):
    """A script of `processes/` in a process of its own."""

    def __init__(self, script: str, *args: str, **environment: str) -> None:
        variables = {**os.environ, 'DYN_NODES_MIDDLEWARE': 'embedded', 'PYTHONUNBUFFERED': '1', **environment}
        variables['PYTHONPATH'] = os.pathsep.join(path for path in sys.path if path)
        super().__init__(
            [sys.executable, str(HERE / 'processes' / script), *args],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_line(self, wanted: str) -> str:
        """Read standard output until a line that contains `wanted`."""
        assert self.stdout is not None
        for line in self.stdout:
            if wanted in line:
                return line
        assert self.stderr is not None
        raise AssertionError(f'{wanted!r} was not printed; stderr: {self.stderr.read()}')

    def stop(self, number: int = signal.SIGINT, timeout: float = 5.0) -> tuple[int, str, float]:
        """Send a signal; return exit code, standard error and the seconds that it took."""
        start = time.monotonic()
        self.send_signal(number)
        _, errors = self.communicate(timeout=patience(timeout))
        return self.returncode, errors, time.monotonic() - start


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    children: list[Child] = []

    def run(script: str, *args: str, **environment: str) -> Child:
        children.append(Child(script, *args, **environment))
        return children[-1]

    yield run
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()
