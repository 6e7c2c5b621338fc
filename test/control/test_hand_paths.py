"""Curves of the hand and the progress along them: rates are derivatives, limits hold, ends are at rest."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from dyn_nodes.control.hand import Arc, HandLimits, HandPath, HandPose, JerkTrapezoid, Line, Spline

LIMITS = HandLimits(speed=0.5, acceleration=0.8, jerk=3.0)


def pose(x, y, z, *angles):
    return HandPose(Rotation.from_euler('xyz', angles or (0, 0, 0)).as_matrix(), np.array([x, y, z], float))


START, END = pose(1, 2, 0.5, 0.1, 0.2, -0.3), pose(2, 1.5, 1.0, -0.4, 0.9, 1.0)
CURVES = {
    'line': Line(START, END),
    'arc': Arc(START, [1.8, 2.2, 0.9], END),
    'spline': Spline([START, pose(1.5, 2.3, 0.7, 0.5, 0.0, 0.1), pose(1.9, 1.9, 0.6, 0.2, 0.6, 0.5), END]),
}


@reaches(cruises=4, short=4, holds=4, peaks=4)
@given(
    length=st.floats(1e-6, 50.0),
    speed=st.floats(0.01, 5.0),
    acceleration=st.floats(0.01, 10.0),
    jerk=st.floats(0.01, 50.0),
)
def test_progress_ends_at_its_length_at_rest_within_the_limits(length, speed, acceleration, jerk):
    timing = JerkTrapezoid(length, speed, acceleration, jerk)
    just_before = timing.at(timing.duration * (1 - 1e-9))
    assert just_before.length == pytest.approx(length, rel=1e-6)
    assert abs(just_before.speed) < 1e-6 * speed + 1e-7
    fastest = timing.at(0.5 * timing.duration).speed
    reached('cruises', fastest > (1.0 - 1e-9) * speed)
    reached('short', fastest < (1.0 - 1e-9) * speed)
    holds = jerk * fastest > (1.0 + 1e-9) * acceleration**2  # the acceleration is at its limit for a time
    reached('holds', holds)
    reached('peaks', not holds)
    for time in np.linspace(0.0, timing.duration, 60)[1:-1]:
        _, v, a, j = timing.at(time)
        assert -1e-9 <= v <= speed * (1 + 1e-9)
        assert abs(a) <= acceleration * (1 + 1e-9)
        assert abs(j) <= jerk


def test_a_long_progress_reaches_its_greatest_speed_and_lasts_as_long_as_the_closed_form():
    timing = JerkTrapezoid(3.0, 0.5, 0.8, 3.0)
    assert timing.at(timing.duration / 2).speed == pytest.approx(0.5)
    assert timing.duration == pytest.approx(3.0 / 0.5 + 0.5 / 0.8 + 0.8 / 3.0)


def test_a_longer_duration_slows_the_whole_motion_and_a_shorter_one_is_rejected():
    timing = JerkTrapezoid(1.0, 0.5, 0.8, 3.0)
    slower = timing.stretched(2 * timing.duration)
    assert slower.at(timing.duration).length == pytest.approx(0.5)
    assert slower.at(timing.duration).speed == pytest.approx(0.25)
    with pytest.raises(ValueError, match=r'duration: expected at least .* found 1 s'):
        timing.stretched(1.0)


@pytest.mark.parametrize('name', CURVES)
def test_rates_by_the_length_are_derivatives(name):
    curve, h = CURVES[name], 1e-5
    for part in (0.1, 0.45, 0.8):
        s = part * curve.length
        low, here, high = (curve.at(s + k * h) for k in (-1, 0, 1))
        moved = (high.pose.position - low.pose.position) / (2 * h)
        turned = low.pose.error_to(high.pose)[3:] / (2 * h)
        np.testing.assert_allclose(here.first, [*moved, *turned], atol=1e-8)
        np.testing.assert_allclose((high.first - low.first) / (2 * h), here.second, atol=1e-7)
        np.testing.assert_allclose((high.second - low.second) / (2 * h), here.third, atol=1e-7)


@pytest.mark.parametrize('name', CURVES)
def test_a_curve_starts_and_ends_at_its_poses(name):
    curve = CURVES[name]
    np.testing.assert_allclose(curve.at(0.0).pose.error_to(START), 0.0, atol=1e-13)
    np.testing.assert_allclose(curve.at(curve.length).pose.error_to(END), 0.0, atol=1e-13)


def test_a_line_turns_as_scipys_slerp():
    between = Slerp([0, 1], Rotation.from_matrix([START.rotation, END.rotation]))
    line = CURVES['line']
    for part in (0.2, 0.7):
        np.testing.assert_allclose(line.at(part * line.length).pose.rotation, between(part).as_matrix(), atol=1e-14)


def test_an_arc_passes_its_point_at_constant_radius():
    arc = CURVES['arc']
    points = np.array([arc.at(s).pose.position for s in np.linspace(0, arc.length, 4001)])
    np.testing.assert_allclose(np.linalg.norm(points - arc.centre, axis=1), arc.radius, rtol=1e-12)
    assert np.linalg.norm(points - [1.8, 2.2, 0.9], axis=1).min() < 1e-3
    assert arc.length == pytest.approx(arc.radius * arc.angle)


def test_an_arc_through_collinear_points_is_rejected():
    with pytest.raises(ValueError, match='three points that are not on one line'):
        Arc(pose(0, 0, 0), [1, 1, 1], pose(2, 2, 2))


def test_a_spline_goes_through_every_pose_without_a_step_in_the_acceleration():
    spline = CURVES['spline']
    knot = spline._knots[2]
    np.testing.assert_allclose(spline.at(knot).pose.position, [1.9, 1.9, 0.6], atol=1e-14)
    np.testing.assert_allclose(spline.at(knot - 1e-9).second, spline.at(knot + 1e-9).second, atol=1e-6)
    with pytest.raises(ValueError, match=r'poses\[1\]: expected another pose'):
        Spline([START, START])


@pytest.mark.parametrize('name', CURVES)
def test_velocity_acceleration_and_jerk_of_a_path_are_derivatives_in_time(name):
    path, h = HandPath.along(CURVES[name], LIMITS), 1e-4
    for part in (0.3, 0.5, 0.85):
        t = part * path.duration
        low, here, high = (path.at(t + k * h) for k in (-1, 0, 1))
        moved = (high.pose.position - low.pose.position) / (2 * h)
        np.testing.assert_allclose(here.velocity[:3], moved, atol=1e-6)
        np.testing.assert_allclose((high.velocity - low.velocity) / (2 * h), here.acceleration, atol=1e-5)
        np.testing.assert_allclose((high.acceleration - low.acceleration) / (2 * h), here.jerk, atol=1e-4)


def test_pieces_rest_at_each_corner_and_have_the_specified_durations():
    corners = [pose(0, 0, 0), pose(1, 0, 0), pose(1, 1, 0)]
    path = HandPath.lines(corners, LIMITS, [4.0, 5.0])
    assert path.corners.tolist() == [0.0, 4.0, 9.0]
    np.testing.assert_allclose(path.at(4.0).pose.position, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(path.at(4.0).velocity, 0.0, atol=1e-12)
    with pytest.raises(ValueError, match=r'poses\[2\]: duration: expected at least'):
        HandPath.lines(corners, LIMITS, [4.0, 1.0])


def test_a_pure_turn_has_a_length_by_its_angle():
    path = HandPath.line(pose(0, 0, 1), pose(0, 0, 1, 0, 0, 1.0), LIMITS)
    assert np.linalg.norm(path.at(path.duration / 2).velocity[3:]) == pytest.approx(0.5)
    np.testing.assert_allclose(path.end.rotation, Rotation.from_euler('z', 1.0).as_matrix(), atol=1e-14)


def test_no_motion_takes_no_time():
    path = HandPath.line(START, START, LIMITS)
    assert path.duration == 0.0
    np.testing.assert_allclose(path.at(0.0).pose.error_to(START), 0.0, atol=1e-14)
