"""Who listens to a topic in the graph, and who publishes on it."""

from __future__ import annotations

from dyn_nodes.middleware import Node

RECORDERS = ('recorder_node', 'rosbag2_recorder')
"""Nodes that subscribe to every topic and drive nothing."""


def is_listened_to(node: Node, topic: str) -> bool:
    """Return whether another node than this one, and no recorder, subscribes to a topic."""
    own = node.get_fully_qualified_name()
    for info in node.get_subscriptions_info_by_topic(node.resolve_topic_name(topic)):
        name = f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        if name != own and info.node_name not in RECORDERS:
            return True
    return False


def publishers_of(node: Node, topic: str) -> list[str]:
    """Return the names of the nodes that publish on a topic."""
    return sorted({info.node_name for info in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))})
