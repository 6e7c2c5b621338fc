"""The excavator on its tracks as processes in lockstep: it rests, drives by cmd_vel and turns, with margins."""

from __future__ import annotations

import numpy as np
import pytest
from test_vehicles_through_nodes import REPORT, Driver, number

from dyn_nodes.measures import MEASURES
from dyn_nodes.middleware import QoSProfile, message

Float64, Status = message('std_msgs/msg/Float64'), message('diagnostic_msgs/msg/DiagnosticStatus')
Wrench = message('geometry_msgs/msg/WrenchStamped')
TRACKS, WEIGHT = ('left_track', 'right_track'), 20320.0 * 9.81
AT_REST, AHEAD, END = 1.0, 4.0, 7.0


def wanted(time):
    """Return the wanted twist: rest, drive ahead, turn on the spot."""
    if time < AT_REST:
        return 0.0, 0.0, 0.0
    return (0.4, 0.0, 0.0) if time < AHEAD else (0.0, 0.0, 0.2)


def values(probe, topic):
    kept: list[float] = []
    probe.node.create_subscription(Float64, topic, lambda msg: kept.append(msg.data), QoSProfile(depth=5000))
    return kept


@pytest.mark.slow
def test_the_excavator_stands_drives_and_turns_through_its_nodes(processes, probe):
    driver, events, watched = Driver(probe, wanted, TRACKS), [], {}
    topic = MEASURES['static'].topic
    static, seen = (values(probe, f'{prefix}stability/{topic}') for prefix in ('', 'monitor/'))
    probe.node.create_subscription(Status, 'events', lambda msg: events.append(msg.name), QoSProfile(depth=1000))
    probe.node.create_subscription(
        Wrench,
        'monitor/ground_reactions/left_track',
        lambda msg: watched.update({number(msg): msg.wrench.force.z}),
        QoSProfile(depth=5000),
    )
    common = {'machine': 'excavator', 'mode': 'lockstep', 'exchange_period': 0.005}
    partners = ['vehicle_controller_node', 'hydraulic_actuator_node', 'stability_monitor_node']
    limits = {'limits.linear_acceleration': 0.5, 'limits.angular_acceleration': 0.5}
    processes.start('vehicle_controller_node', output='valve_commands', report_period=REPORT, **limits, **common)
    processes.start('hydraulic_actuator_node', command_source='lockstep', **common)
    processes.start('stability_monitor_node', machine='excavator', prefix='monitor', queue_depth=20000)
    processes.start('dynamics_node', wait_for=partners, duration=END, report_period=REPORT, **common)
    assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
    last = round(END / REPORT)
    probe.until(lambda: all(last in kept for kept in (driver.twist, *driver.forces.values())), 'the last report')

    def load(k):
        return sum(driver.forces[track][k][2] for track in TRACKS)

    rest = round(0.9 * AT_REST / REPORT)
    assert load(rest) == pytest.approx(WEIGHT, rel=1e-6)
    assert np.linalg.norm(driver.pose[rest] - driver.pose[min(driver.pose)]) < 1e-6
    assert driver.twist[round(0.95 * AHEAD / REPORT)] == pytest.approx([0.4, 0.0, 0.0], abs=0.02)
    assert driver.twist[last][2] == pytest.approx(0.2, abs=0.02)
    assert all(load(k) == pytest.approx(WEIGHT, rel=0.1) for k in driver.forces['left_track'])
    assert np.linalg.norm(driver.wheels[max(driver.wheels)] - driver.pose[last]) < 0.1
    assert driver.forces['left_track'][last][0] < -2e4 < 2e4 < driver.forces['right_track'][last][0]  # against the turn
    assert min(static) > 0.9
    assert not {name.rpartition(': ')[2] for name in events} & {'lift_off', 'overturned', 'tipping'}
    settled = [k for k in watched if k * REPORT > 0.8 and k in driver.forces['left_track']]
    assert len(settled) > 20
    off = [watched[k] - driver.forces['left_track'][k][2] for k in settled]
    assert np.abs(off).max() < 0.05 * WEIGHT
    assert min(seen) > 0.8
