"""rclpy: messages between the nodes of one process, delivered without serialization.

In a context with `intra_process` (`init`) a publication reaches the subscriptions of the context as a copy, through the
executor's queue, in the order of publishing. It is also sent on the wire if another process has a subscription, if a
subscription here takes serialized messages (a recorder), and if it is latched: DDS then keeps it for late ones.

rclpy cannot prevent DDS from delivering a publication on the wire to this process, too. A subscription recognises such
a duplicate by the DDS sequence number and the source timestamp, and drops it without deserializing it. All messages of
other processes, and messages kept by DDS for a late subscription, arrive by the wire as usual: the graph has the same
endpoints with the same QoS.
"""

from __future__ import annotations

import array
import copy
import inspect
import threading
import time
import weakref
from collections import deque
from typing import Any, ClassVar

import numpy as np
from rclpy import qos as _qos
from rclpy.qos import DurabilityPolicy, HistoryPolicy
from rclpy.serialization import deserialize_message

MATCHING_TIME = 2.0
"""Time after the creation of a topic's newest endpoint in which counts of matched endpoints are not reliable, s."""
MOST_EXPECTED = 10_000
"""Publications on the wire that a subscription records, for each publisher here."""
MOST_UNDRAINED = 500
"""Duplicates after which a subscription's queue is emptied: Fast DDS does not recover from a full queue."""
_ATOMS = frozenset((int, float, bool, str, bytes, type(None)))


def copy_message(msg: Any) -> Any:
    """Return a deep copy of a message, equal to its decoded encoding."""
    kind = type(msg)
    made: Any = object.__new__(kind)
    for slot in kind.__slots__:
        value = getattr(msg, slot)
        setattr(made, slot, value if type(value) in _ATOMS else _copied(value))
    return made


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is array.array:
        return value[:]
    if kind is list:
        return [item if type(item) in _ATOMS else _copied(item) for item in value]
    if kind is np.ndarray:
        return value.copy()
    return copy_message(value) if hasattr(kind, 'SLOT_TYPES') else copy.deepcopy(value)


def takes_info(subscription: Any) -> bool:
    """Return whether a subscription's callback takes (msg, info)."""
    return subscription._callback_type is not type(subscription).CallbackType.MessageOnly


def take(subscription: Any) -> tuple[Any, Any] | None:
    """Take the next message that a subscription receives by the wire, as (message, info); None if there is none."""
    receiver: Receiver | None = getattr(subscription, 'receiver', None)
    if receiver is not None:
        return receiver.take()
    with subscription.handle:
        return subscription.handle.take_message(subscription.msg_type, subscription.raw)


class Receiver:
    """Delivery to a subscription.

    Attributes:
        subscription, node: of the receiver.
        duplicates: messages of the wire that were dropped.
    """

    def __init__(self, topics: LocalTopics, subscription: Any, node: Any) -> None:
        self.subscription, self.node = subscription, node
        self.duplicates = self._undrained = 0
        self._topics = topics
        qos = subscription.qos_profile
        self._depth = None if qos.history == HistoryPolicy.KEEP_ALL else max(qos.depth, 1)
        self._pending: deque[tuple[Any, int]] = deque()
        self._expected: dict[Sender, deque[tuple[int, int, int]]] = {}
        self._new: deque[tuple[bytes, Any]] = deque()

    def deliver(self, msg: Any, stamp: int) -> None:
        """Queue a message of this process, published at `stamp`, ns; the executor calls back later."""
        is_full = self._depth is not None and len(self._pending) >= self._depth
        if is_full:
            self._pending.popleft()  # its entry in the queue is used for the new message
        self._pending.append((msg, stamp))
        if not is_full:
            self._topics.waiting.append(self)

    def run(self, executor: Any) -> bool:
        """Call back with the next queued message."""
        if self._pending:
            msg, stamp = self._pending.popleft()
            info = {'source_timestamp': stamp, 'received_timestamp': time.time_ns()}
        elif self._new:
            msg, info = self._decoded(self._new.popleft())
        else:
            return False
        arguments = (msg, info) if takes_info(self.subscription) else (msg,)
        if inspect.iscoroutinefunction(self.subscription.callback):
            executor.create_task(self.subscription.callback, *arguments)
        else:
            self.subscription.callback(*arguments)
        return True

    def close(self) -> None:
        """Discard the queued messages."""
        self._pending.clear()
        self._new.clear()
        self._expected.clear()

    # -- duplicates on the wire --------------------------------------------------------------------------------------

    def expect(self, sender: Sender, number: int, first: int, last: int) -> None:
        """Record a message on the wire that was delivered locally: its number, and bounds of its timestamp, ns."""
        if sender not in self._expected:
            self._expected[sender] = deque(maxlen=MOST_EXPECTED)
        self._expected[sender].append((number, first, last))
        self._undrained += 1
        if self._undrained >= MOST_UNDRAINED:
            self.drain()

    def forget(self, sender: Sender) -> None:
        """Disconnect a publisher of this process."""
        self.drain()
        self._expected.pop(sender, None)

    def take(self) -> tuple[Any, Any] | None:
        """Take the next message of the wire that was not delivered locally; None if there is none."""
        subscription = self.subscription
        with self._topics.lock, subscription.handle:
            if not any(self._expected.values()):
                return subscription.handle.take_message(subscription.msg_type, False)
            taken = self._take_new()
        return None if taken is None else self._decoded(taken)

    def drain(self) -> None:
        """Take all messages of the wire; the executor calls back with those that were not delivered locally."""
        self._undrained = 0
        with self._topics.lock, self.subscription.handle:
            while (taken := self._take_new()) is not None:
                self._new.append(taken)
                self._topics.waiting.append(self)

    def _take_new(self) -> tuple[bytes, Any] | None:
        subscription = self.subscription
        while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            if not self._is_duplicate(taken[1]):
                return taken
            self.duplicates += 1
        return None

    def _decoded(self, taken: tuple[bytes, Any]) -> tuple[Any, Any]:
        return deserialize_message(taken[0], self.subscription.msg_type), taken[1]

    def _is_duplicate(self, info: Any) -> bool:
        stamp, number = info['source_timestamp'], info.get('publication_sequence_number')
        for expected in self._expected.values():
            for index, (recorded, first, last) in enumerate(expected):
                if first > stamp:
                    break
                if stamp <= last and number in (None, recorded):
                    for _ in range(index + 1):  # those before it were lost in the subscription's queue
                        expected.popleft()
                    return True
        return False


class Sender:
    """Delivery of a publisher's messages: replaces `publish`.

    A message without any subscription is not even serialized.

    Attributes:
        receivers: subscriptions of this process that receive the publications.
        written: messages on the wire.
    """

    def __init__(self, topics: LocalTopics, publisher: Any) -> None:
        self.publisher, self._topics = publisher, topics
        self.receivers: tuple[Receiver, ...] = ()
        self.written = 0
        self._write = publisher.publish
        qos = publisher.qos_profile
        self._is_latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        depth = None if qos.history == HistoryPolicy.KEEP_ALL else max(qos.depth, 1)
        self._kept: deque[tuple[Any, tuple[int, int, int]]] = deque(maxlen=depth)
        publisher.publish = self.publish

    def publish(self, msg: Any) -> None:
        """Publish a message, or its serialized form."""
        if not isinstance(msg, (self.publisher.msg_type, bytes)):
            self._write(msg)  # raises
        elif not self._topics.is_on:
            if self._is_latched or self.publisher.get_subscription_count():
                self._write(msg)
        else:
            with self._topics.lock:
                self._hand_over(msg)
            self._topics.interrupt(self.receivers)

    def _hand_over(self, msg: Any) -> None:
        stamp = time.time_ns()
        for receiver in self.receivers:
            receiver.deliver(self._copied(msg), stamp)
        if not self._is_wanted_elsewhere():
            return
        self._write(msg)
        self.written += 1
        wire = self.written, stamp, time.time_ns()
        for receiver in self.receivers:
            receiver.expect(self, *wire)
        if self._is_latched:
            self._kept.append((self._copied(msg), wire))

    def _copied(self, msg: Any) -> Any:
        return deserialize_message(msg, self.publisher.msg_type) if isinstance(msg, bytes) else copy_message(msg)

    def connect(self, receiver: Receiver) -> None:
        """Deliver to a subscription from now on; a latched one gets the kept messages before any newer one."""
        self.receivers = (*self.receivers, receiver)
        if receiver.subscription.qos_profile.durability != DurabilityPolicy.TRANSIENT_LOCAL:
            return
        for msg, wire in self._kept:
            receiver.deliver(copy_message(msg), wire[1])
            receiver.expect(self, *wire)

    def _is_wanted_elsewhere(self) -> bool:
        if self._is_latched:
            return True
        count, here = self.publisher.get_subscription_count(), len(self.receivers)
        return count > here or (count > 0 and time.monotonic() - self._topics.changed_at < MATCHING_TIME)


class LocalTopics:
    """The publishers and subscriptions of one context that exchange messages locally.

    Attributes:
        is_on: whether they do.
        waiting: receivers with queued messages, once for each message.
        changed_at: creation time of the newest endpoint, steady clock, s.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[Any, LocalTopics]] = weakref.WeakKeyDictionary()

    def __init__(self) -> None:
        self.is_on = False
        self.waiting: deque[Receiver] = deque()
        self.changed_at = 0.0
        self.lock = threading.RLock()
        self._senders: dict[tuple[str, Any], list[Sender]] = {}
        self._receivers: dict[tuple[str, Any], list[Receiver]] = {}
        self._thread = 0

    @classmethod
    def of(cls, context: Any) -> LocalTopics:
        """Return the topics of a context."""
        if context not in cls._of:
            cls._of[context] = cls()
        return cls._of[context]

    def run_next(self, executor: Any) -> bool:
        """Call back with the next message for a node of an executor; False if there is none."""
        self._thread = threading.get_ident()
        for _ in range(len(self.waiting)):
            receiver = self.waiting.popleft()
            if receiver.node.executor is not executor:
                self.waiting.append(receiver)
            elif receiver.run(executor):
                return True
        return False

    def interrupt(self, receivers: tuple[Receiver, ...]) -> None:
        """End the waits of executors if a thread other than theirs has published."""
        if threading.get_ident() == self._thread:
            return
        for executor in {receiver.node.executor for receiver in receivers} - {None}:
            executor.interrupt()

    # -- endpoints come and go ---------------------------------------------------------------------------------------

    def add_publisher(self, publisher: Any) -> None:
        """Connect a publisher with the existing subscriptions."""
        sender = Sender(self, publisher)
        if not self.is_on:
            return
        key = publisher.topic_name, publisher.msg_type
        with self.lock:
            self._senders.setdefault(key, []).append(sender)
            for receiver in self._receivers.get(key, ()):
                self._connect(sender, receiver)
            self.changed_at = time.monotonic()

    def add_subscription(self, subscription: Any, node: Any) -> None:
        """Connect a subscription with the existing publishers; a raw one takes messages by the wire."""
        if not self.is_on or subscription.raw:
            return
        key = subscription.topic_name, subscription.msg_type
        with self.lock:
            subscription.receiver = Receiver(self, subscription, node)
            self._receivers.setdefault(key, []).append(subscription.receiver)
            for sender in self._senders.get(key, ()):
                self._connect(sender, subscription.receiver)
            self.changed_at = time.monotonic()

    @staticmethod
    def _connect(sender: Sender, receiver: Receiver) -> None:
        compatible, _ = _qos.qos_check_compatible(sender.publisher.qos_profile, receiver.subscription.qos_profile)
        if compatible != _qos.QoSCompatibility.ERROR:
            sender.connect(receiver)

    def drain(self, publisher: Any) -> None:
        """Take a publisher's messages on the wire from the queues of subscriptions here."""
        for sender in self._senders.get((publisher.topic_name, publisher.msg_type), ()):
            for receiver in sender.receivers:
                receiver.drain()

    def remove_publisher(self, publisher: Any) -> None:
        """Disconnect a publisher."""
        with self.lock:
            for senders in self._senders.values():
                for sender in [item for item in senders if item.publisher is publisher]:
                    senders.remove(sender)
                    for receiver in sender.receivers:
                        receiver.forget(sender)
                    sender.receivers = ()

    def remove_subscription(self, subscription: Any) -> None:
        """Disconnect a subscription."""
        gone: Receiver | None = getattr(subscription, 'receiver', None)
        if gone is None:
            return
        with self.lock:
            key = subscription.topic_name, subscription.msg_type
            self._receivers[key].remove(gone)
            for sender in self._senders.get(key, ()):
                sender.receivers = tuple(item for item in sender.receivers if item is not gone)
            gone.close()
