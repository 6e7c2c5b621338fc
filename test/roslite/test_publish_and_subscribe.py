from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from timeouts import scaled_timeout

from roslite.runtime.api import (
    DurabilityPolicy,
    ExternalShutdownException,
    HistoryPolicy,
    Node,
    NotInitializedException,
    QoSProfile,
    ReliabilityPolicy,
    SingleThreadedExecutor,
    message,
    qos_profile_sensor_data,
    serialize_message,
)

JointState = message('sensor_msgs/msg/JointState')
Float64 = message('std_msgs/msg/Float64')
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_messages_arrive_in_order_and_unchanged(node, spinner):
    got = []
    node.create_subscription(JointState, 'joint_states', got.append, 100)
    publisher = node.create_publisher(JointState, 'joint_states', 100)
    sent = [JointState(name=['a', 'b'], position=np.array([i, 0.5])) for i in range(50)]
    for msg in sent:
        publisher.publish(msg)
    spinner.until(lambda: len(got) == 50)
    assert got == sent


def test_raw_bytes_can_be_published_and_received(node, spinner):
    plain, raw = [], []
    node.create_subscription(Float64, 'x', plain.append, 10)
    node.create_subscription(Float64, 'x', raw.append, 10, raw=True)
    publisher = node.create_publisher(Float64, 'x', 10)
    data = serialize_message(Float64(data=2.5))
    publisher.publish(data)
    publisher.publish(Float64(data=3.5))
    spinner.until(lambda: len(plain) == len(raw) == 2)
    assert [msg.data for msg in plain] == [2.5, 3.5]
    assert raw == [data, serialize_message(Float64(data=3.5))]


def test_wrong_messages_are_rejected_by_topic_and_field(node):
    publisher = node.create_publisher(Float64, 'x', 10)
    with pytest.raises(TypeError, match=r'/x: expected std_msgs/msg/Float64 or bytes'):
        publisher.publish(JointState())
    with pytest.raises(TypeError, match=r'std_msgs/msg/Float64\.data: expected float64, found str'):
        publisher.publish(Float64(data='text'))
    with pytest.raises(ValueError, match='/x: raw messages start with a CDR header'):
        publisher.publish(b'\x07\x07\x07\x07')


def test_callbacks_take_one_or_two_arguments_and_nothing_else(node):
    node.create_subscription(Float64, 'x', lambda msg: None, 1)
    node.create_subscription(Float64, 'x', lambda msg, info: None, 1)
    with pytest.raises(RuntimeError, match='1 or 2 arguments'):
        node.create_subscription(Float64, 'x', lambda: None, 1)


def test_invalid_encodings_are_rejected(node):
    publisher = node.create_publisher(JointState, 'x', 10)
    with pytest.raises(ValueError, match='/x: not a valid sensor_msgs/msg/JointState'):
        publisher.publish(b'\x00\x01\x00\x00\xff\xff\xff\xff')


def test_a_sequence_beyond_its_bound_is_rejected(node):
    descriptor = message('rcl_interfaces/msg/ParameterDescriptor')
    limits = message('rcl_interfaces/msg/IntegerRange')
    publisher = node.create_publisher(descriptor, 'x', 10)
    with pytest.raises(ValueError, match='longer than its bound'):
        publisher.publish(descriptor(integer_range=[limits(), limits()]))


def test_undecodable_samples_are_dropped_counted_and_logged_once(node, spinner, capfd, monkeypatch):
    got = []
    subscription = node.create_subscription(JointState, 'x', got.append, 10)
    publisher = node.create_publisher(JointState, 'x', 10)
    decode = subscription._decode
    # Cyclone accepts no bad bytes from its writers: truncate them on their way to the codec.
    monkeypatch.setattr(subscription, '_decode', lambda data: decode(data[:-8] if len(data) < 60 else data))
    for _ in range(3):
        publisher.publish(JointState(name=['bad']))
    publisher.publish(JointState(name=['good'], position=[1.0] * 9))
    spinner.until(lambda: got)
    assert subscription.decode_errors == 3
    assert [msg.name for msg in got] == [['good']]
    assert capfd.readouterr().err.count("dropping messages on topic '/x' that cannot be decoded") == 1


def test_a_late_joiner_gets_latched_messages_to_its_depth(context, node, spinner):
    publisher = node.create_publisher(
        Float64, 'latched', QoSProfile(depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    for value in range(5):
        publisher.publish(Float64(data=float(value)))
    late, volatile = [], []
    qos = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(Float64, 'latched', lambda msg: late.append(msg.data), qos)
    node.create_subscription(Float64, 'latched', lambda msg: volatile.append(msg.data), 10)
    spinner.until(lambda: len(late) == 3)
    spinner.for_seconds(0.05)
    assert late == [2.0, 3.0, 4.0]
    assert volatile == []


def test_keep_all_loses_nothing_and_keep_last_keeps_its_depth(node, spinner):
    everything, last = [], []
    keep_all = QoSProfile(history=HistoryPolicy.KEEP_ALL)
    publisher = node.create_publisher(Float64, 'x', keep_all)
    node.create_subscription(Float64, 'x', lambda msg: everything.append(msg.data), keep_all)
    node.create_subscription(Float64, 'x', lambda msg: last.append(msg.data), 5)
    for value in range(500):
        publisher.publish(Float64(data=float(value)))
    spinner.until(lambda: len(everything) == 500)
    assert everything == [float(value) for value in range(500)]
    assert last == [495.0, 496.0, 497.0, 498.0, 499.0]


def test_best_effort_and_reliable_match_by_the_rules_of_dds_and_mismatches_are_reported(node, spinner, capfd):
    got = []
    best_effort = node.create_publisher(Float64, 'x', qos_profile_sensor_data)
    node.create_subscription(Float64, 'x', got.append, 10)  # asks for reliable: no match
    node.create_subscription(Float64, 'y', got.append, qos_profile_sensor_data)
    reliable = node.create_publisher(Float64, 'y', 10)
    spinner.for_seconds(0.1)
    assert best_effort.get_subscription_count() == 0
    assert reliable.get_subscription_count() == 1
    errors = capfd.readouterr().err
    assert "New subscription discovered on topic '/x', requesting incompatible QoS" in errors
    assert "New publisher discovered on topic '/x', offering incompatible QoS" in errors
    assert 'Last incompatible policy: RELIABILITY' in errors
    assert "'/y'" not in errors


def test_profiles_need_a_history_or_a_depth():
    with pytest.raises(ValueError, match='History and/or depth'):
        QoSProfile()
    with pytest.raises(ValueError, match='KEEP_LAST without a depth'):
        QoSProfile(history=HistoryPolicy.KEEP_LAST)
    assert QoSProfile(depth=3) == QoSProfile(depth=3, reliability=ReliabilityPolicy.RELIABLE)


def test_a_wrong_qos_argument_is_rejected(node):
    with pytest.raises(TypeError, match='Expected QoSProfile or int'):
        node.create_publisher(Float64, 'x', 'reliable')


def test_an_exception_in_a_callback_reaches_the_caller_of_spin(node, spinner):
    def fail(msg):
        raise LookupError('in the callback')

    node.create_subscription(Float64, 'x', fail, 10)
    node.create_publisher(Float64, 'x', 10).publish(Float64())
    with pytest.raises(LookupError, match='in the callback'):
        spinner.for_seconds(1.0)


def test_a_destroyed_subscription_receives_nothing_and_the_rest_continues(node, spinner):
    first, second = [], []
    one = node.create_subscription(Float64, 'x', first.append, 10)
    node.create_subscription(Float64, 'x', second.append, 10)
    publisher = node.create_publisher(Float64, 'x', 10)
    publisher.publish(Float64())
    spinner.until(lambda: first and second)
    assert node.destroy_subscription(one)
    assert not node.destroy_subscription(one)
    publisher.publish(Float64())
    spinner.until(lambda: len(second) == 2)
    assert len(first) == 1


def test_entities_may_be_made_and_destroyed_inside_of_callbacks(node, spinner):
    got = []
    publisher = node.create_publisher(Float64, 'x', 10)

    def once():
        timer.cancel()
        node.destroy_timer(timer)
        node.create_subscription(Float64, 'x', got.append, 10)
        publisher.publish(Float64(data=1.0))

    timer = node.create_timer(0.01, once)
    spinner.until(lambda: got)
    assert node.timers == []


def test_a_node_in_another_context_of_the_process_receives_messages(make_context, node, spinner):
    other = make_context()
    got = []
    listener = Node('listener', context=other)
    listener.create_subscription(Float64, 'x', got.append, LATCHED)
    node.create_publisher(Float64, 'x', LATCHED).publish(Float64(data=4.0))
    executor = SingleThreadedExecutor(context=other)
    executor.add_node(listener)
    deadline = time.monotonic() + scaled_timeout(5)
    while not got and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    assert got[0].data == 4.0


def test_other_threads_may_publish_while_one_spins(node, spinner):
    got = []
    node.create_subscription(Float64, 'x', lambda msg: got.append(msg.data), QoSProfile(history=HistoryPolicy.KEEP_ALL))
    publisher = node.create_publisher(Float64, 'x', QoSProfile(history=HistoryPolicy.KEEP_ALL))

    def burst(start):
        for value in range(start, start + 200):
            publisher.publish(Float64(data=float(value)))

    threads = [threading.Thread(target=burst, args=(1000 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    spinner.until(lambda: len(got) == 800)
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(float(1000 * index + value) for index in range(4) for value in range(200))


def test_spin_once_returns_after_its_timeout(spinner):
    spinner.for_seconds(0.05)  # parameter events of the node
    start = time.monotonic()
    spinner.executor.spin_once(timeout_sec=0.1)
    assert 0.095 <= time.monotonic() - start < 0.3


def test_nothing_works_before_init_or_after_the_end(context):
    from roslite.runtime.api import Context

    with pytest.raises(NotInitializedException):
        Node('early', context=Context())
    node = Node('late', context=context)
    context.shutdown()
    assert not context.ok()
    with pytest.raises(RuntimeError, match='/late was destroyed'):
        node.create_publisher(Float64, 'x', 10)


def test_log_messages_are_printed_in_ros_format_and_published_on_rosout(context, node, spinner, capfd):
    got = []
    watcher = Node('watcher', context=context, enable_rosout=False)
    spinner.executor.add_node(watcher)
    watcher.create_subscription(message('rcl_interfaces/msg/Log'), '/rosout', got.append, 10)
    node.get_logger().warn('valve stuck')
    node.get_logger().debug('not said')
    for _ in range(3):
        node.get_logger().info('only once', once=True)
        node.get_logger().info('throttled', throttle_duration_sec=10.0)
        node.get_logger().info('not the first', skip_first=True)
    spinner.until(lambda: len(got) == 5)
    assert [msg.msg for msg in got] == ['valve stuck', 'only once', 'throttled', 'not the first', 'not the first']
    assert (got[0].level, got[0].name) == (message('rcl_interfaces/msg/Log').WARN, 'tester')
    assert got[0].file.endswith('test_publish_and_subscribe.py')
    assert got[0].function.startswith('test_log_messages')
    assert got[0].line > 0
    errors = capfd.readouterr().err
    assert '[tester]: valve stuck' in errors
    assert errors.startswith('[WARN] [')
    assert 'not said' not in errors


def test_a_callback_interrupted_by_a_signal_finishes_its_work(context, node, spinner):
    done = []
    publisher = node.create_publisher(Float64, 'x', 10)

    def work():
        context.stop(15)  # effect of the signal handler
        publisher.publish(Float64())
        node.get_logger().info('stopping')
        late = node.create_publisher(Float64, 'y', 10)
        done.append((late, node.get_topic_names_and_types(), node.count_publishers('/y')))

    node.create_timer(0.01, work)
    with pytest.raises(ExternalShutdownException):
        spinner.executor.spin()
    assert done[0][2] == 1
    context.shutdown()


@pytest.mark.parametrize('delay', [0.0, 0.02, 0.1])
def test_a_shutdown_from_another_thread_ends_spinning(context, node, delay):
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    node.create_timer(0.001, lambda: None)
    outcomes = []

    def run():
        try:
            executor.spin()
            outcomes.append('returned')
        except ExternalShutdownException:
            outcomes.append('raised')

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(delay)
    context.shutdown()
    thread.join(2.0)
    assert not thread.is_alive()
    assert outcomes
