"""Utilisation of the rated load: equal to the load chart, on slopes, at the limits and for any running gear."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.analysis.load_chart import ChartSettings, load_chart, slope_gravity
from dyn_nodes.measures import APPROACH, LIMIT, NORMAL, RATED, stage_of
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.stability.equilibrium.gear import GearError, running_gear
from dyn_nodes.stability.equilibrium.tipping import tipping_load
from dyn_nodes.stability.load_moment import LoadMomentIndicator

LEVEL = np.array([0.0, 0.0, -9.81])


@pytest.mark.parametrize('slope', [0.0, 0.08])
def test_the_rated_load_is_the_rated_share_of_the_charts_tipping_load(slope):
    machine = machine_of('log_loader', '')
    settings = ChartSettings(slopes=(slope,), downhill=0.3, reach_step=2.0, swing_step=math.pi / 4)
    chart = load_chart(machine, settings)
    indicator, gravity = LoadMomentIndicator(machine), slope_gravity(machine.gravity, slope, 0.3)
    compared = 0
    for r, posture in enumerate(chart.postures):
        for s, swing in enumerate(chart.swings):
            if not np.isfinite(posture).all():
                continue
            positions = dict(zip(chart.joints, posture)) | {chart.swing_joint: float(swing)}
            moment = indicator.evaluate(positions, 3000.0, gravity)
            assert moment.tipping == pytest.approx(chart.tipping[0, r, s], rel=2e-4)
            assert moment.rated == pytest.approx(min(0.75 * moment.tipping, machine.payload.limit))
            assert moment.utilisation == pytest.approx(3000.0 / moment.rated)
            compared += 1
    assert compared >= 12


def test_the_edge_is_the_one_below_the_load():
    indicator = LoadMomentIndicator(machine_of('log_loader', ''))
    out = {'boom_joint': 0.2, 'stick_joint': -0.5}
    edges = [indicator.evaluate({**out, 'swing_joint': a}, 1e3, LEVEL).edge for a in (0.0, 1.57, 3.14, -1.57)]
    assert edges == ['front', 'left', 'rear', 'right']


@pytest.mark.parametrize('name', ['telehandler', 'excavator', 'forwarder'])
def test_machines_on_pivoted_axles_tracks_and_linkages_are_rated_by_the_same_equilibrium(name):
    machine = machine_of(name, '')
    moment = LoadMomentIndicator(machine).evaluate({}, 500.0, LEVEL)
    assert moment.tipping == pytest.approx(tipping_load(running_gear(machine), LEVEL).load, rel=1e-4)
    assert moment.utilisation == pytest.approx(500.0 / moment.rated)


def test_the_posture_of_a_machine_with_linkages_may_be_its_drives_alone():
    """The positions of the joints that linkages move follow; the boom is lower by 0.044 rad here than at the start."""
    indicator = LoadMomentIndicator(machine_of('log_loader_linkage', ''))
    drives = {'swing_joint': 1.0, 'boom_rod_joint': 1.25, 'stick_rod_joint': 1.2}
    arm = {'swing_joint': 1.0, 'boom_joint': 0.9162, 'stick_joint': -1.7766}
    by_drives, by_arm = (indicator.evaluate(positions, 0.0, LEVEL).rated for positions in (drives, arm))
    assert by_drives == pytest.approx(by_arm, rel=1e-3)
    assert by_drives < 0.95 * indicator.evaluate({'swing_joint': 1.0}, 0.0, LEVEL).rated
    with pytest.raises(GearError, match=r'log_loader_linkage: linkages: cannot be closed .* boom_pin by'):
        indicator.evaluate({'boom_rod_joint': 5.0}, 0.0, LEVEL)


def test_without_load_the_utilisation_is_zero_and_a_machine_that_tips_empty_has_no_rated_load():
    indicator = LoadMomentIndicator(machine_of('log_loader', ''))
    assert indicator.evaluate({}, 0.0, LEVEL).utilisation == 0.0
    steep = slope_gravity(9.81, 0.9, 0.0)
    for payload in (0.0, 1000.0):
        moment = indicator.evaluate({'boom_joint': 0.2, 'stick_joint': -0.5}, payload, steep)
        assert (moment.utilisation, moment.rated) == (math.inf, 0.0)


def test_machines_without_payload_or_springs_are_rejected():
    with pytest.raises(GearError, match='expected a payload and supports on springs'):
        LoadMomentIndicator(machine_of('car', ''))


def test_stages_of_the_standards():
    stages = [stage_of(u) for u in (0.0, 0.899, 0.9, 0.999, 1.0, 1.099, 1.1, math.inf, math.nan)]
    assert stages == [NORMAL, NORMAL, APPROACH, APPROACH, RATED, RATED, LIMIT, LIMIT, LIMIT]
