"""Time stamps with a clock of the computer beyond their range."""

from __future__ import annotations

import time

import pytest

from dyn_nodes.middleware import deserialize_message, serialize_message
from dyn_nodes.nodes import running
from dyn_nodes.nodes.diagnostics import DiagnosticsPublisher, Health
from dyn_nodes.nodes.stamps import LATEST_STAMP, NANO, nanoseconds_of_stamp, stamp_at, stamp_of

IN_2040 = 2_210_000_000


@pytest.mark.parametrize(('nanoseconds', 'expected'), [
    (0, 0), (1_500_000_000, 1_500_000_000), (LATEST_STAMP, LATEST_STAMP), (LATEST_STAMP + 1, LATEST_STAMP),
    (IN_2040 * NANO, LATEST_STAMP), (2**63 - 1, LATEST_STAMP),
])  # fmt: skip
def test_a_stamp_goes_no_further_than_its_seconds(nanoseconds: int, expected: int) -> None:
    stamp = stamp_at(nanoseconds)
    assert nanoseconds_of_stamp(stamp) == expected
    assert deserialize_message(serialize_message(stamp), type(stamp)) == stamp


def test_the_latest_stamp_is_that_of_32_bits() -> None:
    assert stamp_at(LATEST_STAMP).sec == 2**31 - 1
    assert stamp_at(LATEST_STAMP).nanosec == NANO - 1
    assert stamp_of(float(IN_2040)) == stamp_at(LATEST_STAMP)


def test_diagnostics_are_published_in_2040() -> None:
    published = []

    class Node:
        def create_publisher(self, *_):
            return self

        publish = staticmethod(published.append)

        def get_fully_qualified_name(self):
            return '/node'

    DiagnosticsPublisher(Node(), {'subject': Health}).update(1.0, float(IN_2040))
    (array,) = published
    assert array.header.stamp.sec == 2**31 - 1
    assert deserialize_message(serialize_message(array), type(array)).status[0].name == 'node: subject'


@pytest.mark.parametrize(('now', 'warns'), [(LATEST_STAMP, False), (LATEST_STAMP + 1, True)])
def test_a_program_warns_of_a_clock_that_stamps_cannot_hold(now, warns, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings = []

    class Log:
        warn = staticmethod(warnings.append)

    monkeypatch.setattr(time, 'time_ns', lambda: now)
    monkeypatch.setattr(running, 'get_logger', lambda name: Log)
    running.warn_of_wall_clock('node')
    assert bool(warnings) == warns
    assert not warnings or 'beyond 2147483647 s (2038-01-19)' in warnings[0]
