"""The rigid planar machine advanced step by step: pose, loads, margins, joint reactions, events."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.simulation import Inputs, JointReaction, joint_reaction
from dyn_nodes.simulation.hybrid import HybridError
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.simulation.rigid_ground import RigidGroundModel
from dyn_nodes.stability import planar_energy_level
from dyn_nodes.studies.abo_shanab_2003.dh_machines import planar_rigid_machine
from dyn_nodes.studies.abo_shanab_2003.lagrange_euler import newton_euler
from dyn_nodes.studies.abo_shanab_2003.planar import S1, planar_machine, profile
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import FRONT, REAR, STANDING, RigidPlanarModel

PERIOD = 1e-3
SLOPE = math.radians(20.0)
LIFT = {'boom_joint': math.radians(10.0), 'stick_joint': math.radians(-55.0)}
MEASURES = (
    'static', 'longitudinal', 'zmp', 'force_angle', 'energy', 'normalized_energy', 'extended_energy', 'load_share',
    'net_moment', 'moment_height',
)  # fmt: skip


def slope_plant(**options) -> Plant:
    return Plant(
        planar_machine(), 'hydraulic', PERIOD, 5e-4, joints=LIFT, values={'payload_mass': 4000.0}, slope=(0.0, SLOPE),
        contact_model='rigid', **options,
    )  # fmt: skip


def play(plant, until, task=S1, each=None):
    """Apply a task's voltages, held over each period; return the events."""
    voltages, events = profile(task), []
    while plant.time < until - 1e-9 and not plant.overturned:
        boom, stick = voltages.evaluate(np.array([plant.time]), ('boom', 'stick'))[0]
        plant.set_inputs({'boom/voltage': boom, 'stick/voltage': stick})
        plant.advance()
        if each:
            each(plant)
        events += plant.take_events()
    return events


@pytest.fixture(scope='module')
def lifted():
    """Return events, poses, twists and modes of seven seconds of the slope case."""
    plant = slope_plant()
    plant.drop_tilt = math.radians(15.0)
    poses, twists, modes, states = [], [], [], []

    def keep(plant):
        poses.append(np.r_[plant.base_pose()[0], 2.0 * math.asin(plant.base_pose()[1][1])])
        twists.append(np.r_[plant.base_twist()])
        modes.append(plant.ground.mode)
        states.append((plant.x.copy(), plant.p.copy(), plant.u.copy()))

    events = play(plant, 7.2, each=keep)
    return plant, events, np.array(poses), np.array(twists), modes, states


def test_the_plant_runs_as_the_model_does():
    """Under a constant voltage the periods of the plant and one run of the model integrate equally."""
    plant = slope_plant()
    plant.drop_tilt = math.radians(0.2)
    plant.set_inputs({'boom/voltage': 5.0})
    states, modes, events = [], [], []
    for _ in range(5000):
        plant.advance()
        states.append(plant.x.copy())
        modes.append(plant.ground.mode)
        events += plant.take_events()
    model = RigidGroundModel(planar_machine())
    p = model.parameters({'payload_mass': 4000.0, 'drop_tilt': math.radians(0.2)}, slope=SLOPE)
    times = np.arange(5001) * PERIOD
    inputs = Inputs.constant({'boom/voltage': 5.0})
    run = model.run(model.initial_state(p, LIFT), STANDING, times, inputs, p, step=5e-4)
    assert {'lift_off', 'payload_drop', 'impact'} <= {event.kind for event in events}
    assert [(event.kind, event.before, event.after) for event in run.log] == [
        (event.kind, event.before, event.after) for event in events
    ]
    np.testing.assert_allclose([e.time for e in events], [e.time for e in run.log], rtol=0.0, atol=1e-9)
    assert [run.system.modes[k] for k in run.modes[1:]] == modes
    np.testing.assert_allclose(states, run.states[1:], rtol=1e-6, atol=1e-6)


def test_the_slope_case_is_that_of_the_specification(lifted):
    """Spec E4, tolerance 2 %; the voltages are held over a millisecond."""
    _, events, _, _, _, _ = lifted
    first = {kind: next(e for e in events if e.kind == kind) for kind in ('lift_off', 'payload_drop', 'impact')}
    assert first['lift_off'].time == pytest.approx(1.372, rel=0.02)
    assert first['payload_drop'].time == pytest.approx(5.230, rel=0.02)
    assert first['impact'].time == pytest.approx(6.707, rel=0.02)
    assert math.degrees(first['payload_drop'].details['pitch']) == pytest.approx(15.0, abs=1e-9)
    assert first['payload_drop'].details['mass'] == 4000.0
    assert first['impact'].details['wheel'] == 'rear'


def test_pose_and_twist_of_the_base_go_on_where_the_edge_changes(lifted):
    _, events, poses, twists, modes, _ = lifted
    assert {STANDING, FRONT, REAR} <= set(modes)
    assert np.abs(np.diff(poses, axis=0)).max() < 5e-3  # m, rad in a millisecond: nothing jumps
    # body-fixed axes back to those of the ground
    c, s = np.cos(poses[:, 3]), np.sin(poses[:, 3])
    velocity = np.column_stack([c * twists[:, 0] + s * twists[:, 2], c * twists[:, 2] - s * twists[:, 0], twists[:, 4]])
    slopes = (poses[2:] - poses[:-2])[:, [0, 2, 3]] / (2.0 * PERIOD)
    quiet = np.ones(len(slopes), bool)
    for event in events:
        k = int(event.time / PERIOD)
        quiet[max(0, k - 3) : k + 3] = False
    np.testing.assert_allclose(velocity[1:-1][quiet], slopes[quiet], atol=1e-4)


def test_the_ground_carries_the_machine_in_every_phase(lifted):
    plant, _, _, _, modes, states = lifted
    model = plant.system
    seen = set()
    for mode, (x, p, u) in list(zip(modes, states))[::50]:
        y = dict(zip(model.output_names, model.output_vector(mode, x, u, p)))
        seen.add(mode)
        assert y['rear/friction_longitudinal'] + y['front/friction_longitudinal'] == pytest.approx(-y['load_force_x'])
        assert y['rear/normal_force'] + y['front/normal_force'] == pytest.approx(-y['load_force_z'])
        lifted_wheel = {STANDING: None, FRONT: 'rear', REAR: 'front'}[mode]
        if lifted_wheel:
            assert y[f'{lifted_wheel}/normal_force'] == 0.0
            assert y[f'{lifted_wheel}/height'] >= 0.0
        # moments of weight, inertia and ground about the ground point below the middle
        arm = np.array([y[f'{wheel}/point_x'] - y['center_of_mass_x'] for wheel in ('rear', 'front')])
        loads = np.array([y['rear/normal_force'], y['front/normal_force']])
        about_com = -float(loads @ arm) + y['center_of_mass_z'] * y['load_force_x']
        assert about_com == pytest.approx(-y['load_moment_y'], rel=1e-9, abs=1e-4)
    assert seen >= {STANDING, FRONT}


def test_margins_of_the_two_edges_by_hand():
    """At rest on the slope: every measure of the front and the rear edge, from its definition in the plane."""
    plant = slope_plant(measures=MEASURES)
    balance = plant.balance()
    assert balance.edge_names == ('rear', 'front')
    com = balance.center_of_mass[[0, 2]]
    weight = plant.output('mass') * 9.81
    down = np.array([math.sin(SLOPE), -math.cos(SLOPE)])  # gravity in the frame of the ground
    edges = {'rear': np.array([-2.5, 0.0]), 'front': np.array([2.5, 0.0])}
    for k, (name, point) in enumerate(edges.items()):
        side = 1.0 if name == 'front' else -1.0  # the machine is behind its front edge and ahead of its rear edge
        arm = point - com
        moment = weight * side * (arm[0] * -down[1] + arm[1] * down[0])
        level = np.array([-down[1], down[0]])  # horizontal, forward
        distance = side * float(level @ arm)
        angle = math.atan2(distance, float(down @ arm))
        energy = weight * (math.hypot(*arm) - float(down @ arm))
        one = planar_energy_level(0.0, weight=weight, distance=math.hypot(*arm), angle=angle)
        margins = {name: margin.edges[k] for name, margin in balance.margins.items()}
        assert margins['net_moment'] == pytest.approx(moment, rel=1e-9)
        assert margins['static'] == pytest.approx(distance, rel=1e-9)
        assert balance.margins['longitudinal'].edges[1 - k] == pytest.approx(distance, rel=1e-9)
        assert margins['zmp'] == pytest.approx(moment / (weight * -down[1]) / 2.5, rel=1e-9)
        assert margins['force_angle'] == pytest.approx(angle * abs(distance) * weight, rel=1e-9)
        assert margins['energy'] == pytest.approx(energy, rel=1e-9)
        assert margins['normalized_energy'] == pytest.approx(energy / weight, rel=1e-9)
        assert margins['extended_energy'] == pytest.approx(float(one.level), rel=1e-9)
        loads = balance.forces[:, 2]
        assert margins['load_share'] == pytest.approx(loads[k] / loads.sum(), rel=1e-12)
        about = plant.output('mass') * float(arm @ arm)
        assert margins['moment_height'] == pytest.approx(moment * about / com[1], rel=1e-9)
    assert loads.sum() == pytest.approx(weight * -down[1], rel=1e-9)
    assert balance.critical_edge('net_moment') == 'front'
    assert balance.critical_edge('load_share') == 'rear'
    assert balance.critical_edge('longitudinal') == 'front'
    across = balance.edge_lines[:, 1] - balance.edge_lines[:, 0]
    np.testing.assert_allclose(across[:, [0, 2]], 0.0, atol=1e-12)


def test_the_compliant_planar_machine_has_two_edges_too():
    plant = Plant(planar_machine(), 'hydraulic', PERIOD, 5e-4, MEASURES)
    balance = plant.balance()
    assert {name: margin.valid for name, margin in balance.margins.items()} == dict.fromkeys(MEASURES, True)
    weight = 19_518 * 9.81
    moments = balance.margins['net_moment'].edges
    assert moments.sum() == pytest.approx(weight * (balance.points[1, 0] - balance.points[0, 0]), rel=1e-9)
    np.testing.assert_allclose(balance.forces[:, 2], (35_134.5, 156_337.1), atol=0.5)  # spec 6.6
    assert balance.margins['net_moment'].edges[1] == pytest.approx(5.0 * 35_134.5, rel=1e-3)


def test_conservative_margin_is_rejected_by_name():
    with pytest.raises(KeyError, match="'conservative' needs 5 feet, a planar machine has two edges"):
        Plant(planar_machine(), 'hydraulic', PERIOD, 5e-4, ('conservative',))


def chain_reactions(mode, q, qd, qdd, payload, slope):
    """Return forces and moments on boom and stick by Newton-Euler on the source's chain, ground axes, about +y."""
    chain = planar_rigid_machine('front' if mode == FRONT else 'rear', payload=payload, slope=slope)
    loads = newton_euler(chain, q, qd, qdd)
    # its frame 0 has x up, z forward, y to the right
    return [(loads.force[k, 2], loads.force[k, 0], -loads.moment[k, 1]) for k in (3, 4)]


@pytest.mark.parametrize('mode', [STANDING, FRONT, REAR])
@pytest.mark.parametrize('slope', [0.0, 0.2])
def test_joint_reactions_of_every_phase_are_those_of_newton_euler(mode, slope):
    payload = 3000.0
    model = RigidPlanarModel(planar_machine(), 'effort')
    p = model.parameters({'payload_mass': payload}, slope=slope)
    nose_up = {STANDING: 0.0, FRONT: -0.15, REAR: 0.12}[mode]
    rate = {STANDING: 0.0, FRONT: -0.2, REAR: 0.3}[mode]
    joints, speeds, u = np.array([0.4, -0.9]), np.array([0.25, -0.35]), np.array([2.5e5, 4e4])
    x = model.at_edge(FRONT if mode == FRONT else REAR, -nose_up, joints, (0.0, 0.0, -rate, *speeds))
    y = model.outputs(mode, x, u, p)
    accelerations = [-y['base_pitch_acceleration'], y['boom_joint_acceleration'], y['stick_joint_acceleration']]
    expected = chain_reactions(
        mode, np.r_[0, 0, nose_up, joints], np.r_[0, 0, rate, speeds], np.r_[0, 0, accelerations], payload, slope
    )
    rows = JointReaction(model, ('boom_joint', 'stick_joint')).at(x, u, p, mode)
    turned = nose_up
    for joint, angle, row, (forward, up, moment) in zip(('boom_joint', 'stick_joint'), joints, rows, expected):
        turned += angle  # nose up positive, of the child link
        c, s = math.cos(turned), math.sin(turned)
        np.testing.assert_allclose(row[[0, 2]], (c * forward + s * up, c * up - s * forward), rtol=1e-9)
        # nose up is about -y, and so are the joints: the moment about the axis is the drive's effort
        assert row[4] == pytest.approx(-moment, rel=1e-9) or row[4] == pytest.approx(moment, rel=1e-9)
        assert abs(row[4]) == pytest.approx(abs(u[0 if joint == 'boom_joint' else 1]), rel=1e-9)
        assert np.abs(row[[1, 3, 5]]).max() < 1e-6
        wrench = joint_reaction(model, x, joint, u, p, mode=mode)
        np.testing.assert_allclose(np.r_[wrench.force, wrench.torque], row, rtol=1e-12)
    with pytest.raises(ValueError, match='mode: expected one of flight, rear, front, standing, found None'):
        joint_reaction(model, x, 'boom_joint', u, p)


def test_reactions_of_a_run_follow_its_phases(lifted):
    """The reactions at the boom foot in each phase, of the plant and of the same states one by one."""
    plant, _, _, _, modes, states = lifted
    reaction = JointReaction(plant.system, ('boom_joint',))
    before = reaction.at(*[states[0][k] for k in (0, 2, 1)], modes[0])[0]
    # at rest: the foot carries boom, stick and load on the slope
    assert np.linalg.norm(before[:3]) == pytest.approx((1830 + 688 + 4000) * 9.81, rel=1e-3)
    last = reaction.at(plant.x, plant.u, plant.p, plant.ground.mode)
    np.testing.assert_allclose(plant.joint_reactions()[0], last[0], rtol=1e-12)


def test_the_payload_drops_at_a_time_at_a_tilt_and_on_request():
    plant = slope_plant()
    plant.drop_time = 2.00037
    events = play(plant, 2.1)
    (drop,) = [event for event in events if event.kind == 'payload_drop']
    assert drop.time == pytest.approx(2.00037, abs=1e-12)
    assert plant.payload == 0.0
    plant.reset()
    assert plant.payload == 4000.0
    other = slope_plant()
    play(other, 0.1)
    other.set_payload(0.0)
    assert [(event.kind, event.time) for event in other.take_events()] == [('payload_drop', other.time)]
    play(other, 0.2)
    assert not other.overturned
    other.set_payload(100.0)
    assert [event.kind for event in other.take_events()] == ['payload']


@pytest.mark.parametrize('kind', ['drop_time', 'drop_tilt'])
def test_the_compliant_machine_drops_its_payload_as_configured(kind):
    plant = Plant(planar_machine(), 'hydraulic', PERIOD, 5e-4, ())
    setattr(plant, kind, {'drop_time': 1.23456789, 'drop_tilt': 2e-3}[kind])
    tilt = plant.output('tilt')
    events, tilts = [], []
    while not events and plant.time < 9.5:
        boom, stick = profile('planar_pick_and_place').evaluate(np.array([plant.time]), ('boom', 'stick'))[0]
        plant.set_inputs({'boom/voltage': boom, 'stick/voltage': stick})
        plant.advance()
        tilts.append(plant.output('tilt'))
        events = [event for event in plant.take_events() if event.kind == 'payload_drop']
    (drop,) = events
    assert plant.payload == 0.0
    assert drop.details['mass'] == 5000.0
    if kind == 'drop_time':
        assert drop.time == pytest.approx(1.23456789, abs=1e-12)
    else:
        assert drop.details['tilt'] - tilt == pytest.approx(2e-3, abs=1e-8)
        assert tilts[-2] - tilt < 2e-3
        assert plant.time - PERIOD < drop.time <= plant.time


def test_held_by_efforts_it_stands_still():
    plant = Plant(planar_machine(), 'effort', PERIOD, 5e-4, (), contact_model='rigid')
    before = plant.positions.copy()
    for _ in range(200):
        plant.advance()
    np.testing.assert_allclose(plant.positions, before, atol=1e-9)
    # and where it tips, the servo holds the arm
    plant.x[2 * plant.system.nv - 1] = 0.1
    target, rest = plant.positions.copy(), np.zeros(2)
    for _ in range(300):
        plant.u[:] = plant.servo_efforts(target, rest)
        plant.advance()
    np.testing.assert_allclose(plant.positions, target, atol=1e-3)


def test_hung_from_the_ceiling_it_falls_off():
    plant = Plant(planar_machine(), 'effort', PERIOD, 5e-4, (), contact_model='rigid')
    plant.set_slope(0.0, math.pi)
    plant.u[:] = plant.holding_efforts()
    plant.advance()
    height, rise = plant.output('center_of_mass_z'), plant.output('center_of_mass_velocity_z')
    for _ in range(100):
        plant.advance()
    (event,) = plant.take_events()
    assert (event.kind, event.time, event.after, event.details['wheels']) == (
        'lift_off', 5e-4, 'flight', ['rear', 'front'],
    )  # fmt: skip
    fallen = plant.output('center_of_mass_z') - height - 0.1 * rise
    assert fallen == pytest.approx(0.5 * 9.81 * 0.1**2, rel=1e-6)


def test_a_failed_transition_leaves_the_plant_unchanged(monkeypatch):
    plant = Plant(planar_machine(), 'effort', PERIOD, 5e-4, (), contact_model='rigid')

    def jammed(*_arguments):
        raise HybridError('contacts jam')

    monkeypatch.setattr(plant.system, 'transition', jammed)
    plant.set_slope(0.0, math.pi)
    x = plant.x.copy()
    with pytest.raises(PlantDivergedError, match='contacts jam'):
        plant.advance()
    np.testing.assert_array_equal(plant.x, x)
    assert plant.ticks == 0


def test_an_unknown_contact_model_is_named():
    with pytest.raises(ValueError, match="expected compliant or rigid, found 'soft'"):
        Plant(planar_machine(), 'effort', PERIOD, 5e-4, contact_model='soft')
