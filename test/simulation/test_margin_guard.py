"""Margins are held down for a moment where something has happened, and are let alone otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.simulation.balance import Balance
from dyn_nodes.simulation.margin_guard import GuardSettings, MarginGuard
from dyn_nodes.stability import Margin

DOWN, LIFTED = np.array([True, True, True, True]), np.array([True, True, False, True])
SETTINGS = GuardSettings(shock_time=0.02, contact_time=0.05, doubt=0.1, doubt_time=0.3)


def balance(*edges, valid=True):
    values = np.array(edges)
    margins = {'zmp': Margin(float(values.min()), values, valid, '1')}
    points, axes = np.zeros((4, 3)), np.tile(np.eye(3), (4, 1, 1))
    return Balance(('a', 'b', 'c', 'd'), points, points, axes, np.arange(4), np.zeros(3), np.zeros(2), margins, ())


def given(guard, time, *edges, **options):
    return guard.hold(time, balance(*edges, **options)).margins['zmp']


@pytest.fixture
def guard():
    return MarginGuard(SETTINGS, {'zmp': 2.0})


def test_nothing_is_held_while_nothing_happens(guard):
    for k, value in enumerate((0.5, 0.1, 0.9)):
        guard.see(0.01 * k, False, DOWN)
        assert guard.span(0.01 * k) == 0.0
        assert given(guard, 0.01 * k, value, 2.0).value == value


def test_a_wheel_that_comes_down_lets_the_margin_rise_late_and_with_a_doubt(guard):
    guard.see(0.0, False, LIFTED)
    assert given(guard, 0.0, 0.0, 1.0).value == 0.0
    for k in range(1, 6):
        guard.see(0.01 * k, False, DOWN)
        assert guard.span(0.01 * k) == 0.05
        assert given(guard, 0.01 * k, 0.8, 1.0).value <= 0.0
    guard.see(0.1, False, DOWN)
    assert guard.span(0.1) == 0.0
    assert given(guard, 0.1, 0.8, 1.0).value == pytest.approx(0.8 - 0.2 * np.exp(-0.09 / 0.3))
    guard.see(3.0, False, DOWN)
    assert given(guard, 3.0, 0.8, 1.0).value == 0.8


def test_a_wheel_that_lifts_takes_nothing_off_what_falls(guard):
    guard.see(0.0, False, DOWN)
    given(guard, 0.0, 0.3, 1.0)
    guard.see(0.01, False, LIFTED)
    assert given(guard, 0.01, 0.1, 1.0).value == pytest.approx(0.1)


def test_after_a_surprise_the_least_of_the_last_moments_counts_and_a_fall_twice(guard):
    guard.see(0.0, False, DOWN)
    given(guard, 0.0, 0.5, 1.0)
    guard.see(0.01, True, DOWN)
    assert given(guard, 0.01, 0.9, 1.0).value == 0.5
    guard.see(0.02, False, DOWN)
    assert given(guard, 0.02, 0.7, 1.0).value == pytest.approx(0.5)
    guard.see(0.03, False, DOWN)
    assert given(guard, 0.03, 0.4, 1.0).value == pytest.approx(0.1)
    guard.see(0.06, False, DOWN)
    assert given(guard, 0.06, 0.9, 1.0).value == 0.9


def test_a_margin_that_does_not_hold_stays_as_it_is(guard):
    guard.see(0.0, False, DOWN)
    given(guard, 0.0, 0.5, 1.0)
    guard.see(0.01, True, DOWN)
    assert given(guard, 0.01, -np.inf, 1.0, valid=False).value == -np.inf
    guard.clear()
    guard.see(0.0, False, DOWN)
    assert given(guard, 0.0, 0.9, 1.0).value == 0.9
