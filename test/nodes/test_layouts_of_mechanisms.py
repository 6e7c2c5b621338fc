"""The RViz layouts of machines with constraints name nothing that their nodes do not publish."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from domains import next_domain

from dyn_nodes.commands.rviz_layout import machine_layout
from dyn_nodes.middleware import Context, Parameter, init, type_name
from dyn_nodes.nodes.machines import machine_of

pytestmark = pytest.mark.simulated

DOMAIN = next_domain()
CONFIG = Path(__file__).resolve().parents[2] / 'config'
TYPES = {
    'RobotModel': 'std_msgs/msg/String',
    'MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'Wrench': 'geometry_msgs/msg/WrenchStamped',
    'Polygon': 'geometry_msgs/msg/PolygonStamped',
    'PointStamped': 'geometry_msgs/msg/PointStamped',
    'Odometry': 'nav_msgs/msg/Odometry',
}


def displays(entries):
    for entry in entries:
        yield entry
        yield from displays(entry.get('Displays', ()))


MECHANISMS = [
    'five_bar',
    'three_leg_device',
    'bricard',
    'spatial_slider_crank',
    'stewart_platform',
    'hybrid_device',
    'redundant_device',
    'two_finger_hand',
    'walker',
]


@pytest.mark.parametrize('machine', MECHANISMS)
def test_rviz_shows_the_reaction_of_every_constraint(machine):
    """Without a node, whose machine would have to be compiled."""
    layout = machine_layout(machine_of(machine, ''))
    topics = [
        display.get('Topic', {}).get('Value', '') for display in displays(layout['Visualization Manager']['Displays'])
    ]
    shown = [topic.removeprefix('constraint_reactions/') for topic in topics if '_reactions/' in topic]
    constraints = yaml.safe_load((CONFIG / f'{machine}.yaml').read_text())['constraints']
    assert shown == list(constraints)


@pytest.mark.parametrize(
    'machine',
    [
        *('four_bar', 'slider_crank', 'planar_arms', 'spatial_arms', 'cart', 'disc', 'log_loader_linkage', 'excavator'),
        *(pytest.param(machine, marks=pytest.mark.slow) for machine in MECHANISMS),
    ],
)
def test_rviz_shows_every_reaction(machine, monkeypatch):
    from dyn_nodes.nodes.dynamics_node import DynamicsNode

    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    context = Context()
    init(args=['layouts'], context=context)
    overrides = [Parameter(name, value=value) for name, value in (('machine', machine), ('mode', 'lockstep'))]
    node = DynamicsNode(context=context, parameter_overrides=overrides)
    published = {publisher.topic_name: type_name(publisher.msg_type) for publisher in node.publishers}
    context.try_shutdown()
    layout = machine_layout(machine_of(machine, ''))
    shown = {}
    for display in displays(layout['Visualization Manager']['Displays']):
        topic = display.get('Topic') or display.get('Description Topic')
        if topic is not None:
            shown[f'/{topic["Value"]}'] = TYPES[display['Class'].split('/')[1]]
    assert {topic: published.get(topic) for topic in shown} == shown
    assert {topic for topic in published if '_reactions/' in topic} <= set(shown)
