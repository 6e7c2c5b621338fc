"""Tests of the command line with a node in another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from domains import next_domain
from timeouts import scaled_timeout

from dyn_nodes.commands import topic

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = str(next_domain())
SPIN = ['--spin-time', '3']


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY')}
    return {**kept, 'ROS_DOMAIN_ID': DOMAIN, 'PYTHONPATH': str(ROOT), 'PYTHONUNBUFFERED': '1'}


def start(*args: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, '-m', 'dyn_nodes.cli', *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), **options,
    )  # fmt: skip


def run(*args: str, status: int = 0) -> str:
    """Return the output of a command: standard output, or standard error after a failure."""
    process = start(*args)
    try:
        output, errors = process.communicate(timeout=scaled_timeout(120))
    finally:
        process.kill()
    assert 'Traceback' not in errors, errors
    assert process.returncode == status, (output, errors)
    return output if status == 0 else errors


def test_topic_info_waits_for_a_node_name_that_arrives_after_its_endpoint():
    names, asked = ['_NODE_NAME_UNKNOWN_'], []

    class Node:
        def get_publishers_info_by_topic(self, topic):
            asked.append(topic)
            return [SimpleNamespace(node_name=names[0] if len(asked) < 3 else 'small')]

        def get_subscriptions_info_by_topic(self, topic):
            return []

    assert topic.endpoints_of(Node(), '/joint_states', 60.0)[0][0].node_name == 'small'
    assert topic.endpoints_of(Node(), '/joint_states', 0.0)[1] == []


@pytest.fixture(scope='module')
def small_node():
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / 'processes' / 'small_node.py')],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert process.stdout.readline() == 'ready\n'
    yield process
    process.send_signal(signal.SIGINT)
    try:
        process.wait(scaled_timeout(10))
    finally:
        process.kill()
        process.stdout.close()


@pytest.mark.usefixtures('small_node')
class TestWithANode:
    def test_topics_are_listed_with_their_types(self):
        lines = run('topic', 'list', '-t').splitlines()
        assert '/loader/joint_states [sensor_msgs/msg/JointState]' in lines
        assert '/loader/joint_command [sensor_msgs/msg/JointState]' in lines
        assert '/robot_description [std_msgs/msg/String]' in lines

    def test_echo_once_prints_one_yaml_document(self):
        output = run('topic', 'echo', '/loader/joint_states', '--once', *SPIN)
        assert output.endswith('---\n')
        (document,) = [d for d in yaml.safe_load_all(output) if d is not None]
        assert document['header']['frame_id'] == 'base_link'
        assert document['name'] == ['boom', 'arm']
        assert document['position'] == [0.5, -1.25]
        assert output.startswith('header:\n  stamp:\n    sec: ')

    def test_echo_receives_an_earlier_latched_message(self):
        output = run('topic', 'echo', 'robot_description', '--once', '--field', 'data', *SPIN)
        assert output == '<robot name="small"/>\n---\n'

    def test_echo_of_fields_as_csv(self):
        assert (
            run('topic', 'echo', '/loader/joint_states', '--once', '--csv', '--field', 'position', *SPIN)
            == '0.5,-1.25\n'
        )
        assert run('topic', 'echo', '/loader/joint_states', '--once', '--field', 'name[1]', *SPIN) == 'arm\n---\n'
        error = run('topic', 'echo', '/loader/joint_states', '--once', '--field', 'nmae', *SPIN, status=1)
        assert "no field 'nmae'; there are header, name, position" in error

    def test_echo_runs_until_ctrl_c_and_ends_without_output(self):
        process = start('topic', 'echo', '/loader/joint_states', '--csv', *SPIN)
        assert process.stdout.readline().count(',') >= 5
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=scaled_timeout(10))
        assert process.returncode == 130
        assert errors == ''

    def test_echo_into_a_closed_pipe_ends_without_output(self):
        process = start('topic', 'echo', '/loader/joint_states', *SPIN)
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(scaled_timeout(10)) == 141
        assert process.stderr.read() == ''
        process.stderr.close()

    def test_hz_prints_the_rate(self):
        lines = run('topic', 'hz', '/loader/joint_states', '--count', '2', *SPIN).splitlines()
        rate = float(lines[2].removeprefix('average rate: '))
        assert 40 < rate < 60
        assert 'std dev' in lines[3]

    def test_topic_info_counts_endpoints_and_names_their_nodes(self):
        output = run(
            'topic', 'info', '-v', '/loader/joint_states', '--spin-time', '60'
        )  # ends when all names are resolved
        assert output.startswith('Type: sensor_msgs/msg/JointState\n\nPublisher count: 1\n')
        assert 'Node name: small\n  Node namespace: /loader' in output
        assert 'Reliability: RELIABLE' in output
        assert 'Subscription count: 0' in output

    def test_nodes_are_listed_and_described(self):
        assert run('node', 'list') == '/loader/small\n'
        output = run('node', 'info', '/loader/small', *SPIN)
        assert '/loader/joint_command: sensor_msgs/msg/JointState' in output.split('Publishers:')[0]
        assert '/loader/small/reset: std_srvs/srv/Trigger' in output.split('Service Servers:')[1]
        error = run('node', 'info', '/nobody', '--spin-time', '0.7', status=1)
        assert error == "dyn-nodes: node '/nobody' was not found; running: /loader/small\n"

    def test_parameters_are_listed_and_read(self):
        names = run('param', 'list', '/loader/small', *SPIN).split()
        assert {'payload', 'machine', 'joints', 'gains.kp', 'use_sim_time'} <= set(names)
        assert '/loader/small:\n' in run('param', 'list')
        assert run('param', 'get', '/loader/small', 'machine', *SPIN) == 'String value is: log_loader\n'
        assert run('param', 'get', '/loader/small', 'gains.kp', '--hide-type', *SPIN) == '2\n'
        assert run('param', 'get', '/loader/small', 'joints', *SPIN) == 'String array values are:\n- boom\n- arm\n'
        assert "has no parameter 'paylod'" in run('param', 'get', '/loader/small', 'paylod', *SPIN, status=1)

    def test_parameters_are_set_or_rejected_with_a_reason(self):
        assert run('param', 'set', '/loader/small', 'payload', '2500.5', *SPIN) == 'Set parameter successful\n'
        assert run('param', 'get', '/loader/small', 'payload', *SPIN) == 'Double value is: 2500.5\n'
        assert 'kp is too large' in run('param', 'set', '/loader/small', 'gains.kp', '11', *SPIN, status=1)
        for name, value in (('payload', '-1.0'), ('machine', 'other'), ('payload', 'heavy'), ('unknown', '1')):
            error = run('param', 'set', '/loader/small', name, value, *SPIN, status=1)
            assert error.startswith(f"dyn-nodes: setting parameter '{name}' of '/loader/small' failed: ")
        assert run('param', 'get', '/loader/small', 'payload', *SPIN) == 'Double value is: 2500.5\n'

    def test_parameters_are_described_and_dumped(self):
        output = run('param', 'describe', '/loader/small', 'payload', *SPIN)
        assert 'Type: double\n  Description: Mass in kg.\n' in output
        assert 'Max value: 6000.0' in output
        dumped = yaml.safe_load(run('param', 'dump', '/loader/small', *SPIN))
        parameters = dumped['/loader/small']['ros__parameters']
        assert parameters['gains'] == {'kp': 2}
        assert parameters['joints'] == ['boom', 'arm']

    def test_services_are_listed_and_called(self):
        assert '/loader/small/pause [std_srvs/srv/SetBool]' in run('service', 'list', '-t').splitlines()
        output = run('service', 'call', '/loader/small/reset', *SPIN)
        assert output.endswith('response:\nsuccess: true\nmessage: reset done\n')
        for call in (['std_srvs/srv/SetBool', '{data: true}'], ['{data: true}']):
            output = run('service', 'call', '/loader/small/pause', *call, *SPIN)
            assert output.endswith('response:\nsuccess: true\nmessage: paused\n')

    @pytest.mark.slow
    def test_types_are_printed_and_names_of_a_type_are_listed(self):
        assert run('topic', 'type', '/loader/joint_states', *SPIN) == 'sensor_msgs/msg/JointState\n'
        assert run('topic', 'find', 'sensor_msgs/JointState').split() == [
            '/loader/joint_command',
            '/loader/joint_states',
        ]
        assert run('service', 'type', 'loader/small/reset', *SPIN) == 'std_srvs/srv/Trigger\n'
        assert run('service', 'find', 'std_srvs/srv/SetBool') == '/loader/small/pause\n'

    @pytest.mark.slow
    def test_bandwidth_and_delay_are_measured(self):
        lines = run('topic', 'bw', '/loader/joint_states', '--count', '1', *SPIN).splitlines()
        # 50 messages a second of 80 to 120 bytes each
        assert 3.0 < float(lines[0].split()[0]) < 7.0
        assert lines[0].split()[1] == 'KB/s'
        delay = run('topic', 'delay', '/loader/joint_states', '--count', '1', *SPIN)  # its stamps count from 0
        assert float(delay.split()[2]) > 1e9
        error = run('topic', 'delay', '/robot_description', '--count', '1', *SPIN, status=1)
        assert error == "dyn-nodes: topic '/robot_description' has no header with a stamp\n"
        error = run('topic', 'delay', '/loader/joint_states', '-s', '--spin-time', '0.7', status=1)
        assert error == "dyn-nodes: no time on '/clock' within 0.7 s\n"

    def test_published_messages_are_received(self):
        listener = start('topic', 'echo', '/loader/joint_command', '--once', *SPIN)
        output = run(
            'topic', 'pub', '--times', '3', '-r', '20', '-w', '2', '-p', '3', '/loader/joint_command',
            '{header: auto, name: [boom], position: [1, 2e-1]}', *SPIN,
        )  # fmt: skip
        assert output.startswith('publishing #1: ')
        assert '#2' not in output
        received, _ = listener.communicate(timeout=scaled_timeout(120))
        (document,) = [d for d in yaml.safe_load_all(received) if d is not None]
        assert document['position'] == [1.0, 0.2]
        assert abs(document['header']['stamp']['sec'] - time.time()) < 60

    @pytest.mark.slow
    def test_a_wrong_message_is_not_published(self):
        arguments = ['topic', 'pub', '/loader/joint_command', '{positions: [1]}', *SPIN]
        assert 'positions: no such field of' in run(*arguments, status=1)
        arguments = ['topic', 'pub', '/loader/joint_command', 'sensor_msgs/msg/JointState', '{}', '-w', '50', '--once']
        assert 'expected 50 subscriptions' in run(*arguments, status=1)

    @pytest.mark.slow
    def test_dumped_parameters_are_loaded(self, tmp_path):
        saved = tmp_path / 'saved.yaml'
        dumped = run('param', 'dump', '/loader/small', *SPIN)
        saved.write_text(dumped.replace('kp: 2', 'kp: 3').replace('machine: log_loader', 'machine: other'))
        output = run('param', 'load', '/loader/small', str(saved), *SPIN)
        assert 'gains.kp: set to 3\n' in output
        assert "machine: read-only, remains 'log_loader'\n" in output
        saved.write_text('/**:\n  ros__parameters:\n    gains.kp: 12\n    joints: [boom, arm]\n')
        error = run('param', 'load', '/loader/small', str(saved), *SPIN, status=1)
        assert error == "dyn-nodes: 1 of 2 parameters of '/loader/small' were rejected\n"
        saved.write_text('/other:\n  ros__parameters:\n    a: 1\n')
        assert "expected parameters of node '/loader/small', found none" in run(
            'param', 'load', '/loader/small', str(saved), *SPIN, status=1
        )

    @pytest.mark.slow
    def test_the_graph_is_drawn_and_written(self, tmp_path):
        lines = run('graph').splitlines()
        assert lines[0] == 'flowchart LR'
        assert '  n0(["/loader/small"])' in lines
        joint_states = next(line.split('[')[0].strip() for line in lines if '["/loader/joint_states<br/>' in line)
        assert f'  n0 --> {joint_states}' in lines
        assert '"node /loader/small" -> "topic /loader/joint_states";' in run('graph', '--format', 'dot')
        assert '/rosout' not in '\n'.join(lines)
        picture = tmp_path / 'nodes.svg'
        assert f'1 nodes and 3 topics in {picture}\n' == run('graph', '-o', str(picture))
        assert picture.read_text().count('<path') > 10
        assert "found 'nodes.pdf'" in run('graph', '-o', 'nodes.pdf', status=2)

    @pytest.mark.parametrize(
        ('arguments', 'part'),
        [
            (['std_srvs/srv/SetBool', '{dat: true}'], 'dat: no such field'),
            (['std_srvs/srv/SetBool', '{data: maybe}'], 'data: expected true or false'),
            (['std_srvs/srv/SetBool', '[1]'], 'expected field: value pairs'),
            (['std_srvs/srv/SetBol', '{}'], 'std_srvs/srv/SetBol'),
        ],
    )
    def test_a_wrong_request_is_rejected_before_the_call(self, arguments, part):
        assert part in run('service', 'call', '/loader/small/pause', *arguments, *SPIN, status=1)


def test_missing_topics_nodes_and_services_are_reported_after_a_short_wait():
    started = time.monotonic()
    assert 'does not appear to be published yet' in run('topic', 'echo', '/nothing', '--spin-time', '0.2', status=1)
    assert 'was not found' in run('param', 'list', '/nobody', '--spin-time', '0.2', status=1)
    assert 'is not available' in run('service', 'call', '/nothing', '--spin-time', '0.2', status=1)
    error = run('topic', 'echo', '/nothing', 'std_msgs/msg/String', '--timeout', '0.3', status=1)
    assert "no message on '/nothing' for 0.3 s" in error
    assert 'unknown message type' in run('topic', 'echo', '/nothing', 'std_msgs/msg/Strin', status=1)
    assert time.monotonic() - started < 25
