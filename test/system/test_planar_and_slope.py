"""The planar machine as nodes, and changes of slope and payload at run time."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.middleware import message, service
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state

Float64 = message('std_msgs/msg/Float64')
SetParameters = service('rcl_interfaces/srv/SetParameters')
Parameter = message('rcl_interfaces/msg/Parameter')
ParameterValue = message('rcl_interfaces/msg/ParameterValue')
DOUBLE = 3
WHEELS = ('front_right', 'front_left', 'rear_right', 'rear_left')


def planar_in_one_process(duration: float, payload: float, slope: float):
    machine = load_machine(find_resource('urdf/log_loader_planar.urdf'), find_resource('config/log_loader_planar.yaml'))
    profile = load_voltage_profile(find_resource('config/tasks/planar_pick_and_place.yaml'))
    names = [actuator.name for actuator in machine.actuators]
    knots = np.asarray(profile.knot_times)
    table = np.array([profile.evaluate(t, names) for t in knots])
    inputs = Inputs(knots, {f'{name}/voltage': table[:, k] for k, name in enumerate(names)})
    system = System(machine)
    p = system.parameters({'payload_mass': payload}, slope=(0.0, slope))
    times = np.arange(round(duration * 1000) + 1) * 1e-3
    return system.run(initial_state(system, p), times, inputs, p, Settings(step=5e-4))


@pytest.mark.slow
def test_planar_machine_on_a_slope_in_lockstep_equals_one_process(processes, tmp_path):
    """4000 kg on 0.02 rad: split by topics and in one process, within a milliradian."""
    duration, payload, slope = 8.0, 4000.0, 0.02
    bag = tmp_path / 'bag'
    common = {'machine': 'log_loader_planar', 'mode': 'lockstep'}
    processes.start('recorder_node', directory=bag, use_sim_time=True)
    processes.start('hydraulic_actuator_node', **common)
    processes.start('controller_node', task='planar_pick_and_place', **common)
    others = ['recorder_node', 'hydraulic_actuator_node', 'controller_node']
    processes.start('dynamics_node', wait_for=others, duration=duration, payload=payload, slope_pitch=slope, **common)
    assert processes.wait('dynamics_node', 150) == 0, processes.log('dynamics_node')
    processes.stop()
    alone = planar_in_one_process(duration, payload, slope)
    joints = [joint.name for joint in alone.system.machine.movable_joints]
    rows, bases = [], []
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic in ('/joint_states', '/odom')]
        for connection, _, raw in reader.messages(connections):
            msg = reader.deserialize(raw, connection.msgtype)
            if connection.topic == '/joint_states':
                rows.append(msg.position)
            else:
                bases.append((msg.pose.pose.position.z, 2.0 * np.arcsin(msg.pose.pose.orientation.y)))
    expected = np.column_stack([alone.state(name) for name in joints])
    assert np.shape(rows) == expected.shape
    assert np.ptp(expected, axis=0).min() > 0.5  # the arm works
    assert np.abs(np.array(rows) - expected).max() < 1e-3
    pose = np.column_stack([alone.state('base_z'), alone.state('base_pitch')])[::20]
    assert np.shape(bases) == pose.shape
    assert np.abs(np.array(bases) - pose).max() < 1e-3


@pytest.fixture
def standing(processes, probe):
    """Return the 3-D machine with internal hydraulics, in real time at rest without a task."""
    for wheel in WHEELS:
        probe.listen('geometry_msgs/msg/WrenchStamped', f'ground_reactions/{wheel}')
    probe.listen('diagnostic_msgs/msg/DiagnosticStatus', 'events')
    processes.start(
        'dynamics_node', machine='log_loader', mode='realtime', actuation='monolithic', command_timeout=60.0
    )
    probe.until(lambda: all(probe.count[f'ground_reactions/{wheel}'] > 5 for wheel in WHEELS), 'the reports', 60)
    return processes


def loads(probe) -> dict[str, np.ndarray]:
    forces = {wheel: probe.last[f'ground_reactions/{wheel}'].wrench.force for wheel in WHEELS}
    return {wheel: np.array((force.x, force.y, force.z)) for wheel, force in forces.items()}


def weight(probe) -> float:
    return float(np.linalg.norm(sum(loads(probe).values())))


def steady(probe, expected: float):
    """Return a condition: the last twenty weights are as expected within 1 %."""
    seen: list[float] = []

    def condition() -> bool:
        seen.append(weight(probe))
        return len(seen) > 20 and max(abs(value / expected - 1.0) for value in seen[-20:]) < 0.01

    return condition


def test_payload_changes_while_the_nodes_run(standing, probe):
    publisher = probe.node.create_publisher(Float64, 'payload', 10)
    assert weight(probe) == pytest.approx((17_481 + 5_100) * 9.81, rel=0.01)
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the match with dynamics_node')
    publisher.publish(Float64(data=0.0))
    probe.until(lambda: probe.count['events'] > 0, 'the event')
    assert probe.last['events'].message == '0 kg'
    probe.until(steady(probe, 17_481 * 9.81), 'the new weight')
    publisher.publish(Float64(data=1e5))
    probe.until(lambda: 'payload' in str(probe.health.get('dynamics_node: commands')), 'the refusal')
    probe.until(steady(probe, 17_481 * 9.81), 'the weight as before')


def test_slope_changes_while_the_nodes_run(standing, probe):
    before = loads(probe)
    value = ParameterValue(type=DOUBLE, double_value=0.1)
    request = SetParameters.Request(parameters=[Parameter(name='slope_pitch', value=value)])
    assert probe.ask(SetParameters, 'dynamics_node/set_parameters', request).results[0].successful
    total = (17_481 + 5_100) * 9.81

    def leans() -> bool:
        forces = sum(loads(probe).values())
        return abs(forces[0] / (-total * np.sin(0.1)) - 1) < 0.05 and abs(forces[2] / (total * np.cos(0.1)) - 1) < 0.02

    probe.until(leans, 'the braked wheels holding the machine on the slope')
    after = loads(probe)
    for side in ('right', 'left'):  # the front is downhill
        assert after[f'front_{side}'][2] > before[f'front_{side}'][2]
        assert after[f'rear_{side}'][2] < before[f'rear_{side}'][2]
