from __future__ import annotations

import math
import re

import numpy as np
import pytest

from dyn_nodes.measures import Levels, in_order, measure_of
from dyn_nodes.viewer.colours import BAND_TEXT, GREY, WHITE, contrast, css
from dyn_nodes.viewer.connection import EVENT_SHOWN, LOST, PAUSED, REPLAYED, RUNNING, WAITING, Connection
from dyn_nodes.viewer.gauges import Scale, banner, friction_gauges, gauges, number, round_up
from dyn_nodes.viewer.plots import History
from dyn_nodes.viewer.situation import SituationTracker
from dyn_nodes.viewer.snapshot import Margin, Snapshot

MOMENT = Levels(60e3, 30e3, 150e3)

# -- gauges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('value', 'band'),
    [(0.25, 'ok'), (0.06, 'ok'), (0.05, 'caution'), (0.025, 'danger'), (0.0, 'danger'), (-1.0, 'danger')],
)
def test_the_least_wheel_load_is_compared_with_an_equal_share(value, band):
    assert Margin(value, (0.4, 0.3, 0.2, 0.1)).band('load_share') == band


@pytest.mark.parametrize('value', [float('nan'), float('-inf')])
def test_an_unknown_value_is_never_ok(value):
    assert Margin(value).band('net_moment') == 'danger'
    assert Margin(value, levels=MOMENT).band('net_moment') == 'danger'
    assert 'unknown' in gauges({'net_moment': Margin(value)}, Scale())


@pytest.mark.parametrize(('value', 'band'), [(150e3, 'ok'), (60e3, 'caution'), (30e3, 'danger')])
def test_a_moment_has_the_levels_of_the_node_that_computes_it(value, band):
    margin = Margin(value, levels=MOMENT)
    assert margin.band('net_moment') == band
    assert Scale().full('net_moment', margin) == 150e3
    page = gauges({'net_moment': margin}, Scale())
    assert f'data-band="{band}"' in page
    assert ' 20%,' in page, 'the bands of the track meet at the levels'
    assert ' 40%,' in page


def test_a_moment_without_levels_has_the_greatest_value_seen_as_full_scale_and_danger_at_zero_only():
    scale = Scale()
    assert scale.full('net_moment', Margin(146e3)) == 150e3
    assert scale.full('net_moment', Margin(0.0)) == 150e3
    assert [Margin(value).band('net_moment') for value in (1.0, 0.0)] == ['ok', 'danger']


def test_a_gauge_names_the_critical_edge_and_says_tipping_in_words():
    page = gauges({'zmp_degree': Margin(-0.1, (0.5, -0.1, 1.0), ('front', 'rear_left', 'right'))}, Scale())
    assert 'rear left' in page
    assert 'tipping' in page
    assert 'data-band="danger"' in page


def test_a_wheel_without_load_is_lifted_which_is_not_tipping_yet():
    page = gauges({'load_share': Margin(0.0, (0.5, 0.5, 0.0), ('a', 'b', 'c'))}, Scale())
    assert 'lifted' in page
    assert 'tipping' not in page


def test_the_bar_ends_at_the_margin():
    page = gauges({'zmp_degree': Margin(0.625)}, Scale())
    assert re.search(r'width:62\.5%', page)
    assert re.search(r'width:100\.0%', gauges({'zmp_degree': Margin(1.7)}, Scale()))


def row_of(page: str, wheel: str) -> str:
    return re.search(rf'data-wheel="{wheel}".*?(?=data-wheel|$)', page).group()


def test_friction_use_is_shown_by_wheel_with_the_worst_one_named():
    page = friction_gauges({'front_left': 0.3, 'rear_left': 0.7, 'rear_right': 0.15})
    assert [flag == 'true' for flag in re.findall(r'data-worst="(\w+)"', page)] == [False, True, False]
    title = page[: page.index('data-wheel')]
    assert 'rear left &middot; caution' in title
    assert '0.70' in row_of(page, 'rear_left')
    assert 'width:70.0%' in row_of(page, 'rear_left')
    assert 'data-band="ok"' in row_of(page, 'front_left')


@pytest.mark.parametrize(
    ('use', 'band'), [(0.0, 'ok'), (0.59, 'ok'), (0.61, 'caution'), (0.81, 'danger'), (1.2, 'danger')]
)
def test_bands_of_friction_use_follow_the_remaining_friction(use, band):
    assert f'data-band="{band}"' in row_of(friction_gauges({'a': use}), 'a')


@pytest.mark.parametrize(('use', 'text'), [(math.nan, 'unknown'), (math.inf, 'no load')])
def test_friction_use_without_a_number_is_the_worst_and_in_danger(use, text):
    page = friction_gauges({'a': 0.95, 'b': use})
    assert 'data-band="danger" data-worst="true"' in row_of(page, 'b')
    assert text in row_of(page, 'b')
    assert 'data-worst="false"' in row_of(page, 'a')


def test_friction_use_is_not_on_the_page_before_it_is_published():
    assert friction_gauges({}) == ''


def test_admissible_reactions_are_a_gauge_with_the_wheel_and_the_words_of_the_measure():
    page = gauges({'admissible': Margin(0.0, (0.0, 30.0), ('front_left', 'rear_left'))}, Scale())
    assert 'Admissible reactions' in page
    assert 'sliding or lifted &middot; front left' in page


@pytest.mark.parametrize(
    ('load', 'use', 'band', 'words', 'figures'),
    [
        (0.25, 0.1, 'ok', 'STABLE', ''),
        (0.04, 0.1, 'caution', 'CAUTION: rear left', ''),
        (0.04, 0.9, 'danger', 'DANGER: front', 'friction use 0.90'),
        (0.01, 0.9, 'danger', 'DANGER: rear left', ''),
        (math.nan, 0.1, 'danger', 'UNKNOWN MARGINS', 'wheel-load share: unknown'),
    ],
)
def test_the_worst_gauge_is_named(load, use, band, words, figures):
    margins = {
        'zmp_degree': Margin(0.9, (0.9, 1.0, 1.0), ('front', 'rear', 'left')),
        'load_share': Margin(load, (load, 0.5, 0.5, 0.5), ('rear_left', 'b', 'c', 'd')),
    }
    situation = SituationTracker().update(Snapshot(margins=margins, friction_use={'front': use}))
    assert (situation.band, situation.words, situation.figures) == (band, words, figures)
    assert SituationTracker().update(Snapshot()).words == 'NO MARGINS YET'


@pytest.mark.parametrize(
    ('state', 'band', 'colour'),
    [
        ('running', 'ok', '#009e73'),
        ('running', 'caution', '#e69f00'),
        ('running', 'danger', '#d52b1e'),
        ('paused', 'ok', '#e69f00'),
        ('paused', 'danger', '#d52b1e'),
        ('lost', 'ok', '#d52b1e'),
    ],
)
def test_the_banner_has_the_colour_of_the_worst_gauge(state, band, colour):
    assert f'background:{colour}' in banner(state, 'text', band=band)


def test_contrast_equals_wcag():
    assert contrast((0, 0, 0), WHITE) == pytest.approx(21.0)
    assert contrast((119, 119, 119), WHITE) == pytest.approx(4.48, abs=0.005), 'the best known grey that fails'
    assert contrast((118, 118, 118), WHITE) == pytest.approx(4.54, abs=0.005), 'and the one that does not'
    assert contrast(WHITE, (118, 118, 118)) == contrast((118, 118, 118), WHITE)


@pytest.mark.parametrize('state', [RUNNING, REPLAYED, PAUSED, WAITING, LOST, 'another'])
@pytest.mark.parametrize('band', ['ok', 'caution', 'danger'])
def test_words_of_the_banner_are_readable_on_its_colour(state, band):
    page = banner(state, 'text', 'small words', band=band)
    ink, paper = (_rgb(re.search(rf'{key}:(#[0-9a-f]{{6}});', page)[1]) for key in (';color', ';background'))
    assert contrast(ink, paper) >= 4.5


@pytest.mark.parametrize('colour', [*(words for words in BAND_TEXT.values() if words != 'inherit'), css(GREY)])
def test_words_in_a_colour_are_readable_on_white(colour):
    assert contrast(_rgb(colour), WHITE) >= 4.5


def _rgb(written):
    return tuple(bytes.fromhex(written[1:]))


def test_names_are_escaped_for_the_page():
    page = gauges({'<script>': Margin(1.0, (1.0, 2.0), ('<b>', 'x'))}, Scale())
    page += friction_gauges({'<script>': 0.5})
    assert '<script>' not in page
    assert '<b>' not in page
    assert '<b>x' not in banner('lost', 'x', '<b>y')[5:].replace('<b>x</b>', '')


def test_measures_are_shown_in_a_fixed_order():
    assert in_order(['mine', 'net_moment', 'static']) == ['static', 'net_moment', 'mine']


@pytest.mark.parametrize(
    ('value', 'name', 'text'),
    [
        (145980.0, 'net_moment', '146 kN m'),
        (14.598, 'force_angle', '14.6 N m'),
        (0.66, 'static', '0.66 m'),
        (0.1, 'load_share', '10 %'),
        (2.4e6, 'energy', '2.4 MJ'),
        (0.6, 'zmp_degree', '0.6'),
        (-0.0, 'zmp_degree', '0'),
        (-0.0, 'net_moment', '0 N m'),
        (math.nan, 'static', 'unknown'),
    ],
)
def test_values_are_formatted_for_reading(value, name, text):
    assert number(value, measure_of(name)) == text


@pytest.mark.parametrize(('value', 'full'), [(0.0, 0.0), (0.66, 0.8), (1.0, 1.0), (146e3, 150e3), (81.0, 100.0)])
def test_full_scales_are_round(value, full):
    assert round_up(value) == pytest.approx(full)


# -- connection --------------------------------------------------------------------------------------------------------


def running(until: float) -> Connection:
    connection = Connection('dynamics_node')
    for tick in range(int(until * 20) + 1):
        connection.message(0.5 * tick / 20, tick / 20)
    return connection


def test_before_the_first_message_it_waits():
    assert Connection('dynamics_node').state(0.0, 0).kind == WAITING
    assert 'dynamics_node is not running yet' in Connection('dynamics_node').state(0.0, 0).details


def test_a_running_machine_shows_time_and_speed():
    state = running(3.0).state(3.1, 1)
    assert state.kind == RUNNING
    assert 't = 1.5 s' in state.text
    assert '0.5× real time' in state.text


def test_after_a_reset_the_earlier_factor_is_not_shown():
    connection = running(3.0)
    connection.message(0.0, 3.1)
    assert connection.state(3.2, 1).text == 't = 0.0 s'


@pytest.mark.parametrize(('publishers', 'text'), [(0, 'dynamics_node has stopped'), (1, 'No data from dynamics_node')])
def test_a_timeout_is_shown_with_the_age_of_the_picture(publishers, text):
    state = running(3.0).state(8.0, publishers)
    assert (state.kind, state.text) == (LOST, text)
    assert 'The picture shows t = 1.50 s, 5 s ago.' in state.details


def test_a_pause_is_a_pause_and_ends_when_messages_flow_again():
    connection = running(3.0)
    connection.pause(3.0)
    assert connection.state(8.0, 1).kind == PAUSED
    connection.message(1.55, 9.0)  # a single step
    assert connection.state(12.0, 1).kind == PAUSED
    for tick in range(5):
        connection.message(1.6 + 0.05 * tick, 13.0 + 0.05 * tick)
    assert connection.state(13.3, 1).kind == RUNNING
    assert connection.state(20.0, 1).kind == LOST, 'there was no later pause'


def test_a_paused_machine_without_its_node_is_lost():
    connection = running(3.0)
    connection.pause(3.0)
    assert connection.state(8.0, 0).text == 'dynamics_node has stopped'


def test_an_event_is_shown_for_a_limited_time():
    connection = running(3.0)
    connection.happened('lift off: rear left', 3.0)
    assert connection.state(3.1, 1).details == 'lift off: rear left'
    for tick in range(int(EVENT_SHOWN * 10)):
        connection.message(1.5, 3.0 + tick / 10)
    assert connection.state(3.0 + EVENT_SHOWN + 0.01, 1).details == ''


def test_a_step_back_of_time_is_detected():
    connection = running(3.0)
    assert not connection.message(1.6, 3.1)
    assert connection.message(0.0, 3.2)


# -- plots -------------------------------------------------------------------------------------------------------------


def test_samples_are_taken_at_most_once_a_period_and_dropped_after_the_window():
    history = History(window=2.0, period=0.1)
    for tick in range(1000):
        history.add(tick * 0.01, {'a': float(tick)})
    times, values = history.arrays()
    assert np.diff(times) == pytest.approx(0.1)
    assert times[-1] - times[0] == pytest.approx(2.0, abs=0.1)
    assert values == pytest.approx(times * 100)


def test_a_curve_with_a_late_start_or_gaps_has_no_holes():
    history = History()
    history.add(0.0, {'a': 1.0})
    history.add(0.1, {'a': 2.0, 'b': 5.0})
    history.add(0.2, {'a': float('nan'), 'b': 6.0})
    _, a, b = history.arrays()
    assert a.tolist() == [1.0, 2.0, 2.0]
    assert b.tolist() == [5.0, 5.0, 6.0]


def test_a_step_back_of_time_restarts_the_curves():
    history = History()
    for time in (0.0, 1.0, 2.0, 0.5):
        history.add(time, {'a': time})
    assert history.arrays()[0].tolist() == [0.5]
