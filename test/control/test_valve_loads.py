"""Loads of valves: without the force that accelerates the joints, and with a feedback of their speed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import JointTrajectory, TrajectoryPoint, TrajectoryTracker, spool_for_speed
from dyn_nodes.control.valve_loads import SteadyLoads, speed_gain
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.drives import drive_inertia
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.01
JOINTS = ('boom_joint', 'stick_joint', 'swing_joint')
FILTERS = np.array([0.3, 0.5])
INERTIA = np.array([[2e5, 3e4], [3e4, 5e4]])


def test_forces_of_any_acceleration_leave_the_loads_as_they_are() -> None:
    loads, rates = SteadyLoads(), np.zeros(2)
    for k in range(200):
        previous, rates = rates, np.sin([0.05 * k, 0.3 * k])
        forces = INERTIA @ ((rates - previous) / PERIOD) if k else np.zeros(2)
        result = loads.update(np.array([1e4, -2e3]) + forces, rates, INERTIA, PERIOD, np.full(2, 0.3))
        assert result == pytest.approx([1e4, -2e3], rel=1e-9)


def test_a_lasting_load_passes_the_low_pass_of_its_joint() -> None:
    loads, still = SteadyLoads(), np.zeros(2)
    assert loads.update(np.array([5.0, 7.0]), still, INERTIA, 0.0, FILTERS).tolist() == [5.0, 7.0]
    assert loads.update(np.array([6.0, 8.0]), still, INERTIA, 0.3, FILTERS) == pytest.approx([5.5, 7.375])
    loads.restart()
    assert loads.update(np.array([9.0, 9.0]), still, INERTIA, 0.3, FILTERS).tolist() == [9.0, 9.0]


@pytest.fixture(scope='module')
def swing():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return machine.actuator('swing')


def test_the_tracker_adds_the_load_of_the_wanted_acceleration(swing) -> None:
    inertia = 3e5
    tracker = TrajectoryTracker([swing], inertia=lambda positions: np.array([[inertia]]))
    points = [TrajectoryPoint(0.0, [0.0], [0.0], [0.0]), TrajectoryPoint(4.0, [0.8], [0.0], [0.0])]
    tracker.set_trajectory(JointTrajectory.from_points(['swing_joint'], points), 0.0, [0.0])
    now, ahead = tracker.reference(1.0), tracker.reference(1.0 + swing.valve.time_constant)
    tracker.voltages(1.0 - PERIOD, tracker.reference(1.0 - PERIOD).position, [500.0], [0.1])
    volts = tracker.voltages(1.0, now.position, [500.0], [0.1])
    load = 500.0 + inertia * (ahead.acceleration[0] + speed_gain(swing.valve, PERIOD) * (ahead.velocity[0] - 0.1))
    assert volts[0] == pytest.approx(spool_for_speed(swing, ahead.velocity[0], load) / swing.valve.gain)
    assert speed_gain(swing.valve, PERIOD) == pytest.approx(0.25 / 0.09)
    assert speed_gain(replace(swing.valve, time_constant=0.0), 0.0) == 25.0


@pytest.mark.parametrize('name', ['log_loader', 'log_loader_grapple', 'log_loader_linkage', 'excavator'])
def test_the_inertia_of_the_drives_is_the_one_with_the_greatest_payload(name: str) -> None:
    machine = machine_of(name, '')
    swing = [actuator.joint for actuator in machine.actuators].index('swing_joint')
    joints = [actuator.joint for actuator in machine.actuators]
    start = np.array([machine.initial.joint_positions.get(joint, 0.0) for joint in joints])
    inertia = drive_inertia(machine, joints)
    found = inertia(start)
    assert found == pytest.approx(found.T)
    assert np.linalg.eigvalsh(found).min() > 0.0
    assert found[swing, swing] > 5e4
    if machine.payload is not None and machine.payload.limit:
        empty = replace(machine.payload, mass=0.0, limit=0.0)
        less = drive_inertia(replace(machine, payload=empty), joints)(start)
        assert found[swing, swing] > less[swing, swing] + machine.payload.limit


@pytest.mark.parametrize('mass', [0.0, 5100.0, 6000.0])
def test_a_swing_without_load_but_inertia_comes_to_rest(mass: float) -> None:
    """Without inertia and speed the tracker swings to and fro by 0.1 to 0.5 rad, more each time."""
    machine = machine_of('log_loader', '')
    loaded = replace(machine, payload=replace(machine.payload, mass=mass))
    plant = Plant(loaded, 'hydraulic', PERIOD, 1e-3, ())
    order = [plant.joints.index(joint) for joint in JOINTS]
    tracker = TrajectoryTracker(machine.actuators, inertia=drive_inertia(machine, JOINTS))
    names = [actuator.name for actuator in machine.actuators]
    for side in (1.0, -1.0):
        end = plant.positions[order] + np.array([-0.1, 0.1, 0.2]) * side
        points = [TrajectoryPoint(3.0, end, np.zeros(3), np.zeros(3))]
        goal = JointTrajectory.from_points(JOINTS, points)
        tracker.set_trajectory(goal, plant.time, plant.positions[order], plant.velocities[order])
        errors = []
        for _ in range(700):
            measured = (rows[order] for rows in (plant.positions, plant.efforts, plant.velocities))
            volts = tracker.voltages(plant.time, *measured)
            plant.set_inputs({f'{name}/voltage': volt for name, volt in zip(names, volts)})
            plant.advance()
            errors.append(plant.positions[order] - end)
        after = np.abs(errors[300:])
        assert after.max() < 0.02, 'overshoot, rad'
        assert after[200:].max() < 0.01
