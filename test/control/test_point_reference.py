"""Reference of a point that base and arm move together: paths, velocities, braking, waiting."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.hand import HandLimits, HandPath, HandPose, PointReference

LIMITS = HandLimits(speed=0.5, acceleration=1.0, jerk=4.0)
PERIOD = 0.01


def along(reference, seconds, scale=1.0):
    points = []
    for _ in range(round(seconds / PERIOD)):
        reference.step(PERIOD, scale)
        points.append((reference.point, reference.velocity, reference.acceleration))
    return [np.array(part) for part in zip(*points)]


def to(reference, point):
    end = HandPose(np.eye(3), np.array(point))
    return reference.follow(lambda start: HandPath.line(start, end, LIMITS))


def test_a_path_is_followed_to_its_end():
    reference = PointReference()
    path = to(reference, (1.0, 0.0, 0.5))
    points, velocities, _ = along(reference, path.duration + 0.05)
    assert points[-1] == pytest.approx([1.0, 0.0, 0.5])
    assert np.linalg.norm(velocities, axis=1).max() == pytest.approx(0.5, abs=1e-3)
    assert points[:, 2] == pytest.approx(0.5 * points[:, 0])
    assert (reference.state, reference.moving, reference.remaining) == ('holding', False, 0.0)


def test_the_reference_slows_and_waits_where_the_machine_lags_behind():
    reference = PointReference()
    path = to(reference, (1.0, 0.0, 0.0))
    along(reference, 0.5 * path.duration)
    fast = np.linalg.norm(reference.velocity)
    along(reference, PERIOD, 0.5)
    assert np.linalg.norm(reference.velocity) == pytest.approx(0.5 * fast, rel=0.05)
    assert (reference.state, reference.reason) == ('slowed', 'the machine lags behind')
    before = reference.point
    points, velocities, _ = along(reference, 0.1, 0.0)
    assert reference.state == 'stopped'
    assert np.ptp(np.vstack([before, points]), axis=0) == pytest.approx(0.0)
    assert not velocities.any()


def test_a_velocity_and_its_end_keep_to_the_acceleration():
    reference = PointReference()
    reference.drive((0.3, 0.0, -0.4, 0.0, 0.0, 0.0), LIMITS)
    points, velocities, accelerations = along(reference, 1.0)
    assert velocities[-1] == pytest.approx([0.3, 0.0, -0.4])
    assert np.linalg.norm(accelerations, axis=1).max() == pytest.approx(1.0)
    assert np.linalg.norm(points[-1]) == pytest.approx(0.5 * 1.0 - 0.5 * 0.5**2 / 1.0, abs=1e-9)
    reference.stop()
    assert reference.moving
    _, velocities, accelerations = along(reference, 0.6)
    assert not velocities[-1].any()
    assert np.linalg.norm(accelerations, axis=1).max() == pytest.approx(1.0)
    assert not reference.moving
