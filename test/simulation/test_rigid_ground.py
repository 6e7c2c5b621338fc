"""A box on rigid ground in space: at rest, tipping about an edge or a corner, landing, in flight."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings, System
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.simulation.rigid_assembly import ContactModelError
from dyn_nodes.simulation.rigid_ground import FLIGHT, STANDING, RigidGroundModel

A, B, H, MASS, G = 0.5, 0.4, 0.6, 100.0, 9.81
"""Half length, half width, half height, m; mass, kg; gravity, m/s2."""
CORNERS = {'front_left': (1, 1), 'front_right': (1, -1), 'rear_left': (-1, 1), 'rear_right': (-1, -1)}
FRONT_EDGE, REAR_EDGE, CORNER = 'front_left+front_right', 'rear_left+rear_right', 'front_left'
RADIUS = math.hypot(A, H)
NOTHING = Inputs.constant()


def box(folder: Path, **changes: str):
    """Return a solid box of 1 m x 0.8 m x 1.2 m with contacts at its lower corners."""
    ixx, iyy, izz = (MASS / 3 * (p * p + q * q) for p, q in ((B, H), (A, H), (A, B)))
    inertia = f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
    (folder / 'box.urdf').write_text(
        f'<robot name="box"><link name="box"><inertial><mass value="{MASS}"/>{inertia}</inertial></link></robot>'
    )
    wheel = {'stiffness': '5.0e+4', 'damping': '1000.0', 'free_length': '0.3', 'friction_point': 'attachment'} | changes
    text = f'name: box\nbase: {{link: box, attachment: free}}\ndefaults:\n  wheel: {wheel}\nwheels:\n'.replace("'", '')
    for name, (x, y) in CORNERS.items():
        text += f'  {name}: {{link: box, position: [{A * x}, {B * y}, {-H}]}}\n'
    (folder / 'box.yaml').write_text(text)
    return load_machine(folder / 'box.urdf', folder / 'box.yaml')


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    return RigidGroundModel(box(tmp_path_factory.mktemp('box')), 'effort')


def turned_about(model, point, turn, rate=(0.0, 0.0, 0.0)):
    """Return the box rotated from rest about a point of the ground, with an angular velocity (3,) in the world."""
    rotation = Rotation.from_rotvec(turn)
    arm = rotation.apply(np.array([0.0, 0.0, H]) - point)
    x = np.zeros(len(model.state_names))
    x[:3], x[3:7] = point + arm, rotation.as_quat()
    x[7:10] = rotation.inv().apply(rate)
    x[10:13] = rotation.inv().apply(np.cross(rate, arm))
    return x


def energy(run):
    return run.output('kinetic_energy') + run.output('potential_energy')


def test_it_stays_at_rest_and_its_feet_share_its_weight(model):
    p = model.parameters()
    x = model.initial_state(p)
    assert model.resting_mode(x, p) == STANDING
    run = model.run(x, STANDING, np.linspace(0.0, 2.0, 21), NOTHING, p)
    np.testing.assert_allclose(run.states, np.tile(x, (21, 1)), atol=1e-13)
    assert not run.events
    assert (run.status, run.detail, run.step) == ('done', '', 1e-3)
    assert not any(check.judged or check.failed for check in run.checks)  # impacts take energy
    for foot in CORNERS:
        np.testing.assert_allclose(run.output(f'{foot}/normal_force'), 0.25 * MASS * G, rtol=1e-12)


@pytest.mark.parametrize('slope', [(0.3, 0.0), (0.0, 0.4), (-0.2, 0.25)])
def test_on_a_slope_it_rests_as_long_as_its_weight_points_between_its_feet(model, slope):
    p = model.parameters(slope=slope)
    x = model.initial_state(p)
    y = model.outputs(STANDING, x, np.zeros(0), p)
    forces = np.array([[y[f'{foot}/{part}'] for part in PARTS] for foot in CORNERS])
    np.testing.assert_allclose(forces.sum(axis=0), -MASS * p[:3], atol=1e-9)
    assert forces[:, 2].min() > 0.0
    edge = math.atan2(A, H) if slope[0] == 0.0 else math.atan2(B, H)
    steep = model.parameters(slope=tuple(np.sign(slope) * (edge + 1e-6)))
    with pytest.raises(NoEquilibriumError, match='no rest on the ground in this posture: it tips'):
        model.initial_state(steep)


PARTS = ('friction_longitudinal', 'friction_lateral', 'normal_force')


def test_it_tips_about_an_edge_as_a_physical_pendulum_and_comes_down_with_housners_ratio(model):
    p = model.parameters()
    x = turned_about(model, (A, 0.0, 0.0), (0.0, 0.3, 0.0))
    run = model.run(x, FRONT_EDGE, np.linspace(0.0, 0.5, 51), NOTHING, p)
    inertia, at_rest = 4 / 3 * MASS * RADIUS**2, math.atan2(A, H)

    def pendulum(_t, state):
        return [state[1], -MASS * G * RADIUS * math.sin(at_rest - state[0]) / inertia]

    def level(t, state):
        return state[0]

    level.terminal = True
    exact = solve_ivp(pendulum, (0.0, 0.5), [0.3, 0.0], events=level, rtol=1e-12, atol=1e-14, dense_output=True)
    impact = run.events[0]
    assert (impact.kind, impact.before, impact.after) == ('impact', FRONT_EDGE, REAR_EDGE)
    assert impact.details['wheels'] == ['rear_left', 'rear_right']
    assert impact.time == pytest.approx(exact.t_events[0][0], abs=2e-8)
    before, after = (impact.details[f'velocity_{when}'][1] for when in ('before', 'after'))
    assert before == pytest.approx(exact.y_events[0][0][1], rel=1e-7)
    assert after / before == pytest.approx(1.0 - 1.5 * A**2 / RADIUS**2, rel=1e-10)
    pitch = run.output('pitch')[run.times < impact.time]
    np.testing.assert_allclose(pitch, exact.sol(run.times[: len(pitch)])[0], atol=1e-9)


def test_it_rocks_to_rest_and_loses_energy_in_impacts_alone(model):
    p = model.parameters()
    x = turned_about(model, (A, 0.0, 0.0), (0.0, 0.3, 0.0))
    run = model.run(x, FRONT_EDGE, np.linspace(0.0, 1.0, 101), NOTHING, p)
    assert {event.kind for event in run.events} == {'impact'}
    assert run.events[-1].after == STANDING
    edges = [run.times[0], *(event.time for event in run.events), run.times[-1]]
    left = np.inf
    for start, end in pairwise(edges):
        part = energy(run)[(run.times > start) & (run.times < end)]
        if len(part):
            assert np.ptp(part) < 1e-6
            assert part[0] < left
            left = part[-1]
    np.testing.assert_allclose(run.states[-1][7:13], 0.0, atol=1e-12)
    assert run.output('tilt')[-1] == pytest.approx(0.0, abs=1e-9)


def test_over_a_corner_it_keeps_its_energy_and_its_spin_about_the_vertical(model):
    p = model.parameters()
    corner = np.array([A, B, 0.0])
    x = turned_about(model, corner, (-0.25, 0.3, 0.0), (0.1, -0.2, 0.8))
    run = model.run(x, CORNER, np.linspace(0.0, 0.25, 26), NOTHING, p)
    assert not run.events
    assert np.ptp(energy(run)) < 1e-7
    com = run_outputs(run, 'center_of_mass')
    spin = run_outputs(run, 'angular_momentum') + MASS * np.cross(
        com - corner, run_outputs(run, 'center_of_mass_velocity')
    )
    np.testing.assert_allclose(spin[:, 2], spin[0, 2], rtol=1e-9)
    touching = run_outputs(run, f'{CORNER}/point')
    np.testing.assert_allclose(touching, np.tile(corner, (26, 1)), atol=1e-9)


def run_outputs(run, name):
    return np.column_stack([run.output(f'{name}_{axis}') for axis in 'xyz'])


def test_over_a_corner_it_moves_as_mujocos_ball_joint(model):
    mujoco = pytest.importorskip('mujoco')
    turn, rate, end = np.array([-0.25, 0.3, 0.0]), np.array([0.1, -0.2, 0.8]), 0.25
    corner = np.array([A, B, 0.0])
    p = model.parameters()
    run = model.run(turned_about(model, corner, turn, rate), CORNER, np.linspace(0.0, end, 26), NOTHING, p)
    ixx, iyy, izz = (MASS / 3 * (m * m + n * n) for m, n in ((B, H), (A, H), (A, B)))
    world = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.00025" integrator="RK4" gravity="0 0 {-G}"/><worldbody>'
        f'<body pos="0 0 {H}"><joint type="ball" pos="{A} {B} {-H}"/>'
        f'<inertial pos="0 0 0" mass="{MASS}" diaginertia="{ixx} {iyy} {izz}"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(world)
    start = Rotation.from_rotvec(turn)
    data.qpos[:] = np.roll(start.as_quat(), 1)
    data.qvel[:] = start.inv().apply(rate)
    for _ in range(round(end / world.opt.timestep)):
        mujoco.mj_step(world, data)
    difference = Rotation.from_quat(run.states[-1][3:7]).inv() * Rotation.from_quat(np.roll(data.qpos, -1))
    assert difference.magnitude() < 1e-8
    np.testing.assert_allclose(run.states[-1][7:10], data.qvel, atol=1e-7)


def test_over_a_corner_it_comes_down_foot_by_foot(model):
    p = model.parameters()
    x = turned_about(model, np.array([A, B, 0.0]), (-0.1, 0.15, 0.0))
    run = model.run(x, CORNER, np.linspace(0.0, 1.5, 151), NOTHING, p)
    impacts = [event for event in run.events if event.kind == 'impact']
    assert all(event.details['energy_after'] <= event.details['energy_before'] for event in impacts)
    assert len(impacts) >= 2
    assert run.modes[-1] == model.modes.index(STANDING)
    assert (np.diff(energy(run)) < 1e-6).all()
    heights = np.array([run.output(f'{foot}/height') for foot in CORNERS])
    assert heights.min() > -2e-9


def test_dropped_it_falls_freely_and_lands_on_all_feet(model):
    p = model.parameters()
    x = model.initial_state(p)
    x[2] += 0.05
    assert model.resting_mode(x, p) == FLIGHT
    run = model.run(x, FLIGHT, np.linspace(0.0, 0.2, 21), NOTHING, p)
    (impact,) = run.events
    assert impact.time == pytest.approx(math.sqrt(2 * 0.05 / G), abs=1e-8)
    assert impact.details['speed'] == pytest.approx(math.sqrt(2 * G * 0.05), rel=1e-7)
    assert (impact.after, len(impact.details['wheels'])) == (STANDING, 4)
    np.testing.assert_allclose(run.states[-1][7:13], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.last[:3], [0.0, 0.0, H], atol=1e-9)


def test_reversed_gravity_lifts_it_off_the_ground(model):
    """With upward gravity it lifts off in the first step."""
    p = model.parameters()
    x = model.initial_state(p)
    p[:3] *= -1.0
    run = model.run(x, STANDING, np.linspace(0.0, 0.01, 11), NOTHING, p)
    (event,) = run.events
    assert (event.kind, event.time, event.after) == ('lift_off', 1e-3, FLIGHT)
    assert event.details['wheels'] == list(CORNERS)


def test_beyond_its_equilibrium_it_overturns(model):
    p = model.parameters()
    run = model.run(
        turned_about(model, (A, 0.0, 0.0), (0.0, math.atan2(A, H) + 0.01, 0.0)), FRONT_EDGE,
        np.linspace(0.0, 5.0, 501), NOTHING, p,
    )  # fmt: skip
    assert run.overturned
    assert run.events[-1].details['tilt'] == pytest.approx(model.machine.overturn_angle, abs=1e-9)


def test_a_foot_that_does_not_reach_the_ground_stays_open(model):
    """One ground point is lower: the box stands on three feet, and the fourth has a gap."""
    p = model.parameters({'rear_left/ground_height': -0.01})
    p[:3] = G * np.array([0.02, 0.0, -1.0])  # slightly forward, so that three feet carry it
    x = model.initial_state(p)
    mode = model.resting_mode(x, p)
    assert mode == 'front_left+front_right+rear_right'
    y = model.outputs(mode, x, np.zeros(0), p)
    assert y['rear_left/height'] == pytest.approx(0.01, rel=1e-3)
    assert y['rear_left/normal_force'] == 0.0


def test_unsupported_features_on_rigid_ground_are_named(tmp_path):
    from dataclasses import replace

    machine = box(tmp_path)
    with pytest.raises(ContactModelError, match=r'box: expected wheels and feet on a plane .* found a fixed base'):
        RigidGroundModel(replace(machine, base=replace(machine.base, attachment='fixed')), 'effort')
    with pytest.raises(ContactModelError, match='found no wheels'):
        RigidGroundModel(replace(machine, wheels=()), 'effort')


def test_a_strut_is_as_long_as_its_free_length(tmp_path):
    """With `friction_point: ground` the foot is one free length below its attachment, fixed to the link."""
    from dyn_nodes.simulation.rigid_assembly import RigidAssembly

    for point, below in (('ground', 0.3), ('attachment', 0.0)):
        plant = RigidAssembly(box(tmp_path, friction_point=point), 'effort')
        frame = plant.ground[0].frame(plant.state)
        np.testing.assert_allclose(frame.p, [A, B, -H - below])


def test_slip_is_reported_when_sticking_needs_too_much_friction(tmp_path):
    """A slope increases beyond the friction angle and returns; without friction in the file there is no report."""
    rough = RigidGroundModel(box(tmp_path, friction='{static: 0.3, kinetic: 0.2}'), 'effort')
    p = rough.parameters(slope=(0.0, math.atan(0.31)))
    x = rough.initial_state(p)
    run = rough.run(x, STANDING, np.linspace(0.0, 0.01, 11), NOTHING, p)
    (event,) = run.events
    assert (event.kind, event.before, event.after) == ('contact_slips', STANDING, STANDING)
    assert event.details['friction_needed'] == pytest.approx(0.31, rel=1e-9)
    np.testing.assert_allclose(run.states[-1], x, atol=1e-12)
    slipping = rough.parameters({'slips': 1.0}, slope=(0.0, math.atan(0.29)))
    assert not rough.run(x, STANDING, np.linspace(0.0, 0.01, 11), NOTHING, slipping).events  # within 5 % of it
    slipping = rough.parameters({'slips': 1.0}, slope=(0.0, math.atan(0.28)))
    (event,) = rough.run(x, STANDING, np.linspace(0.0, 0.01, 11), NOTHING, slipping).events
    assert event.kind == 'contact_sticks'
    scaled = rough.parameters({'friction_scale': 2.0}, slope=(0.0, math.atan(0.31)))
    assert not rough.run(x, STANDING, np.linspace(0.0, 0.01, 11), NOTHING, scaled).events


def test_a_changed_parameter_takes_effect_at_once(tmp_path):
    """The friction below a plant at rest is reduced: the contact forces are solved again."""
    machine = box(tmp_path, friction='{static: 0.3, kinetic: 0.2}')
    plant = Plant(machine, 'effort', 0.005, 0.001, slope=(0.0, math.atan(0.25)), contact_model='rigid')
    plant.advance()
    plant.advance()
    assert plant.take_events() == []
    plant.set_parameter('friction_scale', 0.5)
    plant.advance()
    (event,) = plant.take_events()
    assert event.kind == 'contact_slips'
    assert 0.01 <= event.time < 0.0111  # within the first step
    assert event.details['friction_needed'] == pytest.approx(0.25, rel=1e-6)


def test_springs_that_stiffen_tend_to_rigid_ground(model, tmp_path):
    """Tipping about the front edge: springs and bristles ten times as stiff are far closer to the rigid course."""
    p, end = model.parameters(), 0.15
    x = turned_about(model, (A, 0.0, 0.0), (0.0, 0.3, 0.0))
    times = np.linspace(0.0, end, 4)
    rigid = model.run(x, FRONT_EDGE, times, NOTHING, p).output('pitch')
    errors = []
    for stiffness in (1e6, 1e7):
        friction = f'{{static: 3.0, kinetic: 3.0, bristle_stiffness: {stiffness / 250}, bristle_damping: 60.0}}'
        damping = math.sqrt(2.0 * MASS * stiffness)
        machine = box(tmp_path, stiffness=f'{stiffness:.1e}', damping=f'{damping:.1f}', friction=friction)
        system = System(machine, 'effort')
        start = np.zeros(len(system.state_names))
        start[:13] = x
        start[2] += 0.3 - 0.5 * MASS * G / stiffness  # on attachments one free length above the ground, deflected
        run = system.run(start, times, NOTHING, settings=Settings(step=1e-4))
        errors.append(np.abs(run.output('pitch') - rigid).max())
    assert errors[1] < 2e-5
    assert errors[1] < 0.12 * errors[0]
