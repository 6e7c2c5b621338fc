from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.viewer.pose_sliders import NAMES, PoseSliders

ME, OTHER = 3, 4
LIMITS = dict.fromkeys(NAMES, 100.0)
HERE = dict(zip(NAMES, (10.0, -20.0, 0.0, 1.0, 0.0, 0.0)))


@pytest.fixture
def sliders():
    result = PoseSliders(LIMITS)
    result.present = dict(HERE)
    return result


def test_nothing_is_sent_before_a_slider_moves(sliders):
    assert not sliders.move('x', 4.0, ME, 0.0)
    assert sliders.command(0.0, [ME]) is None
    assert sliders.arm(ME, 0.0)
    assert sliders.command(0.1, [ME]) is None


def test_sliders_start_at_the_pose_of_the_platform_and_send_changes_once(sliders):
    sliders.arm(ME, 0.0)
    assert not sliders.arm(OTHER, 0.0)
    assert not sliders.move('y', 1.0, OTHER, 0.0)
    sliders.move('x', 400.0, ME, 0.0)
    assert sliders.command(0.1, [ME]) == [100.0, -20.0, 0.0, 1.0, 0.0, 0.0]
    assert sliders.command(0.2, [ME]) is None
    assert sliders.command(1000.0, [ME]) is None  # a pose may be kept for any time
    assert sliders.armed


def test_a_slider_that_is_not_moved_keeps_a_value_beyond_its_range(sliders):
    sliders.present = HERE | {'x': 400.0, 'y': -170.0}
    sliders.arm(ME, 0.0)
    assert sliders.command(0.1, [ME]) is None
    sliders.move('yaw', 0.1, ME, 0.2)
    assert sliders.command(0.2, [ME]) == [400.0, -170.0, 0.0, 1.0, 0.0, 0.1]
    sliders.move('y', -101.0, ME, 0.3)
    assert sliders.command(0.3, [ME]) == [400.0, -100.0, 0.0, 1.0, 0.0, 0.1]


def test_a_platform_of_unknown_pose_is_not_driven(sliders):
    sliders.present = {}
    assert not sliders.arm(ME, 0.0)
    assert not sliders.armed


@pytest.mark.parametrize('leave', [lambda sliders: sliders.disarm('', 1.0), lambda sliders: None])
def test_the_end_of_driving_holds_the_platform_once(sliders, leave):
    sliders.arm(ME, 0.0)
    sliders.move('x', 50.0, ME, 0.0)
    sliders.command(0.1, [ME])
    sliders.present['x'] = 31.0
    leave(sliders)
    assert sliders.command(1.0, [OTHER]) == [31.0, -20.0, 0.0, 1.0, 0.0, 0.0]
    assert not sliders.armed
    assert sliders.command(1.1, [OTHER]) is None


def test_invalid_numbers_are_rejected(sliders):
    sliders.arm(ME, 0.0)
    assert not sliders.move('x', float('nan'), ME, 0.0)
    assert sliders.command(0.1, [ME]) is None


def test_to_the_middle_is_an_ordinary_pose(sliders):
    sliders.arm(ME, 0.0)
    sliders.neutral()
    assert sliders.command(0.1, [ME]) == [0.0] * 6
    assert np.isfinite(list(sliders.values(0.2).values())).all()
