"""Limits of the payload for many states at once against the same state by state; maps of all postures."""

from __future__ import annotations

import csv
from dataclasses import replace

import load_witness
import numpy as np
import pytest
from gear_cases import CASES, machine_of_case

from dyn_nodes import cli
from dyn_nodes.analysis.load_chart import REASONS, ChartSettings, LoadChartError, limits_of, slope_gravity, swings_of
from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_limits import LoadLimits, _corners_around
from dyn_nodes.analysis.load_map import draw_map, load_map
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine

SETTINGS = ChartSettings(swing_step=np.pi / 4)
HEADINGS = np.array([0.0, 1.0, 2.5, -2.0])


def machine_of(name):
    if (CASES / f'{name}.yaml').exists():
        return machine_of_case(name)
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


@pytest.fixture(scope='module')
def statics():
    return LoadStatics(machine_of('log_loader'))


@pytest.fixture(scope='module')
def planar():
    return LoadStatics(machine_of('log_loader_planar'))


def slippery(statics, friction):
    """Return the grip of the machine with other static friction, by wheel."""
    wheels = [
        replace(wheel, friction=replace(wheel.friction, static=coefficient))
        for wheel, coefficient in zip(statics.machine.wheels, friction)
    ]
    machine = replace(statics.machine, wheels=tuple(wheels))
    return LoadGrip(LoadStatics(machine))


def gravities(statics, slope):
    return np.array([slope_gravity(statics.machine.gravity, slope, heading) for heading in HEADINGS])


class ByState(LoadLimits):
    """Limits of a machine whose slew joint does not turn the whole chain: every slew angle is a posture."""

    _turning = False


@pytest.mark.parametrize('name', ['statics', 'planar'])
@pytest.mark.parametrize('slope', [0.0, 0.1])
def test_limits_are_those_of_each_state(name, slope, request):
    statics = request.getfixturevalue(name)
    arm, swings = statics.arm_grid(4), swings_of(statics, SETTINGS)
    limits = limits_of(statics, SETTINGS, arm, swings)
    result = limits.payloads(gravities(statics, slope))
    expected = load_witness.payloads(statics, SETTINGS, limits.positions, slope, HEADINGS)
    for values, other in zip(result, expected):
        # the independent check computes the lever of the arm from a difference quotient
        np.testing.assert_allclose(values.ravel(), other, rtol=1e-9, atol=1e-6)
    assert len(np.unique(result.tipping)) > len(arm) / 2
    assert (result.dynamic_tipping < result.tipping + 1e-6).all()


def test_a_slew_joint_anywhere_in_the_chain_gives_the_same(statics):
    arm, swings = statics.arm_grid(3), swings_of(statics, SETTINGS)
    limits = limits_of(statics, SETTINGS, arm, swings)
    plain = ByState(statics, arm, swings, limits.stops)
    pull = gravities(statics, 0.1)
    for values, other in zip(limits.payloads(pull), plain.payloads(pull)):
        np.testing.assert_allclose(values, other, rtol=1e-12, atol=1e-8)
    grip = slippery(statics, [0.2] * 4)
    bound = np.full(values.shape, 3000.0)
    for values, other in zip(limits.sliding(grip, pull, bound, bound), plain.sliding(grip, pull, bound, bound)):
        np.testing.assert_allclose(values, other, rtol=1e-7)
        assert np.isfinite(values).any()


@pytest.mark.parametrize('friction', [(0.3, 0.3, 0.3, 0.3), (0.5, 0.0, 0.25, 0.1)])
def test_sliding_limits_equal_those_of_a_bisection(statics, friction):
    grip = slippery(statics, friction)
    arm, swings = statics.arm_grid(3), swings_of(statics, SETTINGS)
    limits, pull = limits_of(statics, SETTINGS, arm, swings), slope_gravity(9.81, 0.1, 1.0)
    bound = np.maximum(np.minimum.reduce(limits.payloads(pull[np.newaxis])), 0.0)
    at_rest, in_stop = limits.sliding(grip, pull[np.newaxis], bound, bound)
    rest = statics.demand(limits.positions, pull)
    moving = [
        statics.demand(limits.positions, pull, *motion)
        for motion in load_witness.stops(statics, SETTINGS, limits.positions)
    ]
    held = [load_witness.greatest_held(grip._margin, demand, bound.ravel()) for demand in (rest, *moving)]
    # bisection ends within 2^-30 of the bound
    np.testing.assert_allclose(at_rest.ravel(), held[0], rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(in_stop.ravel(), np.min(held[1:], axis=0), rtol=1e-6, atol=1e-4)
    kinds = np.unique(np.sign(np.nan_to_num(in_stop, posinf=-1.0)))
    assert len(kinds) > 1, 'all states slide, or none does'


def test_loads_within_the_limits_have_admissible_reactions(statics):
    grip, rng = slippery(statics, (0.4, 0.2, 0.3, 0.25)), np.random.default_rng(4)
    arm, swings = statics.arm_grid(3), swings_of(statics, SETTINGS)
    limits, pull = limits_of(statics, SETTINGS, arm, swings), slope_gravity(9.81, 0.12, 2.0)
    payload = rng.uniform(0.0, 6000.0, (len(arm), len(swings)))
    sure = limits._surely_held(grip, pull, payload, payload, np.zeros((len(arm), 5, len(swings)), dtype=bool))
    states = np.arange(payload.size)
    motions = [(None, None), *(limits.stop(k, states) for k in range(4))]
    for k, motion in enumerate(motions):
        margin = grip._margin(statics.demand(limits.positions, pull, *motion), states, 0.9999 * payload.ravel())
        here = sure[:, k].ravel()
        assert (margin[here] >= 0.0).all()
        assert 0.2 < here.mean() <= (margin >= 0.0).mean()


def test_corners_are_around_all_headings():
    pull = np.array([slope_gravity(9.81, 0.2, heading) for heading in np.linspace(0.0, 6.0, 24)])
    corners = _corners_around(pull)
    assert len(corners) == 8
    sides = np.roll(corners, -1, axis=0) - corners
    inward = np.column_stack([-sides[:, 1], sides[:, 0]])
    assert ((pull[:, None, :2] - corners[:, :2]) * inward).sum(axis=2).min() > 0.0
    assert np.ptp(np.append(corners[:, 2], pull[:, 2])) < 1e-12
    assert _corners_around(pull[:4]) is pull[:4] or (_corners_around(pull[:4]) == pull[:4]).all()


def test_a_map_has_every_posture(statics):
    settings = replace(SETTINGS, slopes=(0.0, 0.1), downhill=1.0, rigid=True)
    finished: list[int] = []
    result = load_map(statics.machine, settings, 3, finished.append)
    assert result.safe.shape == (2, 9, 8)
    assert sum(finished) == 2 * 9
    q = statics.arm_positions(np.repeat(result.postures, 8, axis=0), np.tile(result.swings, 9))
    for k, slope in enumerate(settings.slopes):
        payloads = load_witness.payloads(statics, settings, q, slope, [1.0])
        rated = np.minimum.reduce(
            [0.75 * payloads[0], 0.87 * payloads[1], payloads[2], payloads[3], np.full(len(q), 6000.0)]
        )
        firm = result.reason[k].ravel() < REASONS.index('sliding')
        assert firm.mean() > 0.9
        np.testing.assert_allclose(result.safe[k].ravel()[firm], rated[firm], rtol=1e-9, atol=1e-6)
        assert (result.safe[k].ravel() <= rated + 1e-6).all()
    np.testing.assert_allclose(result.reaches, statics.reach(statics.arm_positions(result.postures)))
    stated = f'values of the machine file that are assumed: {len(statics.machine.assumed)}'
    assert draw_map(result).get_supxlabel() == stated
    with pytest.raises(LoadChartError, match='expected a map of at most 5000000 states, found 16000000'):
        load_map(statics.machine, settings, 1000)


def test_the_command_writes_a_map(tmp_path, capsys):
    coarse = ['--reach-step', '2', '--swing-step', '45', '--map', '4', '--out', str(tmp_path)]
    assert cli.main(['loadchart', 'log_loader', *coarse]) == 0
    assert 'load map: 128 states' in capsys.readouterr().err
    with (tmp_path / 'load_map.csv').open() as file:
        rows = list(csv.DictReader(file))
    kept = np.load(tmp_path / 'load_map.npz')
    assert len(rows) == 16
    np.testing.assert_allclose([float(row['all_round_kg']) for row in rows], kept['safe'][0].min(axis=1), atol=0.06)
    assert {row['limited_by'] for row in rows} <= set(kept['reasons'])
    assert (tmp_path / 'load_map.png').stat().st_size > 5_000


@pytest.mark.parametrize('name', ['log_loader', 'pivot_crane_locked'])
def test_the_first_loss_by_the_edges_is_that_along_the_path(name):
    """For one heading falls follow the path, losses the edges where these decide; the worst heading counts."""
    statics = LoadStatics(machine_of(name))
    limits = limits_of(statics, SETTINGS, statics.arm_grid(3), swings_of(statics, SETTINGS))
    each = []
    for heading in HEADINGS:
        gravity = slope_gravity(9.81, 0.08, heading)[None]
        by_edges, (_, along, falls) = limits.equilibria(gravity, False)[1], limits.equilibria(gravity, True)
        np.testing.assert_allclose(by_edges, along, rtol=1e-5, atol=2e-6 * statics.machine.total_mass)
        assert (falls >= along).all()
        each.append(along)
    gravities = np.array([slope_gravity(9.81, 0.08, heading) for heading in HEADINGS])
    for to_the_fall in (False, True):
        worst = limits.equilibria(gravities, to_the_fall)[1]
        np.testing.assert_allclose(worst, np.min(each, axis=0), rtol=1e-5, atol=2e-6 * statics.machine.total_mass)
    assert np.isfinite(each).mean() > 0.3
