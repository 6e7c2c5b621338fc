"""The tool of the tutorial's UR10 on a platform guided by targets over topics, with electric motors, in processes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand import hand_of
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.machines import machine_of

PoseStamped, JointState = message('geometry_msgs/msg/PoseStamped'), message('sensor_msgs/msg/JointState')
Float64, String = message('std_msgs/msg/Float64'), message('std_msgs/msg/String')
TUTORIAL = Path(__file__).resolve().parents[2] / 'docs' / 'tutorials' / 'bring_your_own_machine.md'
PERIOD = 0.005
BENT = {'ur10_shoulder_lift_joint': -1.2, 'ur10_elbow_joint': 1.6, 'ur10_wrist_1_joint': -0.4}


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return the machine of the tutorial, made by its commands, with the motors of its page."""
    robots = pytest.importorskip('pinocchio', reason='example-robot-data comes with the extra dev') and _robots()
    folder = tmp_path_factory.mktemp('ur10')
    urdf, config = folder / 'ur10_on_platform.urdf', folder / 'ur10_on_platform.yaml'
    platform = find_resource('urdf/tutorial_platform.urdf')
    arm = robots / 'ur_description' / 'urdf' / 'ur10_robot.urdf'
    assert main(['attach', str(platform), str(arm), '--to', 'mount', '--prefix', 'ur10_', '-o', str(urdf)]) == 0
    assert main(['init', str(urdf), '-o', str(config)]) == 0
    motors = re.search(r"cat >> ur10_on_platform.yaml <<'END'\n(.*?)\nEND\n", TUTORIAL.read_text(), re.DOTALL)
    config.write_text(config.read_text() + motors.group(1) + '\n')
    return {'machine': urdf, 'config': config}


def _robots():
    import importlib.metadata

    listed = importlib.metadata.files('example-robot-data') or []
    return next(each.locate().resolve().parents[2] for each in listed if each.name == 'tiago.urdf')


class Watch:
    """Positions of the tool in the base link, and the reports of the motors."""

    def __init__(self, probe, machine, hand):
        self.hand, self.positions, self.states, self.reports = hand, {}, [], {}
        self.time = self.since = 0.0
        order = {}

        def hear(msg):
            self.states.append(msg.data)
            self.since = self.time

        def note(msg):
            order.setdefault('at', [list(msg.name).index(name) for name in hand.names])
            time = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
            self.positions[time] = hand.pose(np.array(msg.position)[order['at']]).position
            self.time = time

        node = probe.node
        node.create_subscription(JointState, 'joint_states', note, QoSProfile(depth=5000))
        node.create_subscription(String, 'hand_state', hear, QoSProfile(depth=100))
        for motor in machine.actuators:
            for quantity in ('current', 'terminal_voltage'):
                kept = self.reports[motor.name, quantity] = []
                topic = f'motors/{motor.name}/{quantity}'
                node.create_subscription(
                    Float64, topic, lambda msg, kept=kept: kept.append(msg.data), QoSProfile(depth=5000)
                )

    def at_rest(self):
        """Return whether 0.5 s have passed since the last change of a final state of a motion."""
        finished = len(self.states) > 1 and self.states[-1].startswith(('holding', 'stopped'))
        return finished and self.time - self.since > 0.5

    def check_limits(self, machine):
        for motor in machine.actuators:
            currents, volts = self.reports[motor.name, 'current'], self.reports[motor.name, 'terminal_voltage']
            assert len(currents) > 10
            assert np.abs(currents).max() <= motor.current_limit
            assert np.abs(volts).max() <= motor.voltage_limit


def run(processes, probe, files, move, **parameters):
    """Send the tool along a line and wait for its end; return distances from the line, travel and the recorded data."""
    machine = machine_of(str(files['machine']), str(files['config']))
    hand = hand_of(machine, 'ur10_tool0')
    watch = Watch(probe, machine, hand)
    actuation = parameters.pop('actuation', 'topics')
    target = probe.node.create_publisher(PoseStamped, 'hand_pose', 10)
    common = {'mode': 'lockstep', 'exchange_period': PERIOD, 'command_period': PERIOD, **files}
    partners = ['cartesian_controller_node']
    processes.start('cartesian_controller_node', link='ur10_tool0', **common, **parameters)
    if actuation == 'topics':
        partners.append('electric_actuator_node')
        processes.start('electric_actuator_node', **common)
    posture = ','.join(f'{name}={value}' for name, value in BENT.items())
    processes.start('dynamics_node', wait_for=partners, initial_positions=posture, actuation=actuation, **common)
    probe.until(lambda: len(watch.positions) > 3 and target.get_subscription_count(), 'the first joint states', 280)
    start = hand.pose(hand.posture(BENT)).position
    goal = PoseStamped()
    goal.header.frame_id = machine.base.link
    target_position = goal.pose.position
    target_position.x, target_position.y, target_position.z = (start + np.array(move)).tolist()
    target.publish(goal)
    probe.until(watch.at_rest, 'the end of the motion', 280)
    positions = dict(watch.positions)  # the first node that ends leaves the arm without volts
    processes.stop()
    assert 'Traceback' not in processes.log('cartesian_controller_node')
    rows = np.array([positions[time] for time in sorted(positions)]) - start
    along = np.array(move) / np.linalg.norm(move)
    ways = rows @ along
    if actuation == 'topics':
        watch.check_limits(machine)
    return np.linalg.norm(rows - np.outer(ways, along), axis=1), ways, watch


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(('actuation', 'law'), [('topics', 'joints'), ('monolithic', 'joints'), ('topics', 'hand')])
def test_the_tool_follows_a_line_on_motors(processes, probe, files, actuation, law):
    move = (0.15, 0.35, -0.2)
    off, ways, watch = run(
        processes, probe, files, move, actuation=actuation, **{'motors.law': law, 'limits.speed': 0.3}
    )
    assert off.max() < 3e-3
    assert ways[-1] == pytest.approx(np.linalg.norm(move), abs=2e-3)
    assert watch.states[-1] == 'holding'
    assert 'tracking' in watch.states


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_into_the_stretched_elbow_the_tool_is_slowed_and_stopped_and_that_is_published(processes, probe, files):
    off, ways, watch = run(processes, probe, files, (0.9, 0.0, -0.2), **{'limits.speed': 0.3})
    assert off.max() < 5e-3
    assert ways[-1] < 0.9
    assert np.diff(ways).min() > -1e-3
    assert watch.states[-1] == 'stopped: singular posture ahead'
    assert any(text.startswith('slowed') for text in watch.states)
