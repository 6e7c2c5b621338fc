"""The car with a steering trapezoid on tyres: one gear turns the left knuckle, the tie rod the right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from vehicles import GRAVITY, ROOT, STEP, hold_steering, vehicle

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.middleware.launching import interpret
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

MASS, BASE_LENGTH, KING_PINS, ARM = 1340.0, 2.6, 1.4, (-0.144843, 0.038996)
WEIGHT = MASS * GRAVITY


def right_angle(left):
    """Return the angle of the right knuckle, rad, for an angle of the left: plane linkage of two arms and a rod."""

    def arm(side, angle):
        x, y = ARM[0], -side * ARM[1]
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * x - s * y, side * KING_PINS / 2 + s * x + c * y])

    def gap(right):
        return np.linalg.norm(arm(1, left) - arm(-1, right)) - 1.322008

    return brentq(gap, left - 0.3, left + 0.3, xtol=1e-13)


@pytest.fixture(scope='module')
def car():
    return Plant(vehicle('car_trapezoid'), 'effort', 2e-3, STEP, ('load_share',))


@pytest.mark.parametrize('left', [-0.4, -0.1, 0.0, 0.25, 0.4])
def test_the_rod_turns_the_right_knuckle_like_the_plane_linkage(left):
    """At rest on springs and tyres, within the slip angles of a trapezoid: 1 degree at 0.25 rad."""
    start = constrained_machine(vehicle('car_trapezoid'), {'front_left_steer': left})
    positions = dict(zip(start.system.blocks.tree.position_names, start.q))
    right = positions['front_right_steer']
    assert positions['front_left_steer'] == pytest.approx(left, abs=1e-12)
    assert right == pytest.approx(right_angle(left), abs=1e-6)
    if 0.0 < left <= 0.25:
        ideal = np.arctan(1 / (1 / np.tan(left) + KING_PINS / BASE_LENGTH))
        assert abs(right - ideal) < np.radians(1.0)


def test_it_rests_without_drift_and_its_tyres_carry_the_weight(car):
    car.reset()
    start = car.x[: car.system.nq].copy()
    assert car.balance().total_normal == pytest.approx(WEIGHT, rel=1e-6)
    for _ in range(500):
        car.advance()
    assert car.x[: car.system.nq] == pytest.approx(start, abs=1e-8)
    assert car.balance().total_normal == pytest.approx(WEIGHT, rel=1e-6)
    assert car.take_events() == []


def test_one_gear_steers_both_wheels_through_a_turn(car):
    """At walking speed the car turns about the intersection of the axles of the wheels."""
    car.reset()
    index = car.system.index
    car.x[index('state', 'base_vx_rate')] = 1.5
    for name in car.joints:
        if name.endswith('_drive'):
            car.x[index('state', f'{name}_rate')] = 1.5 / 0.2836
    angle = 0.2
    for _ in range(1200):
        car.u[:] = 0.0
        hold_steering(car, {'front_left_steer': angle * min(1.0, car.time)})
        car.advance()
    steer = [car.positions[car.joints.index(f'front_{side}_steer')] for side in ('left', 'right')]
    assert steer[0] == pytest.approx(angle, abs=5e-3)
    assert steer[1] == pytest.approx(right_angle(steer[0]), abs=1e-4)
    linear, angular = car.base_twist()
    inner, outer = (1 / np.tan(steer_angle) for steer_angle in steer)
    curvature = 2 / (BASE_LENGTH * (inner + outer))
    assert angular[2] / linear[0] == pytest.approx(curvature, rel=0.03)
    assert linear[0] > 1.2
    assert car.output('constraint_drift') < 1e-7


def test_the_vehicle_controller_steers_the_left_wheel_and_measures_the_right_one():
    base = WheelBase.of(vehicle('car_trapezoid'))
    assert dict(zip(base.names, base.steered)) == {
        'front_left': True,
        'front_right': False,
        'rear_left': False,
        'rear_right': False,
    }
    assert base.free_motions(np.zeros(4)).shape == (3, 1)


def test_its_launch_file_runs_this_car():
    children = interpret(ROOT / 'launch' / 'car_trapezoid.launch.xml', {'compose': 'false'}).children
    assert {child.name for child in children} == {'dynamics_node', 'vehicle_controller_node'}
    assert all('car_trapezoid' in ' '.join(child.command) for child in children)


def test_without_the_rod_the_right_knuckle_is_loose():
    """The tree has an additional freedom, which the row of the rod removes."""
    machine = vehicle('car_trapezoid')
    loose = replace(machine, constraints=())
    assert not loose.needs_constraints
    assert constrained_machine(machine).analysis.mobility == constrained_machine(machine).analysis.velocities - 1
