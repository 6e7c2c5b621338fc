"""The three nodes in lockstep: two runs are equal, and equal to one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.middleware import RUNTIME
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state

COMMON = {'machine': 'log_loader', 'mode': 'lockstep'}


def run(processes, directory: Path, duration: float, **dynamics: object) -> Path:
    bag = directory / 'bag'
    processes.start('recorder_node', directory=bag, use_sim_time=True)
    processes.start('hydraulic_actuator_node', **COMMON)
    processes.start('controller_node', task='pick_and_place_recovery', **COMMON)
    others = ['recorder_node', 'hydraulic_actuator_node', 'controller_node']
    processes.start('dynamics_node', wait_for=others, duration=duration, **COMMON, **dynamics)
    assert processes.wait('dynamics_node', 120) == 0
    processes.stop()
    processes.running.clear()
    return bag


def payloads(bag: Path) -> dict[str, list[tuple[int, bytes]]]:
    with AnyReader([bag]) as reader:
        content: dict[str, list[tuple[int, bytes]]] = {}
        for connection, stamp, raw in reader.messages():
            time = stamp if RUNTIME == 'embedded' else 0  # rclpy: the time of the last /clock received
            content.setdefault(connection.topic, []).append((time, bytes(raw)))
    return content


@pytest.mark.slow
def test_two_lockstep_runs_give_the_same_data_byte_for_byte(processes, tmp_path):
    """A shorter run, its launch file, and all topics: test_composition.py."""
    first = payloads(run(processes, tmp_path / 'first', 1.5))
    second = payloads(run(processes, tmp_path / 'second', 1.5))
    ignored = {'/rosout', '/parameter_events'}
    assert set(first) - ignored == set(second) - ignored
    assert len(first['/joint_states']) == 1501
    for topic in set(first) - ignored:
        assert first[topic] == second[topic], topic


@pytest.fixture(scope='module')
def monolithic():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'))
    system = System(machine)
    knots = np.asarray(profile.knot_times)
    names = [actuator.name for actuator in machine.actuators]
    table = np.array([profile.evaluate(t, names) for t in knots])
    inputs = Inputs(knots, {f'{name}/voltage': table[:, k] for k, name in enumerate(names)})
    times = np.arange(16001) * 1e-3
    return system.run(initial_state(system), times, inputs, settings=Settings(step=5e-4))


@pytest.mark.slow
def test_the_split_by_topics_stays_within_a_milliradian_of_one_process(processes, tmp_path, monolithic):
    bag = run(processes, tmp_path, 16.0)
    joints = [joint.name for joint in monolithic.system.machine.movable_joints]
    rows = []
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic == '/joint_states']
        for connection, _, raw in reader.messages(connections):
            msg = reader.deserialize(raw, connection.msgtype)
            assert msg.name == joints
            rows.append(msg.position)
    measured = np.array(rows)
    expected = np.column_stack([monolithic.state(name) for name in joints])
    assert measured.shape == expected.shape
    assert np.abs(measured - expected).max() < 1e-3
