"""Subscriptions and publishers of a topic in the graph."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import Node

RECORDERS = ('recorder_node', 'rosbag2_recorder')
"""Nodes that subscribe to every topic and do not use commands."""


def is_listened_to(node: Node, topic: str) -> bool:
    """Return whether another node that is not a recorder subscribes to a topic."""
    name = node.get_fully_qualified_name()
    for info in node.get_subscriptions_info_by_topic(node.resolve_topic_name(topic)):
        if _name_of(info) != name and info.node_name not in RECORDERS:
            return True
    return False


def other_publishers(node: Node, topic: str) -> list[str]:
    """Return the full node name of each publisher of a topic in other nodes.

    Two nodes of the same full name, or two publishers of one node, are two entries: each is a separate source.
    """
    full, name = node.resolve_topic_name(topic), node.get_fully_qualified_name()
    names = sorted(map(_name_of, node.get_publishers_info_by_topic(full)))
    for publisher in node.publishers:
        if publisher.topic_name == full and name in names:
            names.remove(name)
    return names


def _name_of(info: Any) -> str:
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'
