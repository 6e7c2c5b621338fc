from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.viewer.camera import HAND, PATIENCE, SETTLING, Follower

EYE = np.array([8.0, -12.0, 5.0])
HERE = np.zeros(3)
STEP = 0.02


def at(x: float) -> np.ndarray:
    return np.array([x, 0.0, 0.0])


@pytest.fixture
def follower():
    made = Follower(HERE, 0.0)
    made.report(EYE, 0.1)
    made.shift(HERE, SETTLING - 0.01, STEP)
    return made


def test_the_eye_goes_as_far_as_the_machine(follower):
    assert follower.shift(at(0.5), 3.0, STEP) == pytest.approx(EYE + at(0.5))


def test_nothing_is_asked_for_a_machine_that_stands(follower):
    assert follower.shift(at(0.5 * STEP), 3.0, STEP) is None


def test_a_new_page_is_left_alone_until_it_has_found_its_place():
    follower = Follower(HERE, 0.0)
    follower.report(np.zeros(3), 0.0)  # what a page says before it knows where its eye belongs
    assert follower.shift(at(5.0), 1.0, STEP) is None
    follower.report(EYE, 1.5)
    assert follower.shift(at(5.0), 3.0, STEP) is None, 'the way of before is not made good'
    assert follower.shift(at(5.5), 3.0, STEP) == pytest.approx(EYE + at(0.5))


def test_the_next_step_waits_for_the_answer_and_starts_from_it(follower):
    asked = follower.shift(at(0.5), 3.0, STEP)
    follower.report(EYE, 3.05)  # still of before
    assert follower.shift(at(0.8), 3.1, STEP) is None
    follower.report(asked, 3.2)
    assert follower.shift(at(0.8), 3.05 + 1.1 * HAND, STEP) == pytest.approx(EYE + at(0.8))


def test_an_answer_that_never_comes_is_not_awaited_for_ever(follower):
    follower.shift(at(0.5), 3.0, STEP)
    assert follower.shift(at(0.8), 3.0 + 0.9 * PATIENCE, STEP) is None
    assert follower.shift(at(0.8), 3.0 + 1.1 * PATIENCE, STEP) == pytest.approx(EYE + at(0.3))


def test_a_hand_that_turns_the_view_has_its_way(follower):
    turned = EYE + np.array((1.0, 2.0, 0.0))
    follower.report(turned, 3.0)
    assert follower.shift(at(0.5), 3.0 + 0.9 * HAND, STEP) is None
    assert follower.shift(at(0.5), 3.0 + 1.1 * HAND, STEP) == pytest.approx(turned + at(0.5))
