"""The kernels that follow the ground, against the same formulas in NumPy at random vectors."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.ground_kernels import compare_kernel, draw_kernel, turn_kernel

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
        normal, target, pressure, center, damped = rng.normal(size=(5, 3))
        normal, (loads, balancing) = unit(normal), rng.uniform(0.0, 1e4, (2, 6))
        found = compare_kernel(normal, target, pressure, center, damped, loads, balancing, starts, shift, error)
        along = (np.eye(3) - np.outer(normal, normal)) @ (pressure - center)
        np.testing.assert_allclose(shift, along, atol=1e-14)
        np.testing.assert_allclose(error, target - normal - damped, atol=1e-14)
        expected = [
            np.linalg.norm(along),
            np.linalg.norm(target - normal - damped),
            damped @ damped,
            *(np.add.reduceat(each, starts).min() for each in (loads, balancing)),
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_direction_and_bias_are_drawn_and_the_moment_is_that_of_the_shifted_push(rng):
    drawn, learnt, held = np.empty((3, 3))
    for _ in range(TURNS):
        normal, error, bias, shift, moment = rng.normal(size=(5, 3))
        part, gain, slow, press = rng.uniform(0.0, 1.0, 4) * [1.0, 1.0, 1.0, 1e5]
        expected = normal + gain * part * error
        kept = error.copy()
        draw_kernel(normal, error, part, gain, slow, bias, press, shift, moment, drawn, learnt, held)
        np.testing.assert_allclose(normal, expected, atol=1e-14)
        np.testing.assert_allclose(drawn, unit(expected), atol=1e-14)
        np.testing.assert_allclose(learnt, bias + slow * part * np.cross(expected, error), atol=1e-14)
        np.testing.assert_allclose(held, moment + np.cross(shift, -press * expected), rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(error, kept)
