"""Content of the wire, checked independently by the Python API of Cyclone DDS.

No `from __future__ import annotations` here: it breaks cyclonedds' IDL classes.
"""

import os
import socket
import time
from dataclasses import dataclass

import pytest
from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl import types as idl
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from timeouts import scaled_timeout

from roslite.runtime import dds
from roslite.runtime.api import DurabilityPolicy, Node, QoSProfile, message, service, type_hash


@dataclass
class Gid(IdlStruct, typename='rmw_dds_common::msg::dds_::Gid_'):
    data: idl.array[idl.uint8, 16]


@dataclass
class NodeInfo(IdlStruct, typename='rmw_dds_common::msg::dds_::NodeEntitiesInfo_'):
    node_namespace: idl.bounded_str[256]
    node_name: idl.bounded_str[256]
    reader_gid_seq: idl.sequence[Gid]
    writer_gid_seq: idl.sequence[Gid]


@dataclass
class ParticipantInfo(IdlStruct, typename='rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_'):
    gid: Gid
    node_entities_info_seq: idl.sequence[NodeInfo]


@dataclass
class Vector3(IdlStruct, typename='geometry_msgs::msg::dds_::Vector3_'):
    x: idl.float64
    y: idl.float64
    z: idl.float64


@dataclass
class SetBoolRequest(IdlStruct, typename='std_srvs::srv::dds_::SetBool_Request_'):
    guid: idl.uint64
    seq: idl.int64
    data: bool


@dataclass
class SetBoolResponse(IdlStruct, typename='std_srvs::srv::dds_::SetBool_Response_'):
    guid: idl.uint64
    seq: idl.int64
    success: bool
    message: str


RELIABLE = Policy.Reliability.Reliable(max_blocking_time=10**8)
XCDR1 = Policy.DataRepresentation(use_cdrv0_representation=True)


def eventually(read, wanted=lambda value: value, timeout=5.0):
    deadline = time.monotonic() + scaled_timeout(timeout)
    while time.monotonic() < deadline:
        value = read()
        if wanted(value):
            return value
        time.sleep(0.01)
    raise AssertionError('it did not happen in time')


@pytest.fixture
def observer(context):
    participant = DomainParticipant(context.domain_id)
    yield participant
    dds.delete_entity(participant)


def builtin(participant, topic):
    reader = BuiltinDataReader(participant, topic)
    return [sample for sample in reader.read(10_000) if not isinstance(sample, InvalidSample)]


def user_data(sample):
    return sample.qos[Policy.Userdata].data


def test_the_participant_publishes_its_enclave(context, observer):
    key = context.participant.guid
    eventually(lambda: [s for s in builtin(observer, BuiltinTopicDcpsParticipant) if s.key == key])
    samples = [s for s in builtin(observer, BuiltinTopicDcpsParticipant) if s.key == key]
    assert user_data(samples[0]) == b'enclave=/;'


def test_an_endpoint_has_ros_names_its_type_hash_and_version_1_of_cdr(node, observer):
    node.create_publisher(message('geometry_msgs/msg/Vector3'), 'force', 7)
    node.create_subscription(message('geometry_msgs/msg/Vector3'), '~/force', lambda msg: None, 7)
    writer = next(s for s in builtin(observer, BuiltinTopicDcpsPublication) if s.topic_name == 'rt/force')
    reader = next(s for s in builtin(observer, BuiltinTopicDcpsSubscription) if s.topic_name == 'rt/tester/force')
    for endpoint in (writer, reader):
        assert endpoint.type_name == 'geometry_msgs::msg::dds_::Vector3_'
        assert user_data(endpoint) == f'typehash={type_hash("geometry_msgs/msg/Vector3")};'.encode()
        assert endpoint.qos[Policy.DataRepresentation].use_cdrv0_representation
        assert not endpoint.qos[Policy.DataRepresentation].use_xcdrv2_representation
    assert isinstance(writer.qos[Policy.Reliability], Policy.Reliability.Reliable)


def test_the_discovery_topic_has_the_type_hash_expected_by_ros_tools(node, observer):
    expected = f'typehash={type_hash("rmw_dds_common/msg/ParticipantEntitiesInfo")};'.encode()

    def announced():
        return [s for s in builtin(observer, BuiltinTopicDcpsPublication) if s.topic_name == 'ros_discovery_info']

    assert {user_data(endpoint) for endpoint in eventually(announced)} == {expected}


def test_a_latched_publisher_passes_its_depth_to_the_durability_service(node, observer):
    qos = QoSProfile(depth=4, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(message('geometry_msgs/msg/Vector3'), 'force', qos)
    endpoint = next(s for s in builtin(observer, BuiltinTopicDcpsPublication) if s.topic_name == 'rt/force')
    assert endpoint.qos[Policy.Durability] == Policy.Durability.TransientLocal
    assert endpoint.qos[Policy.DurabilityService].history == Policy.History.KeepLast(4)


def test_discovery_info_names_every_node_with_its_endpoints(context, node, observer):
    # Best effort and without a type hash, as read by any DDS program.
    qos = Qos(RELIABLE, Policy.Durability.TransientLocal, Policy.History.KeepAll, XCDR1)
    reader = DataReader(observer, Topic(observer, 'ros_discovery_info', ParticipantInfo), qos)
    infos = []

    def latest():
        infos.extend(s for s in reader.take(1000) if not isinstance(s, InvalidSample))
        mine = [i for i in infos if bytes(i.gid.data) == context.participant.guid.bytes]
        return {n.node_name: n for n in mine[-1].node_entities_info_seq} if mine else {}

    assert set(eventually(latest)) == {'tester'}
    publisher = node.create_publisher(message('geometry_msgs/msg/Vector3'), 'force', 1)
    subscription = node.create_subscription(message('geometry_msgs/msg/Vector3'), 'force', lambda msg: None, 1)
    second = Node('second', namespace='/yard', context=context)
    nodes = eventually(latest, lambda nodes: 'second' in nodes)
    assert nodes['second'].node_namespace == '/yard'
    assert publisher.gid in {bytes(gid.data) for gid in nodes['tester'].writer_gid_seq}
    assert subscription.gid in {bytes(gid.data) for gid in nodes['tester'].reader_gid_seq}
    node.destroy_publisher(publisher)
    eventually(latest, lambda nodes: publisher.gid not in {bytes(g.data) for g in nodes['tester'].writer_gid_seq})
    second.destroy_node()
    eventually(latest, lambda nodes: set(nodes) == {'tester'})


def test_the_codec_of_cyclone_is_compatible_with_nodes(node, spinner, observer):
    topic = Topic(observer, 'rt/force', Vector3)
    reader = DataReader(observer, topic, Qos(RELIABLE, Policy.History.KeepAll, XCDR1))
    writer = DataWriter(observer, topic, Qos(RELIABLE, XCDR1))
    got = []
    node.create_subscription(message('geometry_msgs/msg/Vector3'), 'force', lambda m, info: got.append((m, info)), 10)
    publisher = node.create_publisher(message('geometry_msgs/msg/Vector3'), 'force', 10)
    spinner.until(lambda: publisher.get_subscription_count() == 2 and writer.get_matched_subscriptions())
    publisher.publish(message('geometry_msgs/msg/Vector3')(x=1.0, y=2.0, z=3.0))
    writer.write(Vector3(4.0, 5.0, 6.0), 1_234_567_890)
    spinner.until(lambda: len(got) == 2)
    theirs = eventually(lambda: [s for s in reader.read(10) if not isinstance(s, InvalidSample)])
    assert Vector3(1.0, 2.0, 3.0) in theirs
    by_x = {msg.x: info for msg, info in got}
    assert set(by_x) == {1.0, 4.0}
    assert by_x[4.0]['source_timestamp'] == 1_234_567_890


def test_invalid_samples_of_a_removed_writer_are_skipped(node, spinner, observer):
    got = []
    subscription = node.create_subscription(message('geometry_msgs/msg/Vector3'), 'force', got.append, 10)
    topic = Topic(observer, 'rt/force', Vector3)
    autodispose = Policy.WriterDataLifecycle(autodispose=True)
    writer = DataWriter(observer, topic, Qos(RELIABLE, XCDR1, autodispose))
    spinner.until(lambda: writer.get_matched_subscriptions())
    writer.write(Vector3(1.0, 0.0, 0.0))
    spinner.until(lambda: got)
    dds.delete_entity(writer)
    spinner.for_seconds(0.1)
    assert len(got) == 1
    assert subscription.decode_errors == 0


def test_a_service_uses_the_header_and_ids_of_rmw_cyclonedds(node, spinner, observer):
    SetBool = service('std_srvs/srv/SetBool')

    def on_switch(request, response):
        response.success, response.message = request.data, 'done'
        return response

    node.create_service(SetBool, 'switch', on_switch)
    ids = Policy.Userdata(b'clientid=01.02.03.04.05.06.07.08.09.0a.0b.0c.0d.0e.0f.10;')
    qos = Qos(RELIABLE, Policy.History.KeepAll, XCDR1, ids)
    request = DataWriter(observer, Topic(observer, 'rq/switchRequest', SetBoolRequest), qos)
    response = DataReader(observer, Topic(observer, 'rr/switchReply', SetBoolResponse), qos)
    spinner.until(lambda: request.get_matched_subscriptions() and response.get_matched_publications())
    request.write(SetBoolRequest(0xFEDCBA9876543210, 77, True))
    answers = []
    spinner.until(lambda: answers.extend(response.take(1)) or answers)
    assert answers[0] == SetBoolResponse(0xFEDCBA9876543210, 77, True, 'done')
    servers = [request.get_matched_subscription_data(handle) for handle in request.get_matched_subscriptions()]
    text = user_data(servers[0]).decode()
    identity, digest = text.split(';')[:2]
    assert identity.startswith('serviceid=')
    assert len(bytes.fromhex(identity.removeprefix('serviceid=').replace('.', ''))) == 16
    assert digest == f'typehash={type_hash("std_srvs/srv/SetBool_Request")}'


def test_requests_of_other_implementations_are_not_executed(node, spinner, observer, capfd):
    """A client without an id, as in rmw_fastrtps, for which a second reader of requests hides the service."""
    requests = []
    node.create_service(service('std_srvs/srv/SetBool'), 'switch', lambda request, response: requests.append(request))
    qos = Qos(RELIABLE, Policy.History.KeepAll, XCDR1)
    request = DataWriter(observer, Topic(observer, 'rq/switchRequest', SetBoolRequest), qos)
    spinner.until(request.get_matched_subscriptions)
    assert (len(request.get_matched_subscriptions()), node.count_services('switch')) == (1, 1)
    eventually(lambda: sum(item.topic == 'rq/switchRequest' for item in node.context.graph.subscriptions()) == 2)
    for _ in range(2):
        request.write(SetBoolRequest(1, 2, True))
    spinner.for_seconds(0.3)
    errors = capfd.readouterr().err
    assert (requests, errors.count("a request of service '/switch' has no response")) == ([], 1)
    assert 'RMW_IMPLEMENTATION=rmw_cyclonedds_cpp' in errors


def test_a_client_uses_the_header_and_discovers_a_server_by_its_id(node, spinner, observer):
    SetBool = service('std_srvs/srv/SetBool')
    client = node.create_client(SetBool, 'switch')
    ids = Policy.Userdata(b'serviceid=01.02.03.04.05.06.07.08.09.0a.0b.0c.0d.0e.0f.10;')
    qos = Qos(RELIABLE, Policy.History.KeepAll, XCDR1, ids)
    request = DataReader(observer, Topic(observer, 'rq/switchRequest', SetBoolRequest), qos)
    assert not client.service_is_ready()  # an incomplete server
    response = DataWriter(observer, Topic(observer, 'rr/switchReply', SetBoolResponse), qos)
    assert client.wait_for_service(5.0)
    future = client.call_async(SetBool.Request(data=True))
    asked = eventually(lambda: request.take(1))[0]
    assert asked.data is True
    response.write(SetBoolResponse(asked.guid + 1, asked.seq, True, 'for another client'))
    response.write(SetBoolResponse(asked.guid, asked.seq, True, 'mine'))
    spinner.until(future.done)
    assert future.result().message == 'mine'


def udp_sockets():
    """Return (address, device) of the UDP sockets of this process."""
    sockets = []
    for descriptor in dds._udp_sockets():
        with socket.socket(fileno=os.dup(descriptor)) as handle:
            device = handle.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b'\0').decode()
            sockets.append((handle.getsockname(), device))
    return sockets


@pytest.mark.skipif(not os.path.exists('/proc/net/udp'), reason='needs Linux')
def test_no_socket_reaches_beyond_loopback(node):
    sockets = udp_sockets()
    assert len(sockets) >= 3
    for (address, _), device in sockets:
        assert address == '127.0.0.1' or device == 'lo', (address, device)
    # The same from the table of the system: all ports are bound to loopback, or to a socket bound to it.
    inodes = set()
    for name in os.listdir('/proc/self/fd'):
        try:
            inodes.add(os.readlink(f'/proc/self/fd/{name}').removeprefix('socket:[').removesuffix(']'))
        except OSError:
            continue
    tied = {address[1] for address, device in sockets if device == 'lo'}
    with open('/proc/net/udp') as table:
        ours = [line.split() for line in table if line.split()[9] in inodes]
    assert len(ours) == len(sockets)
    for columns in ours:
        host, port = columns[1].split(':')
        assert host == '0100007F' or int(port, 16) in tied


def test_the_network_is_opt_in_and_a_users_configuration_has_precedence():
    assert 'address="127.0.0.1"' in dds.domain_configuration({})
    assert '<AllowMulticast>false' in dds.domain_configuration({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    for opted in ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}, {'ROS_LOCALHOST_ONLY': '0'}):
        assert '127.0.0.1' not in dds.domain_configuration(opted)
    both = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_LOCALHOST_ONLY': '0'}
    assert '127.0.0.1' in dds.domain_configuration(both)
    assert dds.domain_configuration({'CYCLONEDDS_URI': 'file:///mine.xml'}) is None
