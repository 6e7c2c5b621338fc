"""Machines on electric motors as processes in lockstep: a vehicle by cmd_vel, arm A6 by a trajectory."""

from __future__ import annotations

import numpy as np
import pytest
from test_vehicles_through_nodes import REPORT, Driver

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.stamps import seconds_of_stamp

Float64, JointState = message('std_msgs/msg/Float64'), message('sensor_msgs/msg/JointState')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
JointTrajectoryPoint = message('trajectory_msgs/msg/JointTrajectoryPoint')
PERIOD = 0.005
WHEELS, MOTORS = ('front', 'left', 'right'), ('front_motor', 'left_motor', 'right_motor')


def values(probe, topic):
    kept: list[float] = []
    probe.node.create_subscription(Float64, topic, lambda msg: kept.append(msg.data), QoSProfile(depth=5000))
    return kept


def check_limits(machine, currents, volts):
    for motor in machine.actuators:
        assert len(currents[motor.name]) > 10
        assert np.abs(currents[motor.name]).max() <= motor.current_limit
        assert np.abs(volts[motor.name]).max() <= motor.voltage_limit


@pytest.mark.slow
def test_a_vehicle_follows_cmd_vel_on_its_motors(processes, probe):
    script = ((1.5, (0.5, 0.0, 0.0)), (3.0, (0.0, 0.4, 0.0)), (4.5, (0.0, 0.0, 0.8)))

    def wanted(time):
        return next((twist for end, twist in script if time < end), (0.0, 0.0, 0.0))

    driver = Driver(probe, wanted, WHEELS)
    currents, volts = (
        {motor: values(probe, f'motors/{motor}/{quantity}') for motor in MOTORS}
        for quantity in ('current', 'terminal_voltage')
    )
    common = {'machine': 'agv_omni', 'config': 'agv_omni_motors', 'mode': 'lockstep', 'exchange_period': PERIOD}
    processes.start('vehicle_controller_node', output='valve_commands', command_period=PERIOD, **common)
    processes.start('electric_actuator_node', command_period=PERIOD, **common)
    partners = ['vehicle_controller_node', 'electric_actuator_node']
    processes.start('dynamics_node', wait_for=partners, duration=4.5, report_period=REPORT, **common)
    assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
    last = round(4.5 / REPORT)
    probe.until(lambda: last in driver.twist, 'the last report')
    for end, twist in script:
        measured = driver.twist[round((end - 0.04) / REPORT)]
        assert np.abs(measured - twist).max() < 0.03, (end, measured)
    check_limits(machine_of('agv_omni', 'agv_omni_motors'), currents, volts)
    assert max(np.abs(volts[motor]).max() for motor in MOTORS) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize('monolithic', [False, True])
def test_arm_a6_follows_a_trajectory_on_its_motors(processes, probe, monolithic):
    machine, goal = machine_of('arm_a6', ''), np.array([0.8, -0.4, 0.7, 0.0, -0.5, 1.0])
    states: dict[float, tuple[np.ndarray, np.ndarray]] = {}
    out = probe.node.create_publisher(JointTrajectory, 'joint_trajectory', QoSProfile(depth=10))

    def keep(msg):
        time = seconds_of_stamp(msg.header.stamp)
        states[time] = np.array(msg.position), np.array(msg.velocity)
        if time == 0.5:
            point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 6)
            point.time_from_start.sec = 2
            out.publish(JointTrajectory(joint_names=[f'joint_{k}' for k in range(1, 7)], points=[point]))

    probe.node.create_subscription(JointState, 'joint_states', keep, QoSProfile(depth=5000))
    currents, volts = (
        {motor.name: values(probe, f'motors/{motor.name}/{quantity}') for motor in machine.actuators}
        for quantity in ('current', 'terminal_voltage')
    )
    common = {'machine': 'arm_a6', 'mode': 'lockstep', 'exchange_period': PERIOD}
    processes.start('controller_node', **common)
    partners = ['controller_node']
    if not monolithic:
        processes.start('electric_actuator_node', **common)
        partners.append('electric_actuator_node')
    actuation = 'monolithic' if monolithic else 'topics'
    processes.start('dynamics_node', wait_for=partners, duration=3.5, actuation=actuation, **common)
    assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
    probe.until(lambda: 3.5 in states, 'the last joint states')
    assert np.abs(states[3.5][0] - goal).max() < 2e-3
    assert np.abs(states[3.5][1]).max() < 1e-2
    start = np.array(list(machine.initial.joint_positions.values()))
    assert np.abs(states[0.5][0] - start).max() < 1e-6
    if not monolithic:
        check_limits(machine, currents, volts)
