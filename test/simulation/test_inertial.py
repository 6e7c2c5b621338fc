"""Measurements of an IMU on a plant, against gravity at rest and differentiated velocities in motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.5e-3


def machine(name: str) -> Machine:
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


def plant(name: str, ground: str = 'compliant', **options) -> Plant:
    return Plant(machine(name), 'effort', PERIOD, PERIOD, ('zmp',), contact_model=ground, **options)


def differentiated(moving: Plant, periods: int) -> tuple[np.ndarray, np.ndarray]:
    """Advance; return measured and differentiated specific force (periods - 2, 3) in the base's axes."""
    velocities, turns, specific_forces = [], [], []
    for _ in range(periods):
        moving.advance()
        turn = Rotation.from_quat(moving.base_pose()[1])
        turns.append(turn)
        velocities.append(turn.apply(moving.base_twist()[0]))
        specific_forces.append(read_imu(moving).specific_force)
    rates = (np.array(velocities[2:]) - velocities[:-2]) / (2 * PERIOD)
    expected = [turn.inv().apply(rate - moving.p[:3]) for turn, rate in zip(turns[1:-1], rates)]
    return np.array(specific_forces[1:-1]), np.array(expected)


@pytest.mark.parametrize(
    ('name', 'ground', 'slope'),
    [
        ('log_loader', 'compliant', (0.0, 0.0)),
        ('log_loader', 'compliant', (0.05, -0.1)),
        ('log_loader_planar', 'compliant', (0.0, 0.02)),
        ('log_loader_planar', 'rigid', (0.0, 0.1)),
    ],
)
def test_at_rest_the_specific_force_is_gravity_reversed_in_the_axes_of_the_base(name, ground, slope):
    resting = plant(name, ground, slope=slope)
    reading = read_imu(resting)
    turn = Rotation.from_quat(resting.base_pose()[1])
    np.testing.assert_allclose(reading.specific_force, -turn.inv().apply(resting.p[:3]), atol=1e-6)
    np.testing.assert_allclose(reading.angular_velocity, 0.0, atol=1e-12)
    # in the level world of the orientation it is g upwards, whatever the slope
    up = Rotation.from_quat(reading.orientation).apply(reading.specific_force)
    np.testing.assert_allclose(up, [0.0, 0.0, 9.81], atol=1e-6)


def test_in_a_swing_it_is_the_differentiated_velocity_of_the_base_less_gravity():
    moving = plant('log_loader', slope=(0.03, 0.05))
    moving.set_efforts(moving.holding_efforts() + np.array([4.0e4, 3.0e4, -1.0e4]))
    for _ in range(10):  # the step of the efforts excites friction bristles within milliseconds
        moving.advance()
    specific_forces, expected = differentiated(moving, 1000)
    assert np.ptp(expected, axis=0).min() > 0.1  # it moves in every direction
    np.testing.assert_allclose(specific_forces, expected, atol=2e-3)


def test_a_planar_machine_on_springs_has_the_differentiated_specific_force():
    moving = plant('log_loader_planar')
    moving.set_efforts(moving.holding_efforts() + np.array([3.0e4, -1.0e4]))
    specific_forces, expected = differentiated(moving, 600)
    assert np.ptp(expected[:, [0, 2]], axis=0).min() > 0.2
    np.testing.assert_allclose(specific_forces, expected, atol=2e-3)


def test_a_machine_that_tips_about_a_rigid_edge_is_measured_at_its_base_link():
    moving = plant('log_loader_planar', 'rigid', slope=(0.0, 0.3))
    moving.set_payload(8000.0)
    for _ in range(4000):
        if moving.ground.mode != 'standing' and abs(moving.base_twist()[1][1]) > 0.1:
            break
        moving.advance()
    assert moving.ground.mode != 'standing'
    specific_forces, expected = differentiated(moving, 200)
    np.testing.assert_allclose(specific_forces, expected, atol=2e-3)


def test_the_specific_force_of_a_fixed_base_is_gravity_alone():
    free = machine('log_loader')
    fixed = replace(free, wheels=(), base=replace(free.base, attachment='fixed'))
    moving = Plant(fixed, 'effort', PERIOD, PERIOD)
    moving.set_efforts(moving.holding_efforts() + 1.0e4)
    for _ in range(20):
        moving.advance()
    np.testing.assert_array_equal(read_imu(moving).specific_force, -moving.p[:3])
