"""The sign of every margin predicts tipping of the rigid machine, to the time step.

A load measure is evaluated with the base assumed at rest, as in the source (section 4.1.2): at every step while the
machine stands, and at the first step of tipping, from the arm's posture, rates and pressures. Posture measures are
evaluated without motion: there their sign must show whether the machine can rest.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from dyn_nodes.simulation import Inputs, NoEquilibriumError
from dyn_nodes.stability.balance import PlanarBalanceObserver
from dyn_nodes.studies.abo_shanab_2003.planar import (
    S1,
    Case,
    hybrid_model,
    planar_machine,
    profile,
    profile_inputs,
    random_manoeuvres,
    segment_profile,
)
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import FRONT, REAR, STANDING, RigidPlanarModel

STEP = 1e-3
OF_LOADS = ('net_moment', 'zmp', 'force_angle', 'extended_energy', 'load_share', 'moment_height')
OF_POSTURE = ('static', 'longitudinal', 'energy', 'normalized_energy')
UP_AND_BACK = ((0.5, 1.4, 0.05, 8.0, 8.0),)  # the boom is raised fast and stopped: the machine tips over its rear edge
MANOEUVRES = {
    'pick and place': (Case(), 5000.0, 0.0, FRONT),
    'pick and place, 4000 kg': (Case(), 4000.0, 0.0, FRONT),
    'pick and place, 2000 kg': (Case(), 2000.0, 0.0, None),
    'slope': (Case(S1), 4000.0, math.radians(20.0), FRONT),
    'uphill': (Case(segments=UP_AND_BACK), 0.0, math.radians(-24.0), REAR),
    **{f'random {k}': (case, 5000.0, 0.0, FRONT) for k, case in enumerate(random_manoeuvres(4, seed=7))},
}


@cache
def observer():
    return PlanarBalanceObserver(hybrid_model('rigid', 'literal'), OF_LOADS)


@cache
def carried_out(name):
    """Return model, parameters, run and onset; the run ends shortly after the onset."""
    case, payload, slope, _ = MANOEUVRES[name]
    model = hybrid_model('rigid', 'literal')
    p = model.parameters({'payload_mass': payload}, slope=slope)
    task = segment_profile(case.segments) if case.segments else profile(case.task, case.recovery)
    boom, stick = case.posture or {S1: (10.0, -55.0)}.get(case.task, (55.0, -105.0))
    x0 = model.initial_state(p, {'boom_joint': math.radians(boom), 'stick_joint': math.radians(stick)})
    times = np.arange(round(task.duration / STEP) + 1) * STEP
    run = model.run(x0, STANDING, times, profile_inputs(task), p, step=STEP)
    lifted = [event for event in run.events if event.kind == 'lift_off']
    return model, p, run, lifted[0] if lifted else None


def at_rest(model, run, k, u, p):
    """Return the margins of the arm at a sample with the base assumed at rest on both edges."""
    x = run.states[k].copy()
    x[:3] = 0.0
    x[model.nv : model.nv + 3] = 0.0
    return observer().observe(model.output_vector(STANDING, x, u[k], p), p[:3]).margins


@pytest.mark.parametrize('measure', OF_LOADS)
@pytest.mark.parametrize('name', MANOEUVRES)
def test_the_sign_of_the_margin_is_the_onset(name, measure):
    model, p, run, onset = carried_out(name)
    expected = MANOEUVRES[name][3]
    assert (onset.after if onset else None) == expected
    u = run.inputs.at(run.times, model.input_names)
    first_after = len(run.times) if onset is None else int(np.searchsorted(run.times, onset.time, side='right'))
    # every step of the last 0.1 s, and a coarse sampling of all earlier steps
    standing = np.unique(np.r_[np.arange(0, first_after, 250), np.arange(max(0, first_after - 100), first_after)])
    for k in standing:
        margin = at_rest(model, run, k, u, p)[measure]
        assert margin.valid, (measure, run.times[k])
        assert margin.value > 0.0, (measure, run.times[k])
    if onset is None:
        return
    assert run.times[first_after] - onset.time <= STEP * (1 + 1e-9)
    margin = at_rest(model, run, first_after, u, p)[measure]
    tipped_over = ('rear', 'front').index(onset.after)
    lifted = 1 - tipped_over
    # a wheel's share is least at the wheel that lifts, an edge's margin at the edge that the machine turns about
    least = lifted if measure == 'load_share' else tipped_over
    assert int(np.argmin(margin.edges)) == least
    if measure == 'extended_energy':  # 0 and invalid from here on (rule ii)
        assert (margin.value, margin.valid) == (0.0, False)
    else:
        assert margin.value < 0.0
    if measure == 'load_share':
        assert not margin.valid


@pytest.mark.parametrize('name', [name for name, entry in MANOEUVRES.items() if entry[3]])
def test_all_measures_of_loads_vanish_at_the_located_onset(name):
    model, p, run, onset = carried_out(name)
    after = int(np.searchsorted(run.times, onset.time, side='right'))
    u = run.inputs.at(run.times, model.input_names)

    def net(share):
        x = run.states[after - 1] + share * (run.states[after] - run.states[after - 1])
        x[:3], x[model.nv : model.nv + 3] = 0.0, 0.0
        y = model.output_vector(STANDING, x, u[after], p)
        return observer().observe(y, p[:3]).margins['net_moment'].value

    # a straight line through the step is good to the square of the step
    crossing = run.times[after - 1] + STEP * brentq(net, 0.0, 1.0)
    assert crossing == pytest.approx(onset.time, abs=0.1 * STEP)


@pytest.mark.parametrize('measure', OF_POSTURE)
@pytest.mark.parametrize(('boom', 'stick'), [(10.0, -60.0), (2.5, -75.0), (30.0, -90.0)])
def test_the_sign_of_a_measure_of_posture_is_whether_the_machine_rests(measure, boom, stick):
    """The slope is made steeper: the machine rests exactly as long as the margin is positive."""
    model = hybrid_model('rigid', 'literal')
    watching = PlanarBalanceObserver(model, (measure,))
    joints = {'boom_joint': math.radians(boom), 'stick_joint': math.radians(stick)}

    def rests(slope):
        p = model.parameters({'payload_mass': 4000.0}, slope=slope)
        try:
            model.initial_state(p, joints)
        except NoEquilibriumError:
            return False
        return True

    def margin(slope):
        p = model.parameters({'payload_mass': 4000.0}, slope=slope)
        x = np.zeros(len(model.state_names))
        x[3], x[4] = math.radians(boom), math.radians(stick)
        return watching.observe(model.output_vector(STANDING, x, np.zeros(2), p), p[:3]).margins[measure]

    low, high = 0.0, math.radians(45.0)
    assert rests(low)
    assert not rests(high)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rests(middle) else (low, middle)
    for slope in (0.0, 0.5 * low, low - 1e-6):
        assert margin(slope).value > 0.0
        assert margin(slope).valid
    for slope in (high + 1e-6, 1.1 * high):
        beyond = margin(slope)
        # the energy level is 0 and invalid if the centre of mass is beyond the edge
        assert beyond.value < 0.0 or (measure == 'energy' and (beyond.value, beyond.valid) == (0.0, False))


@pytest.mark.parametrize('beyond', [1e-4, -1e-4])
def test_a_machine_put_beyond_its_margin_tips_in_the_first_step(beyond):
    """From rest on a slope slightly beyond (or before) the slope of zero margin: onset in one step, or never."""
    model = RigidPlanarModel(planar_machine(), 'effort')
    watching = PlanarBalanceObserver(model, ('static', 'net_moment'))
    angles = np.radians([10.0, -60.0])

    def state():
        x = np.zeros(len(model.state_names))
        x[3:5] = angles
        return x

    def margins(slope):
        p = model.parameters({'payload_mass': 4000.0}, slope=slope)
        holding = np.empty(model.nv)
        model.module.holding(state(), p, holding)
        y = model.output_vector(STANDING, state(), holding[3:], p)
        return watching.observe(y, p[:3]).margins, holding[3:], p

    limit = brentq(lambda slope: margins(slope)[0]['static'].value, 0.0, math.radians(40.0), xtol=1e-12)
    results, holding, p = margins(limit + beyond)
    assert np.sign(results['net_moment'].value) == np.sign(results['static'].value) == -np.sign(beyond)
    efforts = Inputs.constant({'boom_joint/effort': holding[0], 'stick_joint/effort': holding[1]})
    run = model.run(state(), STANDING, np.arange(11) * STEP, efforts, p, step=STEP)
    onset = [event.time for event in run.events if event.kind == 'lift_off']
    if beyond > 0.0:
        assert onset[0] == pytest.approx(STEP, abs=1e-12)
    else:
        assert not onset
