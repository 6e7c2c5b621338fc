"""Subscriptions."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from cyclonedds.core import DDSStatus, InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.internal import InvalidSample
from cyclonedds.sub import DataReader

from . import dds
from .codec import DecodeError
from .context import Context
from .publisher import policy_name
from .qos import HistoryPolicy, QoSProfile, to_dds
from .signals import shielded
from .types import codec, type_hash

ANY_STATE = SampleState.Any | ViewState.Any | InstanceState.Any


def takes_two(callback: Callable[..., Any]) -> bool:
    """Return whether a subscription's callback takes (msg, info).

    Raises:
        RuntimeError: the callback takes neither one nor two arguments.
    """
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):
        return False
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 2
    raise RuntimeError('Subscription callback must take 1 or 2 arguments: (msg) or (msg, info)')


def take_one(reader: DataReader) -> Any:
    """Take the next valid sample of a reader; None if there is none."""
    while True:
        samples = shielded(reader.take, 1)
        if not samples:
            return None
        # Readers also receive samples without data, such as at the end of a writer.
        if not isinstance(samples[0], InvalidSample):
            return samples[0]


class SubscriptionEventCallbacks:
    """Callbacks for events of a subscription, like rclpy's class of that name.

    Args:
        message_lost: function of an object with `total_count` and `total_count_change`.
        others: without effect, for compatibility with rclpy.
    """

    def __init__(self, *, message_lost: Callable[[Any], Any] | None = None, **others: Any) -> None:
        self.message_lost = message_lost


def take_raw(subscription: Subscription, count: int) -> list[tuple[bytes, int]]:
    """Take up to `count` messages of a raw subscription as (CDR, source timestamp) without its callback."""
    return subscription.take_raw(count)


class Subscription:
    """Runs a callback for the messages of one topic; created by `Node.create_subscription`.

    Attributes:
        gid: GUID of the reader.
        decode_errors: number of dropped samples that could not be decoded.
        is_pulled: messages of the same context wait for `take_raw`; the executor does not run the callback for them.
        local_queue: queue of the executor that runs the callback; receives this subscription once for each message of
            the same context.
    """

    is_pulled = False
    local_queue: Any = None

    def __init__(
        self,
        context: Context,
        msg_type: Any,
        topic: str,
        callback: Callable[..., Any],
        qos: QoSProfile,
        logger: Any,
        *,
        raw: bool = False,
        event_callbacks: SubscriptionEventCallbacks | None = None,
    ) -> None:
        self.msg_type = msg_type
        self.topic_name = topic
        self.topic = topic
        self.callback = callback
        self.qos_profile = qos
        self.raw = raw
        self.decode_errors = 0
        self._with_info = takes_two(callback)
        self._logger = logger
        name = msg_type.__msgtype__
        self._decode = codec(name).decode
        if not raw:
            codec(name).prepare_to_decode()
        user_data = f'typehash={type_hash(name)};'.encode()
        self._local = context.local
        policies = to_dds(qos, user_data, writer=False, ignore_local=self._local is not None)
        self._reader = DataReader(context.participant, context.topic(f'rt{topic}', name), policies)
        self._on_lost = event_callbacks.message_lost if event_callbacks is not None else None
        lost = DDSStatus.SampleLost if self._on_lost is not None else 0
        self._reader.set_status_mask(DDSStatus.RequestedIncompatibleQos | lost)
        self._condition = ReadCondition(self._reader, ANY_STATE)
        self.gid = dds.gid(self._reader)
        self._destroyed = False
        self._pending: deque[tuple[Any, int]] = deque()
        self._depth = None if qos.history == HistoryPolicy.KEEP_ALL else max(qos.depth, 1)
        if self._local is not None:
            self._local.add_subscription(self)

    @property
    def name(self) -> str:
        """Name of the topic."""
        return self.topic_name

    @property
    def condition(self) -> Any:
        """DDS condition that triggers when samples are available."""
        return self._condition

    @property
    def status_entity(self) -> Any:
        """DDS entity whose status counts incompatible writers."""
        return self._reader

    def take(self) -> tuple[Any, ...] | None:
        """Take the next message; return the arguments of the callback, or None without a valid message."""
        if self._destroyed:
            return None
        if self._pending:
            content, stamp = self._pending.popleft()
        else:
            sample = take_one(self._reader)
            if sample is None:
                return None
            content, stamp = sample.cdr, sample.sample_info.source_timestamp
        try:
            if not self.raw and type(content) is bytes:
                content = self._decode(content)
        except DecodeError as error:
            self.decode_errors += 1
            if self.decode_errors == 1:
                self._logger.error(f"dropping messages on topic '{self.topic_name}' that cannot be decoded: {error}")
            return None
        if not self._with_info:
            return (content,)
        info = {
            'source_timestamp': stamp,
            'received_timestamp': time.time_ns(),
            'publication_sequence_number': None,
            'reception_sequence_number': None,
        }
        return content, info

    def take_raw(self, count: int) -> list[tuple[bytes, int]]:
        """Take up to `count` messages as (CDR, DDS source timestamp) without the callback."""
        if self._destroyed:
            return []
        if self._pending:
            take = self._pending.popleft
            return [take() for _ in range(min(count, len(self._pending)))]
        if self._local is not None and not dds.is_triggered(self._condition):
            return []
        return [(sample.cdr, sample.sample_info.source_timestamp) for sample in dds.take(self._reader, count)]

    def deliver(self, content: Any, stamp: int | None) -> None:
        """Store a message of the same context, decoded or as CDR; the executor runs the callback later."""
        pending = self._pending
        if self._depth is not None and len(pending) >= self._depth:
            pending.popleft()  # its entry in the queue is reused for this message
            pending.append((content, time.time_ns() if stamp is None else stamp))
            return
        pending.append((content, time.time_ns() if stamp is None else stamp))
        if self.is_pulled:
            return
        if self.local_queue is not None:
            self.local_queue.add(self)
        elif self._local is not None:
            self._local.waiting.append(self)

    def run_local(self) -> Any:
        """Run the callback for the next message of the same context, unless it was already taken."""
        return self.run() if self._pending and not self._destroyed else None

    def get_lost_count(self) -> int:
        """Return the number of messages lost in transmission."""
        return 0 if self._destroyed else int(self._reader.get_sample_lost_status().total_count)

    def run(self) -> Any:
        """Take a message and run the callback; return its result."""
        taken = self.take()
        return None if taken is None else self.callback(*taken)

    def report_status(self) -> None:
        """Warn of writers with incompatible QoS; run the callback for lost messages."""
        if self._destroyed:
            return
        if self._on_lost is not None:
            lost = self._reader.get_sample_lost_status()
            if lost.total_count_change > 0:
                self._on_lost(lost)
        status = self._reader.get_requested_incompatible_qos_status()
        if status.total_count_change > 0:
            self.warn_of_incompatible(policy_name(status.last_policy_id))

    def warn_of_incompatible(self, policy: str) -> None:
        """Warn of an incompatible publisher."""
        self._logger.warn(
            f"New publisher discovered on topic '{self.topic_name}', offering incompatible QoS. No messages will "
            f'be received from it. Last incompatible policy: {policy}'
        )

    def get_publisher_count(self) -> int:
        """Return the number of matched publishers."""
        within = 0 if self._local is None else self._local.count_publishers(self)
        return int(self._reader.get_subscription_matched_status().current_count) + within

    def destroy(self) -> None:
        """Destroy the subscription."""
        if not self._destroyed:
            self._destroyed = True
            if self._local is not None:
                self._local.remove_subscription(self)
            dds.delete_entity(self._condition)
            dds.delete_entity(self._reader)
