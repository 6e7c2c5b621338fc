"""Vehicle files have no problems, and each vehicle rests with its weight on its wheels."""

from __future__ import annotations

import re

import numpy as np
import pytest
from vehicles import DEGREES_OF_FREEDOM, GRAVITY, ROOT, VEHICLES, plant, vehicle

from dyn_nodes.cli import main
from dyn_nodes.simulation.initial import settle


@pytest.mark.parametrize('name', [*VEHICLES, 'arm_4r', 'arm_pa10'])
def test_check_finds_nothing(name, capsys):
    assert main(['check', str(ROOT / 'urdf' / f'{name}.urdf'), '--config', str(ROOT / 'config' / f'{name}.yaml')]) == 0
    assert 'no problems' in capsys.readouterr().out


@pytest.mark.parametrize('name', VEHICLES)
def test_wheels_carry_the_weight_and_nothing_moves(name):
    machine = plant(name)
    mass = machine.machine.total_mass + machine.payload
    forces = machine.balance().forces
    assert forces[:, 2].sum() == pytest.approx(mass * GRAVITY, rel=1e-9)
    assert np.abs(forces[:, :2]).max() < 1e-6 * mass * GRAVITY
    assert machine.system.nv == DEGREES_OF_FREEDOM[name]
    before = machine.base_pose()[0].copy()
    # holding efforts with ground forces: the wheel load turns a leg on an inclined base
    machine.set_efforts(settle(machine.system, machine.p).holding[6:])
    for _ in range(50):
        machine.advance()
    np.testing.assert_allclose(machine.base_pose()[0], before, atol=1e-9)
    assert np.abs(machine.velocities).max() < 1e-7


@pytest.mark.parametrize(('name', 'height'), [('agv_axle', 0.05), ('agv_omni', 0.1), ('agv_mecanum', 0.1)])
def test_hubs_are_at_the_radius_of_the_source(name, height):
    assert plant(name).base_pose()[0][2] == pytest.approx(height, abs=1e-5)


def test_each_spring_of_the_car_carries_a_quarter_of_the_body():
    car = plant('car')
    rest = {entry.joint: entry for entry in car.machine.joint_classes}
    for joint, position in zip(car.joints, car.positions):
        if joint.endswith('_suspension'):
            assert position == pytest.approx(0.0, abs=1e-9)
            deflection = position - rest[joint].rest
            assert deflection == pytest.approx(1200.0 / 4 * GRAVITY / 25e3, rel=1e-9)
    for wheel in car.machine.wheels:
        load = (1200.0 / 4 + 35.0) * GRAVITY
        assert car.output(f'{wheel.name}/normal_force') == pytest.approx(load, rel=1e-9)
    assert car.base_pose()[0][2] == pytest.approx(0.55, abs=1e-6)


def test_the_car_has_the_24_degrees_of_freedom_of_the_source():
    """16 velocities and 8 tyre deflections; the longitudinal deflection of a tyre is a state of first order."""
    car = plant('car')
    tyres = [name for name in car.system.state_names if 'bristle' in name]
    assert car.system.nv + len(tyres) == 24
    assert len(vehicle('car').actuated_joints) == 6


MOUNTED = {
    'agv_mecanum_arm': ('agv_mecanum', 'arm_4r', '0.2 0 0.16'),
    'platform_4x4x4_arm': ('platform_4x4x4', 'arm_pa10', '0 0 0.06'),
}


@pytest.mark.parametrize('name', MOUNTED)
def test_the_vehicles_with_arms_equal_the_output_of_attach(name, tmp_path):
    platform, arm, position = MOUNTED[name]
    urdf, config = tmp_path / f'{name}.urdf', tmp_path / f'{name}.yaml'
    files = [str(ROOT / 'urdf' / f'{part}.urdf') for part in (platform, arm)]
    options = ['--to', 'base_link', '--xyz', *position.split(), '--prefix', 'arm_', '--name', name, '-o', str(urdf)]
    options += ['--config', str(ROOT / 'config' / f'{platform}.yaml'), '--out-config', str(config)]
    assert main(['attach', *files, *options, '--arm-config', str(ROOT / 'config' / f'{arm}.yaml')]) == 0
    written, published = urdf.read_text(), (ROOT / 'urdf' / f'{name}.urdf').read_text()
    # the published file of one vehicle also has interfaces of ros2_control
    assert written == re.sub(r'(?s)  <!-- ros2_control .*</ros2_control>\n', '', published)
    assert config.read_text() == (ROOT / 'config' / f'{name}.yaml').read_text()
