"""Overriding a topic's QoS by parameters, as rclpy's `qos_overriding_options`.

A publisher or subscription made with such options declares `qos_overrides.<topic>.publisher.<policy>` (or
`.subscription.`) and takes the policies from there; with an entity id, `.publisher_<id>.`.
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
    """The overrides of a topic were refused."""


class QoSOverridingOptions:
    """Which policies may be overridden.

    Args:
        policy_kinds: the policies.
        callback: looks at the profile that results and returns a result with `successful` and `reason`.
        entity_id: distinguishes several publishers or subscriptions of a topic in one node.
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
    """Declare the parameters of a publisher or subscription; return its profile with what they say.

    Args:
        node: the node.
        entity: 'publisher' or 'subscription'.
        topic: resolved name.
        qos: the profile of the code; left as it is.
        options: what may be overridden.

    Raises:
        InvalidQosOverridesError: the callback refuses the result.
        RuntimeError: a policy has no such value.
    """
    result = copy.copy(qos)
    suffix = f'_{options.entity_id}' if options.entity_id else ''
    told = f'for {entity} `{topic}`' + (f' with id `{options.entity_id}`' if options.entity_id else '')
    for kind in options.policy_kinds:
        if kind == QoSPolicyKind.LIFESPAN and entity == 'subscription':
            continue  # samples get old where they are sent
        policy = kind.name.lower()
        name = f'qos_overrides.{topic}.{entity}{suffix}.{policy}'
        descriptor = ParameterDescriptor(description=f'{policy} {told}', read_only=True)
        try:
            parameter = node.declare_parameter(name, _plain(getattr(qos, policy)), descriptor)
        except ParameterAlreadyDeclaredException:
            parameter = node.get_parameter(name)
        setattr(result, policy, _policy(kind, parameter.value))
    if options.callback is not None:
        answer = options.callback(result)
        if not answer.successful:
            raise InvalidQosOverridesError(f'Provided QoS overrides {told}, are not valid: {answer.reason}')
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
