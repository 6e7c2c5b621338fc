"""Messages that the middleware drops are counted and reported, whichever runtime it is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
import yaml
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, Node, Parameter, SingleThreadedExecutor, init, message
from dyn_nodes.nodes import recorder_node
from dyn_nodes.nodes.recorder_node import Channel, RecorderNode


def test_a_topic_has_the_losses_of_its_reader_or_those_that_were_reported_and_of_readers_before():
    channel = Channel('/joint_states', 'sensor_msgs/msg/JointState', 1)
    channel.subscription = SimpleNamespace(get_lost_count=lambda: 3)
    assert channel.lost() == 3
    channel.gone_lost = 2
    assert channel.lost() == 5
    channel.subscription = SimpleNamespace()  # of rclpy, which reports losses as events
    channel.reported_lost = 4
    assert channel.lost() == 6


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path))
    context = Context()
    init(args=['recorder'], context=context)
    directory = Parameter('directory', value=str(tmp_path / 'bag'))
    node = RecorderNode(context=context, parameter_overrides=[directory])
    yield node
    node.destroy_node()
    context.try_shutdown()


def test_losses_are_a_warning_and_written_to_the_log_and_the_metadata(recorder, tmp_path, monkeypatch):
    sent, logged = [], []
    publisher = next(item for item in recorder.publishers if item.topic_name.endswith('diagnostics'))
    monkeypatch.setattr(publisher, 'publish', sent.append)
    channel = Channel('/joint_states', 'sensor_msgs/msg/JointState', 1)
    recorder._channels[channel.name] = channel
    recorder._report()
    channel.reported_lost = 7
    recorder._report()
    kind = message('diagnostic_msgs/msg/DiagnosticStatus')
    levels = [(item.level, item.message) for (item,) in (one.status for one in sent)]
    assert levels == [(kind.OK, 'recording'), (kind.WARN, '7 messages lost')]
    assert ('dropped', '7') in [(pair.key, pair.value) for pair in sent[1].status[0].values]
    monkeypatch.setattr(type(recorder), 'get_logger', lambda node: SimpleNamespace(error=logged.append))
    recorder.finish()
    assert [text.partition(' ')[2] for text in logged] == ['messages recorded, 7 lost']
    metadata = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert metadata['custom_data']['messages_lost'] == '7'


def test_a_type_without_a_package_leaves_no_topic_in_the_bag_and_the_others_are_recorded(
    recorder, tmp_path, monkeypatch
):
    def find(name):
        if name == 'std_msgs/msg/Int8':
            raise ValueError(f'unknown type {name!r}: is the package std_msgs installed and sourced?')
        return message(name)

    monkeypatch.setattr(recorder_node, 'message', find)
    context = Context()
    init(args=['source'], context=context)
    source = Node('source', context=context)
    topics = {'/a': 'std_msgs/msg/Int8', '/b': 'std_msgs/msg/Float64'}
    publishers = [source.create_publisher(message(kind), topic, 10) for topic, kind in topics.items()]
    executor = SingleThreadedExecutor(context=recorder.context)
    executor.add_node(recorder)
    end = time.monotonic() + scaled_timeout(10.0)
    while time.monotonic() < end and ('/b', topics['/b']) not in recorder._channels:
        executor.spin_once(timeout_sec=0.05)
    executor.remove_node(recorder)
    recorder.finish()
    assert publishers
    source.destroy_node()
    context.try_shutdown()
    metadata = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    recorded = {item['topic_metadata']['name'] for item in metadata['topics_with_message_count']}
    assert '/b' in recorded
    assert '/a' not in recorded
