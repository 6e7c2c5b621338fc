"""Who listens to a topic in the graph."""

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
