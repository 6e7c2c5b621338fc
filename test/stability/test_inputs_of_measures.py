"""Inputs of the measures: optional inputs, rejected inputs, and batches of every result."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.stability import (
    extended_energy_level,
    force_angle,
    load_share,
    longitudinal_margin,
    net_moment,
    static_margin,
    zmp_degree,
)
from dyn_nodes.stability.energy import energy_level_of_loads
from dyn_nodes.stability.polygon import horizontal_axes, name_edges, support_order, unit_vector

FEET = np.array([[1.0, -0.8, 0.2], [1.0, 0.8, 0.1], [-0.7, 0.9, -0.1], [-0.7, -0.9, 0.1]])  # in no level plane
COM, FORCE = np.array([0.2, 0.1, 0.6]), np.array([0.1, -0.05, -2.0])
UP, STILL = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)


def same(actual, expected):
    for one, other in zip(actual, expected):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('measure', [zmp_degree, net_moment, force_angle, extended_energy_level])
def test_moment_and_direction_default_to_zero_and_up(measure):
    """A load of 2 N, so that a moment of 1 N m would have an effect."""
    same(measure(FEET, COM, FORCE), measure(FEET, COM, FORCE, STILL, UP))
    for axis in np.eye(3):
        other = measure(FEET, COM, FORCE, axis)
        assert any(not np.array_equal(one, two) for one, two in zip(other, measure(FEET, COM, FORCE)))


def test_the_defaults_of_the_other_measures_are_up_and_forward():
    same(static_margin(FEET, COM), static_margin(FEET, COM, UP))
    same(longitudinal_margin(FEET, COM), longitudinal_margin(FEET, COM, (1.0, 0.0, 0.0), UP))
    loads = np.array([1.0, 2.0, 3.0, 4.0])
    same(load_share(FEET, loads), load_share(FEET, loads, (1.0, 0.0, 0.0), UP))
    same(
        energy_level_of_loads(FEET, COM[None], FORCE[None]),
        energy_level_of_loads(FEET, COM[None], FORCE[None], STILL, UP),
    )
    assert name_edges(FEET) == name_edges(FEET, (1.0, 0.0, 0.0), UP)
    assert support_order(FEET).tolist() == support_order(FEET, UP).tolist()


def test_the_shares_of_a_batch_are_those_of_its_states_and_opposite_sides_add_up_to_one():
    loads, feet = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 1.0, 1.0, 1.0]]), FEET + np.array([10.0, -20.0, 30.0])
    batch = load_share(feet, loads)
    for k, load in enumerate(loads):
        one = load_share(feet, load)
        for name in one._fields:
            np.testing.assert_array_equal(getattr(batch, name)[k], getattr(one, name))
    assert batch.front + batch.rear == pytest.approx([1.0, 1.0])
    assert batch.left + batch.right == pytest.approx([1.0, 1.0])
    assert batch.front == pytest.approx([0.3, 0.75])
    assert batch.left == pytest.approx([0.5, 0.25])


@pytest.mark.parametrize(
    'vector', [(0.0, 0.0, 0.0), (np.inf, 0.0, 0.0), (np.nan, 0.0, 1.0), (1.0, 0.0), (1.0, 0.0, 0.0, 0.0)]
)
def test_an_invalid_direction_is_rejected(vector):
    with pytest.raises(ValueError, match='up: expected a finite vector of 3 numbers that is not zero'):
        unit_vector(vector, 'up')


def test_a_direction_of_any_length_is_scaled():
    assert unit_vector((0.0, -0.003, 0.004), 'up') == pytest.approx([0.0, -0.6, 0.8])


@pytest.mark.parametrize('up', [UP, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.2, -0.3, 2.0), (-0.5, -0.4, -0.1)])
def test_the_horizontal_axes_are_right_handed_with_up(up):
    first, second = horizontal_axes(up)
    axes = np.array([first, second, unit_vector(up, 'up')])
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_a_repeated_point_is_one_corner():
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [2.5, 1.0], [2.0, 2.0], [0.0, 2.0], [-0.5, 1.0]])
    points = np.column_stack([np.repeat(corners, 3, axis=0), np.zeros(18)])
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(points)
        hull = mixed[support_order(mixed)]
        assert len(hull) == 6
        assert {tuple(point[:2]) for point in hull} == {tuple(corner) for corner in corners}


LOADS = np.array([1.0, 2.0, 3.0, 4.0])
INPUTS = {
    zmp_degree: {'feet': FEET, 'com': COM, 'force': FORCE, 'moment': np.array([0.1, 0.2, 0.3])},
    net_moment: {'feet': FEET, 'com': COM, 'force': FORCE, 'moment': np.array([0.1, 0.2, 0.3])},
    force_angle: {'feet': FEET, 'com': COM, 'force': FORCE, 'moment': np.array([0.1, 0.2, 0.3])},
    extended_energy_level: {'feet': FEET, 'com': COM, 'force': FORCE, 'moment': np.array([0.1, 0.2, 0.3])},
    static_margin: {'feet': FEET, 'com': COM, 'up': np.array([0.1, 0.0, 1.0]) / np.hypot(0.1, 1.0)},
    longitudinal_margin: {'feet': FEET, 'com': COM, 'travel': np.array([1.0, 0.2, 0.0])},
    load_share: {'wheels': FEET, 'normal_loads': LOADS, 'travel': np.array([0.1, 1.0, 0.0])},
}


@pytest.mark.parametrize(('measure', 'batched'), [(measure, name) for measure in INPUTS for name in INPUTS[measure]])
def test_one_input_may_be_a_batch_while_the_others_are_shared(measure, batched):
    inputs = INPUTS[measure]
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    other = inputs[batched] @ turned.T if inputs[batched].shape[-1] == 3 and batched != 'up' else inputs[batched][::-1]
    other = np.array(UP) if batched == 'up' else other
    states = [inputs[batched], other, inputs[batched], other, other]  # more than a vector has numbers
    batch = measure(**{**inputs, batched: np.array(states)})
    for k, state in enumerate(states):
        one = measure(**{**inputs, batched: state})
        for name in one._fields:
            np.testing.assert_allclose(getattr(batch, name)[k], getattr(one, name), rtol=1e-12, err_msg=name)
