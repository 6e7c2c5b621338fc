"""Every node on a stand-in for rclpy, as strict as the real one: wrong types and calls fail here, not on a robot."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from timeouts import scaled_timeout

import dyn_nodes.middleware  # noqa: F401  # chosen before the stand-in is on the path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXERCISED = {
    'dynamics_node',
    'hydraulic_actuator_node',
    'controller_node',
    'recorder_node',
    'viewer_node',
    'teleop_node',
    'vehicle_controller_node',
}
SPOKEN = (
    '/joint_states',
    '/clock',
    '/odom',
    '/tf',
    '/robot_description',
    '/events',
    '/markers',
    '/diagnostics',
    '/joint_command',
    '/valve_commands',
    '/task_phase',
    '/ground_reactions/front_left',
    '/joint_reactions/boom_joint',
    '/stability/force_angle',
    '/stability/force_angle/edges',
    '/stability/support_polygon',
    '/stability/zmp',
    '/hydraulics/boom/head_pressure',
    '/hydraulics/swing/spool',
    '/wheel_odom',
    '/wheel_slip',
    '/cmd_vel',
)


def console_nodes() -> set[str]:
    """Return the nodes that setup.py installs."""
    text = (ROOT / 'setup.py').read_text()
    names = text.partition('NODES = (')[2].partition(')')[0]
    return {name.strip(" ',\n") for name in names.split(',')} - {''}


def wait(process: subprocess.Popen, log: Path, timeout: float = 280.0) -> str:
    try:
        process.wait(scaled_timeout(timeout))
    except subprocess.TimeoutExpired:
        pytest.fail(f'still runs after {timeout:g} s:\n{log.read_text()}')
    return log.read_text()


@pytest.mark.parametrize('release', ['jazzy', pytest.param('humble', marks=pytest.mark.slow)])
def test_every_node_speaks_and_listens(release: str, start_strict: Callable, tmp_path: Path) -> None:
    others = ','.join(sorted(console_nodes() - EXERCISED))
    process = start_strict('nodes', str(HERE / 'exercise_nodes.py'), str(tmp_path), others, release=release)
    text = wait(process, tmp_path / 'nodes.log')
    assert process.returncode == 0, text
    result = json.loads(text.rpartition('result ')[2])
    assert result['runtime'] == 'rclpy'
    assert result['node'] == 'strict_rclpy'
    assert all(result['received'].get(topic) for topic in SPOKEN if not topic.startswith('/robot_desc')), result[
        'received'
    ]
    assert set(others.split(',')) - {'', 'composition_node'} == set(result['others'])
    received = set(result['received'])
    assert 'tip_over_governor_node' not in result['others'] or '/governor/scale' in received
    allowances = {topic for topic in received if 'stability/allowance/' in topic}
    assert 'stability_monitor_node' not in result['others'] or len(allowances) == 3
    steps = ['pause', 'step', 'reset', 'pause']
    assert result['answers'][:4] == [f'dynamics_node/{step}: True' for step in steps]
    assert result['answers'][4:] == ['set: True', 'set: True', 'read-only: False']


@pytest.mark.parametrize('number', [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_signal_ends_a_node_in_the_middle_of_its_work(number: int, start_strict: Callable, tmp_path: Path) -> None:
    """After a signal rcl raises when publishing; a busy node encounters this in a callback."""
    words = '-m dyn_nodes.nodes.dynamics_node --ros-args -p machine:=log_loader -p actuation:=monolithic'
    process = start_strict('dynamics', *words.split(), '-p', 'exchange_period:=0.002')
    log = tmp_path / 'dynamics.log'
    deadline = time.monotonic() + scaled_timeout(120.0)
    while 'degrees of freedom' not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(scaled_timeout(20.0)) == 0, log.read_text()
    assert 'Traceback' not in log.read_text()


@pytest.mark.slow
def test_the_commands_work_on_rclpy_too(start_strict: Callable, tmp_path: Path) -> None:
    words = '-m dyn_nodes.nodes.teleop_node --ros-args -p machine:=log_loader'
    node = start_strict('teleop', *words.split())
    log = tmp_path / 'teleop.log'
    deadline = time.monotonic() + scaled_timeout(120.0)
    while 'to drive' not in log.read_text():
        assert node.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    for number, (command, expected) in enumerate(
        {
            'topic list -t': '/valve_commands [std_msgs/msg/Float64MultiArray]',
            'topic info /valve_commands -v': 'teleop_node',
            'topic echo /diagnostics --once': 'dead-man button is not held',
            'node list': '/teleop_node',
            'node info /teleop_node': '/joy: sensor_msgs/msg/Joy',
            'service list': '/teleop_node/set_parameters',
            'param list /teleop_node': 'rate',
            'param get /teleop_node rate': '50.0',
            'param set /teleop_node rate 60.0': 'read',
            'param describe /teleop_node rate': 'Hz',
            'param dump /teleop_node': 'rate: 50.0',
        }.items()
    ):
        asked = start_strict(f'command_{number}', '-m', 'dyn_nodes.cli', *command.split())
        text = wait(asked, tmp_path / f'command_{number}.log', 60.0)
        assert expected in text, f'{command}: {text}'
        assert 'Traceback' not in text, f'{command}: {text}'


# -- the stand-in itself ---------------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def strict() -> object:
    sys.path.insert(0, str(HERE / 'strict_ros'))
    try:
        yield importlib.import_module('strict_messages')
    finally:
        sys.path.remove(str(HERE / 'strict_ros'))


@pytest.mark.parametrize(
    ('kind', 'field', 'good', 'bad'),
    [
        ('std_msgs/msg/Float64', 'data', [1.0, np.float64(1.0), float('nan'), float('inf')], [1, np.float32(1.0), '1']),
        ('std_msgs/msg/Float32', 'data', [1.0], [1e39, 1]),
        ('std_msgs/msg/Bool', 'data', [True], [np.bool_(True), 1]),
        ('std_msgs/msg/String', 'data', ['a'], [b'a', None]),
        ('builtin_interfaces/msg/Time', 'sec', [-1, 2**31 - 1], [2**31, 1.0, np.int64(1)]),
        ('builtin_interfaces/msg/Time', 'nanosec', [0], [-1, 2**32]),
        ('sensor_msgs/msg/JointState', 'position', [[1.0], (1.0,)], [[1], np.zeros(1), [np.float32(1)], 'a']),
        ('sensor_msgs/msg/JointState', 'name', [['a']], ['a', [1], np.array(['a'])]),
        ('sensor_msgs/msg/JointState', 'header', [], [None, {}]),
        ('nav_msgs/msg/Odometry', 'child_frame_id', ['a'], [1]),
        ('geometry_msgs/msg/PoseWithCovariance', 'covariance', [np.zeros(36), [0.0] * 36], [np.zeros(35), [0] * 36]),
        ('diagnostic_msgs/msg/DiagnosticStatus', 'level', [b'\x01'], [1, b'', b'ab']),
    ],
)
def test_a_strict_field_takes_what_rosidl_takes(strict: object, kind: str, field: str, good: list, bad: list) -> None:
    made = strict.message(kind)()
    for value in good:
        setattr(made, field, value)
    for value in bad:
        with pytest.raises((AssertionError, TypeError)):
            setattr(made, field, value)


def test_strict_messages_survive_the_way_through_the_runtime(strict: object) -> None:
    status = strict.message('diagnostic_msgs/msg/DiagnosticStatus')
    array = strict.message('diagnostic_msgs/msg/DiagnosticArray')(status=[status(level=status.WARN, name='a')])
    array.header.stamp.nanosec = 5
    back = strict.from_runtime(strict.to_runtime(array))
    assert back == array
    assert back.status[0].level == b'\x01'
    state = strict.message('sensor_msgs/msg/JointState')(name=['a'], position=[0.5])
    back = strict.from_runtime(strict.to_runtime(state))
    assert back.position.typecode == 'd'
    assert back == state
    with pytest.raises(AssertionError):
        strict.message('sensor_msgs/msg/JointState')(positions=[])
