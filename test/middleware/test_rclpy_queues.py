"""On real rclpy: queues that keep everything, and taking many messages at once. Skipped where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from dyn_nodes.middleware import real

Clock = real.message('rosgraph_msgs/msg/Clock')
COUNT = 13_000
"""More than the queues of both sides hold together on Fast DDS."""


def test_a_publisher_that_keeps_everything_waits_for_a_subscription_that_lags(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 95))
    context = real.Context()
    real.init(args=['queues'], context=context)
    flood = subprocess.Popen([sys.executable, str(Path(__file__).parent / 'processes' / 'clock_flood.py'), str(COUNT)])
    try:
        node = real.Node('queues', context=context)
        lost: list[int] = []
        events = real.SubscriptionEventCallbacks(message_lost=lambda event: lost.append(event.total_count))
        keep_all = real.QoSProfile(history=real.HistoryPolicy.KEEP_ALL)
        subscription = node.create_subscription(
            Clock, '/flood', lambda data: None, keep_all, raw=True, event_callbacks=events
        )
        found: list[tuple[bytes, int]] = []
        while not found:
            found += real.take_raw(subscription, 1)
            time.sleep(0.01)
            assert flood.poll() is None
        time.sleep(2.5)
        end = time.monotonic() + 60.0
        while len(found) < COUNT and time.monotonic() < end:
            found += real.take_raw(subscription, 500)
            time.sleep(0.01)
        numbers = [real.deserialize_message(data, Clock).clock.sec for data, _ in found]
        assert numbers == list(range(COUNT))
        assert all(stamp > 0 for _, stamp in found)
        assert lost == []
    finally:
        flood.kill()
        flood.wait()
        real.try_shutdown(context=context)
