"""Least-effort torques between limits satisfy the optimality conditions, for any drives and weights."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution

SIX_WHEELS = -10.0 * np.array(
    [[0.3, np.cos(g), np.sin(g)] for g in np.deg2rad(90.0 + np.array([90.0, 210.0, 330.0, 30.0, 150.0, 270.0]))]
)


def random_problem(seed: int):
    """Return drives, limits and weights, and a wrench that may or may not be feasible."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    m = int(rng.integers(1, min(n, 6) + 1))
    L = rng.normal(size=(n, m))
    B = rng.normal(size=(n, n))
    W = np.eye(n) if rng.random() < 0.5 else B @ B.T + 0.1 * np.eye(n)
    limit = rng.uniform(0.0, 1.0, n) * (rng.random(n) > 0.15)
    lower = -limit * rng.uniform(0.0, 1.0, n)
    wrench = L.T @ rng.normal(size=n) * rng.choice([0.1, 0.3, 1.0])
    return L, lower, limit, 0.5 * (W + W.T), wrench


@reaches(rejected=8, at_limit=8, free=8)
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_torques_satisfy_the_optimality_conditions_or_the_wrench_is_infeasible(seed):
    L, lower, upper, W, wrench = random_problem(seed)
    drives = TorqueDistribution(L, lower, upper, W)
    fraction = None
    try:
        t = drives(wrench)
    except InfeasibleDemandError as error:
        fraction = error.fraction
    reached('rejected', fraction is not None)
    reached('at_limit', fraction is None and drives.at_limit.any())
    reached('free', fraction is None and not drives.at_limit.any())
    if fraction is not None:
        assert 0.0 <= fraction < 1.0
        drives(fraction * (1 - 1e-6) * wrench)  # this part is feasible
        return
    scale = 1.0 + np.abs(t).max()
    assert L.T @ t == pytest.approx(wrench, abs=1e-8 * scale)
    assert np.all(t >= lower - 1e-9)
    assert np.all(t <= upper + 1e-9)
    side, gradient = drives.at_limit, W @ t
    assert t[side < 0] == pytest.approx(lower[side < 0], abs=1e-12)
    assert t[side > 0] == pytest.approx(upper[side > 0], abs=1e-12)
    # with multipliers of the equations, the rest of the gradient acts against the active limits only
    normals = np.diag(-side.astype(float))[:, side != 0]
    multipliers = np.linalg.lstsq(np.hstack([L, normals]), gradient, rcond=None)[0]
    assert np.hstack([L, normals]) @ multipliers == pytest.approx(gradient, abs=1e-7 * (1 + np.abs(gradient).max()))
    assert np.all(multipliers[L.shape[1] :] >= -1e-7 * (1 + np.abs(gradient).max()))


def test_without_limits_it_is_the_minimum_norm():
    wrench = np.array([0.3, -1.0, 0.5])
    expected = SIX_WHEELS @ np.linalg.solve(SIX_WHEELS.T @ SIX_WHEELS, wrench)
    assert TorqueDistribution(SIX_WHEELS)(wrench) == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_weights_move_effort_to_the_cheap_drives():
    wrench, weights = np.array([0.3, -1.0, 0.5]), np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0])
    W = np.diag(1 / weights)
    expected = W @ SIX_WHEELS @ np.linalg.solve(SIX_WHEELS.T @ W @ SIX_WHEELS, wrench)
    assert TorqueDistribution(SIX_WHEELS, weights=weights)(wrench) == pytest.approx(expected, rel=1e-12)


def test_two_limited_motors_of_six_give_the_table_of_the_source_spec():
    wrench = SIX_WHEELS.T @ [-0.05353777, 0.04002416, 0.00819907, -0.04356719, -0.01174209, 0.04999474]
    limit = np.array([np.inf, 0.01, np.inf, np.inf, np.inf, 0.025])
    drives = TorqueDistribution(SIX_WHEELS, -limit, limit)
    # saha-1991, section 6.6 of its specification, 25 s
    expected = [-0.080544, 0.01, 0.062212, -0.07158, 0.044283, 0.025]
    assert drives(wrench) == pytest.approx(expected, abs=1e-6)
    assert drives.at_limit.tolist() == [0, 1, 0, 0, 0, 1]


def test_a_feathered_motor_has_no_effect():
    wrench, limit = np.array([0.1, -0.4, 0.2]), np.r_[np.full(5, np.inf), 0.0]
    five = TorqueDistribution(SIX_WHEELS[:5])(wrench)
    assert TorqueDistribution(SIX_WHEELS, -limit, limit)(wrench) == pytest.approx(np.r_[five, 0.0], abs=1e-15)


def test_a_demand_beyond_the_limits_is_reported_with_its_feasible_part():
    drives = TorqueDistribution(SIX_WHEELS, -0.01, 0.01, names=['a', 'b', 'c', 'd', 'e', 'f'])
    with pytest.raises(InfeasibleDemandError, match=r'at most 0\.1') as error:
        drives([0.0, 4.0, 0.0])
    # six wheels pull 0.01 N m each along x with |cos| of 1, 1/2, 1/2, 1/2, 1/2, 1 at 0.1 m
    assert error.value.fraction == pytest.approx(0.4 / 4.0)
    assert error.value.binding == tuple('abcdef')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'L': np.ones((4, 3))}, 'rank 1'),
        ({'L': np.full((4, 3), np.nan)}, 'finite matrix'),
        ({'L': SIX_WHEELS, 'lower': 1.0, 'upper': 0.0}, 'drive 1: expected lower limit <= upper'),
        ({'L': SIX_WHEELS, 'upper': np.ones(3)}, 'one upper limit or one per drive'),
        ({'L': SIX_WHEELS, 'upper': np.nan}, 'upper limit'),
        ({'L': SIX_WHEELS, 'weights': -np.ones(6)}, 'positive definite'),
        ({'L': SIX_WHEELS, 'weights': np.ones(5)}, '6 weights'),
        ({'L': SIX_WHEELS, 'names': ['a']}, '6 names'),
    ],
)
def test_a_wrong_problem_is_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        TorqueDistribution(**arguments)


@pytest.mark.parametrize('wrench', [[1.0, 2.0], [0.0, np.nan, 0.0], [np.inf, 0.0, 0.0]])
def test_a_wrong_wrench_is_rejected(wrench):
    with pytest.raises(ValueError, match='finite wrench of 3'):
        TorqueDistribution(SIX_WHEELS)(wrench)
