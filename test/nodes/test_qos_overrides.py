"""QoS of the nodes' topics by parameters: used, described, and rejected if it would break a lockstep exchange."""

from __future__ import annotations

import time
from typing import Any

import pytest
from timeouts import scaled_timeout

from dyn_nodes.middleware import (
    Context,
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQosOverridesError,
    Node,
    Parameter,
    QoSOverridingOptions,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    SetParametersResult,
    init,
    message,
)
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import ParameterError

Float64 = message('std_msgs/msg/Float64')


def overrides(topic: str, **policies: Any) -> list[Parameter]:
    return [Parameter(f'qos_overrides.{topic}.{name.replace("__", ".")}', value=v) for name, v in policies.items()]


def test_a_publisher_and_a_subscription_use_the_overrides_of_parameters(context: Any) -> None:
    parameters = overrides('/yard/load', publisher__depth=3, publisher__reliability='best_effort') + overrides(
        '/yard/load', subscription__history='keep_all'
    )
    node = OverridableNode('weigher', namespace='yard', context=context, parameter_overrides=parameters)
    profile = QoSProfile(depth=7, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(Float64, 'load', profile)
    subscription = node.create_subscription(Float64, 'load', print, 7)
    assert (publisher.qos_profile.depth, publisher.qos_profile.reliability) == (3, ReliabilityPolicy.BEST_EFFORT)
    assert publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert (subscription.qos_profile.history, subscription.qos_profile.depth) == (HistoryPolicy.KEEP_ALL, 7)
    assert profile == QoSProfile(depth=7, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # others may use it too
    names = set(node.get_parameters_by_prefix('qos_overrides./yard/load'))
    policies = ('history', 'depth', 'reliability')
    assert names == {f'{kind}.{policy}' for kind in ('publisher', 'subscription') for policy in policies}
    depth = node.describe_parameter('qos_overrides./yard/load.publisher.depth')
    assert depth.description.startswith('depth for publisher `/yard/load`')  # Jazzy's rclpy adds the id, None or not
    assert depth.read_only
    assert node.create_publisher(Float64, 'load', 7).qos_profile.depth == 3  # a second one takes the same


def test_another_process_sees_the_override(context: Any, tester: Any) -> None:
    other = Context()
    init(args=['other', '--ros-args', '-p', 'qos_overrides./load.publisher.reliability:=best_effort'], context=other)
    try:
        node = OverridableNode('weigher', context=other)  # rclpy ends a node that is not kept
        node.create_publisher(Float64, 'load', 10)
        infos: list[Any] = []
        deadline = time.monotonic() + scaled_timeout(20.0)
        while not infos and time.monotonic() < deadline:
            infos = tester.node.get_publishers_info_by_topic('/load')
        assert [info.qos_profile.reliability for info in infos] == [ReliabilityPolicy.BEST_EFFORT]
    finally:
        other.try_shutdown()


@pytest.mark.parametrize(
    ('policies', 'text'),
    [
        ({'publisher__reliability': 'best_effort'}, r'`/load`.*, are not valid: lockstep needs reliable messages'),
        ({'publisher__depth': 9}, r'lockstep needs a depth of 10 or more, found 9'),
        ({'publisher__reliability': 'sure'}, r'load: Unexpected QoS override for policy `reliability`: `sure`'),
    ],
)
def test_a_bad_override_is_rejected(context: Any, policies: dict[str, Any], text: str) -> None:
    node = OverridableNode('weigher', context=context, parameter_overrides=overrides('/load', **policies))
    node.lockstep = True
    with pytest.raises(ParameterError, match=text):
        node.create_publisher(Float64, 'load', 10)


@pytest.mark.parametrize('policies', [{'publisher__depth': 11}, {'publisher__history': 'keep_all'}])
def test_lockstep_takes_an_override_that_loses_nothing(context: Any, policies: dict[str, Any]) -> None:
    node = OverridableNode('weigher', context=context, parameter_overrides=overrides('/load', **policies))
    node.lockstep = True
    node.create_publisher(Float64, 'load', 10)


def test_the_options_are_those_of_rclpy(context: Any) -> None:
    parameters = overrides('/load', publisher_left__lifespan=5_000_000, subscription__depth=2)
    node = Node('weigher', context=context, parameter_overrides=parameters)
    kinds = (QoSPolicyKind.LIFESPAN, QoSPolicyKind.DURABILITY)
    publisher = node.create_publisher(
        Float64, 'load', 10, qos_overriding_options=QoSOverridingOptions(kinds, entity_id='left')
    )
    assert publisher.qos_profile.lifespan.nanoseconds == 5_000_000
    assert node.get_parameter('qos_overrides./load.publisher_left.durability').value == 'volatile'

    def reject(profile: QoSProfile) -> Any:
        return SetParametersResult(successful=profile.depth > 2, reason='too shallow')

    with pytest.raises(InvalidQosOverridesError, match='too shallow'):
        node.create_subscription(
            Float64,
            'load',
            print,
            10,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(callback=reject),
        )
    subscription = node.create_subscription(
        Float64, 'load', print, 10, qos_overriding_options=QoSOverridingOptions((QoSPolicyKind.LIFESPAN,))
    )
    assert subscription.qos_profile.depth == 10
    assert not node.has_parameter('qos_overrides./load.subscription.lifespan')


def test_a_node_that_is_started_with_a_bad_override_ends_with_one_line(start_node: Any) -> None:
    override = {'qos_overrides./valve_commands.publisher.history': 'some'}
    process = start_node('teleop_node', machine='log_loader', **override)
    status, errors = process.finish()
    assert status == 1
    assert errors == 'teleop_node: valve_commands: Unexpected QoS override for policy `history`: `some`\n'
