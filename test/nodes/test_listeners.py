"""Who else publishes on a topic: every publisher counts, whatever its node is called."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dyn_nodes.nodes.listeners import other_publishers

COCKPIT = '/', 'viewer_node'


class Graph:
    """A node among publishers of one topic.

    Args:
        name: namespace and name of the node.
        offered: topics of its publishers.
        seen: namespaces and names of the nodes of all publishers of `/valve_commands`.
    """

    def __init__(self, name, offered, seen):
        self.name = name
        self.publishers = [SimpleNamespace(topic_name=topic) for topic in offered]
        self.seen = seen

    def get_fully_qualified_name(self):
        return f'{self.name[0].rstrip("/")}/{self.name[1]}'

    def resolve_topic_name(self, topic):
        return f'/{topic}'

    def get_publishers_info_by_topic(self, topic):
        assert topic == '/valve_commands'
        return [SimpleNamespace(node_namespace=space, node_name=name) for space, name in self.seen]


@pytest.mark.parametrize(
    ('offered', 'seen', 'others'),
    [
        ((), (), []),
        (('/valve_commands', '/payload'), (COCKPIT,), []),
        (('/valve_commands',), (COCKPIT, COCKPIT), ['/viewer_node']),
        (('/payload',), (COCKPIT,), ['/viewer_node']),
        ((), (('/b', 'teleop_node'), ('/a', 'teleop_node')), ['/a/teleop_node', '/b/teleop_node']),
        ((), (('/', 'source'), ('/', 'source')), ['/source', '/source']),
        (('/valve_commands',), (('/b', 'viewer_node'), COCKPIT), ['/b/viewer_node']),
        (('/valve_commands',), (), []),
    ],
    ids=[
        'none',
        'its publisher is not another one',
        'a cockpit of the same name',
        'a cockpit of the same name while this one commands nothing',
        'one name in two namespaces',
        'one name twice, or one node with two publishers',
        'its name in another namespace',
        'its publisher is not seen yet',
    ],
)
def test_every_publisher_of_another_node_counts_with_its_full_name(offered, seen, others):
    assert other_publishers(Graph(COCKPIT, offered, seen), 'valve_commands') == others
