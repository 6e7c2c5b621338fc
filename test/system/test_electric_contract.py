"""The contract of electric_actuator_node, read by another process: topics, types, services, diagnostics, its end."""

from __future__ import annotations

import signal

import pytest

from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, message, service
from dyn_nodes.nodes.stamps import seconds_of_stamp, stamp_of

JointState = message('sensor_msgs/msg/JointState')
Float64, Float64MultiArray = message('std_msgs/msg/Float64'), message('std_msgs/msg/Float64MultiArray')
Trigger = service('std_srvs/srv/Trigger')
URDF = """<robot name="gate">
  <link name="post"/>
  <link name="leaf"><inertial><origin xyz="0.4 0 0"/><mass value="10"/>
    <inertia ixx="0.1" iyy="0.6" izz="0.6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="post"/><child link="leaf"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="100" velocity="2"/></joint>
</robot>
"""
YAML = """actuators:
  motor: {type: dc_motor, joint: hinge, torque_constant: 0.2, resistance: 0.8, inductance: 2.0e-3, gear_ratio: 50,
    rotor_inertia: 1.0e-4, rotor_damping: 1.0e-4, voltage_limit: 24, current_limit: 12}
"""
REPORTS = {'current': 3.924, 'terminal_voltage': 0.8 * 3.924, 'winding_power': 0.8 * 3.924**2, 'effort': 39.24}


def hinge(time):
    state = JointState(name=['hinge'], position=[0.0], velocity=[0.0], effort=[39.24])
    state.header.stamp = stamp_of(time)
    return state


@pytest.mark.timeout(400)
def test_efforts_reports_services_and_diagnostics_of_the_node(processes, probe, tmp_path):
    (tmp_path / 'gate.urdf').write_text(URDF)
    (tmp_path / 'gate.yaml').write_text(YAML)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    states = probe.node.create_publisher(JointState, 'joint_states', QoSProfile(depth=100))
    volts = probe.node.create_publisher(Float64MultiArray, 'valve_commands', latched)
    probe.listen('sensor_msgs/msg/JointState', 'joint_command', latched=True)
    for quantity in REPORTS:
        probe.listen('std_msgs/msg/Float64', f'motors/motor/{quantity}')
    files = {'machine': tmp_path / 'gate.urdf', 'config': tmp_path / 'gate.yaml'}
    processes.start('electric_actuator_node', mode='lockstep', **files)
    node = 'electric_actuator_node'
    probe.until(lambda: node in probe.node.get_node_names(), 'the node', 200.0)

    def types():
        return dict(probe.node.get_topic_names_and_types())

    for topic in ('/motors/motor/current', '/motors/motor/terminal_voltage', '/motors/motor/winding_power'):
        probe.until(lambda topic=topic: topic in types(), topic, 60.0)
        assert types()[topic] == ['std_msgs/msg/Float64']
    probe.until(lambda: states.get_subscription_count() and volts.get_subscription_count(), 'its subscriptions', 60.0)

    def ask():
        volts.publish(Float64MultiArray(data=[0.8 * 3.924]))
        states.publish(hinge(0.0))
        return probe.count['joint_command'] > 0

    probe.until(ask, 'an answer', 60.0)
    answer = probe.last['joint_command']
    assert (list(answer.name), seconds_of_stamp(answer.header.stamp)) == (['hinge'], 0.0)
    assert answer.effort[0] == pytest.approx(39.24, rel=1e-4)
    probe.until(lambda: all(probe.count[f'motors/motor/{quantity}'] for quantity in REPORTS), 'its reports')
    reports = {quantity: probe.last[f'motors/motor/{quantity}'].data for quantity in REPORTS}
    assert reports == pytest.approx(REPORTS, rel=1e-6)
    statuses = {f'{node}: {name}' for name in ('joint_states', 'valve_commands', 'motors')}
    probe.until(lambda: statuses <= set(probe.health), 'its diagnostics')
    assert probe.health[f'{node}: motors'][0] == 0
    reset = probe.ask(Trigger, f'{node}/reset', Trigger.Request())
    assert (reset.success, reset.message) == (True, 'the current holds the present efforts')
    processes.running[node].send_signal(signal.SIGINT)
    assert processes.wait(node, 30) in (0, 130, -2)
    assert 'Traceback' not in processes.log(node)
