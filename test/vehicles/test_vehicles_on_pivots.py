"""Telehandler, forwarder and rover: wheel loads against statics, driving, rejection by parts that need no pivots."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from gear_cases import CASES, machine_of_case, stiffened
from vehicles import GRAVITY, ROOT, plant, vehicle

from dyn_nodes.cli import main
from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.library.machine import Machine
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.stability.equilibrium.gear import GearError, running_gear
from dyn_nodes.stability.equilibrium.tipping import settle

LOOSE = {
    'telehandler': ['rear_axle_joint'],
    'forwarder': ['roll_joint', 'left_bogie_joint', 'right_bogie_joint'],
    'rover': ['left_rocker_joint', 'left_bogie_joint', 'right_rocker_joint', 'right_bogie_joint'],
}
DOWN = {'left_leg_joint': 0.65, 'right_leg_joint': 0.65}
OUT = {'slew_joint': 1.57, 'boom_joint': 0.4, 'stick_joint': -0.6, 'extend_joint': 1.0}


def loads(machine, payload=0.0, positions=None):
    """Return the load of every wheel at rest, N, by name."""
    running = running_gear(machine, positions)
    rest = settle(running, payload, np.array([0.0, 0.0, -GRAVITY]))
    assert rest is not None
    return dict(zip(running.supports, rest.loads))


@pytest.mark.parametrize('name', LOOSE)
def test_check_finds_no_problem(name, capsys):
    assert main(['check', name]) == 0
    assert 'no problems' in capsys.readouterr().out


@pytest.mark.parametrize('name', LOOSE)
def test_the_wheels_carry_the_weight(name):
    machine = vehicle(name)
    assert sum(loads(machine).values()) == pytest.approx(machine.total_mass * GRAVITY, rel=1e-9)


def test_a_load_beside_the_middle_of_the_telehandler_rests_on_its_front_axle():
    """Moments about the longitudinal axis of the pivot: track times half the load difference is load times distance."""
    machine, mass, aside, track = vehicle('telehandler'), 800.0, 0.4, 1.9
    x, _, z = machine.payload.position
    machine = stiffened(replace(machine, payload=replace(machine.payload, position=np.array([x, aside, z]))))
    wheel_loads = loads(machine, mass)
    assert wheel_loads['rear_left'] == pytest.approx(wheel_loads['rear_right'], rel=1e-6)
    moment = 0.5 * track * (wheel_loads['front_left'] - wheel_loads['front_right'])
    assert moment == pytest.approx(mass * GRAVITY * aside, rel=1e-3)


def test_wheels_of_a_bogie_of_the_forwarder_carry_the_same_and_raised_pads_nothing():
    wheel_loads = loads(stiffened(vehicle('forwarder')))
    for side in ('left', 'right'):
        assert wheel_loads[f'{side}_fore'] == pytest.approx(wheel_loads[f'{side}_aft'], rel=1e-6)
    assert wheel_loads['left_pad'] == wheel_loads['right_pad'] == 0.0


def test_the_differential_of_the_rover_gives_each_rocker_half_of_the_moment_of_the_body():
    """Moments of each rocker about its pivot, its bogie 0.28 m ahead and its rear wheel 0.62 m behind."""
    machine = vehicle('rover')
    wheel_loads, weight = loads(stiffened(machine)), {link.name: GRAVITY * link.mass for link in machine.links}
    elbow = 0.42 + 0.58 * math.cos(1.2)
    body = {'base_link': -0.04, 'turret': 0.42, 'upper_arm': 0.42 + 0.28 * math.cos(1.2)}
    body['forearm'] = elbow + 0.25 * math.cos(1.2 - 2.4)
    moment = sum(weight[link] * x for link, x in body.items())
    for side in ('left', 'right'):
        front, middle, rear = (wheel_loads[f'{side}_{wheel}'] for wheel in ('front', 'middle', 'rear'))
        wheel, leg = weight[f'{side}_front_wheel'], weight[f'{side}_front_leg']
        assert front - leg == pytest.approx(middle, rel=1e-3)
        bogie = front + middle - 2.0 * wheel - leg - weight[f'{side}_bogie']
        rocker = 0.28 * bogie - 0.62 * (rear - wheel - leg) + 0.1 * weight[f'{side}_rocker']
        assert rocker == pytest.approx(0.5 * moment, rel=1e-3)


@pytest.mark.parametrize(('name', 'torque'), [('telehandler', 1500.0), ('forwarder', 1500.0), ('rover', 6.0)])
def test_it_drives_by_the_distance_of_its_wheel_forces(name, torque):
    """In one second from rest: force of all wheels over the mass plus the wheels' inertia over their radius squared."""
    machine, duration = plant(name, 0.01), 1.0
    carried, inertia = loads(machine.machine), {link.name: link.inertia[1, 1] for link in machine.machine.links}
    rolling = [wheel for wheel in machine.machine.wheels if wheel.rolling is not None]
    radius = {wheel.link: wheel.free_length - carried[wheel.name] / wheel.stiffness for wheel in rolling}
    push = sum(torque / r for r in radius.values())
    mass = machine.machine.total_mass + sum(inertia[link] / r**2 for link, r in radius.items())
    start, hold = machine.base_pose()[0][0], machine.positions.copy()
    wheels = [k for k, joint in enumerate(machine.joints) if joint.endswith('_drive')]
    for _ in range(round(duration / machine.period)):
        efforts = machine.servo_efforts(hold, np.zeros(len(hold)))
        efforts[wheels] = torque
        machine.set_efforts(efforts)
        machine.advance()
    assert machine.take_events() == []
    assert machine.base_pose()[0][0] - start == pytest.approx(0.5 * push / mass * duration**2, rel=5e-3)
    at = dict(zip(machine.joints, machine.positions))
    if name == 'rover':
        assert at['left_rocker_joint'] + at['right_rocker_joint'] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('name', LOOSE)
def test_the_monitor_rejects_it_by_name(name):
    machine = vehicle(name)
    with pytest.raises(GearError) as error:
        StabilityMonitor(machine)
    expected = ', '.join(repr(joint) for joint in LOOSE[name])
    assert f'{name}: stability monitor: expected supports that are rigid with the base, found {expected}' in str(
        error.value
    )


def test_the_governor_rejects_a_differential_by_name_with_its_brakes_on(tmp_path):
    name = 'rover'
    with pytest.raises(ValueError, match=f"machine '{name}': expected efforts of arm joints only, found .*drive"):
        box_of(vehicle(name), efforts=True)
    file = yaml.safe_load((ROOT / 'config' / f'{name}.yaml').read_text())
    file['locked'] = [
        joint.name for joint in vehicle(name).actuated_joints if joint.name.endswith(('_drive', '_steer'))
    ]
    (tmp_path / 'braked.yaml').write_text(yaml.safe_dump(file))
    with pytest.raises(ValueError, match=f'{name}.*: expected .*, found differential'):
        box_of(load_machine(ROOT / 'urdf' / f'{name}.urdf', tmp_path / 'braked.yaml'), efforts=True)


def test_outriggers_on_the_ground_carry_the_rear_frame_of_the_forwarder():
    """The rear wheels are off the ground, and the front frame, free to roll, has equal wheel loads."""
    machine = vehicle('forwarder')
    wheel_loads = loads(machine, 800.0, DOWN | OUT)
    assert wheel_loads['left_fore'] == wheel_loads['right_aft'] == 0.0
    assert wheel_loads['front_left'] == pytest.approx(wheel_loads['front_right'], rel=1e-6)
    assert wheel_loads['left_pad'] > wheel_loads['right_pad'] > 0.0
    raised, down = (Machine(machine).tipping(OUT | legs).load for legs in ({}, DOWN))
    assert down > 2.0 * raised


def test_the_governor_of_a_crane_on_a_pivoted_axle_requires_an_imu(capsys):
    files = str(CASES / 'pivot_crane.urdf'), '--config', str(CASES / 'pivot_crane_650.yaml')
    assert main(['governor', 'test', *files, '--efforts', '--runs', '1', '--delay', '20', '--no-imu']) != 0
    assert 'expected an IMU on a base on pivots, found none' in capsys.readouterr().err


def test_six_wheels_on_rockers_tip_over_pairs_of_pivots_and_six_feet_of_one_body_about_their_edges():
    rover = machine_summary(vehicle('rover'))['static']
    assert set(rover['margins']['static']['names']) == {'left', 'right', 'front_1', 'front_2'}
    feet = machine_of_case('six_feet')
    assert len(machine_summary(feet)['static']['margins']['static']['names']) == 6
