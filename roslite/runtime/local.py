"""Messages between the nodes of one process, handed over without serialization.

In a context with `intra_process`, DDS connects the endpoints of this context with those of others only
(`IGNORE_LOCAL`). Publishers and subscriptions of the context itself are matched here, by topic, type and QoS as DDS
matches them. The graph shows all of them as ever: discovery does not know that they are left out.

A subscription gets a copy of each message, made when it is published: publishers may reuse their objects and
subscribers may change theirs. The copy has the same types in its fields as a decoded message, and the same values are
refused. Delivery goes through the executor's queue, in the order of publishing.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Protocol

from .qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy


class LocalEndpoint(Protocol):
    """A publisher or a subscription: its topic, type and QoS.

    Attributes:
        topic_name: fully qualified.
        msg_type: class of its messages.
    """

    topic_name: str
    msg_type: Any
    qos_profile: QoSProfile

    def warn_of_incompatible(self, policy: str) -> None:
        """Warn of a partner whose QoS does not fit."""


class LocalSubscription(LocalEndpoint, Protocol):
    """A subscription, as publishers of its context see it.

    Attributes:
        raw: it wants bytes.
        local_queue: of the executor that delivers its messages; None without one.
    """

    raw: bool
    local_queue: Any

    def deliver(self, content: Any, stamp: int | None) -> None:
        """Take a message, decoded or as CDR, with its source timestamp, ns."""


class LocalPublisher(LocalEndpoint, Protocol):
    """A publisher, as subscriptions of its context see it.

    Attributes:
        receivers: subscriptions that get what it publishes.
    """

    receivers: tuple[LocalSubscription, ...]

    def give_kept(self, subscription: LocalSubscription) -> None:
        """Give a latched subscription that comes late what was published before."""


def incompatible_policy(offered: QoSProfile, requested: QoSProfile) -> str:
    """Return the name of the policy in which a publisher offers less than a subscription requests; '' for none."""
    if requested.reliability != ReliabilityPolicy.BEST_EFFORT and offered.reliability == ReliabilityPolicy.BEST_EFFORT:
        return 'RELIABILITY'
    latched = DurabilityPolicy.TRANSIENT_LOCAL
    if requested.durability == latched != offered.durability:
        return 'DURABILITY'
    most, found = requested.deadline.nanoseconds, offered.deadline.nanoseconds
    if most and (not found or found > most):
        return 'DEADLINE'
    by_topic = LivelinessPolicy.MANUAL_BY_TOPIC
    if requested.liveliness == by_topic != offered.liveliness:
        return 'LIVELINESS'
    most, found = (profile.liveliness_lease_duration.nanoseconds for profile in (requested, offered))
    return 'LIVELINESS' if most and (not found or found > most) else ''


class LocalTopics:
    """The publishers and subscriptions of one context."""

    def __init__(self) -> None:
        #: Subscriptions with messages that no executor delivers yet, once for each message.
        self.waiting: deque[LocalSubscription] = deque()
        self._lock = threading.RLock()
        self._publishers: dict[tuple[str, Any], list[LocalPublisher]] = {}
        self._subscriptions: dict[tuple[str, Any], list[LocalSubscription]] = {}

    def add_publisher(self, publisher: LocalPublisher) -> None:
        """Connect a publisher with the subscriptions that are there."""
        key = publisher.topic_name, publisher.msg_type
        with self._lock:
            self._publishers.setdefault(key, []).append(publisher)
            for subscription in self._subscriptions.get(key, ()):
                self._connect(publisher, subscription)

    def add_subscription(self, subscription: LocalSubscription) -> None:
        """Connect a subscription with the publishers that are there; it gets what latched ones have kept."""
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
        """Give the executors what waits for them, in the order of publishing."""
        for _ in range(len(self.waiting)):
            subscription = self.waiting.popleft()
            queue: Any = subscription.local_queue or self.waiting
            (queue.append if queue is self.waiting else queue.add)(subscription)

    def count_publishers(self, subscription: LocalSubscription) -> int:
        """Return how many publishers of this context a subscription is connected with."""
        publishers = self._publishers.get((subscription.topic_name, subscription.msg_type), ())
        return sum(subscription in publisher.receivers for publisher in publishers)
