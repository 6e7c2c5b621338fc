"""Details of the stability measures not covered by other tests: every axis, every border, any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.stability import (
    force_angle,
    load_share,
    longitudinal_margin,
    planar_edge_moments,
    static_margin,
    support_order,
    zmp_degree,
)
from dyn_nodes.stability.wheel_loads import loads_on_plane, wheel_loads

RECTANGLE = np.array([[1.0, -0.8, 0.0], [1.0, 0.8, 0.0], [-1.0, 0.8, 0.0], [-1.0, -0.8, 0.0]])
DIAMOND = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
WHEELS = np.array([[1.4, -1.1, 0.3], [1.5, 1.0, 0.35], [-1.5, -1.2, 0.25], [-1.3, 1.1, 0.3]])
STIFFNESS, DAMPING, LENGTH = np.full(4, 1.75e6), np.full(4, 7.5e4), np.full(4, 0.3)
SWAPPED = [np.eye(3)[[1, 2, 0]], np.eye(3)[[2, 0, 1]]]
"""Cyclic permutation of the axes."""
TURNS = [*SWAPPED, *(Rotation.random(random_state=seed).as_matrix() for seed in range(3))]
ON_ITS_NOSE = Rotation.from_euler('y', 90, degrees=True).as_matrix()
"""Rotation of the normal of the ground from z to x."""


def test_edges_at_half_a_right_angle_to_the_axes_are_edges():
    margin = static_margin(DIAMOND, (0.1, 0.0, 1.0))
    assert margin.value == pytest.approx(0.9 / np.sqrt(2.0))


def test_a_polygon_whose_areas_vanish_in_round_off_is_rejected():
    with pytest.raises(ValueError, match=r'^feet: .*one line'):
        static_margin(RECTANGLE * 1e-90, (0.0, 0.0, 1.0))


@pytest.mark.parametrize('scale', [1.0, 1e4])
def test_an_edge_that_runs_back_on_the_one_before_is_named_at_any_size(scale):
    spike = scale * np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.7, 1.0, 0.0]])
    for angle in np.linspace(0.1, 6.0, 20):  # round-off of the turns differs
        turn = Rotation.from_euler('z', angle).as_matrix()
        with pytest.raises(ValueError, match='one line'):
            static_margin(spike @ turn.T, (0.0, 0.0, 1.0))


def test_a_fault_of_a_single_state_names_no_state():
    with pytest.raises(ValueError, match=r'^feet: ') as rejected:
        static_margin(RECTANGLE[::-1], (0.0, 0.0, 1.0))
    assert 'in state' not in str(rejected.value)


def test_a_centre_of_mass_above_an_edge_along_the_travel_is_just_valid():
    result = longitudinal_margin(RECTANGLE, (0.25, 0.8, 1.0))
    assert result.valid
    assert (result.front, result.rear) == pytest.approx((0.75, 1.25))


def test_beyond_the_polygon_both_parts_of_the_longitudinal_margin_are_lost():
    for point in ((0.0, 0.9, 1.0), (0.0, -0.9, 1.0)):
        result = longitudinal_margin(RECTANGLE, point)
        assert not result.valid
        assert (result.front, result.rear, result.value) == (-np.inf, -np.inf, -np.inf)


@pytest.mark.parametrize('turn', TURNS)
def test_the_longitudinal_margin_drops_the_upward_part_of_the_travel_in_any_frame(turn):
    travel, com = np.array([1.0, 0.3, 0.7]), np.array([0.2, 0.1, 0.8])
    plain = longitudinal_margin(RECTANGLE, com, travel, (0.0, 0.0, 1.0))
    level = longitudinal_margin(RECTANGLE, com, (1.0, 0.3, 0.0), (0.0, 0.0, 1.0))
    turned = longitudinal_margin(RECTANGLE @ turn.T, turn @ com, turn @ travel, turn @ [0.0, 0.0, 1.0])
    assert (turned.front, turned.rear) == pytest.approx((plain.front, plain.rear))
    assert (level.front, level.rear) == pytest.approx((plain.front, plain.rear))


@pytest.mark.parametrize('turn', TURNS)
def test_shares_of_the_sides_follow_the_machine_in_any_frame(turn):
    """Front, rear, left and right follow the direction of travel, in any frame."""
    wheels, loads = np.vstack((WHEELS, [0.4, 0.5, 3.0])), np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    travel = np.array([1.0, 0.3, 0.2])
    plain = load_share(wheels, loads, travel, (0.0, 0.0, 1.0))
    turned = load_share(wheels @ turn.T, loads, turn @ travel, turn @ [0.0, 0.0, 1.0])
    sides = ('front', 'rear', 'left', 'right')
    assert [getattr(turned, side) for side in sides] == pytest.approx([getattr(plain, side) for side in sides])
    assert (plain.front, plain.left) == pytest.approx(((1 + 2 + 16) / 31, (2 + 8 + 16) / 31))


@pytest.mark.parametrize('turn', TURNS)
def test_sides_of_a_machine_that_crabs_are_across_its_direction(turn):
    """Ahead of the middle along (1, 1) are the first two wheels; the second of them is behind it along x."""
    wheels = np.array([[1.0, 0.5, 0.0], [-0.5, 1.5, 0.0], [-1.0, -0.5, 0.0], [0.5, -1.5, 0.0]])
    shares = load_share(wheels @ turn.T, [1.0, 2.0, 4.0, 8.0], turn @ [1.0, 1.0, 0.2], turn @ [0.0, 0.0, 1.0])
    assert (shares.front, shares.left) == pytest.approx((3 / 15, 6 / 15))


def test_the_force_angle_measure_grows_with_the_force_from_the_smallest_on():
    result = force_angle(RECTANGLE, (0.2, 0.1, 0.6), (0.1, -0.05, -2.0))
    small = force_angle(RECTANGLE, (0.2, 0.1, 0.6), (1e-4, -5e-5, -2e-3))
    assert small.valid
    assert small.edges == pytest.approx(1e-3 * np.array(result.edges), rel=1e-12)
    assert small.angles == pytest.approx(np.array(result.angles), rel=1e-12)


def test_planar_moments_use_every_arm_and_no_slope_by_default():
    base = {'base_weight': 5.0e4, 'base_com': (-0.3, 0.4), 'front_arm': 1.3, 'rear_arm': 1.7, 'pivot_height': 1.2}
    result = planar_edge_moments(2.0e3, -1.5e4, 7.0e3, **base)
    # moments about the edge points (1.3, 0) and (-1.7, 0) of couple, force at (0, 1.2) and weight at (-0.3, 1.6)
    front = 7.0e3 - 2.0e3 * 1.2 + 5.0e4 * (1.3 + 0.3) + 1.5e4 * 1.3
    rear = 7.0e3 - 2.0e3 * 1.2 - 5.0e4 * (1.7 - 0.3) - 1.5e4 * 1.7
    assert (float(result.front), float(result.rear)) == pytest.approx((front, rear))
    level = planar_edge_moments(2.0e3, -1.5e4, 7.0e3, **base, slope=0.0)
    assert (float(level.front), float(level.rear)) == (float(result.front), float(result.rear))


def test_wheels_at_the_very_middle_count_half_and_the_size_of_a_machine_does_not_count():
    wheels = np.vstack((RECTANGLE, [0.0, 0.0, 0.0]))
    shares = load_share(wheels, np.array([1.0, 1.0, 1.0, 1.0, 4.0]))
    assert (shares.front, shares.rear, shares.left, shares.right) == (0.5, 0.5, 0.5, 0.5)
    loads, wheels = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.vstack((RECTANGLE, [0.01, 0.01, 0.0]))
    for scale in (1.0, 1e-6, 1e6):
        shares = load_share(scale * wheels, loads)
        assert (shares.front, shares.left) == pytest.approx(((1 + 2 + 16) / 31, (2 + 4 + 16) / 31))


def test_without_a_force_there_is_no_angle():
    result = force_angle(RECTANGLE, (0.2, 0.1, 0.6), (0.0, 0.0, 0.0))
    assert not result.valid
    assert np.isnan(result.angles).all()


def test_the_circle_in_a_polygon_does_not_depend_on_the_position_of_the_machine():
    for offset in ((0.0, 0.0, 0.0), (5.0, -7.0, 2.0)):
        result = zmp_degree(RECTANGLE + offset, np.add((0.1, 0.0, 1.0), offset), (0.0, 0.0, -1.0))
        assert result.inradius == pytest.approx(0.8)
    angles = 0.4 + np.array([0.0, 2.0, 4.0]) * np.pi / 3.0
    triangle = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(3)))
    for turn in TURNS:
        for feet, radius in ((RECTANGLE, 0.8), (triangle, 0.5)):
            result = zmp_degree(feet @ turn.T, turn @ [0.1, 0.0, 1.0], turn @ [0.0, 0.0, -1.0], up=turn[:, 2])
            assert result.inradius == pytest.approx(radius)


# -- wheel loads -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('at', 'balanced'), [((0.3, -0.2, 1.1), True), ((2.2, 0.4, 1.1), False)])
@pytest.mark.parametrize('turn', [ON_ITS_NOSE, *TURNS])
def test_wheel_loads_do_not_depend_on_the_frame(turn, at, balanced):
    """Also while tipping, and with the ground's normal along x, the usual first axis of the plane."""
    force, at = np.array([1.2e4, -0.8e4, -2.0e5]), np.array(at)
    order = support_order(WHEELS)
    plane = np.array([0.0, 0.0, 1.0, 0.0])
    plain = wheel_loads(WHEELS, STIFFNESS, LENGTH, order, force, np.cross(at, force), plane)
    start = np.append(turn @ plane[:3], 0.0)
    turned = wheel_loads(WHEELS @ turn.T, STIFFNESS, LENGTH, order, turn @ force, turn @ np.cross(at, force), start)
    assert plain.balanced == turned.balanced == balanced
    assert turned.normal == pytest.approx(plain.normal, rel=1e-6)
    assert turned.plane == pytest.approx(np.append(turn @ plain.plane[:3], plain.plane[3]), abs=1e-8)
    assert turned.center_of_pressure == pytest.approx(turn @ plain.center_of_pressure, abs=1e-6)


@pytest.mark.parametrize('turn', TURNS)
def test_loads_on_a_specified_plane_do_not_depend_on_the_frame(turn):
    """The rate of the plane has components along all three axes of the body; the wheels have different heights."""
    normal, rate = np.array([0.01, -0.02, 1.0]) / np.sqrt(1.0005), np.array([0.03, 0.05, 0.0007])
    plain, distance = loads_on_plane(WHEELS, STIFFNESS, DAMPING, LENGTH, normal, rate, 2e5)
    turned, same = loads_on_plane(WHEELS @ turn.T, STIFFNESS, DAMPING, LENGTH, turn @ normal, turn @ rate, 2e5)
    assert turned == pytest.approx(plain, abs=1e-3)
    assert same == pytest.approx(distance, abs=1e-9)


def test_attachments_need_three_coordinates():
    with pytest.raises(ValueError, match='attachments'):
        wheel_loads(WHEELS[:, :2], STIFFNESS, LENGTH, [0, 1, 3, 2], (0.0, 0.0, -1.0), np.zeros(3))
