from __future__ import annotations

import pytest

from dyn_nodes.viewer.levers import FAREWELL, PUSH_TIME, Levers

ME, OTHER = 3, 4


@pytest.fixture
def levers():
    return Levers(('boom', 'swing'), {'boom': 8.0, 'swing': 5.0}, idle_timeout=10.0)


def test_nothing_is_commanded_before_the_levers_are_armed(levers):
    assert not levers.move('boom', 4.0, ME, 0.0)
    assert levers.command(0.0, [ME]) is None


def test_only_the_page_that_armed_the_levers_moves_them(levers):
    assert levers.arm(ME, 0.0)
    assert not levers.arm(OTHER, 0.0)
    assert levers.move('boom', 4.0, ME, 0.0)
    assert not levers.move('swing', 4.0, OTHER, 0.0)
    assert levers.command(0.1, [ME, OTHER]) == [4.0, 0.0]


def test_voltages_stay_within_the_limit(levers):
    levers.arm(ME, 0.0)
    levers.move('boom', -99.0, ME, 0.0)
    levers.push('swing', 99.0, ME, 0.0)
    assert levers.command(0.1, [ME]) == [-8.0, 5.0]


def test_a_released_lever_returns_to_neutral(levers):
    levers.arm(ME, 0.0)
    levers.push('boom', 3.0, ME, 0.0)
    assert levers.command(0.9 * PUSH_TIME, [ME]) == [3.0, 0.0]
    assert levers.command(1.1 * PUSH_TIME, [ME]) == [0.0, 0.0]


def test_leaving_the_page_publishes_neutral_and_then_nothing(levers):
    levers.arm(ME, 0.0)
    levers.move('boom', 4.0, ME, 0.0)
    assert levers.command(1.0, [OTHER]) == [0.0, 0.0]
    assert not levers.armed
    assert levers.reason == 'the driving page was closed'
    assert levers.command(1.0 + 1.1 * FAREWELL, [ME]) is None


def test_an_untouched_deflected_lever_returns_to_neutral(levers):
    levers.arm(ME, 0.0)
    levers.move('boom', 4.0, ME, 0.0)
    assert levers.command(9.9, [ME]) == [4.0, 0.0]
    assert levers.command(10.1, [ME]) == [0.0, 0.0]
    assert 'no lever was touched' in levers.reason


def test_untouched_levers_at_neutral_stay_armed(levers):
    levers.arm(ME, 0.0)
    assert levers.command(1000.0, [ME]) == [0.0, 0.0]
    assert levers.armed


def test_arming_again_starts_at_neutral(levers):
    levers.arm(ME, 0.0)
    levers.move('boom', 4.0, ME, 0.0)
    levers.disarm('', 1.0)
    levers.arm(ME, 2.0)
    assert levers.command(2.0, [ME]) == [0.0, 0.0]


def test_an_unknown_valve_is_an_error(levers):
    levers.arm(ME, 0.0)
    with pytest.raises(KeyError):
        levers.move('bucket', 1.0, ME, 0.0)
