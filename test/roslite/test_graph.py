from __future__ import annotations

import pytest

from roslite.runtime.api import Node, message, service
from roslite.runtime.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

Float64 = message('std_msgs/msg/Float64')
Trigger = service('std_srvs/srv/Trigger')


@pytest.fixture
def worker(context):
    made = Node('worker', namespace='/yard', context=context)
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    made.create_publisher(Float64, 'load', latched)
    made.create_subscription(Float64, 'command', lambda msg: None, best_effort)
    made.create_service(Trigger, '~/reset', lambda request, response: response)
    made.create_client(Trigger, '/home')
    return made


def test_topics_services_and_nodes_are_listed(node, worker):
    topics = dict(node.get_topic_names_and_types())
    assert topics['/yard/load'] == ['std_msgs/msg/Float64']
    assert topics['/yard/command'] == ['std_msgs/msg/Float64']
    assert topics['/rosout'] == ['rcl_interfaces/msg/Log']
    assert 'ros_discovery_info' not in topics
    services = dict(node.get_service_names_and_types())
    assert services['/yard/worker/reset'] == ['std_srvs/srv/Trigger']
    assert '/home' not in services
    assert set(node.get_node_names_and_namespaces()) == {('tester', '/'), ('worker', '/yard')}
    assert set(node.get_fully_qualified_node_names()) == {'/tester', '/yard/worker'}
    assert ('ros_discovery_info', ['rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_']) in (
        node.get_topic_names_and_types(no_demangle=True)
    )


def test_endpoints_are_listed_by_node(node, worker):
    def topics(pairs):
        return {name for name, _ in pairs}

    assert '/yard/load' in topics(node.get_publisher_names_and_types_by_node('worker', '/yard'))
    assert topics(node.get_subscriber_names_and_types_by_node('worker', '/yard')) == {'/yard/command'}
    assert '/yard/worker/reset' in topics(node.get_service_names_and_types_by_node('worker', '/yard'))
    assert node.get_client_names_and_types_by_node('worker', '/yard') == [('/home', ['std_srvs/srv/Trigger'])]
    with pytest.raises(RuntimeError, match="'/nobody': no such node"):
        node.get_publisher_names_and_types_by_node('nobody', '/')


def test_endpoints_of_a_topic_are_described(node, worker):
    info = node.get_publishers_info_by_topic('/yard/load')[0]
    assert (info.node_name, info.node_namespace) == ('worker', '/yard')
    assert info.topic_type == 'std_msgs/msg/Float64'
    assert info.topic_type_hash.startswith('RIHS01_')
    assert info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    info = node.get_subscriptions_info_by_topic('/yard/command')[0]
    assert info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert len(info.endpoint_gid) == 16


def test_endpoints_are_counted(node, worker):
    assert node.count_publishers('/yard/load') == 1
    assert node.count_subscribers('/yard/load') == 0
    assert node.count_publishers('load') == 0  # relative to this node
    assert node.count_services('/yard/worker/reset') == 1
    assert node.count_clients('/home') == 1
    worker.destroy_node()
    assert node.count_publishers('/yard/load') == 0
    assert node.get_node_names_and_namespaces() == [('tester', '/')]


def test_waiting_for_a_node(node, worker):
    assert node.wait_for_node('/yard/worker', 1.0)
    assert not node.wait_for_node('/nobody', 0.05)


def test_changes_are_counted_at_once_and_an_unchanged_graph_is_not_read_again(node, worker, monkeypatch):
    from roslite.runtime import dds

    assert node.count_publishers('/yard/late') == 0
    for _ in range(3):
        late = worker.create_publisher(Float64, 'late', 1)
        assert node.count_publishers('/yard/late') == 1
        worker.destroy_publisher(late)
        assert node.count_publishers('/yard/late') == 0
    reads = []
    read = dds.read_discovered

    def counted(reader, condition):
        reads.append(reader)
        return read(reader, condition)

    monkeypatch.setattr(dds, 'read_discovered', counted)
    for _ in range(5):
        node.get_publishers_info_by_topic('/yard/load')
    # participants of other tests on this domain may still appear or disappear
    assert len(reads) <= 4
