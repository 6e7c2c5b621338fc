"""Named values with a stamp (DynamicInterfaceGroupValues): margins, edges, load moment, valve commands."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from node_testing import EFFORTS, JOINTS, POSTURE, Tester, joint_state

from dyn_nodes.middleware import RUNTIME, QoSProfile, message, register_message
from dyn_nodes.nodes import group_values
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.cartesian_controller_node import CartesianControllerNode
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.group_values import command_publisher, destroy_command_publisher, group_types
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.stamps import nanoseconds_of_stamp
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
DEFINITIONS = {  # of control_msgs 4 to 6
    'control_msgs/msg/InterfaceValue': 'string[] interface_names\nfloat64[] values\n',
    'control_msgs/msg/DynamicInterfaceGroupValues': (
        'std_msgs/Header header\nstring[] interface_groups\ncontrol_msgs/InterfaceValue[] interface_values\n'
    ),
}


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Class of the message, whose definition the embedded runtime gets here."""
    if RUNTIME == 'embedded':
        group, whole = (register_message(name, text) for name, text in DEFINITIONS.items())
        monkeypatch.setattr(group_values, 'group_types', lambda: (whole, group))
        return whole
    pytest.importorskip('control_msgs')
    return message(group_values.TYPE)


def groups_of(msg: Any) -> dict[str, dict[str, float]]:
    assert len(msg.interface_groups) == len(msg.interface_values)
    return {
        group: dict(zip(item.interface_names, item.values, strict=True))
        for group, item in zip(msg.interface_groups, msg.interface_values)
    }


def test_margins_edges_and_load_moment_have_names_and_a_stamp(
    make_node: Callable[..., Any], tester: Tester, kind: Any
) -> None:
    still = {'imu': 'off', 'settling': 0.1, 'state_timeout': 9.0, 'stamp_clock': 'other'}
    node = make_node(StabilityMonitorNode, measures=['zmp', 'load_share'], load_moment_period=0.01, **still)
    received: dict[str, list[Any]] = {'stability': [], 'load_moment': []}
    for name, messages in received.items():
        tester.node.create_subscription(kind, f'/{name}/values', messages.append, 100)
    publishers = (node.reports.values, node.load_moment._values)
    tester.until(lambda: all(item.get_subscription_count() for item in publishers))
    for k in range(91):
        node.receive('joint_states', joint_state(0.01 * k, POSTURE, (0.0, 0.0, 0.0), EFFORTS, JOINTS))
    tester.until(lambda: all(received.values()))
    tester.for_seconds(0.1)
    margins = received['stability'][-1]
    assert nanoseconds_of_stamp(margins.header.stamp) == 900_000_000
    groups = groups_of(margins)
    assert list(groups) == ['zmp', 'load_share']
    for name, values in groups.items():
        margin = node.balance.margins[name]
        assert values.pop('margin') == margin.value
        assert values == dict(zip(node.balance.names(name), margin.edges))
    moment = groups_of(received['load_moment'][0])['load_moment']
    assert list(moment) == ['utilisation', 'rated_load']
    assert moment['rated_load'] == node.load_moment.moment.rated > 0.0
    received['stability'].clear()
    node.withdraw()
    tester.until(lambda: received['stability'])
    assert all(value != value for values in groups_of(received['stability'][0]).values() for value in values.values())


def test_valve_commands_have_names_and_the_instant_that_they_answer(tester: Tester, kind: Any) -> None:
    publisher = command_publisher(tester.node, Float64MultiArray, 'valve_commands', QoSProfile(depth=10))
    assert publisher.topic_name == '/valve_commands'
    plain: list[Any] = []
    named: list[Any] = []
    tester.node.create_subscription(Float64MultiArray, 'valve_commands', plain.append, 10)
    tester.node.create_subscription(kind, 'valve_commands/values', named.append, 10)
    tester.until(lambda: publisher.get_subscription_count() and publisher.values.get_subscription_count())
    volts = volts_message(['boom', 'stick'])
    volts.data = [1.0, -2.5]
    stamp_volts(volts, 1_250_000_000)
    publisher.publish(volts)
    tester.until(lambda: plain and named)
    assert nanoseconds_of_stamp(named[0].header.stamp) == 1_250_000_000
    assert groups_of(named[0]) == {'valve_commands': {'boom': 1.0, 'stick': -2.5}}
    destroy_command_publisher(tester.node, publisher)
    assert tester.node.count_publishers('valve_commands/values') == 0


@pytest.mark.usefixtures('kind')
@pytest.mark.parametrize(
    ('node', 'options'),
    [
        (ControllerNode, {'task': 'none'}),
        (CartesianControllerNode, {}),
        (TipOverGovernorNode, {'mode': 'realtime', 'partner': 'external'}),
    ],
)
def test_nodes_that_command_valves_publish_named_values(
    make_node: Callable[..., Any], node: Any, options: dict[str, Any]
) -> None:
    made = make_node(node, **options)
    assert '/valve_commands/values' in {publisher.topic_name for publisher in made.publishers}


@pytest.mark.skipif(
    RUNTIME != 'embedded' and importlib.util.find_spec('control_msgs') is not None, reason='control_msgs is installed'
)
def test_without_the_type_there_are_no_such_topics(make_node: Callable[..., Any], tester: Tester) -> None:
    assert group_types() is None
    node = make_node(StabilityMonitorNode, imu='off')
    topics = {publisher.topic_name for publisher in node.publishers}
    assert '/stability/zmp' in topics
    assert not {topic for topic in topics if topic.endswith('/values')}
    publisher = command_publisher(tester.node, Float64MultiArray, 'valve_commands', QoSProfile(depth=10))
    assert type(publisher) is type(tester.node.create_publisher(Float64MultiArray, 'x', 1))
    destroy_command_publisher(tester.node, publisher)
