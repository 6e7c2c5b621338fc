"""Messages between the nodes of one process without serialization.

In a context with `intra_process`, DDS connects the endpoints of this context only with endpoints of other contexts
(`IGNORE_LOCAL`). Publishers and subscriptions of the same context are matched here by topic, type and QoS, with the
rules of DDS. The graph shows all of them, because discovery includes ignored endpoints.

A subscription gets a copy of each message, created at its publication: publishers may reuse their objects and
subscribers may modify theirs. The copy has the field types of a decoded message, and the same values are rejected.
Messages are delivered through the executor's queue in the order of publication.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Protocol

from .qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy


class LocalEndpoint(Protocol):
    """A publisher or a subscription: its topic, type and QoS.

    Attributes:
        topic_name: fully qualified name.
        msg_type: class of its messages.
    """

    topic_name: str
    msg_type: Any
    qos_profile: QoSProfile

    def warn_of_incompatible(self, policy: str) -> None:
        """Warn of an endpoint with incompatible QoS."""


class LocalSubscription(LocalEndpoint, Protocol):
    """Interface of a subscription for publishers of its context.

    Attributes:
        raw: it receives bytes.
        local_queue: queue of the executor that delivers its messages; None: no executor.
    """

    raw: bool
    local_queue: Any

    def deliver(self, content: Any, stamp: int | None) -> None:
        """Take a message, decoded or as CDR, with its source timestamp, ns."""


class LocalPublisher(LocalEndpoint, Protocol):
    """Interface of a publisher for subscriptions of its context.

    Attributes:
        receivers: subscriptions that receive its messages.
    """

    receivers: tuple[LocalSubscription, ...]

    def give_kept(self, subscription: LocalSubscription) -> None:
        """Deliver the stored messages to a late latched subscription."""


def incompatible_policy(offered: QoSProfile, requested: QoSProfile) -> str:
    """Return the name of a policy for which a publisher offers less than a subscription requests; '' for none."""
    if requested.reliability != ReliabilityPolicy.BEST_EFFORT and offered.reliability == ReliabilityPolicy.BEST_EFFORT:
        return 'RELIABILITY'
    latched = DurabilityPolicy.TRANSIENT_LOCAL
    if requested.durability == latched != offered.durability:
        return 'DURABILITY'
    most, offered_period = requested.deadline.nanoseconds, offered.deadline.nanoseconds
    if most and (not offered_period or offered_period > most):
        return 'DEADLINE'
    by_topic = LivelinessPolicy.MANUAL_BY_TOPIC
    if requested.liveliness == by_topic != offered.liveliness:
        return 'LIVELINESS'
    most, offered_period = (profile.liveliness_lease_duration.nanoseconds for profile in (requested, offered))
    return 'LIVELINESS' if most and (not offered_period or offered_period > most) else ''


class LocalTopics:
    """Publishers and subscriptions of one context."""

    def __init__(self) -> None:
        #: Subscriptions with messages without executor, once for each message.
        self.waiting: deque[LocalSubscription] = deque()
        self._lock = threading.RLock()
        self._publishers: dict[tuple[str, Any], list[LocalPublisher]] = {}
        self._subscriptions: dict[tuple[str, Any], list[LocalSubscription]] = {}

    def add_publisher(self, publisher: LocalPublisher) -> None:
        """Connect a publisher to the existing subscriptions."""
        key = publisher.topic_name, publisher.msg_type
        with self._lock:
            self._publishers.setdefault(key, []).append(publisher)
            for subscription in self._subscriptions.get(key, ()):
                self._connect(publisher, subscription)

    def add_subscription(self, subscription: LocalSubscription) -> None:
        """Connect a subscription to the existing publishers; latched publishers deliver their stored messages."""
        key = subscription.topic_name, subscription.msg_type
        with self._lock:
            self._subscriptions.setdefault(key, []).append(subscription)
            for publisher in self._publishers.get(key, ()):
                if self._connect(publisher, subscription):
                    publisher.give_kept(subscription)

    @staticmethod
    def _connect(publisher: LocalPublisher, subscription: LocalSubscription) -> bool:
        policy = incompatible_policy(publisher.qos_profile, subscription.qos_profile)
        if policy:
            publisher.warn_of_incompatible(policy)
            subscription.warn_of_incompatible(policy)
            return False
        publisher.receivers = (*publisher.receivers, subscription)
        return True

    def remove_publisher(self, publisher: LocalPublisher) -> None:
        """Disconnect a publisher."""
        with self._lock:
            self._publishers[publisher.topic_name, publisher.msg_type].remove(publisher)
            publisher.receivers = ()

    def remove_subscription(self, subscription: LocalSubscription) -> None:
        """Disconnect a subscription."""
        key = subscription.topic_name, subscription.msg_type
        with self._lock:
            self._subscriptions[key].remove(subscription)
            for publisher in self._publishers.get(key, ()):
                publisher.receivers = tuple(item for item in publisher.receivers if item is not subscription)

    def release(self) -> None:
        """Pass waiting subscriptions to their executors, in the order of publication."""
        for _ in range(len(self.waiting)):
            subscription = self.waiting.popleft()
            queue: Any = subscription.local_queue or self.waiting
            (queue.append if queue is self.waiting else queue.add)(subscription)

    def count_publishers(self, subscription: LocalSubscription) -> int:
        """Return the number of publishers of this context connected to a subscription."""
        publishers = self._publishers.get((subscription.topic_name, subscription.msg_type), ())
        return sum(subscription in publisher.receivers for publisher in publishers)
