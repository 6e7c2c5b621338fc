"""On real rclpy: queues that keep everything, taking many messages at once, and entities that are destroyed while an
executor waits for them. Skipped without rclpy."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from timeouts import scaled_timeout

pytest.importorskip('rclpy')

import rclpy.logging
import rclpy.timer
from rclpy.executors import ShutdownException, SingleThreadedExecutor

from dyn_nodes.middleware import real
from dyn_nodes.middleware.lean_executor import LeanExecutor

Clock = real.message('rosgraph_msgs/msg/Clock')
COUNT = 13_000
"""Number of messages: more than the queues of both sides hold on Fast DDS."""


def test_the_lean_executor_supports_this_rclpy_and_runs_timers_that_take_their_info(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 95))
    assert real.SingleThreadedExecutor is LeanExecutor
    context = real.Context()
    real.init(args=['timers'], context=context)
    node, executor = real.Node('timers', context=context), LeanExecutor(context=context)
    executor.add_node(node)
    calls: list[str] = []
    callbacks = [lambda: calls.append('plain')]
    kind = getattr(rclpy.timer, 'TimerInfo', None)
    if kind is not None:

        def with_info(info) -> None:
            assert info.actual_call_time >= info.expected_call_time
            calls.append('with info')

        with_info.__annotations__['info'] = kind  # rclpy compares the class, not its name
        callbacks.append(with_info)
    timers = [node.create_timer(0.01, callback) for callback in callbacks]
    end = time.monotonic() + scaled_timeout(10.0)
    while time.monotonic() < end and len(set(calls)) < len(timers):
        executor.spin_once(timeout_sec=0.1)
    assert len(set(calls)) == len(timers)
    executor.shutdown()
    node.destroy_node()
    real.try_shutdown(context=context)


def test_a_line_in_the_log_says_that_the_fast_executor_is_off(monkeypatch):
    logged: list[str] = []
    monkeypatch.setattr(rclpy.logging, 'get_logger', lambda name: SimpleNamespace(warning=logged.append))
    for executor in (LeanExecutor, SingleThreadedExecutor):
        monkeypatch.setattr(real, 'EXECUTOR', executor)
        context = real.Context()
        real.init(args=['quiet'], context=context)
        real.try_shutdown(context=context)
    assert len(logged) == 1
    assert logged[0].startswith("rclpy's own executor runs the nodes")


def test_a_publisher_with_keep_all_waits_for_a_lagging_subscription(monkeypatch):
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
        received: list[tuple[bytes, int]] = []
        while not received:
            received += real.take_raw(subscription, 1)
            time.sleep(0.01)
            assert flood.poll() is None
        time.sleep(2.5)
        end = time.monotonic() + scaled_timeout(60.0)
        while len(received) < COUNT and time.monotonic() < end:
            received += real.take_raw(subscription, 500)
            time.sleep(0.01)
        numbers = [real.deserialize_message(data, Clock).clock.sec for data, _ in received]
        assert numbers == list(range(COUNT))
        assert all(stamp > 0 for _, stamp in received)
        assert lost == []
    finally:
        flood.kill()
        flood.wait()
        real.try_shutdown(context=context)


@pytest.fixture
def contexts(monkeypatch):
    """Yield two contexts of one process: one of the nodes, and one of an external observer."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 95))
    made = [real.Context(), real.Context()]
    for context in made:
        real.init(args=['executor'], context=context)
    yield made
    for context in made:
        real.try_shutdown(context=context)


def wait_until(condition, seconds: float = 20.0) -> bool:
    end = time.monotonic() + scaled_timeout(seconds)
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def test_entities_destroyed_in_a_callback_end_after_the_next_wait_and_a_node_at_once(contexts):
    inside, outside = contexts
    observer = real.Node('observer', context=outside)
    node = real.Node('worker', context=inside)
    publisher = node.create_publisher(Clock, '/made', 1)
    subscription = node.create_subscription(Clock, '/taken', lambda msg: None, 1)
    ticks: list[int] = []

    def destroy_once() -> None:
        ticks.append(1)
        if len(ticks) == 3:
            node.destroy_subscription(subscription)

    node.create_timer(0.01, destroy_once)
    executor = real.SingleThreadedExecutor(context=inside)
    executor.add_node(node)
    while len(ticks) < 2:
        executor.spin_once(timeout_sec=1.0)
    assert wait_until(lambda: observer.count_subscribers('/taken') == 1 and observer.count_publishers('/made') == 1)
    while len(ticks) < 5:
        executor.spin_once(timeout_sec=1.0)
    assert wait_until(lambda: observer.count_subscribers('/taken') == 0)
    assert observer.count_publishers('/made') == 1
    assert publisher.get_subscription_count() == 0
    node.destroy_node()  # the executor has waited for its entities, and will not again
    assert wait_until(lambda: observer.count_publishers('/made') == 0)
    observer.destroy_node()


def test_another_thread_ends_a_wait_and_destroys_the_awaited_entities(contexts):
    inside, _ = contexts
    node = real.Node('waiting', context=inside)
    node.create_subscription(Clock, '/never', lambda msg: None, 1)
    executor = real.SingleThreadedExecutor(context=inside)
    executor.add_node(node)
    finished: list[str] = []

    def spin() -> None:
        with contextlib.suppress(real.ExternalShutdownException, ShutdownException):
            executor.spin_once(timeout_sec=60.0)
        finished.append('spun')

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    time.sleep(0.3)
    executor.shutdown(timeout_sec=1.0)
    node.destroy_node()
    thread.join(20.0)
    assert finished == ['spun']


@pytest.mark.skipif(not issubclass(real.SingleThreadedExecutor, LeanExecutor), reason='rclpy as it is known from Jazzy')
def test_the_guard_condition_of_signals_outlives_its_executor():
    """A thread of rclpy may still trigger it: that crashed nodes which ended meanwhile."""
    context = real.Context()
    real.init(args=['guards'], context=context)
    try:
        shut, left = (real.SingleThreadedExecutor(context=context) for _ in range(2))
        guards = [shut._sigint_gc, left._sigint_gc]
        shut.shutdown()
        del shut, left
        gc.collect()
        for guard in guards:
            with guard.handle:  # InvalidHandle if it has been destroyed
                assert guard in LeanExecutor._signal_guards._kept
    finally:
        real.try_shutdown(context=context)


def test_a_program_with_executors_ends_without_an_error():
    """At the exit of the interpreter guard conditions are destroyed after the thread that triggers them has ended."""
    code = """
        from dyn_nodes.middleware import SingleThreadedExecutor, init
        init()
        shut, left = SingleThreadedExecutor(), SingleThreadedExecutor()
        shut.shutdown()
    """
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(1 + os.getpid() % 95)}
    program = [sys.executable, '-X', 'faulthandler', '-c', textwrap.dedent(code)]
    run = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, '', '')
