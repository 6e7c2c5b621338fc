"""Nodes on a ROS 2 that has no tf2_msgs, such as the wheels of rclpy: they run, and warn that /tf is missing."""

from __future__ import annotations

from dyn_nodes.middleware import Node
from dyn_nodes.nodes import transforms
from dyn_nodes.nodes.dynamics_node import DynamicsNode


def test_an_unknown_message_package_gives_no_class():
    assert transforms.optional_message('no_such_package/msg/Thing') is None
    assert transforms.optional_message('geometry_msgs/msg/TransformStamped') is transforms.TransformStamped


def test_the_dynamics_node_starts_without_tf2_msgs(make_node, monkeypatch):
    made, warned = [], []
    monkeypatch.setattr(transforms, 'TFMessage', None)
    create = Node.create_publisher

    def recorded(node, kind, topic, *rest, **options):
        made.append(topic)
        return create(node, kind, topic, *rest, **options)

    monkeypatch.setattr(Node, 'create_publisher', recorded)
    monkeypatch.setattr(Node, 'get_logger', lambda node: Log(warned))
    node = make_node(DynamicsNode)
    node.reporter.tf.publish([], 0)
    node.announce()
    assert 'odom' in made
    assert '/tf' not in made
    assert '/tf_static' not in made
    assert [line for line in warned if 'tf2_msgs is not installed: /tf ' in line]


class Log:
    def __init__(self, lines):
        self.lines = lines

    def warn(self, text, **_):
        self.lines.append(text)

    def info(self, text, **_):
        pass
