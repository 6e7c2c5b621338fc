"""Nodes of one process: messages handed over without serialization, and an unchanged wire for other processes."""

from __future__ import annotations

import numpy as np
import pytest

from roslite.runtime.api import (
    Context,
    DurabilityPolicy,
    HistoryPolicy,
    Node,
    QoSProfile,
    ReliabilityPolicy,
    init,
    message,
    message_types,
)
from roslite.runtime.codec import DTYPES
from roslite.runtime.types import codec

JointState = message('sensor_msgs/msg/JointState')
String = message('std_msgs/msg/String')
Float64 = message('std_msgs/msg/Float64')
Float32 = message('std_msgs/msg/Float32')
LATCHED = QoSProfile(depth=2, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def shared():
    context = Context()
    init(args=['composed'], context=context, intra_process=True)
    yield context
    context.try_shutdown()


@pytest.fixture
def pair(shared):
    return Node('giver', context=shared), Node('taker', context=shared)


class Count:
    """Counts the writes to DDS."""

    def __init__(self, publisher):
        self.samples, self._write = [], publisher._write
        publisher._write = self

    def __call__(self, sample, stamp):
        self.samples.append(sample.cdr)
        return self._write(sample, stamp)


def test_messages_are_handed_over_in_order_without_dds_and_counted_as_matched(shared, pair, spinner_of):
    giver, taker = pair
    values = []
    publisher = giver.create_publisher(Float64, 'topic', QoSProfile(history=HistoryPolicy.KEEP_ALL))
    other = giver.create_publisher(Float64, 'other', 10)
    keep_all = QoSProfile(history=HistoryPolicy.KEEP_ALL)
    subscription = taker.create_subscription(Float64, 'topic', lambda msg: values.append(msg.data), keep_all)
    taker.create_subscription(Float64, 'other', lambda msg: values.append(-msg.data), keep_all)
    assert (publisher.get_subscription_count(), subscription.get_publisher_count()) == (1, 1)
    written = Count(publisher)
    for k in range(1, 100):
        publisher.publish(Float64(data=float(k)))
        other.publish(Float64(data=float(k)))
    assert values == [], 'delivered by the executor, not inside publish'
    spinner_of(shared, giver, taker).until(lambda: len(values) == 198)
    assert values == [sign * k for k in range(1, 100) for sign in (1.0, -1.0)], 'in the order of publishing'
    assert written.samples == []


def test_a_message_is_a_copy_with_the_types_of_a_decoded_one(shared, pair, spinner_of):
    giver, taker = pair
    messages = []
    for _ in range(2):
        taker.create_subscription(JointState, 'topic', messages.append, 10)
    publisher = giver.create_publisher(JointState, 'topic', 10)
    published = JointState(name=['a', 'b'], position=[1, 2], velocity=np.array([3.0, 4.0]))
    published.header.stamp.sec = 7
    publisher.publish(published)
    published.name[0], published.velocity[0], published.header.stamp.sec = 'changed', -1.0, 8
    spinner_of(shared, giver, taker).until(lambda: len(messages) == 2)
    first, second = messages
    first.position[0], first.name[1] = 99.0, 'mine'
    assert isinstance(second.position, np.ndarray)
    assert second.position.dtype == np.float64
    assert (second.name, list(second.position), list(second.velocity)) == (['a', 'b'], [1.0, 2.0], [3.0, 4.0])
    assert second.header.stamp.sec == 7
    assert isinstance(published.position, list), 'the publisher keeps its own'


def random_value(desc, dice):
    kind, detail = int(desc[0]), desc[1]
    if kind == 1:
        base = detail[0]
        if base == 'string':
            return ''.join(dice.choice(list('abcäö €'), dice.integers(0, 6)))
        if base == 'bool':
            return bool(dice.integers(2))
        if base.startswith('float'):
            return float(dice.normal())
        limits = np.iinfo(DTYPES[base])
        most = 127 if base in ('byte', 'octet') else min(limits.max, 2**63 - 1)  # the codec writes these as signed
        return int(dice.integers(limits.min, most, dtype=DTYPES[base]))
    if kind == 2:
        return random_message(detail, dice)
    inner, count = detail
    size = count if kind == 3 else int(dice.integers(0, min(count or 3, 3) + 1))
    return [random_value(inner, dice) for _ in range(size)]


def random_message(name, dice):
    made = message(name)()
    for field, desc in codec(name).fields:
        setattr(made, field, random_value(desc, dice))
    return made


@pytest.mark.parametrize('package', sorted({name.split('/')[0] for name in message_types()}))
def test_a_copy_equals_decoding_of_the_encoding(package):
    dice = np.random.default_rng(5)
    for name in (name for name in message_types() if name.startswith(f'{package}/')):
        for _ in range(3):
            made = random_message(name, dice)
            copied = codec(name).copy(made)
            assert copied == codec(name).decode(codec(name).encode(made)), name
            assert codec(name).encode(copied) == codec(name).encode(made)


@pytest.mark.parametrize(
    'wrong',
    [
        JointState(position=['x']),
        JointState(name='joint'),
        JointState(name=[1]),
        JointState(velocity=np.zeros((2, 2))),
        JointState(header=None),
        Float64(data='1'),
        String(data=1),
        message('std_msgs/msg/UInt8')(data=256),
        message('std_msgs/msg/Int8')(data=1.5),
        message('std_msgs/msg/Bool')(data=2),
        message('geometry_msgs/msg/PoseWithCovariance')(covariance=np.zeros(35)),
    ],
)
def test_messages_that_cannot_be_encoded_cannot_be_handed_over(wrong):
    with pytest.raises((TypeError, ValueError)) as encoding:
        codec(wrong.__msgtype__).encode(wrong)
    with pytest.raises(encoding.type) as copying:
        codec(wrong.__msgtype__).copy(wrong)
    assert str(copying.value) == str(encoding.value)


def test_a_full_queue_drops_the_oldest_and_a_late_latched_one_gets_the_stored_messages(shared, pair, spinner_of):
    giver, taker = pair
    publisher, latched = giver.create_publisher(Float64, 'topic', 10), giver.create_publisher(Float64, 'last', LATCHED)
    newest, kept, volatile = [], [], []
    taker.create_subscription(Float64, 'topic', lambda msg: newest.append(msg.data), 3)
    for k in range(8):
        publisher.publish(Float64(data=float(k)))
        latched.publish(Float64(data=float(k)))
    taker.create_subscription(Float64, 'last', lambda msg: kept.append(msg.data), LATCHED)
    taker.create_subscription(Float64, 'last', lambda msg: volatile.append(msg.data), 10)
    spinner_of(shared, giver, taker).until(lambda: len(newest) == 3 and len(kept) == 2)
    assert (newest, kept, volatile) == ([5.0, 6.0, 7.0], [6.0, 7.0], [])


def test_incompatible_qos_is_not_connected(shared, pair, capsys):
    giver, taker = pair
    messages = []
    best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = giver.create_publisher(Float64, 'topic', best_effort)
    taker.create_subscription(Float64, 'topic', messages.append, 10)
    assert publisher.get_subscription_count() == 0
    assert 'requesting incompatible QoS' in capsys.readouterr().err


def test_other_participants_see_and_receive_everything(shared, pair, context, spinner_of):
    """Another process receives volatile and latched messages, also earlier ones; its messages reach the nodes."""
    giver, taker = pair
    here, there, back = [], [], []
    publisher, latched = giver.create_publisher(Float64, 'topic', 10), giver.create_publisher(Float64, 'last', LATCHED)
    taker.create_subscription(Float64, 'topic', here.append, 10)
    taker.create_subscription(Float64, 'back', back.append, 10)
    for k in range(5):
        latched.publish(Float64(data=float(k)))
    outside = Node('outside', context=context)
    spinner, elsewhere = spinner_of(shared, giver, taker), spinner_of(context, outside)
    outside.create_subscription(Float64, 'topic', there.append, 10)
    outside.create_subscription(Float64, 'last', lambda msg: there.append(msg), LATCHED)
    answer = outside.create_publisher(Float64, 'back', 10)

    def turn_until(condition) -> None:
        def turn() -> bool:
            elsewhere.executor.spin_once(timeout_sec=0.01)
            return condition()

        spinner.until(turn)

    turn_until(lambda: publisher.get_subscription_count() == 2 and answer.get_subscription_count() == 1)
    turn_until(lambda: len(there) == 2)
    publisher.publish(Float64(data=9.0))
    latched.publish(Float64(data=5.0))
    answer.publish(Float64(data=1.0))
    turn_until(lambda: len(there) == 4 and back and here)
    assert sorted(msg.data for msg in there) == [3.0, 4.0, 5.0, 9.0]
    assert [msg.data for msg in here] == [9.0]
    assert [msg.data for msg in back] == [1.0]
    turn_until(lambda: {'giver', 'taker', 'outside'} <= set(outside.get_node_names()))
    assert outside.count_publishers('topic') == 1
    assert outside.count_subscribers('topic') == 2


def test_timers_and_others_get_their_turn_while_nodes_keep_each_other_busy(shared, pair, spinner_of):
    giver, taker = pair
    ticks = []
    ping, pong = giver.create_publisher(Float64, 'ping', 10), taker.create_publisher(Float64, 'pong', 10)
    taker.create_subscription(Float64, 'ping', lambda msg: pong.publish(msg), 10)
    giver.create_subscription(Float64, 'pong', lambda msg: ping.publish(msg), 10)
    giver.create_timer(0.01, lambda: ticks.append(1))
    ping.publish(Float64(data=1.0))
    spinner_of(shared, giver, taker).until(lambda: len(ticks) == 5)
    assert len(taker.subscriptions[0]._pending) + len(giver.subscriptions[0]._pending) <= 1
