"""Order, checks and names of the support polygon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dyn_nodes.stability import name_edges, static_margin, support_order
from dyn_nodes.stability.polygon import inradius, plane_normal, polygon_fault

SQUARE = np.array([(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0)], dtype=float)


def radius(feet):
    normal = np.empty(3)
    plane_normal(feet, normal)
    return inradius(feet, normal)


def test_hull_is_counter_clockwise_and_drops_inner_and_collinear_points():
    points = np.array([(0, 2, 5), (0.4, 0.7, 0), (1, 0, 0), (0.5, 0, 3), (0, 0, 1), (1, 2, -1)], dtype=float)
    assert support_order(points).tolist() == [0, 4, 2, 5]


def test_hull_ignores_repeated_points():
    points = np.vstack([SQUARE, SQUARE])
    assert sorted(support_order(points) % 4) == [0, 1, 2, 3]


@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_ordered_points_are_accepted_and_contain_every_point(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    up = rng.normal(size=3)
    up /= np.linalg.norm(up)
    hull = points[support_order(points, up)]
    margins = static_margin(hull, points, up)
    assert margins.valid.all()
    assert margins.value.min() > -1e-9


@pytest.mark.parametrize(
    ('feet', 'message'),
    [
        (SQUARE[::-1], 'counter-clockwise'),
        (SQUARE[[0, 2, 1, 3]], 'convex'),
        (SQUARE[[0, 1, 1, 2]], 'coincide.*points 1 and 2'),
        (SQUARE[[0, 1]], 'at least 3'),
        ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], 'one line'),
        (SQUARE[:, :2], r'feet: expected shape \(n, 3\).*found'),
        ([(np.cos(a), np.sin(a), 0) for a in 4 * np.pi / 5 * np.arange(5)], 'convex'),
    ],
)
def test_a_wrong_polygon_is_named(feet, message):
    with pytest.raises(ValueError, match=message):
        static_margin(feet, (0.2, 0.7, 1.0))


def test_a_wrong_polygon_in_a_batch_names_its_state():
    feet = np.stack([SQUARE, SQUARE, SQUARE[::-1]])
    with pytest.raises(ValueError, match='state 2'):
        static_margin(feet, (0.2, 0.7, 1.0))


@pytest.mark.parametrize(
    ('feet', 'text'),
    [
        (SQUARE, ''),
        (SQUARE[[0, 2, 1, 3]], 'ground points of the wheels cross: the edges from a to b and from c to d intersect'),
        (SQUARE[[1, 0, 2, 3]], 'ground points of the wheels cross: the edges from b to c and from d to a intersect'),
        (SQUARE[::-1], 'a, b, c, d are in reverse order: the ground is seen from below'),
        (SQUARE * [[1], [1], [0.3], [1]], 'the ground point of c is not a corner between b and d'),
        (SQUARE[[0, 1, 1, 2]], 'the ground points of b and c coincide'),
        (SQUARE * [1, 0, 1], 'coincide'),
        (SQUARE @ np.diag([1, 0, 0]) + np.arange(4)[:, None] * [0.1, 0, 0], 'a, b, c, d lie on one line'),
    ],
)
def test_a_wrong_polygon_is_explained_with_the_names_of_the_wheels(feet, text):
    assert text in polygon_fault(feet, np.array([0.0, 0.0, 1.0]), 'abcd')
    assert bool(text) is bool(polygon_fault(feet, np.array([0.0, 0.0, 1.0]), 'abcd'))


def test_batches_of_different_length_are_rejected():
    with pytest.raises(ValueError, match='feet: 2, com: 3'):
        static_margin(np.stack([SQUARE, SQUARE]), np.zeros((3, 3)))


@pytest.mark.parametrize('points', [np.zeros((2, 3)), np.zeros((4, 3)), [(0, 0, 0), (1, 1, 0), (2, 2, 9)]])
def test_points_without_a_polygon_are_rejected(points):
    with pytest.raises(ValueError, match='points:'):
        support_order(points)


def test_points_that_are_not_finite_are_rejected():
    with pytest.raises(ValueError, match='point 2'):
        support_order([(0, 0, 0), (1, 0, 0), (np.nan, 1, 0)])


def test_edges_are_named_by_the_side_of_the_machine():
    assert name_edges(SQUARE) == ('right', 'front', 'left', 'rear')
    assert name_edges(SQUARE, travel=(0, 1, 0)) == ('rear', 'right', 'front', 'left')
    hexagon = [(np.cos(a), np.sin(a), 0) for a in np.pi / 3 * np.arange(6)]
    names = name_edges(hexagon)
    assert len(set(names)) == 6
    assert names[0] == 'front_1'


@pytest.mark.parametrize(
    ('feet', 'expected'),
    [
        (SQUARE, 0.5),
        ([(0, 0, 0), (4, 0, 0), (0, 3, 0)], 1.0),
        ([(np.cos(a), np.sin(a), 0) for a in 2 * np.pi / 5 * np.arange(5)], np.cos(np.pi / 5)),
        ([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)], 1.0),
        ([(0, 0, 0), (10, 0, 0), (6, 2, 0), (4, 2, 0)], 1.0),
    ],
)
def test_inradius_of_polygons_with_closed_form(feet, expected):
    assert radius(np.array(feet, dtype=float)) == pytest.approx(expected, rel=1e-12)


def test_inradius_equals_the_linear_program():
    rng = np.random.default_rng(1)
    for _ in range(30):
        points = np.pad(rng.normal(size=(int(rng.integers(3, 9)), 2)), ((0, 0), (0, 1)))
        feet = points[support_order(points)]
        edges = np.roll(feet, -1, axis=0) - feet
        normals = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
        program = linprog(
            (0, 0, -1),
            A_ub=np.column_stack([-normals, np.ones(len(feet))]),
            b_ub=-(normals * feet[:, :2]).sum(axis=1),
            bounds=[(None, None)] * 3,
        )
        assert radius(feet) == pytest.approx(-program.fun, rel=1e-9)
