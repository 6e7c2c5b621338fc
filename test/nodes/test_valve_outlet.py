"""Topic of manual volts: the valves or a governor, also with other names and in namespaces."""

from __future__ import annotations

import pytest

from dyn_nodes.middleware import Node, message
from dyn_nodes.nodes.valve_outlet import ValveOutlet

Volts, Scale = message('std_msgs/msg/Float64MultiArray'), message('std_msgs/msg/Float64')


@pytest.fixture
def make(context):
    nodes = []

    def make(name, namespace='', *remaps):
        words = ['--ros-args', *(word for remap in remaps for word in ('-r', remap))]
        nodes.append(Node(name, namespace=namespace, context=context, cli_args=words))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def take_levers(node, levers='valve_commands_in'):
    """Create the publishers and subscriptions of a governor."""
    node.create_publisher(Volts, 'valve_commands', 10)
    node.create_publisher(Scale, 'governor/scale', 10)
    node.create_subscription(Volts, levers, print, 10)


def test_without_a_governor_volts_go_to_the_valves(make, tester):
    taken = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    outlet = ValveOutlet(make('teleop'), ['boom'])
    outlet.open()
    tester.until(lambda: outlet._node.count_subscribers('valve_commands'))
    outlet.publish([2.0])
    tester.until(lambda: taken)
    assert outlet.topic == '/valve_commands'
    assert not outlet.is_governed
    assert outlet.blocked == ''


@pytest.mark.parametrize('namespace', ['', '/crane'])
def test_with_a_governor_they_go_to_it(make, tester, namespace):
    take_levers(make('governor', namespace))
    node = make('teleop', namespace)
    tester.until(lambda: node.count_subscribers(f'{namespace}/valve_commands_in'))
    outlet = ValveOutlet(node, ['boom'])
    assert outlet.topic == f'{namespace}/valve_commands_in'
    assert outlet.is_governed


def test_where_a_governor_has_to_be_they_never_go_to_the_valves(make):
    """It has not been seen yet, or it has ended before the gamepad's node began."""
    outlet = ValveOutlet(make('teleop'), ['boom'], governed=True)
    outlet.publish([2.0])
    assert outlet.topic == '/valve_commands_in'
    assert outlet.is_governed


def test_a_governor_that_listens_elsewhere_keeps_volts_from_the_valves_until_they_are_remapped(make, tester):
    taken = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    take_levers(make('governor'), 'levers')
    node = make('teleop')
    outlet = ValveOutlet(node, ['boom'])
    outlet.open()
    tester.until(lambda: node.count_publishers('governor/scale') and node.count_subscribers('valve_commands'))
    assert outlet.blocked.startswith('a governor without a subscription to valve_commands_in')
    for _ in range(5):
        outlet.publish([2.0])
        tester.for_seconds(0.05)
    assert taken == []
    remapped = ValveOutlet(make('teleop_too', '', 'valve_commands:=levers'), ['boom'])
    assert (remapped.topic, remapped.blocked) == ('/levers', '')


def test_volts_for_a_machine_in_a_namespace_go_to_its_governor(make, tester):
    take_levers(make('governor_of_a'))
    node = make('teleop', '', 'valve_commands:=/crane_b/valve_commands')
    tester.until(lambda: node.count_subscribers('/valve_commands_in'))
    outlet = ValveOutlet(node, ['boom'])
    assert outlet.topic == '/crane_b/valve_commands', 'not the governor of the other machine'
    assert outlet.blocked == ''
    take_levers(make('governor_of_b', '/crane_b'))
    tester.until(lambda: node.count_subscribers('/crane_b/valve_commands_in'))
    assert outlet.topic == '/crane_b/valve_commands_in'


@pytest.mark.parametrize('namespace', ['', '/crane'])
def test_a_held_key_goes_to_a_governor_that_permits_it_and_its_release_once(make, tester, namespace):
    keys = tester.listen('std_msgs/msg/Bool', f'{namespace}/governor/override')
    governor, node = make('governor', namespace), make('teleop', namespace)
    outlet = ValveOutlet(node, ['boom'])
    outlet.override(True)
    assert not outlet.offers_override
    assert not node.count_publishers('governor/override'), 'no governor, no key'
    take_levers(governor)
    governor.create_subscription(message('std_msgs/msg/Bool'), 'governor/override', print, 1)
    tester.until(lambda: outlet.offers_override)

    def is_received():
        outlet.override(True)
        return keys

    tester.until(is_received)
    for _ in range(3):
        outlet.override(False)
    tester.until(lambda: not keys[-1].data)
    tester.for_seconds(0.3)
    assert [key.data for key in keys].count(False) == 1
