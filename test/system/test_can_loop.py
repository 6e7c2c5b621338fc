"""A simulated log-loader behind a bus with a bridge at the other end, over two connected serial ports."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from timeouts import scaled_timeout

pytest.importorskip('cantools')
pytest.importorskip('can')

import can_processes

from dyn_nodes.middleware import message, service
from dyn_nodes.nodes.machines import machine_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'nodes'))
fixtures = importlib.import_module('test_can_bridge_node')
line, STEPS, JOINTS = fixtures.line, fixtures.STEPS, fixtures.JOINTS
start, tester = can_processes.start, can_processes.tester

Volts, SetBool = message('std_msgs/msg/Float64MultiArray'), service('std_srvs/srv/SetBool')


@pytest.fixture
def mapping(tmp_path):
    """Return the mapping of the package with timeouts for a busy computer."""
    source = Path(__file__).resolve().parents[2] / 'config' / 'can'
    text = (source / 'log_loader.yaml').read_text()
    assert 'timeout: 0.1' in text
    (tmp_path / 'log_loader.dbc').write_text((source / 'log_loader.dbc').read_text())
    path = tmp_path / 'log_loader.yaml'
    path.write_text(text.replace('timeout: 0.1', 'timeout: 3.0'))
    return path


def bridge_words(mapping, role, port, *more):
    words = ['-p', f'mapping:={mapping}', '-p', f'role:={role}', '-p', 'interface:=slcan', '-p', f'channel:={port}']
    return ['dyn_nodes.nodes.can_bridge_node', '--ros-args', *words, '-r', f'__ns:=/{role}', *more]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_motion_of_the_simulation_comes_over_the_bus_and_its_loss_disarms(line, start, tester, mapping):
    start('dyn_nodes.cli', 'launch', 'log_loader', 'namespace:=machine', 'drive:=true', 'task:=')
    # a busy computer simulates slowly: the age of a measurement is wall time
    unit = start(*bridge_words(mapping, 'machine', line[0], '-p', 'command_timeout:=5.0'))
    start(*bridge_words(mapping, 'bridge', line[1]))
    truth = tester.listen('sensor_msgs/msg/JointState', '/machine/joint_states')
    received = tester.listen('sensor_msgs/msg/JointState', '/bridge/joint_states')
    states = tester.listen('std_msgs/msg/String', '/bridge/can/state')
    loads = [
        tester.listen('std_msgs/msg/Float64', f'/bridge/wheel_loads/{side}')
        for side in ('front_right', 'front_left', 'rear_right', 'rear_left')
    ]
    levers = tester.speak('std_msgs/msg/Float64MultiArray', '/bridge/valve_commands', 10)
    clients = {
        service_name: tester.node.create_client(SetBool, f'/bridge/can_bridge_node/{service_name}')
        for service_name in ('arm', 'activate')
    }

    def until(condition, swing=0.0, seconds=40.0):
        end = time.monotonic() + scaled_timeout(seconds)
        while not condition():
            assert time.monotonic() < end, [msg.data for msg in states]
            levers.publish(Volts(data=[0.0, 0.0, swing]))
            tester.for_seconds(0.02)

    def ask(service_name):
        answers = []

        def agreed():
            if clients[service_name].service_is_ready() and (not answers or answers[-1].done()):
                answers.append(clients[service_name].call_async(SetBool.Request(data=True)))
            return any(answer.done() and answer.result().success for answer in answers)

        until(agreed)

    def equal():
        order = [list(truth[-1].name).index(name) for name in JOINTS]
        wanted = np.array(truth[-1].position)[order]
        return (np.abs(np.array(received[-1].position) - wanted) <= 0.51 * np.array(STEPS) + 1e-5).all()

    until(lambda: truth and received and all(loads))
    until(equal)
    machine = machine_of('log_loader', '')
    weight = 9.81 * (sum(link.mass for link in machine.links) + machine.payload.mass)
    assert sum(box[-1].data for box in loads) == pytest.approx(weight, rel=0.02)
    ask('arm')
    ask('activate')
    initial = received[-1].position[0]
    until(lambda: abs(received[-1].position[0] - initial) > 0.2, swing=4.0)
    until(lambda: abs(truth[-1].velocity[list(truth[-1].name).index('swing_joint')]) < 1e-4 and equal())
    assert states[-1].data == 'active'
    unit.kill()
    until(lambda: states[-1].data.startswith('shadow: stale'), seconds=30.0)
