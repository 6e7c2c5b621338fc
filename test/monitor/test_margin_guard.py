"""Margins are held down for a short time after events, and do not change otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.monitor.margin_guard import GuardSettings, MarginGuard
from dyn_nodes.stability import Margin
from dyn_nodes.stability.balance import Balance

DOWN, LIFTED = np.array([True, True, True, True]), np.array([True, True, False, True])
SETTINGS = GuardSettings(shock_time=0.02, contact_time=0.05, doubt=0.1, doubt_time=0.3)


def balance(*edges, valid=True):
    values = np.array(edges)
    margins = {'zmp': Margin(float(values.min()), values, valid, '1')}
    points, axes = np.zeros((4, 3)), np.tile(np.eye(3), (4, 1, 1))
    return Balance(('a', 'b', 'c', 'd'), points, points, axes, np.arange(4), np.zeros(3), np.zeros(2), margins, ())


def held(guard, time, *edges, **options):
    return guard.hold(time, balance(*edges, **options)).margins['zmp']


@pytest.fixture
def guard():
    return MarginGuard(SETTINGS, {'zmp': 2.0})


def test_margins_are_not_held_without_events(guard):
    for k, value in enumerate((0.5, 0.1, 0.9)):
        guard.see(0.01 * k, False, DOWN)
        assert guard.span(0.01 * k) == 0.0
        assert held(guard, 0.01 * k, value, 2.0).value == value


def test_after_a_wheel_lands_the_margin_rises_late_and_with_a_deduction(guard):
    guard.see(0.0, False, LIFTED)
    assert held(guard, 0.0, 0.0, 1.0).value == 0.0
    for k in range(1, 6):
        guard.see(0.01 * k, False, DOWN)
        assert guard.span(0.01 * k) == 0.05
        assert held(guard, 0.01 * k, 0.8, 1.0).value <= 0.0
    guard.see(0.1, False, DOWN)
    assert guard.span(0.1) == 0.0
    assert held(guard, 0.1, 0.8, 1.0).value == pytest.approx(0.8 - 0.2 * np.exp(-0.09 / 0.3))
    guard.see(3.0, False, DOWN)
    assert held(guard, 3.0, 0.8, 1.0).value == 0.8


def test_a_lifting_wheel_does_not_reduce_a_falling_margin(guard):
    guard.see(0.0, False, DOWN)
    held(guard, 0.0, 0.3, 1.0)
    guard.see(0.01, False, LIFTED)
    assert held(guard, 0.01, 0.1, 1.0).value == pytest.approx(0.1)


def test_after_a_shock_the_least_recent_margin_counts_and_a_decrease_twice(guard):
    guard.see(0.0, False, DOWN)
    held(guard, 0.0, 0.5, 1.0)
    guard.see(0.01, True, DOWN)
    assert held(guard, 0.01, 0.9, 1.0).value == 0.5
    guard.see(0.02, False, DOWN)
    assert held(guard, 0.02, 0.7, 1.0).value == pytest.approx(0.5)
    guard.see(0.03, False, DOWN)
    assert held(guard, 0.03, 0.4, 1.0).value == pytest.approx(0.1)
    guard.see(0.06, False, DOWN)
    assert held(guard, 0.06, 0.9, 1.0).value == 0.9


def test_an_invalid_margin_does_not_change(guard):
    guard.see(0.0, False, DOWN)
    held(guard, 0.0, 0.5, 1.0)
    guard.see(0.01, True, DOWN)
    assert held(guard, 0.01, -np.inf, 1.0, valid=False).value == -np.inf
    guard.clear()
    guard.see(0.0, False, DOWN)
    assert held(guard, 0.0, 0.9, 1.0).value == 0.9


def test_by_default_it_holds_50_ms_after_a_contact_and_15_ms_after_a_shock_and_deducts_3_percent():
    """The numbers of docs/reference/stability_monitor.md."""
    guard = MarginGuard(GuardSettings(), {'zmp': 2.0})
    guard.see(0.0, True, LIFTED)
    assert guard.span(0.0149) == 0.015
    assert guard.span(0.0151) == 0.0
    guard.see(1.0, False, DOWN)
    assert guard.span(1.0499) == 0.05
    assert guard.span(1.0501) == 0.0
    assert held(guard, 1.0, 0.8, 1.0).value == pytest.approx(0.8 - 0.03 * 2.0)
    guard.see(1.3, False, DOWN)
    assert held(guard, 1.3, 0.8, 1.0).value == pytest.approx(0.8 - 0.03 * 2.0 * np.exp(-1.0))


def test_a_measure_without_full_scale_has_no_deduction(guard):
    guard = MarginGuard(SETTINGS, {})
    guard.see(0.0, False, LIFTED)
    guard.see(0.1, False, DOWN)
    assert held(guard, 0.1, 0.8, 1.0).value == 0.8
    assert held(guard, 0.1, 0.8, 1.0).edges.tolist() == [0.8, 1.0]
    assert guard.lower(balance(0.8, 1.0), 0.5, np.inf).margins['zmp'].edges.tolist() == [0.8, 1.0]


def test_the_history_is_as_long_as_the_hold(guard):
    guard.see(0.0, False, DOWN)
    for k in range(1000):
        guard.remember(0.01 * k, balance(0.5).margins)
    assert len(guard._past) == 6


def test_a_margin_never_rises_by_its_edges(guard):
    """Its value may be below the least edge: it falls with the edges and does not rise with them."""
    margin = Margin(0.2, np.array([0.4, 0.9]), True, '1')
    guard.see(0.0, False, LIFTED)
    guard.see(0.1, True, DOWN)
    held = guard.hold(0.1, replace(balance(1.0), margins={'zmp': margin})).margins['zmp']
    assert held.value == pytest.approx(0.2 - 0.1 * 2.0)
    risen = guard._with_edges(margin, np.array([0.5, 0.9]))
    assert risen.value == 0.2


def test_a_late_margin_counts_from_its_time(guard):
    guard.see(0.0, False, LIFTED)
    guard.remember(0.0, balance(0.9, 1.0).margins)
    guard.see(0.04, False, DOWN)
    guard.remember(0.04, balance(0.9, 1.0).margins)
    guard.remember(0.02, balance(0.3, 1.0).margins)
    assert held(guard, 0.06, 0.9, 1.0).value <= 0.3
    assert held(guard, 0.08, 0.9, 1.0).value > 0.7


def test_margins_are_lowered_by_a_part_of_their_full_scale_and_to_the_ceiling(guard):
    seen = balance(0.8, 1.5)
    assert guard.lower(seen, 0.0, np.inf) is seen
    lowered = guard.lower(seen, 0.1, np.inf).margins['zmp']
    assert lowered.value == pytest.approx(0.8 - 0.1 * 2.0)
    assert lowered.edges == pytest.approx([0.6, 1.3])
    assert guard.lower(seen, 0.0, 1.0).margins['zmp'].edges == pytest.approx([0.8, 1.0])
    assert guard.lower(seen, 0.1, 0.5).margins['zmp'].value == pytest.approx(0.5)
    for fallen in (balance(-np.inf, 1.0, valid=False), balance(0.0, 1.0, valid=False), balance(-np.inf, 1.0)):
        assert guard.lower(fallen, 0.1, 0.5).margins['zmp'] is fallen.margins['zmp']


def test_an_edge_without_a_value_stays_without_one_and_the_others_are_lowered(guard):
    margin = Margin(0.4, np.array([np.nan, 0.9, 0.4]), True, '1')
    seen = replace(balance(1.0), margins={'zmp': margin})
    lowered = guard.lower(seen, 0.1, np.inf).margins['zmp']
    assert lowered.value == pytest.approx(0.2)
    assert np.isnan(lowered.edges[0])
    assert lowered.edges[1:] == pytest.approx([0.7, 0.2])
    assert np.isnan(guard.lower(seen, 0.0, 0.3).margins['zmp'].edges[0])
