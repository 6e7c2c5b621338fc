"""Vehicles on rolling wheels, against the rigid models of the sources and the energy balance."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from rolling_machines import GRAVITY, caster_vehicle, disc, friction, hinge, mecanum, platform, write
from scipy.integrate import solve_ivp

from dyn_nodes.analysis.omni import simulate
from dyn_nodes.model import MachineError
from dyn_nodes.model.terrain import Rise
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel
from dyn_nodes.simulation import Inputs, Settings, System, initial_state, settle
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle

LEFT, RIGHT = -0.06, -0.10  # N m; negative drives ahead in the source


def run(machine, efforts, duration, step=5e-4, audit=False, x0=None, spacing=0.01):
    system = System(machine, 'effort', audit=audit)
    x0 = initial_state(system) if x0 is None else x0
    inputs = Inputs.constant({f'{name}/effort': value for name, value in efforts.items()})
    times = np.arange(round(duration / spacing) + 1) * spacing
    return system.run(x0, times, inputs, settings=Settings(step=step))


def caster_reference(duration):
    """Return the final rates of both drives and the angle of the fork, rolling without slip."""
    vehicle = CasterVehicle()

    def rate(t, y):
        acceleration = vehicle.accelerations(y[2], y[:2], [LEFT, RIGHT])
        return [*acceleration, vehicle.dependent(y[2])[1] @ y[:2]]

    return solve_ivp(rate, (0.0, duration), [0.0, 0.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]


def test_the_caster_vehicle_moves_like_the_model_without_slip(tmp_path):
    """Within 0.1 % of the speeds and 0.3 % of the fork's angle: pitch on the springs changes the caster's trail."""
    machine = caster_vehicle(tmp_path, 500.0, 12.0, 0.5)
    # ours drives ahead where the source's torque is negative
    result = run(machine, {'left': -LEFT, 'right': -RIGHT}, 2.0)
    drives = np.array([-result.state('left_rate')[-1], -result.state('right_rate')[-1], result.state('swivel')[-1]])
    errors = np.abs(drives / caster_reference(2.0) - 1)
    assert errors[:2].max() < 1e-3
    assert errors[2] < 4e-3


def test_the_mecanum_vehicle_moves_like_the_rigid_model_in_every_direction(tmp_path):
    machine = mecanum(tmp_path, 1000.0, 10.0)
    names = ('front_left', 'front_right', 'rear_left', 'rear_right')
    x, y = 0.3, 0.25
    corners = {'front_left': (x, y, -1), 'front_right': (x, -y, 1), 'rear_left': (-x, y, 1), 'rear_right': (-x, -y, -1)}
    # the source's hub axis points along our axle; its roller angle is from that axis to the roller
    wheels = [
        OmniWheel(
            roller=sign * math.pi / 4 - math.pi / 2,
            hub=math.pi / 2,
            direction=math.atan2(py, px),
            distance=math.hypot(px, py),
            radius=0.1,
            roller_radius=0.02,
            mass=2.0,
            axial_inertia=0.01,
            diametral_inertia=0.006,
        )
        for px, py, sign in corners.values()
    ]
    vehicle = OmniVehicle(wheels, 60.0, 4.0)
    for torques in ([2, 2, 2, 2], [-2, 2, 2, -2], [-2, 2, -2, 2], [1, 2, 0.5, -1]):
        result = run(machine, dict(zip(names, torques)), 1.0)
        pose = np.array([np.unwrap(result.output('yaw'))[-1], result.state('base_x')[-1], result.state('base_y')[-1]])
        expected = simulate(vehicle, lambda t, torques=torques: torques, [0.0, 1.0]).pose[-1]
        assert pose == pytest.approx(expected, rel=6e-3, abs=6e-3 * np.abs(expected).max())


@pytest.fixture(scope='module')
def skid(tmp_path_factory):
    """Return a run of the caster vehicle with initial side speed, spin and motor torques: it slides, then grips."""
    machine = caster_vehicle(tmp_path_factory.mktemp('skid'), 300.0, 6.0, 0.05)
    system = System(machine, 'effort', audit=True)
    x0 = initial_state(system)
    names = list(system.state_names)
    first = system.nq
    x0[first : first + 6] = [0.0, 0.0, 2.0, 1.0, 0.8, 0.0]
    assert names[first].endswith('_rate')
    return [run(machine, {'left': 2.0, 'right': 1.0}, 1.0, step, True, x0) for step in (1e-3, 5e-4, 2.5e-4)]


def test_energy_balances_while_wheels_slide_and_grip(skid):
    shares = []
    for result in skid:
        energy = result.output('kinetic_energy') + result.output('potential_energy')
        works = np.array([result.state(name) for name in ('work_actuators', 'work_suspension', 'work_friction')])
        residual = np.abs(energy - energy[0] - (works - works[:, :1]).sum(axis=0)).max()
        shares.append(residual / np.abs(np.diff(works)).sum())
    assert shares[-1] < 1e-6
    assert shares[0] > 3 * shares[1]


def test_sliding_tyres_dissipate_energy(skid):
    assert skid[-1].state('work_friction')[-1] < -1.0


def test_a_braked_vehicle_on_a_slope_does_not_creep(tmp_path):
    """Bristles hold like springs, without the creep of purely speed-dependent friction."""
    machine = caster_vehicle(tmp_path, 300.0, 6.0, 0.05, slope=0.1)
    system = System(machine, 'effort')
    rest = settle(system, system.parameters())
    efforts = dict(zip(('left', 'right'), rest.holding[system.nv - 4 : system.nv - 2]))
    assert sum(efforts.values()) == pytest.approx(-26.0 * GRAVITY * math.sin(0.1) * 0.05, rel=1e-2)
    result = run(machine, efforts, 5.0)
    assert abs(result.state('base_x')[-1] - result.state('base_x')[0]) < 1e-6


def suspended(folder, stiffness):
    """Return a block on four struts, each a sliding joint with a spring above a rolling wheel."""
    urdf = platform(100.0, 10.0, (0.05, 0.0, 0.2))
    wheels, joints = '', ''
    for name, x, y in (('fl', 0.5, 0.4), ('fr', 0.5, -0.4), ('rl', -0.5, 0.4), ('rr', -0.5, -0.4)):
        urdf += f'<link name="{name}_hub"><inertial><mass value="1"/>'
        urdf += '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        urdf += f'<joint name="{name}_strut" type="prismatic"><parent link="base_link"/><child link="{name}_hub"/>'
        urdf += f'<origin xyz="{x} {y} 0.1"/><axis xyz="0 0 1"/>'
        urdf += '<limit lower="-1" upper="1" effort="0" velocity="0"/></joint>'
        urdf += disc(f'{name}_wheel', 4.0, 0.02, 0.01) + hinge(name, f'{name}_hub', f'{name}_wheel', (0.0, 0.0, 0.0))
        wheels += f'  {name}: {{link: {name}_wheel}}\n'
        joints += f'  {name}_strut: {{class: flexible, stiffness: {stiffness}, damping: 300.0, rest: 0.0}}\n'
    config = f"""
name: suspended
base: {{attachment: free}}
defaults:
  wheel:
    position: [0, 0, 0]
    stiffness: 2.0e5
    damping: 100.0
    free_length: 0.1
    friction: {friction(200, 2)}
    rolling: {{axis: [0, 1, 0]}}
wheels:
{wheels}joints:
{joints}"""
    return write(folder, 'suspended', urdf, config)


def test_flexible_joints_deflect_in_proportion_to_their_load(tmp_path):
    system = System(suspended(tmp_path, 1e4), 'effort')
    x0 = initial_state(system)
    y = system.outputs(x0, np.zeros(len(system.input_names)), system.parameters())
    lever = 0.05 / 1.0  # of the centre of mass, over the wheel base
    for name, share in (('fl', 0.25 + 0.5 * lever), ('rr', 0.25 - 0.5 * lever)):
        load = 100.0 * GRAVITY * share
        assert x0[system.index('state', f'{name}_strut')] == pytest.approx(load / 1e4, rel=2e-3)
        force = y[system.index('output', f'{name}/normal_force')]
        assert force == pytest.approx(load + 5.0 * GRAVITY, rel=2e-3)
    rates = system.rhs(x0, np.zeros(len(system.input_names)), system.parameters())
    assert np.abs(rates).max() < 1e-6


def test_a_wheel_that_cannot_roll_is_rejected_with_its_line(tmp_path):
    urdf = platform(10.0, 1.0, (0, 0, 0)) + disc('w', 1.0, 0.01, 0.01) + hinge('spin', 'base_link', 'w', (0, 0, 0))
    wheel = (
        f'{{link: w, position: [0, 0, 0], stiffness: 1e5, damping: 1, free_length: 0.1, friction: {friction(100, 1)}'
    )
    for change, words in (
        (', rolling: {axis: [1, 0, 0]}}', ['rolling.axis', '[0, 1, 0]', '[1, 0, 0]']),
        (', rolling: {}, friction_point: attachment}', ['friction_point', 'ground', 'attachment']),
        (', rolling: {}, link: base_link}', ['continuous joint', 'base_link']),
        (', rolling: {}, position: [0.1, 0, 0]}', ['position', '0.1 m beside']),
    ):
        text = wheel.replace('link: w, ', '') if 'link: base' in change else wheel
        text = text.replace('position: [0, 0, 0], ', '') if 'position: [0.1' in change else text
        with pytest.raises(MachineError) as caught:
            write(tmp_path, 'bad', urdf, f'name: bad\nbase: {{attachment: free}}\nwheels:\n  one: {text}{change}\n')
        for word in words:
            assert word in str(caught.value)


def on_terrain(folder, terrain):
    """Return the Mecanum vehicle on tyres in front of a terrain feature."""
    machine = mecanum(folder, 300.0, 6.0)
    tyre = dataclasses.replace(machine.wheels[0].rolling, roller_angle=None)
    wheels = tuple(dataclasses.replace(wheel, rolling=tyre) for wheel in machine.wheels)
    return dataclasses.replace(machine, wheels=wheels, terrain=terrain)


def test_a_vehicle_climbs_a_ramp_by_its_height(tmp_path):
    machine = on_terrain(tmp_path, (Rise('ramp', 'ramp', 0.6, 0.0, 0.0, 1.0, 0.15),))
    result = run(machine, {wheel.name: 4.0 for wheel in machine.wheels}, 2.5, audit=True)
    assert result.state('base_x')[-1] > 2.5
    # it still accelerates, so it is pitched a little: the middle of the base rises by the height
    assert result.state('base_z')[-1] - result.state('base_z')[0] == pytest.approx(0.15, abs=1e-3)
    pitch = result.output('pitch')
    assert pitch.min() < -0.1  # nose up on the way
    energy = result.output('kinetic_energy') + result.output('potential_energy')
    works = sum(result.state(name) for name in ('work_actuators', 'work_suspension', 'work_friction'))
    gained = 68.0 * GRAVITY * 0.15
    assert np.abs(energy - energy[0] - works).max() < 1e-6 * gained


@pytest.mark.slow
def test_a_wheel_on_a_bump_carries_more_than_the_others_and_rolls_the_vehicle(tmp_path):
    """A bump is under the left wheels only: the wheels have the height of the ground below them."""
    rise = Rise('bump', 'bump', 0.5, 0.25, 0.0, 0.8, 0.05, 0.1)
    machine = on_terrain(tmp_path, (rise,))
    result = run(machine, {wheel.name: 2.0 for wheel in machine.wheels}, 2.5)
    assert result.output('roll').max() > 0.05 / 0.5 * 0.3
    top = int(np.argmax(result.output('front_left/point_z')))
    assert result.output('front_left/point_z')[top] == pytest.approx(0.05, rel=2e-2)
    assert np.abs(result.output('front_right/point_z')).max() < 1e-6


def test_wheels_that_are_held_brake_and_stay_where_they_stop(tmp_path):
    plant = Plant(mecanum(tmp_path, 300.0, 6.0), 'effort', 1e-3, 1e-3)
    plant.u[:] = 4.0
    for _ in range(500):
        plant.advance()
    target = plant.positions.copy()
    speeds = [plant.base_twist()[0][0]]
    for _ in range(4000):
        plant.let_wheels_run_out(target)
        plant.set_efforts(plant.servo_efforts(target, np.zeros(4)))
        plant.advance()
        speeds.append(plant.base_twist()[0][0])
    assert speeds[0] > 0.4
    assert min(speeds) > -0.02 * speeds[0]  # it is not pulled back
    assert abs(speeds[-1]) < 1e-3


def test_a_vehicle_starts_on_a_slope_held_by_its_wheels(tmp_path):
    plant = Plant(caster_vehicle(tmp_path, 300.0, 6.0, 0.05, slope=0.1), 'effort', 1e-3, 1e-3)
    assert sum(plant.efforts[:2]) == pytest.approx(-26.0 * GRAVITY * math.sin(0.1) * 0.05, rel=1e-2)
    start = plant.base_pose()[0].copy()
    for _ in range(1000):
        plant.advance()
    assert np.abs(plant.base_pose()[0] - start).max() < 1e-6
