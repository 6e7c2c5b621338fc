"""The planar machine on springs that can't slide: spec section 6.6."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.simulation import System, settle
from dyn_nodes.studies.abo_shanab_2003.pinned_planar import PinnedPlanarModel
from dyn_nodes.studies.abo_shanab_2003.planar import P2, Case, friction_system, hybrid_model, simulate
from dyn_nodes.studies.abo_shanab_2003.surveys import contact_survey
from dyn_nodes.studies.reference import tabulated


@pytest.fixture(scope='module')
def model() -> PinnedPlanarModel:
    return hybrid_model('no_skid', 'literal')


@pytest.fixture(scope='module')
def nominal():
    return simulate(Case(contact='no_skid'))


@pytest.mark.pins('abo-shanab-2003/6.6/compliant_start')
def test_static_start(model):
    x = model.initial_state(model.parameters())
    assert x[1] == pytest.approx(0.289962, abs=1e-6)
    assert -math.degrees(x[2]) == pytest.approx(-0.39683, abs=1e-5)
    y = model.outputs('rear', x, np.zeros(2), model.parameters())
    assert y['rear/normal_force'] == pytest.approx(35_134.5, abs=0.1)
    assert y['front/normal_force'] == pytest.approx(156_337.1, abs=0.1)
    assert y['rear/normal_force'] + y['front/normal_force'] == pytest.approx(191_471.58, abs=1e-3)


def test_static_start_is_that_of_the_machine_with_friction(model):
    system = friction_system('lugre', 'edge', 'literal')
    pose = settle(system, system.parameters()).pose
    assert -math.degrees(pose[4]) == pytest.approx(-0.39683, abs=1e-5)
    assert isinstance(system, System)


@pytest.mark.pins('abo-shanab-2003/6.6/compliant_course', 'abo-shanab-2003/6.7/no_skid_p1')
def test_nominal_run(nominal):
    assert nominal.onset == pytest.approx(9.05, abs=5e-3)
    assert nominal.peak == pytest.approx(13.985, rel=5e-4)
    assert nominal.peak_time == pytest.approx(13.78, abs=0.011)
    assert nominal.series['rear_height'].max() == pytest.approx(1.453, abs=5e-4)
    assert nominal.first('touch_down').time == pytest.approx(15.98, abs=0.01)
    assert nominal.series['front_height'].max() < 0.3
    working = (nominal.time >= 4.5) & (nominal.time <= 8)
    assert nominal.series['rotation'][working].min() == pytest.approx(-0.64, abs=5e-3)
    assert nominal.series['rotation'][working].max() == pytest.approx(-0.03, abs=5e-3)
    assert nominal.returned


@pytest.mark.pins('abo-shanab-2003/6.6/compliant_front_height')
def test_the_front_edge_stays_near_the_ground_while_the_rear_one_is_off(nominal):
    height = nominal.series['front_height'][nominal.time < nominal.first('touch_down').time]
    assert [height.min(), height.max()] == pytest.approx([0.236, 0.275], rel=0.03)


@pytest.mark.pins('abo-shanab-2003/6.6/stiffness_literal')
@pytest.mark.parametrize(
    ('stiffness', 'peak'), [(0.5, math.inf), (1.0, 13.98), (1.5, 11.49), (2.0, 10.82), (4.0, 9.80), (10.0, 8.96)]
)
def test_stiffer_ground_lets_it_rotate_less(stiffness, peak):
    assert simulate(Case(contact='no_skid', stiffness=stiffness)).peak == pytest.approx(peak, rel=5e-3)


@pytest.mark.pins('abo-shanab-2003/6.6/damping')
@pytest.mark.parametrize(('damping', 'peak'), [(0.5, 14.28), (1.0, 13.98), (2.0, 13.43), (3.0, 13.14)])
def test_more_damping_lets_it_rotate_less(damping, peak):
    assert simulate(Case(contact='no_skid', damping=damping)).peak == pytest.approx(peak, rel=2e-3)


@pytest.mark.pins('abo-shanab-2003/6.11/planar_trends', 'abo-shanab-2003/6.11/planar_survey')
def test_the_trends_hold_in_the_first_random_manoeuvres():
    """Two of four rock and return: farther than on rigid ground, and less on stiffer and on more damped ground."""
    survey = contact_survey(lambda function, cases, label: [function(case) for case in cases], 4)
    assert survey.kept == 2
    assert [survey.shares[name].holding for name in ('rigid', 'stiffness', 'damping')] == [2, 2, 2]
    assert all(share.not_rarer for share in survey.shares.values())


def test_the_base_is_continuous_over_a_change_of_the_reference_edge(nominal):
    for name in ('rear_height', 'front_height', 'rotation'):
        change = np.abs(np.diff(nominal.series[name]))
        for event in nominal.events:
            index = int(event.time / 0.01)
            assert change[index] < 3.0 * max(change[index - 2], change[index + 2], 1e-4)


def test_the_springs_never_pull(nominal):
    for wheel in ('rear', 'front'):
        force, height = nominal.series[f'{wheel}_normal'], nominal.series[f'{wheel}_height']
        assert (force >= 0.0).all()
        assert (force[height >= 0.3] == 0.0).all()


@pytest.mark.parametrize(
    ('payload', 'peak'), [(4000, 1.64), (4500, 2.62), (4800, 4.84), (5000, 13.98), (5100, math.inf)]
)
@pytest.mark.pins('abo-shanab-2003/6.6/payload_compliant')
def test_payload_sensitivity(payload, peak):
    assert simulate(Case(contact='no_skid', payload=payload)).peak == pytest.approx(peak, rel=0.01)


@pytest.mark.parametrize(('scale', 'peak'), [(0.25, math.inf), (0.5, 15.43), (1.0, 13.98), (2.0, 10.61)])
@pytest.mark.pins('abo-shanab-2003/6.7/modulus_compliant')
def test_bulk_modulus_sensitivity(scale, peak):
    assert simulate(Case(contact='no_skid', bulk_modulus=scale)).peak == pytest.approx(peak, rel=0.01)


@pytest.mark.pins('abo-shanab-2003/6.7/no_skid_p2')
def test_second_profile_without_skidding():
    assert simulate(Case(P2, 'no_skid')).peak == pytest.approx(10.16, rel=2e-3)


@pytest.mark.pins('abo-shanab-2003/6.7/middle_held')
def test_held_by_the_middle_of_the_base():
    assert simulate(Case(contact='middle_held')).peak == pytest.approx(13.90, rel=1e-3)
    assert simulate(Case(P2, 'middle_held')).peak == pytest.approx(10.01, rel=2e-3)


@pytest.mark.parametrize(
    ('stiffness', 'peak'), [(0.5, math.inf), (1, math.inf), (1.5, 16.68), (2, 14.88), (4, 12.17), (10, 10.87)]
)
@pytest.mark.pins('abo-shanab-2003/6.6/stiffness_axis')
def test_stiffness_with_axis_inertia(stiffness, peak):
    run = simulate(Case(contact='no_skid', inertia='axis', stiffness=stiffness))
    assert run.peak == pytest.approx(peak, rel=0.03)


@pytest.mark.parametrize(
    ('payload', 'posture', 'modes'),
    [
        (0, (0, -45), ((2.401, 0.324), (3.539, 0.477))),
        (5000, (0, -45), ((1.431, 0.193), (3.501, 0.471))),
        (5000, (55, -105), ((1.540, 0.209), (3.250, 0.438))),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.6/modes')
def test_modes_with_the_arm_locked(model, payload, posture, modes):
    """Linearized about the level base at its rest height, including the stiffness of gravity."""
    machine = model.machine
    p = model.parameters({'payload_mass': payload})
    x = model.initial_state(p, dict(zip(('boom_joint', 'stick_joint'), np.radians(posture))))
    x[2] = 0.0
    rigid = hybrid_model('rigid', 'literal')
    M = rigid.mass_matrix('rear', x, rigid.parameters({'payload_mass': payload}))[1:3, 1:3]
    holding, flat = np.empty(model.nv), np.empty(4)
    model.module.rest(x, p, holding, flat)
    K = flat.reshape(2, 2, order='F')
    arms = np.array([[1.0, 0.0], [1.0, -5.0]])  # height of each edge by that of the rear one and pitch
    C = sum(wheel.damping * np.outer(arm, arm) for wheel, arm in zip(machine.wheels, arms))
    system = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    roots = np.linalg.eigvals(system)
    roots = sorted(roots[roots.imag > 0], key=abs)
    for root, (frequency, ratio) in zip(roots, modes):
        assert abs(root) / (2 * np.pi) == pytest.approx(frequency, abs=6e-4)
        assert -root.real / abs(root) == pytest.approx(ratio, abs=6e-4)


@pytest.mark.parametrize(
    ('mass', 'frequency', 'ratio'),
    [(mass, *row) for mass, row in zip((14_518, 19_518), tabulated('abo-shanab-2003/6.6/vertical_mode'))],
)
def test_vertical_mode(model, mass, frequency, ratio):
    stiffness = sum(wheel.stiffness for wheel in model.machine.wheels)
    damping = sum(wheel.damping for wheel in model.machine.wheels)
    assert model.machine.total_mass in (mass, mass - 5000)
    natural = math.sqrt(stiffness / mass)
    assert natural / (2 * math.pi) == pytest.approx(frequency, abs=5e-5)
    assert damping / (2 * mass * natural) == pytest.approx(ratio, abs=5e-6)


def test_an_unknown_reference_is_named():
    with pytest.raises(ValueError, match="'edges' or 'middle', found 'top'"):
        PinnedPlanarModel(hybrid_model('no_skid', 'literal').machine, reference='top')
