"""Wheel loads from a load: equilibrium, determinate and indeterminate cases, lifted wheels, tipping."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.stability import load_share, support_order, zmp_degree
from dyn_nodes.stability.wheel_loads import loads_on_plane, wheel_loads

SQUARE = np.array([[1.5, -1.1, 0.3], [1.5, 1.1, 0.3], [-1.5, -1.1, 0.3], [-1.5, 1.1, 0.3]])
STIFFNESS, DAMPING, LENGTH = np.full(4, 1.75e6), np.full(4, 7.5e4), np.full(4, 0.3)
WEIGHT = np.array([0.0, 0.0, -2.0e5])


def share(force, at, points=SQUARE, stiffness=STIFFNESS, length=LENGTH):
    at = np.asarray(at, dtype=float)
    return wheel_loads(points, stiffness, length, support_order(points), force, np.cross(at, force))


def balance(loads, force, moment, points):
    """Return the resultant of load and normal forces along the normal, and its moment in the plane about the origin."""
    normal = loads.plane[:3]
    pushes = loads.normal[:, None] * normal
    total = moment + np.cross(loads.feet, pushes).sum(axis=0)
    # friction acts in the plane; about the point below the origin it has no moment along the plane
    center = loads.plane[3] * normal
    about = total - np.cross(center, force + pushes.sum(axis=0))
    return (force + pushes.sum(axis=0)) @ normal, about - (about @ normal) * normal


@reaches(balanced=20, lifted=4)
@given(
    x=st.floats(-0.9, 0.9) | st.floats(0.8, 1.3),
    y=st.floats(-0.6, 0.6) | st.floats(-1.0, -0.6),
    tilt=st.tuples(st.floats(-0.15, 0.15), st.floats(-0.15, 0.15)),
    factors=st.lists(st.floats(0.5, 2.0), min_size=4, max_size=4),
)
def test_the_loads_balance_the_load_on_slopes_with_any_springs(x, y, tilt, factors):
    force = np.array([2.0e5 * tilt[0], 2.0e5 * tilt[1], -2.0e5])
    moment = np.cross([x, y, 1.0], force)
    result = wheel_loads(SQUARE, STIFFNESS * factors, LENGTH, support_order(SQUARE), force, moment)
    normal_force, turning = balance(result, force, moment, SQUARE)
    reached('balanced', result.balanced)
    reached('lifted', result.balanced and result.normal.min() == 0.0)
    if result.balanced:
        assert normal_force == pytest.approx(0.0, abs=1e-3)
        assert turning == pytest.approx(np.zeros(3), abs=1.0)
        assert (result.normal >= 0.0).all()
        compression = LENGTH - (SQUARE @ result.plane[:3] - result.plane[3])
        assert result.normal == pytest.approx(np.maximum(STIFFNESS * factors * compression, 0.0), abs=1.0)


def test_three_wheels_are_determinate_with_any_springs():
    points = np.array([[1.0, 0.0, 0.3], [-1.0, 1.0, 0.3], [-1.0, -1.0, 0.3]])
    for stiffness in (np.full(3, 1e6), np.array([1e5, 2e6, 7e5])):
        result = share(WEIGHT, (-0.2, 0.1, 0.3), points, stiffness * 30.0, np.full(3, 0.3))
        # lever rule: sum 1, x = -0.2, y = 0.1 (the springs' little tilt moves the feet)
        expected = np.linalg.solve([[1, 1, 1], [1, -1, -1], [0, 1, -1]], [1, -0.2, 0.1])
        assert result.normal / 2e5 == pytest.approx(expected, abs=2e-3)


def test_a_wheel_that_would_pull_is_off_the_ground():
    result = share(WEIGHT, (0.9, 0.7, 1.0))
    assert result.balanced
    assert result.normal[2] == 0.0
    assert result.normal.min() >= 0.0
    assert result.normal @ result.feet[:, 0] / result.normal.sum() == pytest.approx(
        result.center_of_pressure[0], abs=1e-6
    )


def test_a_load_beyond_an_edge_is_reported_and_carried_by_that_edge():
    result = share(WEIGHT, (1.7, 0.0, 1.0))
    assert result.pressed
    assert not result.balanced
    assert result.normal[:2].sum() == pytest.approx(2e5, rel=1e-3)
    assert load_share(result.feet, result.normal).value < 1e-3
    degree = zmp_degree(result.feet[support_order(SQUARE)], [1.7, 0.0, 1.0], WEIGHT).value
    assert degree < 0.0


def test_a_load_away_from_the_ground_gives_no_wheel_loads():
    result = share(-WEIGHT, (0.0, 0.0, 1.0))
    assert not result.pressed
    assert (result.normal == 0.0).all()


def test_a_load_that_leaves_the_ground_during_the_iteration_keeps_the_plane_of_the_guess():
    """Iterations can move the plane of such a load anywhere, even below the machine."""
    force, guess = np.array([1.5e9, -1.6e2, -2.3e8]), np.array([0.0, 0.0, 1.0, 0.1])
    result = wheel_loads(SQUARE, STIFFNESS, LENGTH, support_order(SQUARE), force, [3.1e8, 2.15e10, 2.2e8], guess)
    assert not result.pressed
    assert result.plane.tolist() == guess.tolist()
    assert result.feet[:, 2] == pytest.approx(0.1)
    assert np.isnan(result.center_of_pressure).all()


def test_the_guess_does_not_change_the_result():
    force = np.array([1e4, -2e4, -2e5])
    moment = np.cross([0.4, -0.3, 1.2], force)
    order = support_order(SQUARE)
    first = wheel_loads(SQUARE, STIFFNESS, LENGTH, order, force, moment)
    second = wheel_loads(SQUARE, STIFFNESS, LENGTH, order, force, moment, np.array([0.02, -0.03, 0.9993, 0.1]))
    assert second.normal == pytest.approx(first.normal, abs=1e-3)
    assert second.plane == pytest.approx(first.plane, abs=1e-8)


def test_on_a_specified_plane_the_loads_are_those_of_that_plane():
    result = share(WEIGHT, (0.4, -0.2, 1.0))
    normal_force = -float(WEIGHT @ result.plane[:3])
    loads, distance = loads_on_plane(SQUARE, STIFFNESS, DAMPING, LENGTH, result.plane[:3], np.zeros(3), normal_force)
    assert loads == pytest.approx(result.normal, abs=1.0)
    assert distance == pytest.approx(result.plane[3], abs=1e-9)


def test_dampers_push_where_the_body_comes_down_and_only_in_contact():
    level = np.array([0.0, 0.0, 1.0])
    rate = np.array([0.02, 0.0, 0.0])  # the normal turns forward: the front wheels rise
    still, _ = loads_on_plane(SQUARE, STIFFNESS, DAMPING, LENGTH, level, np.zeros(3), 2e5)
    moving, _ = loads_on_plane(SQUARE, STIFFNESS, DAMPING, LENGTH, level, rate, 2e5)
    assert moving - still == pytest.approx(-DAMPING * SQUARE[:, 0] * 0.02, abs=1.0)
    lifted = np.array([-0.05, 0.0, 1.0]) / np.hypot(1.0, 0.05)
    loads, _ = loads_on_plane(SQUARE, STIFFNESS, DAMPING, LENGTH, lifted, -40.0 * rate, 2e5)
    assert loads[2:] == pytest.approx([0.0, 0.0])
    assert loads.sum() == pytest.approx(2e5)


@pytest.mark.parametrize(
    ('wrong', 'name'),
    [({'attachments': SQUARE[:2]}, 'attachments'), ({'stiffness': np.ones(3)}, 'stiffness')],
)
def test_wrong_shapes_are_rejected(wrong, name):
    inputs = {'attachments': SQUARE, 'stiffness': STIFFNESS, 'free_length': LENGTH, 'polygon': [0, 1, 3, 2], **wrong}
    with pytest.raises(ValueError, match=name):
        wheel_loads(**inputs, force=WEIGHT, moment=np.zeros(3))
