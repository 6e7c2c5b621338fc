from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.share import folders_above
from dyn_nodes.viewer.camera import FIELD_OF_VIEW, HAND, PATIENCE, PRESETS, SETTLING, VISIBLE, Cameras, Follower
from dyn_nodes.viewer.robot import load_robot

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


def seen(cameras, points, name='Follow'):
    """Greatest excursion of points across and up in the picture, in halves of its height."""
    eye, target = cameras.preset(name)
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    depth = (points - eye) @ ahead
    assert depth.min() > 0.0
    picture = np.column_stack(((points - eye) @ right, (points - eye) @ np.cross(right, ahead))) / depth[:, None]
    return np.abs(picture).max(axis=0) / np.tan(0.5 * FIELD_OF_VIEW)


@pytest.mark.parametrize('name', ['stewart_platform', 'arm_a6', 'car', 'log_loader', 'three_leg_device'])
@pytest.mark.parametrize('preset', PRESETS)
def test_every_camera_sees_the_whole_machine_in_its_posture(name, preset):
    machine = machine_of(name, '')
    robot = load_robot(machine.urdf, folders_above(machine.sources[0]))
    corners = robot.corners(machine.initial.joint_positions)
    cameras = Cameras(SimpleNamespace(initial_camera=SimpleNamespace()))
    cameras.show(robot.size() / 8.0, corners)
    assert (seen(cameras, corners, preset) <= np.array(VISIBLE) + 1e-9).all()
    eye = cameras.preset('Follow')[0]
    assert np.array_equal(cameras.server.initial_camera.position, eye)
    if name == 'log_loader':  # it was seen as a whole before
        assert eye == pytest.approx(np.array(PRESETS['Follow'][0]) * robot.size() / 8.0)
