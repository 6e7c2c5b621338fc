"""Machines with constraints as processes: efforts in, reactions and loads out, rejected commands, and the end."""

from __future__ import annotations

import numpy as np
import pytest
from harness import HAS_FRAMES

from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, message
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings
from dyn_nodes.simulation.constrained_machine import constrained_machine

JointState = message('sensor_msgs/msg/JointState')
REACTIONS = {
    'four_bar': ('pin',),
    'slider_crank': ('pin',),
    'planar_arms': ('grasp_1', 'grasp_2'),
    'spatial_arms': ('grasp_1', 'grasp_2'),
}
DRIVEN = {
    'four_bar': ('crank_joint',),
    'slider_crank': ('crank_joint',),
    'planar_arms': ('arm_1_joint_2', 'arm_2_joint_3'),
    'spatial_arms': tuple(f'arm_{arm}_joint_{k}' for arm in (1, 2) for k in range(1, 7)),
}
PASSIVE = {'four_bar': ('rocker_joint', 'free'), 'planar_arms': ('arm_1_joint_1', 'flexible')}


def start(processes, probe, name, **parameters):
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    probe.listen('diagnostic_msgs/msg/DiagnosticStatus', 'events')
    if HAS_FRAMES:
        probe.listen('tf2_msgs/msg/TFMessage', '/tf')
        probe.listen('tf2_msgs/msg/TFMessage', '/tf_static', latched=True)
    for constraint in REACTIONS.get(name, ()):
        probe.listen('geometry_msgs/msg/WrenchStamped', f'constraint_reactions/{constraint}')
    options = {'machine': name, 'mode': 'realtime', 'partner': 'external', 'command_timeout': 60.0, **parameters}
    processes.start('dynamics_node', **options)
    probe.until(lambda: probe.count['joint_states'] > 5, 'joint_states', 180)


def commander(probe):
    publisher = probe.node.create_publisher(JointState, 'joint_command', 10)
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the match with dynamics_node')
    return publisher


@pytest.mark.parametrize('name', list(REACTIONS))
def test_a_machine_with_constraints_is_held_and_then_driven(processes, probe, name):
    """At first the driven joints are held; then they take efforts. Reactions and loads are published, no drift."""
    start(processes, probe, name)
    first = np.array(probe.last['joint_states'].position)
    before = probe.count['joint_states']
    probe.until(lambda: probe.count['joint_states'] > before + 100, 'more joint_states')
    assert np.abs(np.array(probe.last['joint_states'].position) - first).max() < 1e-6
    publisher = commander(probe)
    driven = DRIVEN[name]
    # against gravity, or slowly without gravity: the motion stays far from folded loops
    publisher.publish(JointState(name=list(driven), effort=[14.0 if name == 'four_bar' else 0.05] * len(driven)))
    probe.until(
        lambda: np.abs(np.array(probe.last['joint_states'].position) - first).max() > 2e-3, 'a motion of the joints'
    )
    for constraint in REACTIONS[name]:
        wrench = probe.last[f'constraint_reactions/{constraint}']
        assert wrench.header.frame_id == f'{constraint}_constraint'
        force = wrench.wrench.force
        assert np.hypot(force.x, force.z) > 1e-4
    if HAS_FRAMES:
        frames = {t.child_frame_id for t in probe.last['/tf_static'].transforms}
        assert {f'{constraint}_constraint' for constraint in REACTIONS[name]} <= frames
        assert ('load' in {t.child_frame_id for t in probe.last['/tf'].transforms}) == name.endswith('_arms')
    level, text, values = probe.health['dynamics_node: constraints']
    assert level == 0
    assert float(values['drift']) < 1e-9
    assert ('not unique' in text) == (name == 'four_bar')


@pytest.mark.parametrize('name', list(PASSIVE))
def test_a_command_for_a_passive_joint_is_rejected_with_its_class(processes, probe, name):
    start(processes, probe, name)
    joint, kind = PASSIVE[name]
    publisher = commander(probe)
    publisher.publish(JointState(name=[joint], effort=[1.0]))
    expected = f"joint_command: joint '{joint}' is {kind}"
    probe.until(lambda: expected in str(probe.health.get('dynamics_node: commands')), 'the refusal')


def test_lockstep_follows_the_efforts_of_every_instant(processes, tmp_path, probe):
    """A ramp of effort, step by step: the bag equals the run of the system under the same steps."""

    def efforts(t):
        return 12.0 + 4.0 * t

    publisher = probe.node.create_publisher(JointState, 'joint_command', lockstep_qos())
    states = []

    def answer(msg):
        t = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
        states.append((t, *msg.position))
        reply = JointState(name=['crank_joint'], effort=[efforts(t)])
        reply.header.stamp = msg.header.stamp
        publisher.publish(reply)

    probe.node.create_subscription(JointState, 'joint_states', answer, QoSProfile(depth=100))
    options = {'machine': 'four_bar', 'mode': 'lockstep', 'duration': 0.4}
    processes.start('dynamics_node', wait_for=['probe'], **options)
    assert processes.wait('dynamics_node', 120) == 0, processes.log('dynamics_node')
    rows = np.array(sorted(set(states)))
    machine = constrained_machine(
        load_machine(find_resource('urdf/four_bar.urdf'), find_resource('config/four_bar.yaml'))
    )
    times = np.arange(401) * 1e-3
    held = Inputs(np.repeat(times, 2)[1:-1], {'crank_joint/effort': np.repeat([efforts(t) for t in times[:-1]], 2)})
    run = machine.system.run(machine.x, times, held, settings=Settings(step=5e-4))
    assert len(rows) == 401
    assert np.abs(rows[:, 1:] - run.q).max() < 1e-8
    assert np.ptp(rows[:, 1]) > 0.02


def test_a_wheel_that_would_pull_at_the_ground_ends_the_run(processes, probe, tmp_path):
    """A cart with a high centre of mass has margins until a drive effort that would lift its front wheels."""
    urdf, config = top_heavy_cart(tmp_path)
    probe.listen('geometry_msgs/msg/WrenchStamped', 'ground_reactions/front_left')
    probe.listen('std_msgs/msg/Float64', 'stability/static')
    start(processes, probe, str(urdf), config=str(config))
    probe.until(lambda: probe.count['ground_reactions/front_left'] > 1, 'ground reactions')
    probe.until(lambda: probe.count['stability/static'] > 1, 'margins')
    assert probe.last['ground_reactions/front_left'].wrench.force.z == pytest.approx(28 * 9.81 / 4, rel=1e-6)
    names = ('front_left', 'front_right', 'rear_left', 'rear_right')
    commander(probe).publish(JointState(name=[f'{name}_axle' for name in names], effort=[20.0] * 4))
    assert processes.wait('dynamics_node', 20) == 1, processes.log('dynamics_node')
    probe.until(lambda: 'contact_opened' in str(getattr(probe.last.get('events'), 'name', '')), 'the event')
    assert 'would pull' in probe.last['events'].message


def test_the_cart_publishes_the_ground_reactions_of_its_two_wheels(processes, probe):
    """Too few wheels for margins: reactions in frames along the rolling direction of each wheel."""
    probe.listen('geometry_msgs/msg/WrenchStamped', 'ground_reactions/left')
    probe.listen('nav_msgs/msg/Odometry', 'odom')
    start(processes, probe, 'cart')
    commander(probe).publish(JointState(name=['left_axle', 'right_axle'], effort=[0.25, 0.5]))
    probe.until(lambda: probe.last['odom'].pose.pose.position.x > 0.05, 'the cart to roll')
    force = probe.last['ground_reactions/left'].wrench.force
    assert (force.x, force.z) == pytest.approx((1.119791667, 68.67), rel=0.05)
    assert probe.last['ground_reactions/left'].header.frame_id == 'left_contact'
    if HAS_FRAMES:
        assert {'left_contact', 'right_contact'} <= {t.child_frame_id for t in probe.last['/tf'].transforms}
    assert 'left/lateral' in probe.health['dynamics_node: constraints'][2]['forces not unique']


def test_a_disc_rolls_round_its_circle_without_any_command(processes, probe):
    """It starts by its machine file, without drive and brake: the steady turn continues."""
    probe.listen('geometry_msgs/msg/WrenchStamped', 'ground_reactions/ground')
    probe.listen('nav_msgs/msg/Odometry', 'odom')
    start(processes, probe, 'disc', command_timeout=0.2)
    probe.until(lambda: probe.last['odom'].pose.pose.position.x > 1.0, 'the disc to roll')
    pose, twist = probe.last['odom'].pose.pose, probe.last['odom'].twist.twist
    assert pose.position.z == pytest.approx(0.3 * np.cos(0.2), abs=1e-7)
    # in axes of the disc the direction of travel turns, the speed stays
    assert np.hypot(twist.linear.x, twist.linear.z) == pytest.approx(1.8869374765, abs=1e-6)
    assert probe.last['ground_reactions/ground'].wrench.force.z == pytest.approx(98.1, rel=1e-6)


def test_a_mechanism_that_comes_to_a_singular_position_ends_with_the_reason(processes, probe):
    start(processes, probe, 'four_bar')
    commander(probe).publish(JointState(name=['crank_joint'], effort=[0.0]))
    assert processes.wait('dynamics_node', 20) == 1, processes.log('dynamics_node')
    probe.until(lambda: 'rank_changed' in str(getattr(probe.last.get('events'), 'name', '')), 'the event')
    assert 'the rank of the constraints went from 2 to 1' in probe.last['events'].message


def test_unsupported_options_of_a_machine_with_constraints_are_reported(processes):
    processes.start('dynamics_node', machine='four_bar', actuation='monolithic')
    assert processes.wait('dynamics_node', 60) != 0
    assert "parameter 'actuation': expected topics for a machine with constraints" in processes.log('dynamics_node')
    assert 'Traceback' not in processes.log('dynamics_node')


def lockstep_qos():
    return QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def top_heavy_cart(tmp_path):
    links, lines = '', ''
    positions = {
        'front_left': (0.5, 0.4),
        'front_right': (0.5, -0.4),
        'rear_left': (-0.5, 0.4),
        'rear_right': (-0.5, -0.4),
    }
    for name, (x, y) in positions.items():
        links += (
            f'<link name="{name}_wheel"><inertial><mass value="2"/>'
            f'<inertia ixx="0.02" iyy="0.04" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}_axle" type="continuous"><parent link="base"/><child link="{name}_wheel"/>'
            f'<origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/></joint>'
        )
        lines += f'  {name}: {{kind: wheel, first: {{link: {name}_wheel}}, axis: [0, 1, 0], radius: 0.2}}\n'
    urdf, config = tmp_path / 'cart.urdf', tmp_path / 'cart.yaml'
    urdf.write_text(
        '<robot name="cart"><link name="base"><inertial><origin xyz="0 0 2"/><mass value="20"/>'
        f'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>{links}</robot>'
    )
    config.write_text(
        f'name: cart\nbase: {{attachment: free}}\ninitial: {{base_position: [0, 0, 0.2]}}\nconstraints:\n{lines}'
    )
    return urdf, config
