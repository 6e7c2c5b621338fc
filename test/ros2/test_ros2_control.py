"""ros2_control on the other side of dynamics_node: here by a stand-in, on a real ROS 2 by the real controllers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from ros2_control_stand_in import PLUGIN, ControllerManager, Hardware
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, Node, QoSProfile, SingleThreadedExecutor, init, message, service
from dyn_nodes.middleware.launching import declared_arguments, interpret
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.nodes.machines import machine_of

ROOT = Path(__file__).parents[2]
EXAMPLES = {'log_loader': '', 'agv_mecanum_arm': 'mecanum_drive_controller', 'excavator': 'diff_drive_controller'}
"""Machines with a block, and the controller of their wheels or tracks."""
CONTROLLERS = {
    name: yaml.safe_load((ROOT / 'config' / f'{name}_controllers.yaml').read_text())['/**'] for name in EXAMPLES
}
JTC = CONTROLLERS['log_loader']['joint_trajectory_controller']['ros__parameters']
PACKAGES = ('controller_manager', 'joint_trajectory_controller', 'joint_state_broadcaster', PLUGIN.partition('/')[0])
PATIENCE = 240.0
CHANGE = (0.15, -0.2, 0.25)
"""How far the trajectories move swing, boom and stick, rad."""


# -- the files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', EXAMPLES)
def test_the_block_fits_machine_controllers_and_launch_file(name: str) -> None:
    machine = machine_of(name, '')
    hardware = Hardware(machine.urdf)
    assert hardware.joints == [joint.name for joint in machine.actuated_joints]
    jtc = CONTROLLERS[name]['joint_trajectory_controller']['ros__parameters']
    for kind in ('command', 'state'):
        wanted = {f'{joint}/{name}' for joint in jtc['joints'] for name in jtc[f'{kind}_interfaces']}
        assert wanted <= set(getattr(hardware, kind))
    led = {f'{joint}/{kind}' for joint in jtc['joints'] for kind in ('position', 'velocity')}
    turning = {f'{joint}/velocity' for joint in hardware.joints if joint not in jtc['joints']}
    assert set(hardware.command) == led | turning
    assert set(jtc['constraints']) == {'stopped_velocity_tolerance', 'goal_time', *jtc['joints']}
    assert hardware.threshold < 0, 'a timeout would count as a dead controller'
    start = machine.initial.joint_positions
    assert {key: hardware.state[f'{key}/position'] for key in hardware.joints} == {
        key: start.get(key, 0.0) for key in hardware.joints
    }
    if EXAMPLES[name]:
        wheels = CONTROLLERS[name][EXAMPLES[name]]['ros__parameters']
        entries = [value for key, value in wheels.items() if key.endswith(('joint_name', 'wheel_names'))]
        named = {name for entry in entries for name in (entry if isinstance(entry, list) else [entry])}
        assert {f'{joint}/velocity' for joint in named} == turning
    manager = CONTROLLERS[name]['controller_manager']['ros__parameters']
    assert manager['enforce_command_limits'] is True
    file = ROOT / 'launch' / f'{name}_ros2_control.launch.xml'
    defaults = {argument.name: argument.default or '' for argument in declared_arguments(file)}
    assert defaults['spawn'].split() == [key for key, value in manager.items() if isinstance(value, dict)]
    assert defaults['controllers_file'].endswith(f'/config/{name}_controllers.yaml')
    children = {child.name: child for child in interpret(file, {'namespace': 'left'}).children}
    words = ' '.join(children['dynamics_node'].command)
    for local, topic in (('joint_states', hardware.states_topic), ('joint_command', hardware.commands_topic)):
        assert not topic.startswith('/'), 'the hardware component is in the namespace of its controller manager'
        assert f'{local}:={topic}' in words
    assert '__ns:=/left' in words
    clock = [float(word.partition(':=')[2]) for word in words.split() if word.startswith('clock_period:=')]
    assert clock[0] <= 1.0 / manager['update_rate']


# -- the stand-in against the real dynamics --------------------------------------------------------------------------


class Side:
    """The other side of the topics: nodes of the test and the received health of the machine."""

    def __init__(self, namespace: str = '', beside: Sequence[Side] = ()) -> None:
        self.context, self.beside = Context(), list(beside)
        for other in beside:
            other.beside.append(self)
        init(args=['--ros-args', '-r', '/clock:=clock'], context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.manager = ControllerManager(self.context, namespace)
        self.executor.add_node(self.manager)
        self.health: dict[str, str] = {}
        self.values: dict[str, str] = {}
        kind = message('diagnostic_msgs/msg/DiagnosticArray')
        self.manager.create_subscription(kind, '/diagnostics', self._on_health, QoSProfile(depth=50))

    def _on_health(self, array: Any) -> None:
        space = self.manager.get_namespace().rstrip('/') + '/'
        mine = [status for status in array.status if status.name.startswith((space, space[1:]))]
        self.health.update({status.name.partition(': ')[2]: status.message for status in mine})
        self.values.update({pair.key: pair.value for status in mine for pair in status.values})

    def until(self, condition: Callable[[], Any], text: str, timeout: float = 30.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < end, f'{text}; health: {self.health}'
            # the commands of the others must not wait: without them a node soon holds its joints by brakes
            self.executor.spin_once(timeout_sec=0.002 if self.beside else 0.05)
            for other in self.beside:
                for _ in range(20):  # all that has arrived: its time must not lag
                    other.executor.spin_once(timeout_sec=0.0)

    def for_seconds(self, seconds: float) -> None:
        """Spin for so much simulated time."""
        clock = self.manager.get_clock()
        end = clock.now().nanoseconds + round(seconds * 1e9)
        self.until(lambda: clock.now().nanoseconds >= end, 'simulated time stands still')

    def close(self) -> None:
        self.executor.shutdown()
        self.manager.destroy_node()
        self.context.try_shutdown()


@contextmanager
def running(name: str, log: Path, namespace: str = '', beside: Sequence[Side] = ()) -> Iterator[Side]:
    """Start the machine of an example, and the other side of its topics."""
    words = [f'{name}_ros2_control', 'controllers:=false', f'namespace:={namespace}']
    with log.open('w') as out:
        process = subprocess.Popen(
            [sys.executable, '-m', 'dyn_nodes.cli', 'launch', *words],
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    made = Side(namespace, beside)
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


@pytest.fixture
def side(domain: int, tmp_path: Path) -> Iterator[Side]:
    with running('log_loader', tmp_path / 'launch.log') as made:
        yield made


def test_a_trajectory_is_followed_within_the_constraints_of_the_controller(side: Side) -> None:
    manager = side.manager
    start = manager.positions
    side.for_seconds(0.4)
    # without an active controller the commands are NaN; the machine stands
    side.until(lambda: manager.sent > 10, 'no commands')
    side.until(lambda: 'without a value for all joints' in side.health.get('commands', ''), 'NaN is not reported')
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


def shares_of(manager: ControllerManager, name: str) -> dict[str, Any]:
    """Return the greatest speeds and efforts over their limits by joint."""
    return {
        joint.name: manager.greatest[joint.name] / np.array([joint.velocity_limit, joint.effort_limit])
        for joint in load_machine(*machine_files(name)).actuated_joints
    }


def test_a_trajectory_that_is_too_fast_for_the_drives_stays_within_their_limits(side: Side) -> None:
    manager = side.manager
    manager.activate()
    manager.follow(manager.positions + np.array([0.8, 0.4, -0.8]), 0.1)
    side.until(lambda: 'saturated: ' in side.health.get('commands', ''), 'no limit is reported')
    side.for_seconds(1.0)
    shares = shares_of(manager, 'log_loader')
    assert all(share.max() <= 1.001 for share in shares.values()), shares
    assert max(share[0] for share in shares.values()) > 0.5, shares


def test_two_machines_in_namespaces_follow_positions_of_arms_and_velocities_of_wheels(
    domain: int, tmp_path: Path
) -> None:
    """Position commands and velocity commands are in the same messages, in arrays of different sizes."""
    moves = {
        'left': ('agv_mecanum_arm', {'arm_turn': 0.3, 'arm_wrist': -0.2}, ('_drive', 2.0)),
        'right': ('excavator', {'swing_joint': 0.2, 'boom_rod_joint': 0.03}, ('_sprocket_joint', 0.4)),
    }
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for space, (name, _, _) in moves.items():
            log = tmp_path / f'{space}.log'
            sides[space] = stack.enter_context(running(name, log, space, tuple(sides.values())))
        goals = {}
        for space, (_, changes, (wheel, speed)) in moves.items():
            manager = sides[space].manager
            assert manager.hardware is not None
            manager.activate()
            goals[space] = manager.positions + np.array([changes.get(joint, 0.0) for joint in manager.led])
            manager.follow(goals[space], 1.5)
            manager.speeds = {joint: speed for joint in manager.hardware.joints if joint.endswith(wheel)}
        for space, (name, _, _) in moves.items():
            side, jtc = sides[space], CONTROLLERS[name]['joint_trajectory_controller']['ros__parameters']
            manager = side.manager
            side.for_seconds(1.5 + jtc['constraints']['goal_time'])
            errors = dict(zip(manager.led, np.abs(manager.positions - goals[space])))
            assert all(error < jtc['constraints'][joint]['goal'] for joint, error in errors.items()), (name, errors)
            assert manager.hardware is not None
            state = manager.hardware.state
            rates = {joint: state[f'{joint}/velocity'] / speed for joint, speed in manager.speeds.items()}
            assert rates == pytest.approx(dict.fromkeys(rates, 1.0), abs=0.1), name
            assert len(rates) == len(manager.hardware.joints) - len(manager.led)
            assert not [key for key in side.values if key.startswith('rejected')], (name, side.values)
            shares = shares_of(manager, name)
            assert all(share.max() <= 1.001 for share in shares.values()), (name, shares)
        # the controller of the wheels is deactivated: they stop, the arm stays
        for space, (name, _, _) in moves.items():
            side, manager = sides[space], sides[space].manager
            wheels, manager.speeds = list(manager.speeds), {}
            side.for_seconds(1.5)
            assert manager.hardware is not None
            assert max(abs(manager.hardware.state[f'{joint}/velocity']) for joint in wheels) < 0.05, name
            assert np.abs(manager.positions - goals[space]).max() < 0.01, name
            side.until(lambda side=side: 'without a value for' in side.health['commands'], 'NaN is not reported')


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
            message('sensor_msgs/msg/JointState'), 'robot_joint_states', on_states, QoSProfile(depth=5)
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
