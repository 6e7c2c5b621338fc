"""Base class of nodes with QoS overrides by parameters such as `qos_overrides.<topic>.publisher.depth`."""

from __future__ import annotations

import copy
import functools
from typing import Any

from dyn_nodes.middleware import (
    HistoryPolicy,
    InvalidQosOverridesError,
    QoSOverridingOptions,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    SetParametersResult,
)
from dyn_nodes.middleware.lifecycle import end_lifecycle
from dyn_nodes.nodes.exchange import EXCHANGE_TOPICS
from dyn_nodes.nodes.guarded import GuardedNode
from dyn_nodes.nodes.neighbours import TOPIC, Neighbours, count_made, require_alone
from dyn_nodes.nodes.parameters import ParameterError

KINDS = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)


class OverridableNode(GuardedNode):
    """A node with overridable history, depth and reliability of every topic that it creates.

    Attributes:
        lockstep: whether overrides that could lose a message of the exchange are rejected.
        paced: real time: the other topics may be overridden freely.
        is_sole: whether only one node of its name may be in a domain, as two would both answer.
        watches_ages: whether the ages of joint states matter, which need a declared clock.
        is_managed: whether the node has a life cycle (`managed`).
        is_active: whether messages and timers are served.
        measurements: topics that need a single publisher each; with a slash at the end, a prefix of their names.
        neighbours: detection of other machines; None for a node without measurements.
    """

    lockstep = False
    paced = False
    is_sole = watches_ages = False
    is_managed, is_active = False, True
    measurements: tuple[str, ...] = (TOPIC,)
    neighbours: Neighbours | None = None
    received = 0

    def __init__(self, name: str, **options: Any) -> None:
        self._is_made = False  # rclpy creates its own topics while it creates a node
        super().__init__(name, **options)
        self._is_made = True
        self._is_checked = not self.is_sole
        count_made(self)

    @property
    def live(self) -> bool:
        """Return whether joint states may be measured on a real machine, which does not wait for answers."""
        return not self.lockstep

    @property
    def has_started(self) -> bool:
        """Return whether joint states were received."""
        return self.received > 0

    def _require_alone(self) -> None:
        """Raise ParameterError, before the first topic is created, if another node of this name is in the graph."""
        if self._is_made and not self._is_checked:
            self._is_checked = True
            require_alone(self)

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **options: Any) -> Any:
        """Create a publisher.

        Raises:
            ParameterError: an override is rejected.
        """
        self._require_alone()
        return self._create(super().create_publisher, (msg_type, topic), qos_profile, options)

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any) -> Any:
        """Create a subscription.

        Raises:
            ParameterError: an override is rejected.
        """
        self._require_alone()
        if any(topic == name or (name.endswith('/') and topic.startswith(name)) for name in self.measurements):
            self.neighbours = self.neighbours or Neighbours(self)
            self.neighbours.topics.append(topic)
            callback = self._unless_mixed(topic, callback)
        callback = self._while_active(callback)
        return self._create(super().create_subscription, (msg_type, topic, callback), qos_profile, options)

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **options: Any) -> Any:
        """Create a timer, which a managed node ignores unless it is active."""
        return super().create_timer(timer_period_sec, callback and self._while_active(callback), *args, **options)

    def destroy_node(self) -> None:
        """Destroy the node, and its life cycle."""
        end_lifecycle(self)
        super().destroy_node()

    def _while_active(self, callback: Any) -> Any:
        """Return a callback that does nothing while a managed node is not active."""
        if not self.is_managed:
            return callback

        @functools.wraps(callback)
        def served(*arguments: Any) -> None:
            if self.is_active:
                callback(*arguments)

        return served

    def _unless_mixed(self, topic: str, callback: Any) -> Any:
        """Return a callback that ignores measurements of a real machine while they have two publishers."""

        @functools.wraps(callback)
        def taken(msg: Any) -> None:
            if self.neighbours is None or not (self.neighbours.is_mixed_on(topic) and self.live):
                callback(msg)

        return taken

    def _create(self, create: Any, arguments: tuple[Any, ...], qos_profile: Any, options: dict[str, Any]) -> Any:
        if not self._is_made or 'qos_overriding_options' in options:
            return create(*arguments, qos_profile, **options)
        qos = copy.copy(qos_profile) if isinstance(qos_profile, QoSProfile) else QoSProfile(depth=qos_profile)
        original = copy.copy(qos)
        counts = self.lockstep and (not self.paced or arguments[1] in EXCHANGE_TOPICS)

        def check(result: QoSProfile) -> Any:
            reason = lossy(original, result) if counts else ''
            return SetParametersResult(successful=not reason, reason=reason)

        overriding = QoSOverridingOptions(KINDS, callback=check)
        try:
            return create(*arguments, qos, qos_overriding_options=overriding, **options)
        except InvalidQosOverridesError as error:
            raise ParameterError(str(error)) from None
        except RuntimeError as error:
            if 'QoS override' not in str(error):
                raise
            raise ParameterError(f'{arguments[1]}: {error}') from None


def lossy(original: QoSProfile, result: QoSProfile) -> str:
    """Return why overrides may lose a message of a lockstep exchange, or ''."""
    if original.reliability == ReliabilityPolicy.RELIABLE != result.reliability:
        return 'lockstep needs reliable messages'
    if original.history == HistoryPolicy.KEEP_ALL != result.history:
        return 'lockstep needs to keep all messages'
    if result.history != HistoryPolicy.KEEP_ALL and result.depth < original.depth:
        return f'lockstep needs a depth of {original.depth} or more, found {result.depth}'
    return ''
