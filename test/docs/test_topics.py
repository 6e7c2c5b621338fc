"""The page of topics against the nodes, and against conventions of ROS."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from domains import next_domain

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs'))
import topics  # noqa: E402

PAGE = topics.PAGE.read_text(encoding='utf-8')
ROW = re.compile(r'\| `(\S+)` \| (\S+) \| (in|out) \| (.*?) \| (.*?) \|')
ROWS = ROW.findall(PAGE)
FAST = ('teleop_node', 'controller_node', 'hydraulic_actuator_node')


@pytest.mark.parametrize('name', [pytest.param(n, marks=() if n in FAST else pytest.mark.slow) for n in topics.NODES])
def test_the_page_has_what_the_nodes_create(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    assert topics.section(name) in PAGE, 'run python docs/topics.py'


def test_topics_have_one_type_and_the_names_of_ros() -> None:
    """REP 105 and 107: absolute names of the graph, relative names of a machine."""
    assert len(ROWS) > 120
    absolute = {topic for topic, *_ in ROWS if topic.startswith('/')}
    assert absolute == {'/clock', '/diagnostics', '/tf', '/tf_static'}
    kinds: dict[str, set[str]] = {}
    for topic, kind, *_ in ROWS:
        kinds.setdefault(topic, set()).add(kind)
    assert {topic: kind for topic, kind in kinds.items() if len(kind) > 1} == {}
    for topic, kind in (
        ('joint_states', 'sensor_msgs/msg/JointState'),
        ('joint_command', 'sensor_msgs/msg/JointState'),
        ('odom', 'nav_msgs/msg/Odometry'),
        ('imu', 'sensor_msgs/msg/Imu'),
        ('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray'),
        ('robot_description', 'std_msgs/msg/String'),
    ):
        assert kinds[topic] == {kind}


def test_qos_suits_the_tools_of_ros() -> None:
    """Publishers are reliable, so that any subscription matches; descriptions and static frames are latched."""
    for topic, _, direction, *modes in ROWS:
        for qos in filter(None, modes):
            reliability, durability, _ = qos.split(', ')
            if direction == 'out':
                assert reliability == 'reliable', topic
            if topic in ('robot_description', '/tf_static'):
                assert durability == 'transient local', topic
            if direction == 'in' and topic == 'joint_states':
                assert durability == 'volatile', topic
