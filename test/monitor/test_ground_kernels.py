"""The kernels that track the ground, compared with the same formulas in NumPy at random vectors."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.ground_kernels import compare_kernel, corners_kernel, draw_kernel, feet_kernel, turn_kernel

TURNS = 200


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_the_normal_is_turned_against_the_base(rng):
    normal, rate = np.empty((2, 3))
    for _ in range(TURNS):
        before, (omega, smooth, bias), step = unit(rng.normal(size=3)), rng.normal(size=(3, 3)), rng.uniform(0.0, 0.1)
        turn_kernel(before, omega, smooth, bias, step, normal, rate)
        turned = unit(before - step * np.cross(omega - bias, before))
        np.testing.assert_allclose(normal, turned, atol=1e-14)
        np.testing.assert_allclose(rate, -np.cross(smooth - bias, turned), atol=1e-14)


@pytest.mark.parametrize('starts', [[0, 1, 2, 3, 4, 5], [0, 3], [0, 1, 4]])
def test_loads_are_compared_along_the_ground_and_by_contact(rng, starts):
    starts, (shift, error) = np.array(starts), np.empty((2, 3))
    for _ in range(TURNS):
        normal, target, carried, center, rate = rng.normal(size=(5, 3))
        normal_force, lag = rng.uniform(1.0, 5.0), rng.uniform(0.0, 0.5)
        damped, pressure = lag * rate, carried / normal_force
        normal, (loads, balancing) = unit(normal), rng.uniform(0.0, 1e4, (2, 6))
        result = compare_kernel(
            normal, target, carried, normal_force, center, rate, lag, loads, balancing, starts, shift, error
        )
        along = (np.eye(3) - np.outer(normal, normal)) @ (pressure - center)
        np.testing.assert_allclose(shift, along, atol=1e-14)
        np.testing.assert_allclose(error, target - normal - damped, atol=1e-14)
        expected = [
            np.linalg.norm(along),
            np.linalg.norm(target - normal - damped),
            damped @ damped,
            *(np.add.reduceat(each, starts).min() for each in (loads, balancing)),
        ]
        np.testing.assert_allclose(result, expected, rtol=1e-13)


def test_feet_are_below_the_points_of_a_polygon_in_its_order(rng):
    order = np.array([2, 0, 4, 3])
    feet, corners = np.empty((6, 3)), np.empty((5, 4, 3))
    for _ in range(TURNS):
        points, plane = rng.normal(size=(5, 6, 3)), np.append(unit(rng.normal(size=3)), rng.normal())
        feet_kernel(points[0], plane, feet)
        np.testing.assert_allclose(feet @ plane[:3], plane[3], atol=1e-14)
        np.testing.assert_allclose(np.cross(points[0] - feet, plane[:3]), 0.0, atol=1e-14)
        corners_kernel(points, order, plane, corners)
        np.testing.assert_array_equal(corners[0], feet[order])
        height = points[3, order] @ plane[:3] - plane[3]
        np.testing.assert_allclose(corners[3], points[3, order] - np.outer(height, plane[:3]), atol=1e-14)


def test_direction_and_bias_are_corrected_and_the_moment_is_that_of_the_shifted_force(rng):
    drawn, learnt, held = np.empty((3, 3))
    for _ in range(TURNS):
        normal, error, bias, shift, moment = rng.normal(size=(5, 3))
        part, gain, slow, normal_force = rng.uniform(0.0, 1.0, 4) * [1.0, 1.0, 1.0, 1e5]
        expected = normal + gain * part * error
        kept = error.copy()
        draw_kernel(normal, error, part, gain, slow, bias, normal_force, shift, moment, drawn, learnt, held)
        np.testing.assert_allclose(normal, expected, atol=1e-14)
        np.testing.assert_allclose(drawn, unit(expected), atol=1e-14)
        np.testing.assert_allclose(learnt, bias + slow * part * np.cross(expected, error), atol=1e-14)
        np.testing.assert_allclose(held, moment + np.cross(shift, -normal_force * expected), rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(error, kept)
