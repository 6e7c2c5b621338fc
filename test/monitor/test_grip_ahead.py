"""Headings and postures that a vehicle with an arm comes to, for the grip governor."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.monitor.grip_ahead import COMING, TURNING, states_ahead

JOINTS = (np.array([0.4, 1.0, -2.0]), np.array([5.0, 0.3, -0.2]))
"""Of a wheel and of two joints of an arm."""
PLACES = [1, 2]
DOWN, SLOPE = np.array([0.0, 0.0, -9.81]), np.array([0.6, -0.8, -9.7])


def arm(moving):
    found = PositionMotion(('lift', 'reach'))
    found.restart(JOINTS[0][PLACES])
    if moving:
        rest = np.zeros(2)
        points = [TrajectoryPoint(time, goal, rest, rest) for time, goal in ((0.0, (1.1, -2.0)), (2.0, (0.0, 0.0)))]
        trajectory = JointTrajectory.from_points(('lift', 'reach'), points)
        found.follow(trajectory, 5.0, np.array([1.1, -2.0]), rest)
    return found


@pytest.mark.parametrize(('turn', 'gravity'), [(1.0, DOWN), (0.0, SLOPE)])
def test_nothing_is_ahead_of_a_still_arm_on_a_vehicle_that_goes_straight_or_on_level_ground(turn, gravity):
    q, v, a, down = states_ahead(JOINTS, PLACES, arm(False), 5.0, turn, gravity)
    assert q == pytest.approx(JOINTS[0][None])
    assert v == pytest.approx(np.array([[0.0, 0.3, -0.2]])), 'wheels are taken along by the model of the base'
    assert not a.any()
    assert down == pytest.approx(gravity[None])


@pytest.mark.parametrize('own', [None, arm(False)])
def test_gravity_turns_against_a_vehicle_that_turns_on_a_slope(own):
    _, _, _, down = states_ahead(JOINTS, PLACES, own, 5.0, 1.5, SLOPE)
    assert len(down) == 1 + len(TURNING)
    for time, found in zip((0.0, *TURNING), down):
        c, s = np.cos(1.5 * time), np.sin(1.5 * time)
        axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        assert axes @ found == pytest.approx(SLOPE), 'the same vector in fixed axes'


def test_an_arm_has_its_measured_motion_now_and_that_of_its_trajectory_ahead():
    own = arm(True)
    q, v, a, down = states_ahead(JOINTS, PLACES, own, 5.4, 0.0, SLOPE)
    assert len(q) == 1 + COMING
    assert q[0] == pytest.approx(JOINTS[0])
    assert v[0, PLACES] == pytest.approx(JOINTS[1][PLACES])
    assert a[0, PLACES] == pytest.approx(own.sample(5.4).acceleration)
    for k in range(1, COMING + 1):
        reference = own.sample(5.4 + 1.6 * k / COMING)
        assert np.stack([own[k, PLACES] for own in (q, v, a)]) == pytest.approx(np.stack(reference))
    assert q[-1, PLACES] == pytest.approx(np.zeros(2), abs=1e-12)
    assert (q[:, 0] == 0.4).all()
    assert not v[:, 0].any()
    assert down == pytest.approx(np.tile(SLOPE, (1 + COMING, 1)))


def test_headings_and_postures_ahead_are_in_the_order_of_their_instants_and_no_heading_is_beyond_the_last():
    _, _, _, down = states_ahead(JOINTS, PLACES, arm(True), 5.4, 1.0, SLOPE)
    turned = np.unwrap(np.arctan2(SLOPE[1], SLOPE[0]) - np.arctan2(down[:, 1], down[:, 0]))
    assert turned == pytest.approx([0.0, 0.25, 0.4, 0.5, 0.5, 0.5, 0.5])
