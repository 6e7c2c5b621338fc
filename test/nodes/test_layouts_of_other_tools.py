"""The layouts for RViz, PlotJuggler and Foxglove name nothing that the nodes do not publish."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from domains import next_domain

from dyn_nodes.commands.rviz_layout import machine_layout
from dyn_nodes.middleware import Context, Parameter, init, type_name
from dyn_nodes.nodes.machines import machine_of

DOMAIN = next_domain()
CONFIG = Path(__file__).resolve().parents[2] / 'config'


@pytest.fixture(scope='module')
def published():
    """Types by topic of everything that the log-loader's nodes publish."""
    from dyn_nodes.nodes.controller_node import ControllerNode
    from dyn_nodes.nodes.dynamics_node import DynamicsNode
    from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
        made = Context()
        init(args=['layouts'], context=made)
        overrides = [Parameter(name, value=value) for name, value in (('machine', 'log_loader'), ('mode', 'lockstep'))]
        types = {}
        for kind in (DynamicsNode, HydraulicActuatorNode, ControllerNode):
            node = kind(context=made, parameter_overrides=overrides)
            types.update({publisher.topic_name: type_name(publisher.msg_type) for publisher in node.publishers})
        made.try_shutdown()
    return types


def rviz_displays(entries):
    for entry in entries:
        yield entry
        yield from rviz_displays(entry.get('Displays', ()))


def test_rviz_shows_topics_of_the_right_type(published):
    layout = machine_layout(machine_of('log_loader', ''))
    wanted = {
        'rviz_default_plugins/RobotModel': 'std_msgs/msg/String',
        'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
        'rviz_default_plugins/Polygon': 'geometry_msgs/msg/PolygonStamped',
        'rviz_default_plugins/PointStamped': 'geometry_msgs/msg/PointStamped',
        'rviz_default_plugins/Wrench': 'geometry_msgs/msg/WrenchStamped',
        'rviz_default_plugins/Odometry': 'nav_msgs/msg/Odometry',
    }
    seen = set()
    for display in rviz_displays(layout['Visualization Manager']['Displays']):
        topic = display.get('Topic') or display.get('Description Topic')
        seen.add(display['Class'])
        if topic is not None:
            assert published[f'/{topic["Value"].lstrip("/")}'] == wanted[display['Class']], topic
    assert set(wanted) | {'rviz_default_plugins/TF', 'rviz_default_plugins/Grid'} <= seen
    assert layout['Visualization Manager']['Global Options']['Fixed Frame'] == 'odom'


def test_rviz_gets_the_latched_description():
    layout = machine_layout(machine_of('log_loader', ''))
    displays = rviz_displays(layout['Visualization Manager']['Displays'])
    model = next(display for display in displays if display['Class'] == 'rviz_default_plugins/RobotModel')
    assert model['Description Topic']['Durability Policy'] == 'Transient Local'
    assert model['Description Topic']['Reliability Policy'] == 'Reliable'


def test_plotjuggler_draws_topics_that_are_there(published):
    root = ET.parse(CONFIG / 'log_loader.plotjuggler.xml').getroot()
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) > 20
    assert [name for name in curves if not any(name.startswith(f'{topic}/') for topic in published)] == []
    for splitter in root.iter('DockSplitter'):
        assert len(splitter.get('sizes').split(';')) == int(splitter.get('count')) == len(list(splitter))


def test_foxglove_draws_topics_that_are_there(published):
    layout = json.loads((CONFIG / 'log_loader.foxglove.json').read_text())
    panels = layout['configById']
    paths = [path['value'] for panel in panels.values() for path in panel.get('paths', ())]
    topics = {re.split(r'[.\[]', path)[0] for path in paths} | set(panels['3D!machine']['topics'])
    assert topics - set(published) == set()
    assert layout['configById']['3D!machine']['layers']['machine']['topic'] in published

    def leaves(node):
        return [node] if isinstance(node, str) else [*leaves(node['first']), *leaves(node['second'])]

    assert sorted(leaves(layout['layout'])) == sorted(panels), 'every panel has one place'
