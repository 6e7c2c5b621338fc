"""Initial states at rest, on any ground with an equilibrium."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_loader_tasks import P3D, STILL, WEIGHT, WHEELS, run
from scipy.spatial.transform import Rotation

from dyn_nodes.model import load_machine
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation import NoEquilibriumError, Settings, System, initial_state, settle
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.stability.equilibrium.standing import at_rest

POSTURES = {
    'carrying': {},
    'swung to the side': {'swing_joint': 1.2, 'boom_joint': 0.9, 'stick_joint': -1.9},
    'swung back': {'swing_joint': np.pi, 'boom_joint': 0.8, 'stick_joint': -1.5},
}


@pytest.fixture(scope='module')
def chain(machine):
    """Return the same plant on a base of virtual links."""
    return System(machine, base='virtual_chain')


def rest(system, values=None, slope=None, joints=None):
    p = system.parameters(values, slope)
    x = initial_state(system, p, joints)
    u = np.zeros(len(system.input_names))
    return p, x, u, dict(zip(system.output_names, system.outputs(x, u, p)))


def residual_accelerations(system, x, u, p):
    return np.abs(system.rhs(x, u, p)[: system.nq + system.nv]).max()


@pytest.mark.parametrize('posture', POSTURES)
@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.0, 0.12), (0.0, -0.1), (0.08, 0.0), (-0.06, 0.07)])
@pytest.mark.parametrize('payload', [0.0, 2000.0])
def test_nothing_accelerates_at_the_settled_state(system, posture, slope, payload):
    p, x, u, y = rest(system, {'payload_mass': payload}, slope, POSTURES[posture])
    assert residual_accelerations(system, x, u, p) < 1e-7
    weight = 9.81 * (17_481.0 + payload)
    normal = -p[2] / 9.81
    assert sum(y[f'{wheel}/normal_force'] for wheel in WHEELS) == pytest.approx(weight * normal, rel=1e-8)
    np.testing.assert_allclose([y[f'load_force_{axis}'] for axis in 'xyz'], weight / 9.81 * p[:3], atol=1e-7 * weight)
    np.testing.assert_allclose([y[f'load_moment_{axis}'] for axis in 'xy'], 0.0, atol=1e-6 * weight)


@pytest.mark.parametrize('shorter', [0.002, 0.005])
def test_a_vehicle_with_shorter_front_springs_rests_on_all_wheels(shorter):
    """It also has an equilibrium on its rear axle, inclined by 60 degrees."""
    machine = machine_of('agv_mecanum_arm', '')

    def cut(support):
        return replace(support, free_length=support.free_length - shorter * support.name.startswith('front'))

    machine = replace(machine, wheels=tuple(map(cut, machine.wheels)))
    assert at_rest(machine) is not None
    system = System(machine, 'effort')
    settled = settle(system, system.parameters())
    assert abs(settled.pose[4]) < 0.02
    x = initial_state(system, system.parameters())
    y = dict(zip(system.output_names, system.outputs(x, np.zeros(len(system.input_names)), system.parameters())))
    assert all(y[f'{wheel.name}/normal_force'] > 0.0 for wheel in machine.wheels)


@settings(max_examples=25)
@given(st.floats(-0.1, 0.1), st.floats(-0.1, 0.15), st.floats(-np.pi, np.pi), st.floats(0, 3000))
def test_wheel_loads_sum_to_the_weight_along_the_normal(system, roll, pitch, swing, payload):
    joints = {'swing_joint': swing, 'boom_joint': 0.9, 'stick_joint': -1.9}
    p, x, u, y = rest(system, {'payload_mass': payload}, (roll, pitch), joints)
    loads = [y[f'{wheel}/normal_force'] for wheel in WHEELS]
    assert sum(loads) == pytest.approx(9.81 * (17_481 + payload) * np.cos(roll) * np.cos(pitch), rel=1e-8)
    assert residual_accelerations(system, x, u, p) < 1e-6


def test_gravity_is_that_of_a_ground_turned_about_x_then_y():
    """The frame of the ground is Ry(pitch) Rx(roll): gravity there is the inversely rotated gravity of the world."""
    for roll, pitch in ((0.2, 0.0), (0.0, 0.3), (-0.15, 0.25)):
        ground = Rotation.from_euler('xy', [roll, pitch])  # extrinsic
        expected = ground.inv().apply([0.0, 0.0, -9.81])
        np.testing.assert_allclose(gravity_vector(9.81, (roll, pitch)), expected, atol=1e-14)


def test_front_downhill_loads_the_front_and_left_uphill_the_right(system):
    level = rest(system)[3]
    nose_down, left_up = rest(system, slope=(0.0, 0.02))[3], rest(system, slope=(0.02, 0.0))[3]
    assert rest(system, slope=(0.0, 0.1))[0][0] > 0  # gravity pulls forward

    def load(y, *sides):
        return sum(y[f'{wheel}/normal_force'] for wheel in WHEELS if any(side in wheel for side in sides))

    assert load(nose_down, 'front') > load(level, 'front')
    assert load(left_up, 'right') > load(level, 'right')


@pytest.mark.parametrize('base', ['parked', 'turned', 'far away'])
def test_heading_and_position_are_kept(system, base):
    pose = {'parked': (0, 0, 0), 'turned': (0, 0, 2.5), 'far away': (30.0, -12.0, -0.7)}[base]
    p = system.parameters()
    start = np.array([pose[0], pose[1], 1.5, 0.0, 0.0, pose[2]])
    x = initial_state(system, p, pose=start)
    y = dict(zip(system.output_names, system.outputs(x, np.zeros(3), p)))
    np.testing.assert_allclose(x[:2], pose[:2])
    assert y['yaw'] == pytest.approx(pose[2], abs=1e-3)
    assert residual_accelerations(system, x, np.zeros(3), p) < 1e-7
    assert y['front_right/normal_force'] == pytest.approx(88_610, rel=1e-3)


def test_machine_parked_on_a_slope_does_not_creep(system):
    p = system.parameters({'payload_mass': 0.0}, (0.05, 0.1))
    times = np.linspace(0.0, 3.0, 301)
    result = system.run(initial_state(system, p), times, STILL, p, Settings(step=5e-4))
    assert np.abs(result.states[:, : system.nq] - result.states[0, : system.nq]).max() < 1e-7


def test_it_rests_on_uneven_ground(system):
    values = {'front_left/ground_height': 0.01, 'rear_right/ground_height': -0.005, 'payload_mass': 0.0}
    p, x, u, y = rest(system, values)
    assert residual_accelerations(system, x, u, p) < 1e-7
    assert y['front_left/height'] == pytest.approx(x[2] - 1.2 - 0.01, abs=0.02)
    assert y['front_left/normal_force'] > rest(system, {'payload_mass': 0.0})[3]['front_left/normal_force']


@pytest.mark.parametrize(('scale', 'words'), [(0.1, "wheel '.*' slides on this slope"), (0.01, 'slides')])
def test_a_slippery_slope_is_rejected(system, scale, words):
    p = system.parameters({'friction_scale': scale, 'payload_mass': 0.0}, (0.0, 0.15))
    with pytest.raises(NoEquilibriumError, match=words):
        initial_state(system, p)


@pytest.mark.parametrize(
    ('values', 'slope', 'joints'),
    [
        ({'payload_mass': 6000.0}, (0.0, 0.1), {'boom_joint': 0.0, 'stick_joint': -0.2}),
        ({'payload_mass': 5100.0}, (0.3, 0.0), {'swing_joint': -np.pi / 2, 'boom_joint': 0.3, 'stick_joint': -1.0}),
    ],
)
def test_a_posture_that_tips_is_rejected_with_the_reason(system, values, slope, joints):
    p = system.parameters(values, slope)
    with pytest.raises(NoEquilibriumError, match=r'log_loader: no resting pose .*: the machine tips over'):
        initial_state(system, p, joints)


def test_holding_efforts_equal_those_of_the_trapped_oil(system, effort_system):
    p = system.parameters()
    holding = settle(effort_system, p).holding
    y = dict(zip(system.output_names, system.outputs(initial_state(system, p), np.zeros(3), p)))
    for k, joint in enumerate(('swing_joint', 'boom_joint', 'stick_joint')):
        assert y[f'{joint}/drive_effort'] == pytest.approx(holding[6 + k], rel=1e-9, abs=1e-6)
    assert np.abs(holding[:6]).max() < 1e-6 * WEIGHT


def test_efforts_that_hold_keep_the_effort_driven_machine_at_rest(effort_system):
    p = effort_system.parameters()
    holding = settle(effort_system, p).holding
    x, u = initial_state(effort_system, p), np.zeros(3)
    for k, joint in enumerate(('swing_joint', 'boom_joint', 'stick_joint')):
        u[effort_system.index('input', f'{joint}/effort')] = holding[6 + k]
    assert residual_accelerations(effort_system, x, u, p) < 1e-7


def test_unknown_joint_is_named(system):
    with pytest.raises(KeyError, match="unknown joint 'grapple'; known: swing_joint, boom_joint, stick_joint"):
        initial_state(system, joints={'grapple': 1.0})


def test_settled_state_of_the_virtual_chain_is_the_same_rest(system, chain):
    p = system.parameters({'payload_mass': 1000.0}, (0.03, -0.04))
    pose = np.array([2.0, 1.0, 1.5, 0.0, 0.0, 0.6])
    x, of_chain = initial_state(system, p, pose=pose), initial_state(chain, p, pose=pose)
    assert residual_accelerations(chain, of_chain, np.zeros(3), p) < 1e-7
    shared = [name for name in system.output_names if 'acceleration' not in name]
    y, z = (
        dict(zip(s.output_names, s.outputs(state, np.zeros(3), p))) for s, state in ((system, x), (chain, of_chain))
    )
    for name in shared:
        assert z[name] == pytest.approx(y[name], rel=1e-9, abs=1e-6), name


def test_virtual_chain_runs_as_the_quaternion_base(system, chain):
    """For the reach of the reference task, until the rear wheels are about to lift."""
    ours, theirs = (run(plant, P3D, 8.3, settings=Settings(step=2.5e-4)) for plant in (system, chain))
    assert ours.status == theirs.status == 'done'
    for name in ('tilt', 'roll', 'pitch', 'yaw', 'center_of_mass_x', 'center_of_mass_z'):
        np.testing.assert_allclose(theirs.output(name), ours.output(name), atol=1e-8)
    for joint in ('swing_joint', 'boom_joint', 'stick_joint'):
        np.testing.assert_allclose(theirs.state(joint), ours.state(joint), atol=1e-8)
    for wheel in WHEELS:
        np.testing.assert_allclose(
            theirs.output(f'{wheel}/normal_force'), ours.output(f'{wheel}/normal_force'), atol=1.0
        )


def test_a_machine_with_wheels_on_a_link_above_the_root_settles(tmp_path):
    """As for TIAGo: a massless root on the floor, a body above it, wheels of equal length on springs."""
    inertia = '<inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/>'
    body = f'<link name="body"><inertial><origin xyz="0.05 -0.04 0.2"/><mass value="60"/>{inertia}</inertial></link>'
    joint = '<joint name="up" type="fixed"><parent link="root"/><child link="body"/><origin xyz="0 0 0.1"/></joint>'
    (tmp_path / 'cart.urdf').write_text(f'<robot name="cart"><link name="root"/>{body}{joint}</robot>')
    corners = {'a': (0.2, -0.15), 'b': (0.2, 0.15), 'c': (-0.2, -0.15), 'd': (-0.2, 0.15)}
    wheels = ''.join(f'  {name}: {{link: body, position: [{x}, {y}, 0.0]}}\n' for name, (x, y) in corners.items())
    (tmp_path / 'cart.yaml').write_text(
        'base: {attachment: free}\n'
        'defaults: {wheel: {stiffness: 3.0e+4, damping: 300.0, free_length: 0.1}}\n'
        f'wheels:\n{wheels}'
    )
    cart = load_machine(tmp_path / 'cart.urdf', tmp_path / 'cart.yaml')
    system = System(cart)
    rest = settle(system, system.parameters())
    pose, holding = rest.pose, rest.holding
    stance = at_rest(cart)[1]
    np.testing.assert_allclose(pose[2:5], [stance.height, stance.roll, stance.pitch], atol=1e-9)
    np.testing.assert_allclose(holding[:6], 0.0, atol=1e-6)
