"""Fixtures of nodes in this process or in separate processes, on a separate domain."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from domains import next_domain
from node_testing import NodeProcess, Outbox, Tester

from dyn_nodes.middleware import Context, Parameter, init


@pytest.fixture(autouse=True)
def _separate_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    for name in ('ROS_LOCALHOST_ONLY', 'CYCLONEDDS_URI'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')  # rclpy would use every interface


@pytest.fixture
def context() -> Iterator[Context]:
    made = Context()
    init(args=['tester'], context=made)
    yield made
    gc.collect()  # nodes of the test end before their context, and not within a later test
    made.try_shutdown()


@pytest.fixture
def make_node(context: Context) -> Callable[..., Any]:
    """Make a node whose commands and diagnostics land in outboxes; its callbacks are called by the test."""

    def make(kind: Any, **parameters: Any) -> Any:
        values = {'machine': 'log_loader', 'mode': 'lockstep', **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = kind(context=context, parameter_overrides=overrides)
        node.commands_out, node.diagnostics.publisher = Outbox(), Outbox()
        return node

    return make


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the steady time of bridges on a CAN bus, which only the test advances."""
    from can_testing import hold_time

    return hold_time(monkeypatch)


@pytest.fixture
def start_node() -> Iterator[Callable[..., NodeProcess]]:
    started: list[NodeProcess] = []

    def start(name: str, **parameters: Any) -> NodeProcess:
        started.append(NodeProcess(name, **parameters))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def tester(context: Context) -> Tester:
    return Tester(context)
