"""On real rclpy: messages between the nodes of one process, and the executor. Skipped without rclpy."""

from __future__ import annotations

import array
import importlib
import os
import threading
import time

import pytest
from timeouts import scaled_timeout

pytest.importorskip('rclpy')

from dyn_nodes.middleware import lean_executor, real
from dyn_nodes.middleware.hand_over import LocalTopics, copy_message
from dyn_nodes.middleware.lean_executor import EVENTS_PERIOD, LeanExecutor

Float64 = real.message('std_msgs/msg/Float64')
JointState = real.message('sensor_msgs/msg/JointState')
Trigger = real.service('std_srvs/srv/Trigger')
KEEP_ALL = real.QoSProfile(history=real.HistoryPolicy.KEEP_ALL)
LATCHED = real.QoSProfile(depth=2, durability=real.DurabilityPolicy.TRANSIENT_LOCAL)
LONGEST = scaled_timeout(30.0)


class Process:
    """The context of a process, with its nodes and an executor."""

    def __init__(self, intra_process: bool, *names: str) -> None:
        self.context = real.Context()
        real.init(args=['process'], context=self.context, intra_process=intra_process)
        self.executor = real.SingleThreadedExecutor(context=self.context)
        self.nodes = [real.Node(name, context=self.context) for name in names]
        for node in self.nodes:
            self.executor.add_node(node)

    def end(self) -> None:
        for node in self.nodes:
            node.destroy_node()
        self.executor.shutdown()
        real.try_shutdown(context=self.context)


@pytest.fixture
def processes(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 95))
    made = []

    def make(intra_process: bool, *names: str) -> Process:
        made.append(Process(intra_process, *names))
        return made[-1]

    yield make
    for process in made:
        process.end()


@pytest.fixture
def inside(processes, monkeypatch):
    monkeypatch.setattr('dyn_nodes.middleware.hand_over.MATCHING_TIME', 0.0)
    return processes(True, 'giver', 'taker')


def turn_until(condition, *turned: Process) -> None:
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end
        for process in turned:
            process.executor.spin_once(timeout_sec=0.01)


def turn_for(seconds: float, *turned: Process) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for process in turned:
            process.executor.spin_once(timeout_sec=0.01)


def senders(process: Process) -> dict[str, object]:
    return {key[0]: entries[0] for key, entries in LocalTopics.of(process.context)._senders.items()}


def matched(publisher, count: int):
    return lambda: publisher.get_subscription_count() == count


def test_messages_are_handed_over_in_the_order_of_publishing_and_nothing_is_serialized(inside):
    giver, taker = inside.nodes
    received = []
    one, other = giver.create_publisher(Float64, 'one', KEEP_ALL), giver.create_publisher(Float64, 'other', 10)
    taker.create_subscription(Float64, 'one', lambda msg: received.append(msg.data), KEEP_ALL)
    taker.create_subscription(Float64, 'other', lambda msg: received.append(-msg.data), KEEP_ALL)
    turn_until(matched(one, 1), inside)
    turn_until(matched(other, 1), inside)
    for k in range(1, 100):
        one.publish(Float64(data=float(k)))
        other.publish(Float64(data=float(k)))
    assert received == [], 'delivered by the executor, not inside publish'
    turn_until(lambda: len(received) == 198, inside)
    assert received == [sign * k for k in range(1, 100) for sign in (1.0, -1.0)]
    assert [sender.written for sender in (senders(inside)['/one'], senders(inside)['/other'])] == [0, 0]


def test_a_message_is_a_copy_for_each_subscription(inside):
    giver, taker = inside.nodes
    received = []
    for _ in range(2):
        taker.create_subscription(JointState, 'topic', received.append, 10)
    publisher = giver.create_publisher(JointState, 'topic', 10)
    message = JointState(name=['a', 'b'], position=[1.0, 2.0])
    message.header.stamp.sec = 7
    publisher.publish(message)
    message.name[0], message.position[0], message.header.stamp.sec = 'changed', -1.0, 8
    turn_until(lambda: len(received) == 2, inside)
    first, second = received
    first.position[1], first.name[1], first.header.stamp.sec = 99.0, 'mine', 9
    assert isinstance(second.position, array.array)
    assert (second.name, list(second.position), second.header.stamp.sec) == (['a', 'b'], [1.0, 2.0], 7)


@pytest.mark.parametrize('package', ['std_msgs', 'geometry_msgs', 'sensor_msgs', 'diagnostic_msgs', 'nav_msgs'])
def test_a_copy_is_what_deserializing_the_serialized_gives(package):
    module = __import__(f'{package}.msg', fromlist=['msg'])
    kinds = [kind for kind in vars(module).values() if hasattr(kind, 'SLOT_TYPES')]
    assert len(kinds) > 2
    for kind in kinds:
        made = kind()
        copied = copy_message(made)
        assert copied == made
        decoded = real.deserialize_message(real.serialize_message(copied), kind)
        assert decoded == made
        assert [type(getattr(copied, slot)) for slot in kind.__slots__] == [
            type(getattr(decoded, slot)) for slot in kind.__slots__
        ]


def test_another_process_gets_everything_and_no_message_arrives_twice(inside, processes):
    outside = processes(False, 'outside')
    (stranger,), (giver, taker) = outside.nodes, inside.nodes
    here, there = [], []
    publisher = giver.create_publisher(Float64, 'topic', KEEP_ALL)
    taker.create_subscription(Float64, 'topic', lambda msg: here.append(msg.data), KEEP_ALL)
    stranger.create_subscription(Float64, 'topic', lambda msg: there.append(msg.data), KEEP_ALL)
    answer = stranger.create_publisher(Float64, 'topic', KEEP_ALL)
    turn_until(matched(publisher, 2), inside, outside)
    turn_until(matched(answer, 2), inside, outside)
    for k in range(300):
        publisher.publish(Float64(data=float(k)))
        answer.publish(Float64(data=-1.0 - k))
    turn_until(lambda: len(here) >= 600 and len(there) >= 600, inside, outside)
    turn_for(0.3, inside, outside)
    for received in (here, there):
        assert [value for value in received if value >= 0.0] == [float(k) for k in range(300)]
        assert [value for value in received if value < 0.0] == [-1.0 - k for k in range(300)]

    def names() -> list[str]:
        return sorted(info.node_name for info in stranger.get_subscriptions_info_by_topic('topic'))

    turn_until(lambda: names() == ['outside', 'taker'], inside, outside)  # names come after the endpoints
    assert (stranger.count_publishers('topic'), stranger.count_subscribers('topic')) == (2, 2)


def test_a_publisher_with_keep_all_is_not_blocked_by_duplicates_of_its_process(inside, processes):
    outside = processes(False, 'outside')
    (stranger,), (giver, taker) = outside.nodes, inside.nodes
    here, there = [], []
    publisher = giver.create_publisher(Float64, 'topic', KEEP_ALL)
    taker.create_subscription(Float64, 'topic', lambda msg: here.append(msg.data), KEEP_ALL)
    stranger.create_subscription(Float64, 'topic', lambda msg: there.append(msg.data), KEEP_ALL)
    turn_until(matched(publisher, 2), inside, outside)
    for first in range(0, 12_000, 2_000):
        for k in range(first, first + 2_000):
            publisher.publish(Float64(data=float(k)))
        turn_until(lambda: len(there) == first + 2_000, outside)  # noqa: B023
    turn_until(lambda: len(here) == 12_000, inside)
    assert here == there == [float(k) for k in range(12_000)]


def test_a_late_latched_subscription_gets_the_stored_messages_first_and_once(inside, processes):
    outside = processes(False, 'outside')
    (stranger,), (giver, taker) = outside.nodes, inside.nodes
    here, there, volatile = [], [], []
    publisher = giver.create_publisher(Float64, 'last', LATCHED)
    for k in range(5):
        publisher.publish(Float64(data=float(k)))
    taker.create_subscription(Float64, 'last', lambda msg: here.append(msg.data), LATCHED)
    taker.create_subscription(Float64, 'last', lambda msg: volatile.append(msg.data), 10)
    stranger.create_subscription(Float64, 'last', lambda msg: there.append(msg.data), LATCHED)
    publisher.publish(Float64(data=5.0))
    turn_until(lambda: len(here) >= 2 and len(there) >= 2, inside, outside)
    turn_for(0.3, inside, outside)
    assert here == [4.0, 5.0]
    assert volatile == [5.0]
    assert there[-2:] == [4.0, 5.0]


def test_a_full_queue_drops_the_oldest(inside):
    giver, taker = inside.nodes
    received = []
    taker.create_subscription(Float64, 'topic', lambda msg: received.append(msg.data), 3)
    publisher = giver.create_publisher(Float64, 'topic', 10)
    for k in range(8):
        publisher.publish(Float64(data=float(k)))
    turn_for(0.2, inside)
    assert received == [5.0, 6.0, 7.0]


def test_a_raw_subscription_gets_serialized_messages_by_the_wire_and_others_no_duplicates(inside):
    giver, taker = inside.nodes
    raw, decoded = [], []
    publisher = giver.create_publisher(Float64, 'topic', KEEP_ALL)
    taker.create_subscription(Float64, 'topic', raw.append, KEEP_ALL, raw=True)
    taker.create_subscription(Float64, 'topic', lambda msg: decoded.append(msg.data), KEEP_ALL)
    turn_until(matched(publisher, 2), inside)
    for k in range(50):
        publisher.publish(Float64(data=float(k)))
    turn_until(lambda: len(raw) == 50, inside)
    turn_for(0.2, inside)
    assert [real.deserialize_message(data, Float64).data for data in raw] == decoded == [float(k) for k in range(50)]


def test_timers_and_services_get_their_turn_while_nodes_keep_each_other_busy(inside):
    giver, taker = inside.nodes
    ticks = []
    ping, pong = giver.create_publisher(Float64, 'ping', 10), taker.create_publisher(Float64, 'pong', 10)
    taker.create_subscription(Float64, 'ping', lambda msg: pong.publish(msg), 10)
    giver.create_subscription(Float64, 'pong', lambda msg: ping.publish(msg), 10)
    giver.create_timer(0.01, lambda: ticks.append(1))
    giver.create_service(Trigger, 'ask', lambda request, response: response)
    client = taker.create_client(Trigger, 'ask')
    turn_until(client.service_is_ready, inside)
    ping.publish(Float64(data=1.0))
    answer = client.call_async(Trigger.Request())
    turn_until(lambda: len(ticks) >= 5 and answer.done(), inside)


def test_messages_and_tasks_get_their_turn_while_a_timer_is_always_ready(inside):
    giver, taker = inside.nodes
    received, called = [], []
    task = inside.executor.create_task(lambda: 5)
    publisher = giver.create_publisher(Float64, 'topic', 10)
    taker.create_subscription(Float64, 'topic', received.append, 10)

    def work() -> None:
        publisher.publish(Float64(data=1.0))
        time.sleep(2.0 * lean_executor.LONGEST_TURN)
        called.append(True)

    giver.create_timer(0.1 * lean_executor.LONGEST_TURN, work)
    turn_until(lambda: len(called) >= 20, inside)
    assert len(received) >= 8
    assert task.done()


def test_a_message_published_by_another_thread_wakes_the_executor(inside):
    giver, taker = inside.nodes
    received = []
    publisher = giver.create_publisher(Float64, 'topic', 10)
    taker.create_subscription(Float64, 'topic', received.append, 10)
    turn_for(2.0 * EVENTS_PERIOD, inside)
    timer = threading.Timer(0.05, publisher.publish, [Float64(data=1.0)])
    timer.start()
    turn_until(lambda: bool(received), inside)
    timer.join()


def test_without_a_subscription_nothing_is_serialized_and_a_latched_message_is_kept(processes):
    process = processes(False, 'giver')
    (giver,) = process.nodes
    publisher, latched = giver.create_publisher(Float64, 'topic', 10), giver.create_publisher(Float64, 'last', LATCHED)
    written = []
    for made in (publisher, latched):
        sender = made.publish.__self__
        sender._write = lambda msg, write=sender._write: (written.append(msg), write(msg))
    publisher.publish(Float64(data=1.0))
    latched.publish(Float64(data=2.0))
    assert [msg.data for msg in written] == [2.0]
    received = []
    giver.create_subscription(Float64, 'topic', lambda msg: received.append(msg.data), 10)
    giver.create_subscription(Float64, 'last', lambda msg: received.append(msg.data), LATCHED)
    turn_until(matched(publisher, 1), process)
    publisher.publish(Float64(data=3.0))
    turn_until(lambda: sorted(received) == [2.0, 3.0], process)
    with pytest.raises(TypeError):
        publisher.publish(3.0)


def test_the_executor_awaits_coroutines_runs_tasks_and_passes_exceptions_on(processes):
    process = processes(False, 'giver')
    (giver,) = process.nodes
    executor, seen = process.executor, []
    assert isinstance(executor, LeanExecutor)
    future = real.Future(executor=executor)

    async def called(msg) -> None:
        seen.append(msg.data)
        seen.append(await future)

    giver.create_subscription(Float64, 'topic', called, 10)
    publisher = giver.create_publisher(Float64, 'topic', 10)
    turn_until(matched(publisher, 1), process)
    publisher.publish(Float64(data=1.0))
    turn_until(lambda: seen == [1.0], process)
    future.set_result('done')
    turn_until(lambda: seen == [1.0, 'done'], process)
    task = executor.create_task(lambda: 5)
    executor.spin_until_future_complete(task, timeout_sec=LONGEST)
    assert task.result() == 5

    def fail() -> None:
        raise ZeroDivisionError

    timer = giver.create_timer(0.01, fail)
    with pytest.raises(ZeroDivisionError):
        turn_for(LONGEST, process)
    giver.destroy_timer(timer)
    turn_for(0.05, process)


def test_the_executor_serves_actions_and_still_hands_messages_over(processes, monkeypatch):
    """A goal with feedback, result, cancellation and rejection; rclpy's own executor never waits for the nodes."""
    fibonacci = pytest.importorskip('test_msgs.action').Fibonacci
    actions = importlib.import_module('rclpy.action')
    monkeypatch.setattr('dyn_nodes.middleware.hand_over.MATCHING_TIME', 0.0)
    process, other = processes(True, 'giver', 'taker'), processes(False, 'client')

    def not_lean(*_: object) -> None:
        raise AssertionError("rclpy's own executor runs")

    monkeypatch.setattr(LeanExecutor.__mro__[1], '_spin_once_impl', not_lean)
    giver, taker = process.nodes
    received, feedback = [], []
    wanted = real.Future()

    async def execute(handle):
        handle.publish_feedback(fibonacci.Feedback(sequence=[1, 2]))
        await wanted
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.succeed()
        return fibonacci.Result(sequence=[3])

    server = actions.ActionServer(
        giver,
        fibonacci,
        'action',
        execute,
        goal_callback=lambda goal: actions.GoalResponse.ACCEPT if goal.order else actions.GoalResponse.REJECT,
        cancel_callback=lambda handle: actions.CancelResponse.ACCEPT,
    )
    client = actions.ActionClient(other.nodes[0], fibonacci, 'action')
    publisher = giver.create_publisher(Float64, 'topic', 10)
    taker.create_subscription(Float64, 'topic', lambda msg: received.append(msg.data), 10)
    timer = giver.create_timer(0.01, lambda: publisher.publish(Float64(data=1.0)))
    turn_until(client.server_is_ready, process, other)

    def answered(future):
        turn_until(future.done, process, other)
        return future.result()

    def send(order: int):
        return answered(client.send_goal_async(fibonacci.Goal(order=order), feedback_callback=feedback.append))

    assert not send(0).accepted
    outcomes = []
    for is_canceled in (False, True):
        wanted = real.Future()
        handle = send(1)
        assert handle.accepted
        received.clear()
        turn_until(lambda: len(received) > 3, process, other)
        if is_canceled:
            assert len(answered(handle.cancel_goal_async()).goals_canceling) == 1
        wanted.set_result(None)
        outcome = answered(handle.get_result_async())
        outcomes.append((outcome.status, list(outcome.result.sequence)))
    status = importlib.import_module('action_msgs.msg').GoalStatus
    assert outcomes == [(status.STATUS_SUCCEEDED, [3]), (status.STATUS_CANCELED, [3])]
    assert [list(entry.feedback.sequence) for entry in feedback] == [[1, 2], [1, 2]]
    assert senders(process)['/topic'].written == 0
    giver.destroy_timer(timer)
    client.destroy()
    server.destroy()  # while the executor holds it
    turn_for(0.1, process, other)


def test_the_executor_reports_incompatible_qos(processes):
    process = processes(False, 'giver')
    (giver,) = process.nodes
    seen = []
    best_effort = real.QoSProfile(depth=10, reliability=real.ReliabilityPolicy.BEST_EFFORT)
    events = real.SubscriptionEventCallbacks(incompatible_qos=seen.append)
    giver.create_publisher(Float64, 'topic', best_effort)
    giver.create_subscription(Float64, 'topic', lambda msg: None, 10, event_callbacks=events)
    turn_until(lambda: bool(seen), process)


def test_an_executor_returns_at_its_timeout_and_at_the_end_of_its_context(processes):
    process = processes(False, 'giver')
    start = time.monotonic()
    process.executor.spin_once(timeout_sec=0.3)
    process.executor.spin_once(timeout_sec=0.0)
    assert time.monotonic() - start >= 0.0
    real.try_shutdown(context=process.context)
    with pytest.raises(real.ExternalShutdownException):
        process.executor.spin_once(timeout_sec=1.0)


def test_an_entity_made_by_another_thread_while_the_executor_gathers_is_not_overlooked(processes, monkeypatch):
    process = processes(False, 'giver')
    (giver,) = process.nodes
    publisher = giver.create_publisher(Float64, 'topic', 10)
    received, late = [], []

    class Interrupted(lean_executor._Entities):
        def __init__(self, executor: LeanExecutor) -> None:
            super().__init__(executor)
            if not late:
                late.append(giver.create_subscription(Float64, 'topic', received.append, 10))

    monkeypatch.setattr(lean_executor, '_Entities', Interrupted)
    process.executor.wake()
    process.executor.spin_once(timeout_sec=0.01)
    turn_until(matched(publisher, 1), process)
    publisher.publish(Float64(data=1.0))
    turn_until(lambda: bool(received), process)
