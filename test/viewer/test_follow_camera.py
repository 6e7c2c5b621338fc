from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dyn_nodes.common.share import folders_above
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.viewer.camera import ANSWER_TIMEOUT, HAND, LATEST, PRESETS, SETTLING, WIDE, Cameras, Follower
from dyn_nodes.viewer.framing import EDGE, excursion, eye_that_sees, visible
from dyn_nodes.viewer.robot import load_robot

EYE = np.array([8.0, -12.0, 5.0])
HERE = np.zeros(3)
AHEAD = np.array([-8.0, 12.0, -4.0])
NOTHING = np.zeros((0, 3))
STEP = 0.02


def at(x: float) -> np.ndarray:
    return np.array([x, 0.0, 0.0])


@pytest.fixture
def follower():
    made = Follower(HERE, 0.0)
    made.report(EYE, AHEAD, 0.1)
    made.shift(HERE, NOTHING, WIDE, SETTLING - 0.01, STEP)
    return made


def test_the_eye_moves_as_far_as_the_machine(follower):
    assert follower.shift(at(0.5), NOTHING, WIDE, 3.0, STEP) == pytest.approx(EYE + at(0.5))


def test_nothing_is_sent_for_a_machine_at_rest(follower):
    assert follower.shift(at(0.5 * STEP), NOTHING, WIDE, 3.0, STEP) is None


def test_a_new_page_is_not_moved_before_its_initial_pose():
    follower = Follower(HERE, 0.0)
    follower.report(np.zeros(3), AHEAD, 0.0)  # report of a page before its initial pose
    assert follower.shift(at(5.0), NOTHING, WIDE, 1.0, STEP) is None
    follower.report(EYE, AHEAD, 1.5)
    assert follower.shift(at(5.0), NOTHING, WIDE, 3.0, STEP) is None, 'the way of before is not made good'
    assert follower.shift(at(5.5), NOTHING, WIDE, 3.0, STEP) == pytest.approx(EYE + at(0.5))


def test_the_next_step_waits_for_the_answer_and_starts_from_it(follower):
    asked = follower.shift(at(0.5), NOTHING, WIDE, 3.0, STEP)
    follower.report(EYE, AHEAD, 3.05)  # still the earlier report
    assert follower.shift(at(0.8), NOTHING, WIDE, 3.1, STEP) is None
    follower.report(asked, AHEAD, 3.2)
    assert follower.shift(at(0.8), NOTHING, WIDE, 3.05 + 1.1 * HAND, STEP) == pytest.approx(EYE + at(0.8))


def test_a_missing_answer_is_not_awaited_forever(follower):
    follower.shift(at(0.5), NOTHING, WIDE, 3.0, STEP)
    assert follower.shift(at(0.8), NOTHING, WIDE, 3.0 + 0.9 * ANSWER_TIMEOUT, STEP) is None
    assert follower.shift(at(0.8), NOTHING, WIDE, 3.0 + 1.1 * ANSWER_TIMEOUT, STEP) == pytest.approx(EYE + at(0.3))


def test_a_view_turned_by_the_user_is_kept(follower):
    turned = EYE + np.array((1.0, 2.0, 0.0))
    follower.report(turned, AHEAD, 3.0)
    assert follower.shift(at(0.5), NOTHING, WIDE, 3.0 + 0.9 * HAND, STEP) is None
    assert follower.shift(at(0.5), NOTHING, WIDE, 3.0 + 1.1 * HAND, STEP) == pytest.approx(turned + at(0.5))


def seen(cameras, points, name='Follow', aspect=WIDE):
    """Return the greatest excursion of points across and up in the picture, in half heights."""
    eye, target = cameras.preset(name, aspect)
    return excursion(points, eye, target - eye).max(axis=0)


@pytest.mark.parametrize('aspect', [WIDE, 0.76, 0.37])
@pytest.mark.parametrize('name', ['stewart_platform', 'arm_a6', 'car', 'log_loader', 'three_leg_device'])
@pytest.mark.parametrize('preset', PRESETS)
def test_every_camera_sees_the_whole_machine_in_its_posture(name, preset, aspect):
    machine = machine_of(name, '')
    robot = load_robot(machine.urdf, folders_above(machine.sources[0]))
    corners = robot.corners(machine.initial.joint_positions)
    cameras = Cameras(SimpleNamespace(initial_camera=SimpleNamespace()))
    cameras.show(robot.size() / 8.0, corners)
    assert (seen(cameras, corners, preset, aspect) <= visible(aspect) + 1e-9).all()
    eye = cameras.preset('Follow')[0]
    assert np.array_equal(cameras.server.initial_camera.position, eye)
    if name == 'log_loader':  # it was entirely visible before
        assert eye == pytest.approx(np.array(PRESETS['Follow'][0]) * robot.size() / 8.0)


# -- the eye of a machine that reaches out -----------------------------------------------------------------------------

POINTS = arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(-9.0, 9.0, width=32))
NEAR_POINTS = arrays(float, st.tuples(st.integers(1, 3), st.just(3)), elements=st.floats(-0.5, 0.5, width=32))


@reaches(moves=8, stays=1)
@example(points=np.zeros((1, 3)), aspect=1.5, turn=np.arctan2(12.0, -8.0), height=-0.3)
@given(points=POINTS | NEAR_POINTS, aspect=st.floats(0.3, 3.0), turn=st.floats(0.0, 6.2), height=st.floats(-0.8, 0.8))
def test_the_eye_moves_without_turning_to_see_all(points, aspect, turn, height):
    ahead = np.array([np.cos(turn), np.sin(turn), height])
    eye = eye_that_sees(points, EYE, ahead, aspect)
    reached('moves', eye is not None)
    reached('stays', eye is None)
    if eye is None:
        assert (excursion(points, EYE, ahead) <= EDGE * np.array((aspect, 1.0))).all()
        return
    forward = ahead / np.linalg.norm(ahead)
    assert ((points - eye) @ forward >= -1e-9).all()
    inside = excursion(points, eye - 1e-9 * forward, ahead) <= visible(aspect) + 1e-5
    assert inside.all()
    assert eye @ forward <= EYE @ forward + 1e-9, 'it goes back, never nearer'


def test_a_new_eye_is_as_near_as_possible_to_the_old_one():
    """A machine that leaves the picture to the right: the eye moves right, not back, as long as the machine fits."""
    eye = eye_that_sees(np.array([[0.0, 5.0, 0.0]]), np.array([10.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]), 1.0)
    assert eye == pytest.approx([10.0, 5.0 - 10.0 * visible(1.0)[0] * np.tan(0.375), 0.0])


def test_the_eye_follows_a_reaching_boom_until_the_user_turns_it(follower):
    boom = np.array([[0.0, 0.0, 0.0], [0.0, -9.0, 9.0]])
    eye = follower.shift(HERE, boom, WIDE, 3.0, STEP)
    assert eye is not None
    assert (excursion(boom, eye, AHEAD) <= visible(WIDE) + 1e-9).all()
    follower.report(eye, AHEAD, 3.2)
    assert follower.shift(HERE, boom, WIDE, 4.0, STEP) is None, 'it sees all'
    follower.report(eye + np.array((1.0, 2.0, 0.0)), AHEAD, 5.0)
    assert follower.turned
    assert follower.shift(HERE, 2.0 * boom, WIDE, 6.0, STEP) is None, 'the user views a detail'


def test_a_slow_page_is_awaited_until_it_reaches_its_pose():
    """It reports its first pose, inside the machine, long after the others."""
    boom = np.array([[0.0, 0.0, 0.0], [0.0, -9.0, 9.0]])
    follower = Follower(HERE, 0.0, EYE)
    follower.report(np.zeros(3), AHEAD, SETTLING + 1.0)
    assert follower.shift(HERE, boom, WIDE, SETTLING + 2.0, STEP) is None
    follower.report(EYE, AHEAD, SETTLING + 3.0)
    assert not follower.turned
    assert follower.shift(HERE, boom, WIDE, SETTLING + 4.0, STEP) is not None


def test_a_page_that_never_reaches_its_pose_is_followed_all_the_same():
    follower = Follower(HERE, 0.0, EYE)
    follower.report(EYE + at(1.0), AHEAD, 1.0)
    assert follower.shift(at(3.0), NOTHING, WIDE, LATEST - 0.1, STEP) is None
    assert follower.shift(at(4.0), NOTHING, WIDE, LATEST + 0.1, STEP) == pytest.approx(EYE + at(2.0))


def test_a_slow_page_on_its_way_to_its_pose_is_no_user_input():
    """A browser that compiles its first picture stalls for a long time between two earlier poses."""
    follower = Follower(HERE, 0.0, EYE)
    follower.report(np.array([-5.0, 0.0, 0.0]), AHEAD, 0.1)
    follower.report(np.array([3.0, 3.0, 3.0]), AHEAD, LATEST + 2.0)
    assert not follower.turned
    follower.report(EYE, AHEAD, LATEST + 3.0)
    assert not follower.turned
    boom = np.array([[0.0, 0.0, 0.0], [0.0, -9.0, 9.0]])
    assert follower.shift(HERE, boom, WIDE, LATEST + 4.0, STEP) is not None


def test_a_stalled_page_may_still_report_its_first_pose():
    boom = np.array([[0.0, 0.0, 0.0], [0.0, -9.0, 9.0]])
    follower = Follower(HERE, 0.0, EYE)
    follower.report(EYE, AHEAD, 0.1)
    asked = [follower.shift(HERE, boom, WIDE, 3.0 + 1.1 * k, STEP) for k in range(40)]
    follower.report(asked[-1], AHEAD, 60.0)
    follower.report(EYE, AHEAD, 60.1)
    assert not follower.turned


def test_the_eye_approaches_again_when_a_panel_is_folded():
    """A narrow page starts with all panels unfolded: its picture is a stripe for some frames."""
    points = np.array([[0.0, -4.0, 0.0], [0.0, 4.0, 2.0]])
    follower = Follower(HERE, 0.0, EYE)
    follower.report(EYE, AHEAD, 0.1)
    far = follower.shift(HERE, points, 0.13, 3.0, STEP)
    follower.report(far, AHEAD, 3.2)
    near = follower.shift(HERE, points, 0.37, 4.0, STEP)
    assert near == pytest.approx(eye_that_sees(points, EYE, AHEAD, 0.37))
    assert np.linalg.norm(near) < 0.5 * np.linalg.norm(far)
    follower.report(near, AHEAD, 4.2)
    assert follower.shift(HERE, points, 0.37, 5.0, STEP) is None
    assert follower.shift(HERE, 0.5 * points, 0.37, 5.5, STEP) is None, 'it does not go to and fro with a boom'
    follower.report(near + at(1.0), AHEAD, 6.0)
    assert follower.shift(HERE, points, WIDE, 7.0, STEP) is None, 'a hand has its way'


def test_the_eye_approaches_a_machine_that_has_driven_on():
    points = np.array([[0.0, -4.0, 0.0], [0.0, 4.0, 2.0]])
    follower = Follower(HERE, 0.0, EYE)
    follower.report(EYE, AHEAD, 0.1)
    follower.shift(HERE, points, 0.13, 3.0, STEP)
    for second in range(4, 8):
        follower.report(follower.requested[-1], AHEAD, second - 0.5)
        driven = at(second - 3.0)
        assert follower.shift(driven, points + driven, 0.13, second, STEP) is not None
    follower.report(follower.requested[-1], AHEAD, 8.0)
    near = follower.shift(driven, points + driven, WIDE, 9.0, STEP)
    assert near == pytest.approx(EYE + driven)


class StillPage:
    """A page at the pose of a preset, which has nothing to report."""

    client_id = 1

    def __init__(self, eye, target):
        self.camera = SimpleNamespace(
            position=eye, look_at=target, up_direction=None, update_timestamp=1.0, image_width=1600, image_height=900
        )

    @contextmanager
    def atomic(self):
        yield


def test_follow_works_on_a_page_that_is_already_at_its_pose():
    cameras = Cameras(SimpleNamespace(initial_camera=SimpleNamespace()))
    page = StillPage(*cameras.preset('Follow'))
    cameras.choose(page, 'Follow')
    follower = cameras.followers[1]
    later = follower.since + 10.0
    assert follower.shift(at(2.0), NOTHING, WIDE, later, STEP) == pytest.approx(page.camera.position + at(2.0))
