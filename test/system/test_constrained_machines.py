"""Machines with constraints as real processes: efforts in, reactions and loads out, what is refused, what ends a run."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.middleware import message

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
    probe.listen('tf2_msgs/msg/TFMessage', '/tf')
    probe.listen('tf2_msgs/msg/TFMessage', '/tf_static', latched=True)
    for constraint in REACTIONS.get(name, ()):
        probe.listen('geometry_msgs/msg/WrenchStamped', f'constraint_reactions/{constraint}')
    options = {'machine': name, 'mode': 'realtime', 'command_timeout': 60.0, **parameters}
    processes.start('dynamics_node', **options)
    probe.until(lambda: probe.count['joint_states'] > 5, 'joint_states', 90)


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
    # against gravity, or slowly where there is none: the motion stays far from where loops fold
    publisher.publish(JointState(name=list(driven), effort=[14.0 if name == 'four_bar' else 0.05] * len(driven)))
    probe.until(
        lambda: np.abs(np.array(probe.last['joint_states'].position) - first).max() > 2e-3, 'a motion of the joints'
    )
    for constraint in REACTIONS[name]:
        wrench = probe.last[f'constraint_reactions/{constraint}']
        assert wrench.header.frame_id == f'{constraint}_constraint'
        force = wrench.wrench.force
        assert np.hypot(force.x, force.z) > 1e-4
    frames = {t.child_frame_id for t in probe.last['/tf_static'].transforms}
    assert {f'{constraint}_constraint' for constraint in REACTIONS[name]} <= frames
    assert ('load' in {t.child_frame_id for t in probe.last['/tf'].transforms}) == name.endswith('_arms')
    level, text, values = probe.health['dynamics_node: constraints']
    assert level == 0
    assert float(values['drift']) < 1e-9
    assert ('not unique' in text) == (name == 'four_bar')


@pytest.mark.parametrize('name', list(PASSIVE))
def test_a_command_for_a_passive_joint_is_refused_with_its_class(processes, probe, name):
    start(processes, probe, name)
    joint, kind = PASSIVE[name]
    publisher = commander(probe)
    publisher.publish(JointState(name=[joint], effort=[1.0]))
    expected = f"joint_command: joint '{joint}' is {kind}"
    probe.until(lambda: expected in str(probe.health.get('dynamics_node: commands')), 'the refusal')
