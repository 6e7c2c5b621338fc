"""Experiment E8 through the nodes: one revolution of the cabin with 2000 kg, by a joint_trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import JointTrajectory as JointReferences
from dyn_nodes.control import TrajectoryPoint, TrajectoryTracker
from dyn_nodes.middleware import message
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.drives import drive_inertia
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.abo_shanab_2003.spatial import swing_case

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
JointTrajectoryPoint = message('trajectory_msgs/msg/JointTrajectoryPoint')
Time, Duration = message('builtin_interfaces/msg/Time'), message('builtin_interfaces/msg/Duration')
ACCELERATION = 0.4  # rad/s2
START = 2  # s, whole
HELD = (float(np.radians(45)), float(np.radians(-45)))  # boom and stick, rad


def fast_swing_machine(directory: Path) -> Path:
    """Return the log-loader with the faster swing drive and the posture of the experiment, as written by a user."""
    config = yaml.safe_load(find_resource('config/log_loader.yaml').read_text())
    config['initial']['joint_positions'].update(boom_joint=HELD[0], stick_joint=HELD[1])
    config['payload']['mass'] = 2000.0
    swing = config['actuators']['swing']
    swing['displacement'] = 7.0e-3
    swing['supply']['flow'] = 12e-3
    path = directory / 'fast_swing.yaml'
    path.write_text(yaml.safe_dump(config))
    return path


def duration_of(seconds: float):
    return Duration(sec=int(seconds), nanosec=round((seconds - int(seconds)) * 1e9))


def revolution(speed: float):
    """Return a trapezoid of speed over one turn; its cubic splines are exact."""
    ramp = speed / ACCELERATION
    cruise = 2 * np.pi / speed - ramp
    rows = ((0.0, 0.0, 0.0), (ramp, 0.5 * speed * ramp, speed), (ramp + cruise, 2 * np.pi - 0.5 * speed * ramp, speed),
            (2 * ramp + cruise, 2 * np.pi, 0.0))  # fmt: skip
    points = [
        JointTrajectoryPoint(
            positions=[float(q), *HELD], velocities=[float(v), 0.0, 0.0], time_from_start=duration_of(t)
        )
        for t, q, v in rows
    ]
    msg = JointTrajectory(joint_names=['swing_joint', 'boom_joint', 'stick_joint'], points=points)
    msg.header.stamp = Time(sec=START, nanosec=0)
    return msg, 2 * ramp + cruise


def read(bag: Path) -> dict[str, np.ndarray]:
    """Return tilt of the base, swing angle, static margin and least wheel load over the run."""
    series: dict[str, list[float]] = {'tilt': [], 'swing': [], 'margin': [], 'load': []}
    with AnyReader([bag]) as reader:
        for connection, _, raw in reader.messages():
            if connection.topic == '/odom':
                q = reader.deserialize(raw, connection.msgtype).pose.pose.orientation
                series['tilt'].append(np.degrees(np.arccos(1 - 2 * (q.x**2 + q.y**2))))
            elif connection.topic == '/joint_states':
                msg = reader.deserialize(raw, connection.msgtype)
                series['swing'].append(msg.position[msg.name.index('swing_joint')])
            elif connection.topic == '/stability/static':
                series['margin'].append(reader.deserialize(raw, connection.msgtype).data)
            elif connection.topic.startswith('/ground_reactions/'):
                series['load'].append(reader.deserialize(raw, connection.msgtype).wrench.force.z)
    return {name: np.array(values) for name, values in series.items()}


@pytest.fixture
def swing(processes, probe, tmp_path):
    def run(speed: float) -> dict[str, np.ndarray]:
        bag = tmp_path / 'bag'
        common = {
            'machine': find_resource('urdf/log_loader.urdf'),
            'config': fast_swing_machine(tmp_path),
            'mode': 'lockstep',
        }
        trajectory, length = revolution(speed)
        probe.listen('sensor_msgs/msg/JointState', 'joint_states')
        probe.listen('std_msgs/msg/String', 'task_phase', latched=True)
        publisher = probe.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        processes.start('recorder_node', directory=bag, use_sim_time=True)
        processes.start('hydraulic_actuator_node', **common)
        processes.start('controller_node', **common)
        probe.until(lambda: publisher.get_subscription_count() > 0, 'the match with controller_node', 60)
        others = ['recorder_node', 'hydraulic_actuator_node', 'controller_node']
        processes.start('dynamics_node', wait_for=others, duration=START + length + 4.0, **common)
        probe.until(lambda: probe.count['joint_states'] > 3, 'the first joint states', 90)
        publisher.publish(trajectory)
        assert processes.wait('dynamics_node', 240) == 0, processes.log('dynamics_node')
        assert 'trajectory of' in processes.log('controller_node')
        processes.stop()
        return read(bag)

    return run


def in_one_process(speed: float, config: Path) -> float:
    """Return the peak tilt with the same controller and the hydraulics inside, deg."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), config)
    plant = Plant(machine, 'hydraulic', 0.01, 5e-4)
    joints = [actuator.joint for actuator in machine.actuators]
    tracker = TrajectoryTracker(machine.actuators, inertia=drive_inertia(machine, joints))
    indices = [plant.joints.index(name) for name in tracker.joint_names]
    msg, length = revolution(speed)
    points = [
        TrajectoryPoint(START + p.time_from_start.sec + p.time_from_start.nanosec / 1e9, p.positions, p.velocities)
        for p in msg.points
    ]
    trajectory = JointReferences.from_points(list(msg.joint_names), points)
    tracker.set_trajectory(trajectory, 0.0, plant.positions[indices], plant.velocities[indices])
    peak = 0.0
    for _ in range(round((START + length + 4.0) / plant.period)):
        measured = (rows[indices] for rows in (plant.positions, plant.efforts, plant.velocities))
        volts = tracker.voltages(plant.time, *measured)
        plant.set_inputs({f'{actuator.name}/voltage': v for actuator, v in zip(machine.actuators, volts)})
        plant.advance()
        peak = max(peak, plant.output('tilt'))
    return float(np.degrees(peak))


@pytest.mark.slow
@pytest.mark.parametrize(('speed', 'lifts'), [(0.4, False), (1.0, True)])
def test_swing_through_the_nodes_tilts_as_in_one_process(swing, tmp_path, speed, lifts):
    """With the same controller. The study uses a proportional valve law.

    Measured: 0.789 and 1.566 deg through the nodes and in one process; the study 0.820 and 1.612 deg.
    """
    study = swing_case((speed, ACCELERATION))
    measured = swing(speed)
    alone = in_one_process(speed, tmp_path / 'fast_swing.yaml')
    assert measured['swing'][-1] == pytest.approx(2 * np.pi, abs=np.radians(1.0))
    assert measured['tilt'].max() == pytest.approx(alone, rel=1e-3)
    assert (measured['load'].min() <= 0.0) == lifts
    assert (study.least_load <= 0.0) == lifts
    assert len(measured['margin']) == len(measured['tilt'])
    assert np.isfinite(measured['margin']).all()
    assert measured['margin'].min() < measured['margin'][0]
