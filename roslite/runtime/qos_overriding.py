"""Override of a topic's QoS by parameters, like rclpy's `qos_overriding_options`.

A publisher or subscription with such options declares the parameters `qos_overrides.<topic>.publisher.<policy>` (or
`.subscription.`) and uses the policies in them; with an entity id, `.publisher_<id>.`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from roslite.errors import UserError

from .exceptions import ParameterAlreadyDeclaredException
from .parameters import ParameterDescriptor
from .qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)
from .time import Duration

_NAMED: dict[QoSPolicyKind, type[IntEnum]] = {
    QoSPolicyKind.HISTORY: HistoryPolicy,
    QoSPolicyKind.RELIABILITY: ReliabilityPolicy,
    QoSPolicyKind.DURABILITY: DurabilityPolicy,
    QoSPolicyKind.LIVELINESS: LivelinessPolicy,
}
_DURATIONS = (QoSPolicyKind.DEADLINE, QoSPolicyKind.LIFESPAN, QoSPolicyKind.LIVELINESS_LEASE_DURATION)


class InvalidQosOverridesError(UserError):
    """Rejected overrides of a topic."""


class QoSOverridingOptions:
    """Policies that may be overridden.

    Args:
        policy_kinds: the policies.
        callback: function that checks the resulting profile and returns a result with `successful` and `reason`.
        entity_id: id of one of several publishers or subscriptions of a topic in one node.
    """

    def __init__(
        self,
        policy_kinds: Sequence[QoSPolicyKind],
        *,
        callback: Callable[[QoSProfile], Any] | None = None,
        entity_id: str | None = None,
    ) -> None:
        self.policy_kinds = policy_kinds
        self.callback = callback
        self.entity_id = entity_id

    @classmethod
    def with_default_policies(
        cls, *, callback: Callable[[QoSProfile], Any] | None = None, entity_id: str | None = None
    ) -> QoSOverridingOptions:
        """Return options for history, depth and reliability."""
        kinds = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
        return cls(kinds, callback=callback, entity_id=entity_id)


def override_qos(node: Any, entity: str, topic: str, qos: QoSProfile, options: QoSOverridingOptions) -> QoSProfile:
    """Declare the parameters of a publisher or subscription; return its profile with their values.

    Args:
        node: the node.
        entity: 'publisher' or 'subscription'.
        topic: resolved name.
        qos: default profile; not modified.
        options: policies that may be overridden.

    Raises:
        InvalidQosOverridesError: the callback rejects the result.
        RuntimeError: an invalid value of a policy.
    """
    result = copy.copy(qos)
    suffix = f'_{options.entity_id}' if options.entity_id else ''
    subject = f'for {entity} `{topic}`' + (f' with id `{options.entity_id}`' if options.entity_id else '')
    for kind in options.policy_kinds:
        if kind == QoSPolicyKind.LIFESPAN and entity == 'subscription':
            continue  # lifespan is a policy of publishers
        policy = kind.name.lower()
        name = f'qos_overrides.{topic}.{entity}{suffix}.{policy}'
        descriptor = ParameterDescriptor(description=f'{policy} {subject}', read_only=True)
        try:
            parameter = node.declare_parameter(name, _plain(getattr(qos, policy)), descriptor)
        except ParameterAlreadyDeclaredException:
            parameter = node.get_parameter(name)
        setattr(result, policy, _policy(kind, parameter.value))
    if options.callback is not None:
        answer = options.callback(result)
        if not answer.successful:
            raise InvalidQosOverridesError(f'Provided QoS overrides {subject}, are not valid: {answer.reason}')
    return result


def _plain(value: Any) -> Any:
    """Return a policy as a parameter's value."""
    if isinstance(value, IntEnum):
        return value.name.lower()
    return value.nanoseconds if isinstance(value, Duration) else value


def _policy(kind: QoSPolicyKind, value: Any) -> Any:
    """Return a parameter's value as a policy."""
    if kind in _NAMED:
        try:
            return _NAMED[kind][value.upper()]
        except KeyError:
            raise RuntimeError(f'Unexpected QoS override for policy `{kind.name.lower()}`: `{value}`') from None
    return Duration(nanoseconds=value) if kind in _DURATIONS else value
