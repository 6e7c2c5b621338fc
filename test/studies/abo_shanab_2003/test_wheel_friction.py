"""Sliding wheels: spec sections 2.21, 2.23 and 6.7."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.common.share import find_resource
from dyn_nodes.elements.forces import karnopp, lugre
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Karnopp, LuGre
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings, System, initial_state
from dyn_nodes.studies.abo_shanab_2003.friction import LEVEL_PEAKS, LEVELS, TABLE
from dyn_nodes.studies.abo_shanab_2003.planar import P1, P2, Case, friction_system, simulate
from dyn_nodes.studies.abo_shanab_2003.surveys import friction_level_survey, friction_survey

G7 = Karnopp(0.05, 0.03, 3.5e6, 1.5e5, 1e-3)
numbers = st.floats(-1.0, 1.0)


@given(slip=numbers, deflection=st.floats(-0.01, 0.01), stick=st.sampled_from([0.0, 1.0]), normal=st.floats(0, 2e5))
def test_karnopp_friction_follows_its_law(slip, deflection, stick, normal):
    friction = karnopp(G7, slip, deflection, stick, normal)
    standing = G7.stiffness * deflection + G7.damping * slip
    foot = slip - float(friction.deflection_rate)
    if normal <= 0:
        assert float(friction.force) == 0.0
    elif stick:
        assert float(friction.force) == pytest.approx(-standing, abs=1e-9)
        assert foot == pytest.approx(0.0, abs=1e-12)
        assert bool(friction.stick) == (abs(standing) <= G7.static * normal)
    else:
        assert abs(float(friction.force)) <= G7.kinetic * normal + 1e-9
        # the foot has no mass: spring and damper carry the friction force
        carried = G7.stiffness * deflection + G7.damping * (slip - foot)
        assert carried == pytest.approx(-float(friction.force), abs=1e-6)
        # and friction on the foot is against its motion
        assert foot * float(friction.force) <= 1e-9


@pytest.mark.parametrize('key', [(task, 'edge', model) for task in (P1, P2) for model in ('karnopp', 'lugre')])
@pytest.mark.pins('abo-shanab-2003/6.7/table_edge')
def test_friction_table_at_the_edges(key):
    task, arm, model = key
    run = simulate(Case(task, 'friction', friction=model, arm=arm))
    peak, slide, friction = TABLE[key]
    assert run.peak == pytest.approx(peak, rel=2e-3)
    assert run.slide == pytest.approx(slide, rel=0.02)
    assert run.friction == pytest.approx(friction, rel=0.02)


@pytest.mark.pins('abo-shanab-2003/6.7/levels')
@pytest.mark.parametrize('model', ['lugre', 'karnopp'])
@pytest.mark.parametrize('level', [0.9, 0.1, 0.03, 0.005])
def test_levels_of_friction_at_the_edges_have_the_peaks_of_the_sweep(model, level):
    run = simulate(Case(P2, 'friction', friction=model, arm='edge', static=level))
    assert run.peak == pytest.approx(LEVEL_PEAKS[model, 'edge'][LEVELS.index(level)], rel=5e-3)


@pytest.mark.pins('abo-shanab-2003/6.11/friction_trends', 'abo-shanab-2003/6.11/planar_survey')
def test_karnopp_slides_farther_and_with_less_force_than_lugre_in_the_first_random_manoeuvres():
    survey = friction_survey(lambda function, cases, label: [function(case) for case in cases], 4)
    assert survey.kept == 2
    assert [survey.shares[name].holding for name in ('slide', 'friction')] == [2, 2]
    assert all(share.not_rarer for share in survey.shares.values())


@pytest.mark.pins('abo-shanab-2003/6.7/table_source', 'abo-shanab-2003/6.7/levels_p1', 'abo-shanab-2003/6.7/levels')
def test_lugre_friction_with_the_printed_arms():
    """One machine of the slow tests below: a row of the table, a level of P1 and two of P2."""
    peak, slide, friction = TABLE[P2, 'source', 'lugre']
    run = simulate(Case(P2, 'friction', arm='source'))
    assert run.peak == pytest.approx(peak, rel=2e-3)
    assert [run.slide, run.friction] == pytest.approx([slide, friction], rel=0.02)
    assert simulate(Case(P1, 'friction', arm='source', static=0.005)).peak == pytest.approx(17.78, rel=0.05)
    for level in (0.9, 0.005):
        level_peak = simulate(Case(P2, 'friction', arm='source', static=level)).peak
        assert level_peak == pytest.approx(LEVEL_PEAKS['lugre', 'source'][LEVELS.index(level)], rel=5e-3)


@pytest.mark.pins('abo-shanab-2003/6.11/friction_survey')
def test_the_level_of_friction_in_the_first_random_manoeuvres():
    """With the machine of the test above, the peak falls in one of two returning manoeuvres and rises in the other."""
    survey = friction_level_survey(lambda function, cases, label: [function(case) for case in cases], 6)
    assert survey.kept == 2
    assert [survey.shares[name].holding for name in ('smaller', 'larger', 'minimum', 'maximum')] == [1, 1, 0, 1]
    assert survey.shares['smaller'].alike
    assert survey.shares['larger'].alike


@pytest.mark.parametrize('key', [key for key in TABLE if key[1] == 'source'])
@pytest.mark.pins('abo-shanab-2003/6.7/table_source')
def test_friction_table_with_the_printed_arms(key):
    task, arm, model = key
    run = simulate(Case(task, 'friction', friction=model, arm=arm))
    peak, slide, friction = TABLE[key]
    assert run.peak == pytest.approx(peak, rel=2e-3)
    assert run.slide == pytest.approx(slide, rel=0.02)
    assert run.friction == pytest.approx(friction, rel=0.02)


@pytest.mark.parametrize(('task', 'peak', 'slide', 'force'), [(P1, 13.82, 0.142, 5295.0), (P2, 9.82, 0.083, 6260.0)])
@pytest.mark.pins('abo-shanab-2003/6.7/table_ground_lugre')
def test_lugre_friction_on_the_ground(task, peak, slide, force):
    run = simulate(Case(task, 'friction', arm='ground'))
    assert run.peak == pytest.approx(peak, rel=2e-3)
    assert run.slide == pytest.approx(slide, rel=0.02)
    assert run.friction == pytest.approx(force, rel=0.02)


@pytest.mark.pins('abo-shanab-2003/6.7/levels_p1')
def test_rotation_rises_as_friction_falls_in_the_pick_and_place():
    peaks = [simulate(Case(P1, 'friction', arm='source', static=level)).peak for level in (0.9, 0.05, 0.005)]
    assert peaks == pytest.approx([13.58, 13.97, 17.78], rel=0.05)
    assert peaks[0] < peaks[1] < peaks[2]


def test_steps_hardly_change_the_karnopp_run():
    peaks = [simulate(Case(P2, 'friction', friction='karnopp', step=step)).peak for step in (1e-3, 5e-4, 2.5e-4)]
    assert peaks == pytest.approx([peaks[-1]] * 3, rel=1e-3)


@pytest.mark.parametrize(('rate', 'share'), [(1e3, 0.05192), (1e4, 0.05439), (5e4, 0.05755)])
@pytest.mark.pins('abo-shanab-2003/6.7/break_away')
def test_break_away_force_rises_with_the_rate(rate, share):
    """LuGre, mu 0.05 / 0.03: force over weight at which a block of 19518 kg under a force ramp passes 0.01 m/s."""
    weight, friction, step = 19_518.0 * 9.81, LuGre(0.05, 0.03), 1e-4
    time = speed = bristle = 0.0

    def rates(v, z, t):
        bristle_friction = lugre(friction, v, z, weight)
        return (rate * t + float(bristle_friction.force)) / 19_518.0, float(bristle_friction.deflection_rate)

    while speed < 0.01:
        a, b = rates(speed, bristle, time)
        a, b = rates(speed + 0.5 * step * a, bristle + 0.5 * step * b, time + 0.5 * step)
        speed, bristle, time = speed + step * a, bristle + step * b, time + step
    assert rate * time / weight == pytest.approx(share, rel=1e-3)


def test_planar_wheels_have_one_direction():
    names = friction_system('lugre', 'edge', 'literal').state_names
    assert [name for name in names if 'bristle' in name] == ['rear/bristle_longitudinal', 'front/bristle_longitudinal']
    names = friction_system('karnopp', 'edge', 'literal').state_names
    assert [name for name in names if 'stick_' in name and '/' in name] == [
        'rear/stick_longitudinal',
        'front/stick_longitudinal',
    ]


@pytest.mark.parametrize('model', ['lugre', 'karnopp'])
def test_friction_holds_the_machine_on_a_slope_or_reports_that_it_slides(model):
    system = friction_system(model, 'edge', 'literal')
    p = system.parameters({'payload_mass': 0.0}, slope=(0.0, math.radians(2.0)))
    x0 = initial_state(system, p)
    run = system.run(x0, np.linspace(0, 1, 101), Inputs.constant(), p)
    assert np.abs(run.states[:, :3] - x0[:3]).max() < 2e-5
    held = -(run.output('rear/friction_longitudinal') + run.output('front/friction_longitudinal'))[0]
    assert held == pytest.approx(14_518 * 9.81 * math.sin(math.radians(2.0)), rel=1e-6)
    with pytest.raises(NoEquilibriumError, match='slides on this slope'):
        initial_state(system, system.parameters({'payload_mass': 0.0}, slope=(0.0, math.radians(3.5))))


def test_karnopp_requires_a_fixed_step():
    system = friction_system('karnopp', 'edge', 'literal')
    x0 = initial_state(system)
    with pytest.raises(ValueError, match='expected method rk4, rk3 or rk32 with discrete states, found dopri5'):
        system.run(x0, np.linspace(0, 1, 11), Inputs.constant(), settings=Settings(method='dopri5'))


@pytest.mark.parametrize('model', ['lugre', pytest.param('karnopp', marks=pytest.mark.slow)])
def test_friction_at_the_attachment_generates_no_power(model):
    """Energy of a run: supplied work equals stored and dissipated energy, to the integrator's error."""
    system = System(friction_system(model, 'edge', 'literal').machine, audit=True)
    knots = [0, 0.5, 0.8, 2.0, 2.3, 3.0]
    inputs = Inputs(knots, {'boom/voltage': [0, 0, -5.5, -5.5, 0, 0], 'stick/voltage': [0, 0, -6, -6, 0, 0]})
    run = system.run(initial_state(system), np.linspace(0, 3, 301), inputs, settings=Settings(step=2.5e-4))
    stored = run.output('kinetic_energy') + run.output('potential_energy')
    work = sum(run.state(name) for name in ('work_actuators', 'work_suspension', 'work_friction'))
    assert np.abs(stored - stored[0] - work).max() < 1e-4 * np.ptp(stored)


def test_the_spatial_machine_runs_with_karnopp_friction():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    friction = Karnopp(0.9, 0.5, machine.wheels[0].stiffness, machine.wheels[0].damping)
    changed = replace(machine, wheels=tuple(replace(wheel, friction=friction) for wheel in machine.wheels))
    system = System(changed)
    assert sum('/stick_' in name for name in system.state_names) == 8
    x0 = initial_state(system)
    run = system.run(x0, np.linspace(0, 1, 101), Inputs.constant())
    assert run.status == 'done'
    assert np.abs(run.states[:, :3] - x0[:3]).max() < 1e-4
    # sideways on a slope it is held by the sticking feet
    p = system.parameters(slope=(math.radians(3.0), 0.0))
    run = system.run(initial_state(system, p), np.linspace(0, 1, 101), Inputs.constant(), p)
    assert sum(run.state(f'{wheel.name}/stick_lateral')[-1] for wheel in machine.wheels) == 4
