"""ros2_control on the other side of dynamics_node: here by a stand-in, on a real ROS 2 by the real controllers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from ros2_control_stand_in import PLUGIN, ControllerManager, Hardware
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, Node, QoSProfile, SingleThreadedExecutor, init, message, service
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.nodes.machines import machine_of

ROOT = Path(__file__).parents[2]
CONTROLLERS = yaml.safe_load((ROOT / 'config' / 'log_loader_controllers.yaml').read_text())
JTC = CONTROLLERS['joint_trajectory_controller']['ros__parameters']
PACKAGES = ('controller_manager', 'joint_trajectory_controller', 'joint_state_broadcaster', PLUGIN.partition('/')[0])
PATIENCE = 240.0
CHANGE = (0.15, -0.2, 0.25)
"""How far the trajectories move swing, boom and stick, rad."""


# -- the files -------------------------------------------------------------------------------------------------------


def test_the_block_fits_machine_controllers_and_launch_file() -> None:
    machine = machine_of('log_loader', '')
    hardware = Hardware(machine.urdf)
    assert hardware.joints == [joint.name for joint in machine.movable_joints]
    assert JTC['joints'] == hardware.joints
    for kind in ('command', 'state'):
        wanted = {f'{joint}/{name}' for joint in hardware.joints for name in JTC[f'{kind}_interfaces']}
        assert wanted <= set(getattr(hardware, kind))
    assert set(hardware.command) == {
        f'{joint}/{name}' for joint in hardware.joints for name in ('position', 'velocity')
    }
    assert not set(JTC['constraints']) - {'stopped_velocity_tolerance', 'goal_time', *hardware.joints}
    assert hardware.threshold < 0, 'a timeout would count as a dead controller'
    start = machine.initial.joint_positions
    assert {name: hardware.state[f'{name}/position'] for name in hardware.joints} == dict(start)
    launch = ElementTree.parse(ROOT / 'launch' / 'log_loader_ros2_control.launch.xml').getroot()
    nodes = {element.attrib.get('name'): element for element in launch.iter('node')}
    remaps = {item.attrib['from']: item.attrib['to'] for item in nodes['dynamics_node'].findall('remap')}
    assert remaps == {'joint_states': hardware.states_topic, 'joint_command': hardware.commands_topic}
    manager = CONTROLLERS['controller_manager']['ros__parameters']
    spawned = next(e.attrib['args'].split() for e in launch.iter('node') if e.attrib['exec'] == 'spawner')
    assert [word for word in spawned if word in manager] == [name for name in manager if name != 'update_rate']
    clock = next(item for item in nodes['dynamics_node'].findall('param') if item.attrib['name'] == 'clock_period')
    assert float(clock.attrib['value']) <= 1.0 / manager['update_rate']


# -- the stand-in against the real dynamics --------------------------------------------------------------------------


class Side:
    """The other side of the topics: nodes of the test and the received health of the machine."""

    def __init__(self) -> None:
        self.context = Context()
        init(args=[], context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.manager = ControllerManager(self.context)
        self.executor.add_node(self.manager)
        self.health: dict[str, str] = {}
        self.values: dict[str, str] = {}
        kind = message('diagnostic_msgs/msg/DiagnosticArray')
        self.manager.create_subscription(kind, '/diagnostics', self._on_health, QoSProfile(depth=50))

    def _on_health(self, array: Any) -> None:
        self.health.update({status.name.partition(': ')[2]: status.message for status in array.status})
        self.values.update({pair.key: pair.value for status in array.status for pair in status.values})

    def until(self, condition: Callable[[], Any], text: str, timeout: float = 30.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < end, f'{text}; health: {self.health}'
            self.executor.spin_once(timeout_sec=0.05)

    def for_seconds(self, seconds: float) -> None:
        """Spin for so much simulated time."""
        clock = self.manager.get_clock()
        end = clock.now().nanoseconds + round(seconds * 1e9)
        self.until(lambda: clock.now().nanoseconds >= end, 'simulated time stands still')

    def close(self) -> None:
        self.executor.shutdown()
        self.manager.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def side(domain: int, tmp_path: Path) -> Iterator[Side]:
    words = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader_ros2_control', 'controllers:=false']
    log = tmp_path / 'launch.log'
    with log.open('w') as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    made = Side()
    try:
        made.until(lambda: made.manager.received > 5, f'no joint states; {log.read_text()}', PATIENCE)
        yield made
    finally:
        made.close()
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(scaled_timeout(30.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10.0)


def test_a_trajectory_is_followed_within_the_constraints_of_the_controller(side: Side) -> None:
    manager = side.manager
    start = manager.positions
    side.for_seconds(0.4)
    # without an active controller the commands are NaN and rejected; the machine stands
    side.until(lambda: manager.sent > 10, 'no commands')
    side.until(lambda: int(side.values.get('rejected: not finite', 0)) > 10, 'NaN was not rejected')
    assert np.abs(manager.positions - start).max() < 2e-3
    manager.activate()
    side.for_seconds(0.5)
    assert np.abs(manager.positions - start).max() < 2e-3
    manager.worst = 0.0
    goal = start + np.array(CHANGE)
    manager.follow(goal, 1.5)
    side.for_seconds(1.5 + JTC['constraints']['goal_time'])
    errors = dict(zip(JTC['joints'], np.abs(manager.positions - goal)))
    assert all(error < JTC['constraints'][joint]['goal'] for joint, error in errors.items()), errors
    assert manager.worst < min(JTC['constraints'][joint]['trajectory'] for joint in JTC['joints'])
    assert manager.kept == 0
    # the habit of the plug-in's default threshold: nothing is sent while the joints are where they should be
    assert manager.hardware is not None
    manager.hardware.threshold, manager.sent = 0.05, 0
    side.until(lambda: manager.kept > 0 and 'no command for' in side.health['commands'], 'the timeout is not reported')
    side.for_seconds(0.5)
    errors = dict(zip(JTC['joints'], np.abs(manager.positions - goal)))
    assert all(error < JTC['constraints'][joint]['goal'] for joint, error in errors.items()), errors
    assert 'holding the joints' in side.health['commands']


def test_a_trajectory_that_is_too_fast_for_the_drives_stays_within_their_limits(side: Side) -> None:
    manager = side.manager
    manager.activate()
    manager.follow(manager.positions + np.array([0.8, 0.4, -0.8]), 0.1)
    side.until(lambda: 'saturated: ' in side.health.get('commands', ''), 'no limit is reported')
    side.for_seconds(1.0)
    joints = load_machine(*machine_files('log_loader')).actuated_joints
    shares = {
        joint.name: manager.greatest[joint.name] / np.array([joint.velocity_limit, joint.effort_limit])
        for joint in joints
    }
    assert all(share.max() <= 1.001 for share in shares.values()), shares
    assert max(share[0] for share in shares.values()) > 0.5, shares


# -- the real ones ---------------------------------------------------------------------------------------------------


@pytest.mark.ros2
def test_the_real_controllers_follow_a_trajectory(domain: int, tmp_path: Path) -> None:
    from test_workspace_of_ros2 import installed

    missing = [name for name in (*PACKAGES, 'dyn_nodes') if not installed(name)]
    if missing:
        pytest.skip(f'not installed: {", ".join(missing)}')
    log = tmp_path / 'launch.log'
    words = ['ros2', 'launch', 'dyn_nodes', 'log_loader_ros2_control.launch.xml']
    with log.open('w') as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    context = Context()
    init(args=[], context=context)
    node = Node('tester', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    positions: dict[str, float] = {}

    def on_states(msg: Any) -> None:
        positions.update(zip(msg.name, msg.position))

    listing = service('controller_manager_msgs/srv/ListControllers')

    def until(condition: Callable[[], Any], text: str, timeout: float) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < end, f'{text}\n{log.read_text()[-4000:]}'
            executor.spin_once(timeout_sec=0.05)

    try:
        kind = message('trajectory_msgs/msg/JointTrajectory')
        node.create_subscription(
            message('sensor_msgs/msg/JointState'), '/robot_joint_states', on_states, QoSProfile(depth=5)
        )
        publisher = node.create_publisher(kind, '/joint_trajectory_controller/joint_trajectory', QoSProfile(depth=1))
        until(lambda: set(positions) >= set(JTC['joints']), 'no joint states of the machine', PATIENCE)
        client = node.create_client(listing, '/controller_manager/list_controllers')
        until(client.service_is_ready, 'no controller_manager', PATIENCE)

        def is_active() -> bool:
            future = client.call_async(listing.Request())
            until(future.done, 'list_controllers does not answer', 30.0)
            states = {controller.name: controller.state for controller in future.result().controller}
            return states.get('joint_trajectory_controller') == 'active'

        until(is_active, 'the joint_trajectory_controller does not become active', 120.0)
        goal = {name: positions[name] + change for name, change in zip(JTC['joints'], CHANGE)}
        trajectory = kind(joint_names=list(goal))
        point = message('trajectory_msgs/msg/JointTrajectoryPoint')(positions=list(goal.values()), velocities=[0.0] * 3)
        point.time_from_start.sec = 3
        trajectory.points = [point]
        publisher.publish(trajectory)
        until(
            lambda: all(abs(positions[name] - goal[name]) < JTC['constraints'][name]['goal'] for name in goal),
            'the goal is not reached',
            60.0,
        )
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
        for number, longest in ((signal.SIGINT, 40.0), (signal.SIGKILL, 10.0)):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(scaled_timeout(longest))
                except subprocess.TimeoutExpired:
                    continue
