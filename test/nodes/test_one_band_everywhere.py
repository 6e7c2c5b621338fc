"""A margin has one band in diagnostics, gauges, banner, terminal, report and RViz markers."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dyn_nodes.analysis.run_record import MarginHistory
from dyn_nodes.analysis.summary import least_margin
from dyn_nodes.commands.live_state import UNKNOWN, LiveState
from dyn_nodes.measures import (
    BANDS,
    CAUTION,
    DANGER,
    MEASURES,
    OK,
    Levels,
    friction_levels,
    levels_of_text,
    levels_of_values,
)
from dyn_nodes.middleware import message
from dyn_nodes.nodes.diagnostics import Health
from dyn_nodes.nodes.markers import TEXT_COLOURS, marker_array
from dyn_nodes.nodes.stability_health import LEVEL_OF_BAND, judge, margin_values
from dyn_nodes.stability import Margin as Computed
from dyn_nodes.stability.balance import Balance
from dyn_nodes.viewer.colours import BAND, GREY
from dyn_nodes.viewer.gauges import Scale, friction_band, gauges
from dyn_nodes.viewer.scene import colour_of
from dyn_nodes.viewer.situation import SituationTracker
from dyn_nodes.viewer.snapshot import Margin, Snapshot

Time = message('builtin_interfaces/msg/Time')
EDGES = ('front', 'left', 'rear', 'right')
BAND_OF_COLOUR = {round(colour[2], 2): band for band, colour in TEXT_COLOURS.items()}
PAGE = {**BAND, UNKNOWN: GREY}
CORNERS = np.array([(1.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (-1.0, -1.0, 0.0), (1.0, -1.0, 0.0)])


def balance_of(name: str, value: float) -> Balance:
    unit = MEASURES[name].unit
    computed = Computed(value, np.array([value, *[abs(value) + 1.0] * 3]), not math.isnan(value), unit)
    forces = np.array([(0.0, 0.0, 1e4)] * 4)
    axes = np.broadcast_to(np.eye(3), (4, 3, 3))
    zmp = np.full(2, np.nan)
    return Balance(EDGES, CORNERS, forces, axes, np.arange(4), np.zeros(3), zmp, {name: computed}, EDGES)


def bands_of(name: str, value: float, levels: Levels) -> dict[str, str]:
    """Return the band by every program, each from the levels of the diagnostics."""
    balance = balance_of(name, value)
    health = Health(text='stable')
    judge(health, balance, {name: levels}, [name])
    values = margin_values(balance, {name: levels}, [name])
    received = levels_of_values(values.items())[name]
    shown = Margin(value, tuple(balance.margins[name].edges.tolist()), EDGES, received)
    live = LiveState('machine', 1.0, loads=dict.fromkeys(EDGES, 1e4), levels={name: received})
    live.set_margin(name, value)
    label = marker_array(balance, {name: levels}, 'odom', Time(), 1e5).markers[-1]
    history = MarginHistory(np.zeros(1), np.array([value]), {}, received)
    return {
        'level of the status': next(band for band, level in LEVEL_OF_BAND.items() if level == health.level),
        'value of the status': values[f'{name} band'],
        'gauge': re.search(r'data-band="(\w+)"', gauges({name: shown}, Scale())).group(1),
        'banner': SituationTracker().update(Snapshot(margins={name: shown})).band,
        'report': least_margin(history)['band'],
        'terminal': live.margin_status(name),
        'colour of the page': next(band for band, colour in PAGE.items() if colour == colour_of({name: shown})),
        'colour in RViz': BAND_OF_COLOUR[round(label.color.b, 2)],
        'words in RViz': next((band for band in BANDS[1:] if label.text.endswith(f', {band})')), OK),
    }


@pytest.mark.parametrize('name', MEASURES)
@reaches(ok=1, caution=1, danger=1)
@given(value=st.floats(allow_nan=False), at_rest=st.floats(1e-3, 1e9), part=st.floats(-0.5, 1.5) | st.floats(0.2, 0.5))
@settings(max_examples=60)
@example(value=0.0, at_rest=1.0, part=0.4)
@example(value=0.0, at_rest=1.0, part=0.2)
def test_the_band_of_a_margin_is_the_same_everywhere(name, value, at_rest, part):
    levels = MEASURES[name].levels(4, at_rest)
    for margin in (value, part * levels.full, levels.caution, levels.danger, np.nextafter(levels.caution, np.inf)):
        bands = bands_of(name, float(margin), levels)
        assert set(bands.values()) == {levels.band(float(margin))}, bands
    for band, case in ((OK, 'ok'), (CAUTION, 'caution'), (DANGER, 'danger')):
        reached(case, levels.band(float(part * levels.full)) == band)


def test_an_unknown_margin_is_in_danger_or_has_no_band_and_is_never_ok():
    bands = bands_of('zmp', math.nan, MEASURES['zmp'].levels(4))
    assert bands.pop('report') is None
    assert bands.pop('terminal') == bands.pop('colour of the page') == UNKNOWN
    assert set(bands.values()) == {DANGER}, bands


@reaches(ok=2, caution=2, danger=2)
@given(full=st.floats(1e-6, 1e12), part=st.floats(-0.5, 1.5) | st.floats(0.2, 0.5))
def test_levels_come_back_from_their_text_as_they_were(full, part):
    value = part * full
    levels = MEASURES['net_moment'].levels(4, full)
    assert levels_of_text(str(levels)) == levels
    assert levels_of_text(str(levels)).band(value) == levels.band(value)
    for band, case in ((OK, 'ok'), (CAUTION, 'caution'), (DANGER, 'danger')):
        reached(case, levels.band(value) == band)


def test_without_a_value_at_rest_there_is_danger_at_zero_only_and_other_text_has_no_levels():
    assert [MEASURES['energy'].levels(4).band(value) for value in (1e-9, 0.0, -1.0)] == [OK, DANGER, DANGER]
    for text in ('', 'caution 1', 'caution 1, danger 2, full scale 3', 'caution x, danger 0, full scale 1'):
        assert levels_of_text(text) is None
    with pytest.raises(ValueError, match=r'expected 0 <= danger <= caution, found danger 2\.0, caution 1\.0'):
        Levels(1.0, 2.0)


def test_friction_that_is_left_has_the_levels_of_a_pure_number():
    assert friction_levels() == Levels(0.4, 0.2, 1.0)
    assert [friction_band(use) for use in (0.0, 0.59, 0.7, 0.9, math.inf, math.nan)] == [OK, OK, CAUTION, *[DANGER] * 3]


def test_markers_have_the_size_of_the_machine_and_a_zmp_without_value_is_removed():
    name = next(iter(MEASURES))
    balance = balance_of(name, 1.0)
    levels = {name: Levels(0.4, 0.2)}
    small = replace(balance, points=0.1 * np.asarray(balance.points), zmp=np.zeros(2))
    large, reduced = (marker_array(each, levels, 'odom', Time(), 1e5).markers for each in (balance, small))
    (zmp,) = (marker for marker in large if marker.ns == 'zmp')
    assert zmp.action == 2, 'not finite: RViz removes the sphere'
    (zmp,) = (marker for marker in reduced if marker.ns == 'zmp')
    assert zmp.action == 0
    arrows = [[marker for marker in markers if marker.ns == 'ground_reactions'] for markers in (large, reduced)]
    for one, other in zip(*arrows):
        assert other.scale.x == pytest.approx(0.1 * one.scale.x)
        lengths = [arrow.points[1].z - arrow.points[0].z for arrow in (one, other)]
        assert lengths[1] == pytest.approx(0.1 * lengths[0])
    weightless = marker_array(balance, levels, 'odom', Time(), 0.0).markers
    assert len(weightless) == len(large), 'a machine without gravity has markers, too'
