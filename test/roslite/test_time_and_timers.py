from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslite.runtime.api import (
    Clock,
    ClockType,
    Duration,
    Node,
    Parameter,
    ROSClock,
    Time,
    deserialize_message,
    drive_clock,
    message,
    serialize_message,
)
from roslite.runtime.time import LATEST_STAMP
from roslite.runtime.timer import Timer

Clock_ = message('rosgraph_msgs/msg/Clock')
MS = 1_000_000


def tick(publisher, nanoseconds):
    msg = Clock_()
    msg.clock = Time(nanoseconds=nanoseconds).to_msg()
    publisher.publish(msg)


@given(st.integers(0, LATEST_STAMP))
def test_a_time_survives_its_message(nanoseconds):
    assert Time.from_msg(Time(nanoseconds=nanoseconds).to_msg(), ClockType.SYSTEM_TIME).nanoseconds == nanoseconds


@given(st.integers(LATEST_STAMP, 2**63 - 1))
def test_a_time_beyond_2038_has_the_latest_stamp(nanoseconds):
    stamp = Time(nanoseconds=nanoseconds).to_msg()
    assert (stamp.sec, stamp.nanosec) == (2**31 - 1, 999_999_999)
    assert deserialize_message(serialize_message(stamp), type(stamp)) == stamp


def test_a_node_logs_and_takes_parameters_when_the_wall_clock_is_beyond_2038(make_context, spinner_of, monkeypatch):
    monkeypatch.setattr(time, 'time_ns', lambda: 2_210_000_000 * 10**9)
    context = make_context('--ros-args', '--disable-stdout-logs')
    node, logs, events = Node('later', context=context), [], []
    node.create_subscription(message('rcl_interfaces/msg/Log'), '/rosout', logs.append, 10)
    node.create_subscription(message('rcl_interfaces/msg/ParameterEvent'), '/parameter_events', events.append, 10)
    node.get_logger().info('still here')
    node.declare_parameter('answer', 42)
    spinner_of(context, node).until(lambda: logs and events)
    assert logs[0].msg == 'still here'
    assert {logs[0].stamp.sec, events[0].stamp.sec} == {2**31 - 1}
    assert node.get_clock().now().nanoseconds == 2_210_000_000 * 10**9


@given(st.integers(-(2**62), 2**62))
def test_a_duration_survives_its_message(nanoseconds):
    if -(2**31) <= nanoseconds // 10**9 < 2**31:
        assert Duration.from_msg(Duration(nanoseconds=nanoseconds).to_msg()).nanoseconds == nanoseconds


def test_times_are_exact_to_the_nanosecond_at_todays_date():
    assert Time(seconds=1_800_000_000, nanoseconds=1).nanoseconds == 1_800_000_000_000_000_001
    assert Duration(seconds=-1.5).nanoseconds == -1_500_000_000


def test_arithmetic_and_comparison():
    start, span = Time(seconds=5), Duration(seconds=2)
    assert (start + span) - start == span
    assert start - span < start
    assert Duration(seconds=1) < span
    with pytest.raises(TypeError, match='different clock types'):
        _ = start < Time(seconds=5, clock_type=ClockType.ROS_TIME)
    with pytest.raises(ValueError, match='negative'):
        Time(seconds=-1)


def test_a_ros_clock_follows_its_override_only_while_active():
    clock = Clock(clock_type=ClockType.ROS_TIME)
    assert isinstance(clock, ROSClock)
    assert abs(clock.now().nanoseconds - time.time_ns()) < 10**9
    clock.set_ros_time_override(Time(seconds=3))
    clock._set_ros_time_is_active(True)
    assert clock.now() == Time(seconds=3, clock_type=ClockType.ROS_TIME)


def make_timer(period_ms, clock):
    return Timer(None, period_ms * MS, clock, lambda: None)


def simulated(nanoseconds=0):
    clock = ROSClock()
    clock._set_ros_time_is_active(True)
    clock._set_nanoseconds(nanoseconds)
    return clock


def test_a_late_timer_keeps_its_grid_and_skips_missed_calls():
    clock = simulated()
    timer = make_timer(10, clock)
    clock._set_nanoseconds(13 * MS)
    assert timer.take()
    assert timer.time_until_next_call() == 7 * MS
    clock._set_nanoseconds(47 * MS)
    assert timer.take()
    assert not timer.take()
    assert timer.time_until_next_call() == 3 * MS


def test_a_clock_that_jumps_back_restarts_the_period():
    clock = simulated(100 * MS)
    timer = make_timer(10, clock)
    clock._set_nanoseconds(5 * MS)
    assert timer.time_until_next_call() == 10 * MS


def test_switching_to_simulated_time_keeps_the_rest_of_the_period():
    clock = ROSClock()
    timer = make_timer(1000, clock)
    clock._set_nanoseconds(0)
    clock._set_ros_time_is_active(True)
    assert 900 * MS < timer.time_until_next_call() <= 1000 * MS


def test_cancel_and_reset():
    clock = simulated()
    timer = make_timer(10, clock)
    timer.cancel()
    clock._set_nanoseconds(50 * MS)
    assert timer.is_canceled()
    assert not timer.is_ready()
    timer.reset()
    assert timer.time_until_next_call() == 10 * MS


def test_a_wall_timer_keeps_its_rate(node, spinner):
    calls = []
    clock = node.get_clock()
    timer = node.create_timer(0.01, lambda: calls.append(clock.now().nanoseconds))
    # a pause of the process between the two readings makes their sum too small: the greatest of several is the grid
    grid = max(clock.now().nanoseconds + timer.time_until_next_call() for _ in range(20))
    spinner.for_seconds(0.5)
    assert 20 <= len(calls) <= 51  # a busy computer may miss some, none may come twice
    # a call may come late, but the grid holds: some of the first and some of the last calls are on it
    late = [(call - grid) % (10 * MS) for call in calls]
    assert min(late[:10]) < 4 * MS
    assert min(late[-10:]) < 4 * MS


def test_timers_of_a_simulated_clock_run_with_it_and_others_do_not(node, spinner):
    simulated_calls, wall_calls = [], []
    node.set_parameters([Parameter('use_sim_time', value=True)])
    node.create_timer(0.01, lambda: simulated_calls.append(node.get_clock().now().nanoseconds))
    node.create_timer(0.01, lambda: wall_calls.append(1), clock=Clock(clock_type=ClockType.STEADY_TIME))
    source = node.create_publisher(Clock_, '/clock', 10)
    spinner.for_seconds(0.1)
    assert simulated_calls == []
    assert len(wall_calls) >= 2  # they run; their punctuality depends on the load
    for step in range(1, 11):
        tick(source, step * 5 * MS)
        spinner.until(lambda wanted=step: node.get_clock().now().nanoseconds == wanted * 5 * MS)
        spinner.executor.spin_once(timeout_sec=0)
    spinner.until(lambda: len(simulated_calls) == 5)
    assert simulated_calls == [10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS]


def test_switching_simulated_time_off_returns_to_the_wall_clock(node):
    node.set_parameters([Parameter('use_sim_time', value=True)])
    assert node.get_clock().now().nanoseconds == 0
    node.set_parameters([Parameter('use_sim_time', value=False)])
    assert abs(node.get_clock().now().nanoseconds - time.time_ns()) < 10**9
    assert not node.set_parameters([Parameter('use_sim_time', value=1)])[0].successful


def test_a_reliable_clock_loses_no_tick(make_context, make_spinner, monkeypatch):
    monkeypatch.setenv('DYN_NODES_RELIABLE_CLOCK', '1')
    context = make_context('--ros-args', '-p', 'use_sim_time:=true')
    node = Node('tester', context=context)
    source = node.create_publisher(Clock_, '/clock', 1000)
    calls = []
    node.create_timer(0.001, lambda: calls.append(node.get_clock().now().nanoseconds))
    for step in range(1, 501):  # far ahead of the subscriber
        tick(source, step * MS)
    make_spinner(context, node).until(lambda: len(calls) == 500)
    assert calls == [step * MS for step in range(1, 501)]


def test_a_driven_clock_moves_timers_and_stamps_samples(node, spinner):
    infos, calls = [], []
    node.create_subscription(message('std_msgs/msg/Float64'), 'x', lambda msg, info: infos.append(info), 10)
    publisher = node.create_publisher(message('std_msgs/msg/Float64'), 'x', 10)
    drive_clock(node, 0)
    node.create_timer(0.01, lambda: calls.append(1))
    for step in (5, 10, 15):
        drive_clock(node, step * MS)
        publisher.publish(message('std_msgs/msg/Float64')(data=1.0))
    spinner.until(lambda: len(infos) == 3)
    assert [info['source_timestamp'] for info in infos] == [5 * MS, 10 * MS, 15 * MS]
    assert all(abs(info['received_timestamp'] - time.time_ns()) < 10 * 10**9 for info in infos)
    assert calls == [1]


def test_sleeping_on_a_clock(node, context):
    clock = node.get_clock()
    start = time.monotonic()
    assert clock.sleep_for(Duration(seconds=0.05), context)
    assert 0.05 <= time.monotonic() - start < 0.2
