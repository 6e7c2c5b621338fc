"""The pose at rest on compliant joints, for wheels, hands and alarm levels, equals that of the plant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.commands.build_check import checked_start
from dyn_nodes.commands.machine_summary import static_summary
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.stability.at_rest import alarm_levels
from dyn_nodes.stability.equilibrium.standing import at_rest
from dyn_nodes.teams.reach import poses_at_start

ROOT = Path(__file__).parents[2]
FILES = {
    'rigid': ('urdf/log_loader.urdf', 'config/log_loader.yaml'),
    'oscillating axle': ('test/running_gear/pivot_side_1000.urdf', 'test/running_gear/pivot_side_1000.yaml'),
    'coupled': ('test/running_gear/pivot_side_coupled.urdf', 'test/running_gear/pivot_side_coupled.yaml'),
    'tie rod, slope': ('test/running_gear/ocar.urdf', 'test/running_gear/ocar.yaml'),
    'pads in the air': ('test/running_gear/late.urdf', 'test/running_gear/late_2e8.yaml'),
    'suspended': ('urdf/car.urdf', 'config/car.yaml'),
}


def machine(name: str) -> Machine:
    urdf, config = FILES[name]
    return load_machine(ROOT / urdf, ROOT / config)


@pytest.mark.parametrize('name', FILES)
def test_the_pose_at_rest_is_the_start_of_the_plant(name):
    vehicle = machine(name)
    start, (resting, stance) = checked_start(vehicle), at_rest(vehicle)
    assert [stance.height, stance.roll, stance.pitch] == pytest.approx(start.pose[2:5], abs=1e-9)
    assert initial_positions(resting) == pytest.approx(start.joints, abs=1e-9)


@pytest.mark.parametrize('name', FILES)
def test_alarm_levels_are_shares_of_the_margins_that_check_prints(name):
    vehicle, names = machine(name), ('static', 'force_angle')
    margins = static_summary(vehicle)['margins']
    result = {key: levels.full for key, levels in alarm_levels(vehicle, names).items()}
    assert result == pytest.approx({key: margins[key]['value'] for key in names}, rel=5e-3)  # three digits


def test_wheels_of_a_suspended_car_roll_on_deflected_tyres():
    vehicle = machine('suspended')
    weight = vehicle.total_mass * vehicle.gravity
    tyre = vehicle.wheels[0]
    radii = [unit.radius for unit in WheelBase.of(vehicle).wheels]
    assert radii == pytest.approx([tyre.free_length - weight / 4.0 / tyre.stiffness] * 4, rel=1e-9)


def test_hands_of_a_team_start_at_the_lean_of_a_machine_on_an_oscillating_axle():
    vehicle = machine('oscillating axle')
    vehicle = replace(vehicle, initial=replace(vehicle.initial, base_position=(3.0, -2.0, 0.0), base_yaw=0.5))
    poses, start = poses_at_start(vehicle), checked_start(vehicle)
    base = poses[vehicle.base.link]
    assert base[:3, 3] == pytest.approx([3.0, -2.0, start.pose[2]], abs=1e-9)
    assert np.degrees(np.arctan2(base[2, 1], base[2, 2])) == pytest.approx(0.67, abs=0.01)
    axle = np.linalg.inv(base) @ poses['axle']
    assert np.arctan2(axle[2, 1], axle[1, 1]) == pytest.approx(start.joints['axle_pivot'], abs=1e-9)
