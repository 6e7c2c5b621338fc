"""The planar machine on rigid ground: spec sections 6.5 and 6.6."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.simulation import Inputs, NoEquilibriumError
from dyn_nodes.simulation.hybrid import HybridError
from dyn_nodes.studies.abo_shanab_2003 import lagrange_euler
from dyn_nodes.studies.abo_shanab_2003.dh_machines import planar_rigid_machine
from dyn_nodes.studies.abo_shanab_2003.planar import (
    S1,
    Case,
    hybrid_model,
    planar_machine,
    profile,
    profile_inputs,
    simulate,
)
from dyn_nodes.studies.abo_shanab_2003.rigid import front_energy_level
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import FRONT, REAR, STANDING, RigidPlanarModel
from dyn_nodes.studies.reference import tabulated

NOSE_UP = np.array([1.0, 1.0, -1.0, 1.0, 1.0])  # our pitch is nose down


@pytest.fixture(scope='module')
def model() -> RigidPlanarModel:
    return hybrid_model('rigid', 'literal')


@pytest.fixture(scope='module')
def effort_model() -> RigidPlanarModel:
    return RigidPlanarModel(planar_machine(), 'effort')


@pytest.fixture(scope='module')
def lift_and_carry():
    return simulate(Case())


def degrees(*values: float) -> dict[str, float]:
    return dict(zip(('boom_joint', 'stick_joint'), np.radians(values)))


def state(model, pitch=0.0, joints=(0.0, 0.0), rates=(0.0,) * 5, edge=REAR):
    return model.at_edge(edge, pitch, joints, rates)


@pytest.mark.parametrize('reading', ['literal', 'axis'])
@pytest.mark.parametrize('edge', [REAR, FRONT])
def test_mass_matrix_is_that_of_the_sources_chain(reading, edge):
    model = hybrid_model('rigid', reading)
    p = model.parameters({'payload_mass': 5000.0})
    x = state(model, pitch=0.11, joints=(0.6, -1.1), edge=edge)
    chain = planar_rigid_machine(edge, reading, payload=5000.0)
    expected = lagrange_euler.mass_matrix(chain, (0.0, 0.0, -0.11, 0.6, -1.1))
    np.testing.assert_allclose(
        model.mass_matrix(edge, x, p), NOSE_UP[:, None] * expected * NOSE_UP, rtol=1e-12, atol=1e-6
    )


@pytest.mark.pins('abo-shanab-2003/6.5/mass_matrix')
def test_mass_matrix_at_the_impact_posture(model):
    p = model.parameters({'payload_mass': 5000.0})
    M = model.mass_matrix(FRONT, state(model, joints=np.radians((20.0, -60.0))), p)
    upper = {
        (0, 2): 27846.226556, (0, 3): -5769.226556, (0, 4): 6130.398717,
        (1, 2): 4481.202176, (1, 3): 39036.797824, (1, 4): 7412.958495,
        (2, 2): 418981.662518, (2, 3): -216688.120508, (2, 4): -26085.352678,
        (3, 3): 247071.078497, (3, 4): 42693.909248, (4, 4): 17374.16,
    }  # fmt: skip
    for (i, j), value in upper.items():
        assert M[i, j] == pytest.approx(value, rel=1e-9)


def test_net_moments_of_the_moving_arm(effort_model):
    """Spec 6.5: M_f, M_r and their identity, with the torques for the stated accelerations."""
    p = effort_model.parameters({'payload_mass': 5000.0})
    x = state(effort_model, joints=(0.6, -1.1), rates=(0.0, 0.0, 0.0, -0.2, 0.3))
    u = np.array(tabulated('abo-shanab-2003/6.5/reaction')[1])
    y = effort_model.outputs(STANDING, x, u, p)
    assert y['boom_joint_acceleration'] == pytest.approx(0.15, rel=1e-8)
    assert y['stick_joint_acceleration'] == pytest.approx(-0.25, rel=1e-8)
    assert y['moment_front'] == pytest.approx(tabulated('abo-shanab-2003/6.5/moments')[0], rel=1e-9)
    assert y['moment_rear'] == pytest.approx(tabulated('abo-shanab-2003/6.5/moments')[1], rel=1e-9)
    assert y['moment_front'] - y['moment_rear'] == pytest.approx(tabulated('abo-shanab-2003/6.5/moments')[2], rel=1e-10)
    assert y['traction'] == pytest.approx(-4553.935852, rel=1e-8)
    assert y['rear/normal_force'] == pytest.approx(y['moment_front'] / 5.0, rel=1e-12)
    assert y['front/normal_force'] == pytest.approx(-y['moment_rear'] / 5.0, rel=1e-12)
    assert y['load_force_z'] == pytest.approx(-(12_000 * 9.81 + 76_326.247341), rel=1e-9)


def test_accelerations_while_tipping_are_those_of_the_sources_chain(effort_model):
    """Phase 2B is the chain about B without its prismatic joints; gravity is rotated by a slope."""
    slope = 0.2
    p = effort_model.parameters({'payload_mass': 4000.0}, slope=slope)
    q, qd, torque = np.array([-0.15, 0.4, -0.9]), np.array([-0.1, 0.2, -0.3]), np.array([3e5, 6e4])
    x = state(effort_model, pitch=-q[0], joints=q[1:], rates=(0.0, 0.0, -qd[0], *qd[1:]), edge=FRONT)
    y = effort_model.outputs(FRONT, x, torque, p)
    chain = planar_rigid_machine('front', payload=4000.0, slope=slope)
    full_q, full_qd = np.r_[0.0, 0.0, q], np.r_[0.0, 0.0, qd]
    M = lagrange_euler.mass_matrix(chain, full_q)
    bias = lagrange_euler.coriolis_vector(chain, full_q, full_qd) + lagrange_euler.gravity_vector(chain, full_q)
    expected = np.linalg.solve(M[2:, 2:], np.r_[0.0, torque] - bias[2:])
    assert -y['base_pitch_acceleration'] == pytest.approx(expected[0], rel=1e-10)
    assert y['boom_joint_acceleration'] == pytest.approx(expected[1], rel=1e-10)
    assert y['stick_joint_acceleration'] == pytest.approx(expected[2], rel=1e-10)
    reaction = M[:2, 2:] @ expected + bias[:2]
    assert y['traction'] == pytest.approx(reaction[0], rel=1e-9)
    assert y['front/normal_force'] == pytest.approx(reaction[1], rel=1e-9)
    assert y['rear/normal_force'] == pytest.approx(0.0, abs=1e-6)


# inertia, payload, pivot, nose-up rate before, (q2, q3, q4, q5) rates after, impulse, kinetic energy before and after
IMPACTS = [
    ('literal', 5000, FRONT, 0.2, (0.155179, 0.031036, 0.258633, -0.352340), (2549.400, 8478.519), 12721.241, 8481.982),
    ('literal', 5000, REAR, -0.2, (0.121455, -0.024291, -0.235062, -0.017118), (-2145.166, 6635.916), 11689.861,
     8371.903),
    ('literal', 0, FRONT, 0.2, (0.153637, 0.030727, 0.241235, -0.293404), (2492.599, 8459.998), 6209.745, 1979.746),
    ('literal', 0, REAR, -0.2, (0.120447, -0.024089, -0.227449, -0.037047), (-2121.879, 6632.426), 4931.276, 1615.063),
    ('axis', 5000, FRONT, 0.2, (-0.307500, -0.061500, 0.431874, -0.449136), (3533.306, 5907.856), 11121.569, 8167.641),
    ('axis', 0, REAR, -0.2, (-0.202803, 0.040561, -0.343669, 0.250988), (-2827.554, 3893.974), 3710.477, 1763.490),
]  # fmt: skip


@pytest.mark.parametrize(('reading', 'payload', 'pivot', 'rate', 'after', 'impulse', 'before_J', 'after_J'), IMPACTS)
@pytest.mark.pins('abo-shanab-2003/6.5/impact')
def test_plastic_impact_numbers(reading, payload, pivot, rate, after, impulse, before_J, after_J):
    model = hybrid_model('rigid', reading)
    p = model.parameters({'payload_mass': payload})
    x = state(model, joints=np.radians((20.0, -60.0)), rates=(0.0, 0.0, -rate, 0.1, -0.15), edge=pivot)
    impact = model.impact(pivot, x, p)
    assert impact.velocity[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(impact.velocity[1:] * NOSE_UP[1:], after, atol=1e-6)
    np.testing.assert_allclose(impact.impulse, impulse, atol=1e-3)
    assert impact.energy_before == pytest.approx(before_J, abs=1e-3)
    assert impact.energy_after == pytest.approx(after_J, abs=1e-3)


@pytest.mark.parametrize(('posture', 'moment'), [((55, -105), 178_569.5), ((0, -45), 28_262.1), ((0, 0), 1_100.7)])
@pytest.mark.pins('abo-shanab-2003/6.4/whole_machine')
def test_static_moment_about_the_front_edge(model, posture, moment):
    p = model.parameters({'payload_mass': 5000.0})
    x = model.initial_state(p, degrees(*posture))
    assert model.outputs(STANDING, x, np.zeros(2), p)['moment_front'] == pytest.approx(moment, abs=0.1)


@pytest.mark.parametrize(
    ('posture', 'moments'),
    [
        ((10, -60), (227.6, 123.4, 19.2, -32.9)),
        ((2.5, -75), (231.8, 144.4, 57.0, 13.3)),
        ((0, 0), (227.2, 106.5, -14.2, -74.5)),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.4/slope_moments')
def test_static_moment_on_the_slope(effort_model, posture, moments):
    for payload, expected in zip((0, 2000, 4000, 5000), moments):
        p = effort_model.parameters({'payload_mass': payload}, slope=math.radians(20))
        holding = np.empty(5)
        effort_model.module.holding(state(effort_model, joints=np.radians(posture)), p, holding)
        # about the front edge, 2.5 m ahead of the middle of the base
        assert (holding[2] + 2.5 * holding[1]) / 1e3 == pytest.approx(expected, abs=0.05)
        if expected < 0:
            with pytest.raises(NoEquilibriumError, match='no rest on the ground'):
                effort_model.initial_state(p, degrees(*posture))


@pytest.mark.pins('abo-shanab-2003/6.6/rigid_start')
def test_initial_pressures_hold_the_load(model):
    p = model.parameters({'payload_mass': 5000.0})
    x = model.initial_state(p)
    names = ('boom/head_pressure', 'boom/rod_pressure', 'stick/head_pressure', 'stick/rod_pressure')
    pressures = [x[model.index('state', name)] / 1e6 for name in names]
    np.testing.assert_allclose(pressures, (17.558, 1.0, 1.0, 24.680), atol=1e-3)
    y = model.outputs(STANDING, x, np.zeros(2), p)
    assert y['boom_joint_acceleration'] == pytest.approx(0.0, abs=1e-9)
    assert y['stick_joint_acceleration'] == pytest.approx(0.0, abs=1e-9)


def test_tipping_course_of_the_pick_and_place(lift_and_carry):
    onset, impact = lift_and_carry.first('lift_off'), lift_and_carry.first('impact')
    assert onset.time == pytest.approx(tabulated('abo-shanab-2003/6.6/rigid_course')[0], abs=2e-4)
    assert (onset.before, onset.after) == (STANDING, FRONT)
    assert lift_and_carry.peak == pytest.approx(8.4135, rel=2e-4)
    assert lift_and_carry.peak_time == pytest.approx(11.860, abs=0.011)
    assert impact.time == pytest.approx(tabulated('abo-shanab-2003/6.6/rigid_course')[3], abs=2e-3)
    assert -impact.details['velocity_before'][2] == pytest.approx(0.201, abs=5e-4)
    assert -impact.details['velocity_after'][2] == pytest.approx(0.0335, abs=5e-5)
    small = [event for event in lift_and_carry.events if event.kind == 'impact' and event.after == STANDING]
    assert [event.time for event in small] == pytest.approx(tabulated('abo-shanab-2003/6.6/rigid_course')[5], abs=2e-3)
    rates = [abs(event.details['velocity_before'][2]) for event in small]
    assert rates == pytest.approx([0.005, 0.004], abs=5e-4)
    assert lift_and_carry.returned


@pytest.mark.parametrize(
    ('time', 'rotation', 'boom', 'stick', 'pressures'),
    [
        (6, 0, 44.1, -93.1, (23.76, 9.58, 6.21, 31.67)),
        (7, 0, 29.5, -74.4, (24.82, 10.56, 7.85, 31.54)),
        (8, 0, 15.3, -58.1, (25.72, 9.57, 8.33, 31.51)),
        (9, 0, 1.1, -43.0, (27.27, 6.51, 8.41, 28.14)),
        (10, -4.12, -0.4, -42.1, (23.56, 6.54, 4.56, 19.61)),
        (11, -6.59, -0.8, -42.3, (30.39, 2.22, 2.06, 21.43)),
        (12, -8.34, -0.2, -44.4, (21.16, 0.20, 0.03, 9.27)),
        (13, -7.59, -0.3, -59.0, (22.29, 0.22, 0.13, 8.00)),
        (14, -2.86, -0.3, -72.0, (22.16, 0.20, 0.15, 5.55)),
        (15, 0, 0.2, -82.9, (21.47, 1.37, 0.20, 11.83)),
        (20, 0, 0.1, -82.7, (22.88, 0.74, 1.90, 8.13)),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.6/rigid_history')
def test_history_of_the_pick_and_place(lift_and_carry, time, rotation, boom, stick, pressures):
    assert lift_and_carry.at('rotation', time) == pytest.approx(rotation, abs=0.011)
    assert lift_and_carry.at('boom', time) == pytest.approx(boom, abs=0.06)
    assert lift_and_carry.at('stick', time) == pytest.approx(stick, abs=0.06)
    lines = ('boom_head', 'boom_rod', 'stick_head', 'stick_rod')
    assert [lift_and_carry.at(line, time) / 1e6 for line in lines] == pytest.approx(pressures, abs=0.03)


@pytest.mark.parametrize(
    ('time', 'level', 'moment'),
    [
        (0, 81_567, 178_570),
        (6, 38_196, 115_197),
        (7, 17_406, 73_659),
        (8, 5_259, 37_873),
        (8.5, 3_570, 30_664),
        (8.9, 3_098, 28_398),
        (8.97, 243, 7_426),
        (14.6, 36_103, 111_534),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.6/rigid_levels')
def test_energy_level_and_moment_of_the_front_edge(lift_and_carry, time, level, moment):
    front = lift_and_carry.series['moment_front']
    k = round(time * 100)
    assert front[k] == pytest.approx(moment, rel=0.005)
    assert front_energy_level(front)[k] == pytest.approx(level, rel=0.01)


@pytest.mark.pins('abo-shanab-2003/6.6/rigid_steps')
def test_smaller_steps_change_nothing():
    peaks = [simulate(Case(step=step)).peak for step in (4e-4, 2e-4, 1e-4)]
    assert {f'{peak:.4g}' for peak in peaks} == {f'{peaks[-1]:.4g}'}
    assert peaks == pytest.approx([peaks[-1]] * 3, rel=1e-5)


def test_axis_inertia_gives_a_double_impact():
    run = simulate(Case(inertia='axis'))
    impact = run.first('impact')
    assert run.first('lift_off').time == pytest.approx(8.978, abs=1e-3)
    assert run.peak == pytest.approx(10.165, rel=1e-3)
    assert run.peak_time == pytest.approx(12.71, abs=0.02)
    assert impact.time == pytest.approx(tabulated('abo-shanab-2003/6.6/rigid_axis')[3], abs=5e-3)
    assert -impact.details['velocity_before'][2] == pytest.approx(0.259, abs=1e-3)
    assert -impact.details['velocity_after'][2] == pytest.approx(-0.070, abs=1e-3)
    assert impact.details['double']
    assert impact.after == STANDING


def test_a_double_impact_is_an_error_if_requested():
    model = RigidPlanarModel(planar_machine('axis'), double_impact='error')
    p = model.parameters()
    inputs = profile_inputs(profile('planar_pick_and_place'))
    with pytest.raises(HybridError, match=r'double impact at t = 14\.6'):
        model.run(model.initial_state(p), STANDING, np.linspace(0, 20, 201), inputs, p)


@pytest.mark.parametrize(
    ('payload', 'peak'), [(4000, 0.92), (4500, 1.82), (4800, 3.72), (5000, 8.41), (5100, math.inf)]
)
@pytest.mark.pins('abo-shanab-2003/6.6/payload_rigid')
def test_payload_sensitivity(payload, peak):
    assert simulate(Case(payload=payload)).peak == pytest.approx(peak, abs=0.011)


@pytest.mark.parametrize(('scale', 'peak'), [(0.25, math.inf), (0.5, 10.55), (1.0, 8.41), (2.0, 7.39)])
@pytest.mark.pins('abo-shanab-2003/6.7/modulus_rigid')
def test_bulk_modulus_sensitivity(scale, peak):
    assert simulate(Case(bulk_modulus=scale)).peak == pytest.approx(peak, rel=0.01)


@pytest.mark.pins('abo-shanab-2003/6.6/slope_start')
def test_slope_with_a_dropped_load():
    run = simulate(Case(S1, payload=4000.0, slope=20.0, drop_tilt=15.0))
    assert run.at('moment_front', 0.0) == pytest.approx(13_080, abs=1)
    assert run.at('moment_rear', 0.0) == pytest.approx(-840_450, abs=1)
    assert [event.kind for event in run.events[:3]] == ['lift_off', 'payload_drop', 'impact']
    drop = run.first('payload_drop')
    assert drop.details['mass'] == 4000.0
    assert math.degrees(drop.details['pitch']) == pytest.approx(15.0, abs=1e-9)
    assert run.returned


@pytest.mark.pins('abo-shanab-2003/6.6/slope_short_lift')
def test_slope_with_a_shorter_lift(model):
    p = model.parameters({'payload_mass': 4000.0, 'drop_tilt': math.radians(15)}, slope=math.radians(20))
    x0 = model.initial_state(p, degrees(10, -55))
    inputs = Inputs([0, 1, 1.3, 2.7, 3.0], {'boom/voltage': [0, 0, 5.5, 5.5, 0]})
    run = model.run(x0, STANDING, np.linspace(0, 15, 1501), inputs, p)
    impact = run.of_kind('impact')[0]
    assert run.of_kind('payload_drop')[0].time == pytest.approx(5.669, rel=0.02)
    assert np.degrees(run.state('base_pitch').max()) == pytest.approx(17.04, rel=0.02)
    assert impact.time == pytest.approx(7.023, rel=0.02)
    assert -impact.details['velocity_before'][2] == pytest.approx(0.664, rel=0.02)
    assert -impact.details['velocity_after'][2] == pytest.approx(0.103, rel=0.02)


def test_the_sign_of_the_moment_is_the_phase(lift_and_carry):
    front, rear = lift_and_carry.series['moment_front'], lift_and_carry.series['moment_rear']
    standing = lift_and_carry.series['standing'] > 0.5
    assert (front[standing] > 0.0).all()
    assert (rear[standing] < 0.0).all()
    assert np.abs(front[lift_and_carry.series['rear_height'] > 0]).max() < 1e-6


def test_energy_is_kept_between_events_when_the_joints_are_free(effort_model):
    """No effort, no dissipation: the energy of the falling arm is conserved while the base tips."""
    p = effort_model.parameters({'payload_mass': 5000.0})
    x = state(effort_model, pitch=0.3, joints=(0.5, -1.0), edge=FRONT)
    run = effort_model.run(x, FRONT, np.linspace(0, 0.5, 51), Inputs.constant(), p, step=1e-3)
    energy = run.output('kinetic_energy') + run.output('potential_energy')
    assert np.ptp(energy) < 1e-6 * run.output('kinetic_energy').max()


def test_a_machine_that_stays_overturned_ends_the_run(model):
    p = model.parameters({'payload_mass': 5100.0})
    inputs = profile_inputs(profile('planar_pick_and_place'))
    run = model.run(model.initial_state(p), STANDING, np.linspace(0, 20, 2001), inputs, p)
    assert run.overturned
    assert run.events[-1].kind == 'overturned'
    assert math.degrees(run.last[2]) == pytest.approx(80.0, abs=1e-6)
    assert run.times[-1] <= run.end_time < 20.0


def test_only_planar_machines_with_two_edges_are_accepted():
    from dataclasses import replace

    machine = planar_machine()
    with pytest.raises(ValueError, match='expected a planar base, found fixed'):
        RigidPlanarModel(replace(machine, base=replace(machine.base, attachment='fixed')))
    with pytest.raises(ValueError, match='expected two wheels on base_link'):
        RigidPlanarModel(replace(machine, wheels=machine.wheels[:1]))
    with pytest.raises(ValueError, match="'stop' or 'error'"):
        RigidPlanarModel(machine, double_impact='bounce')
