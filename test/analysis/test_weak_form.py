"""Windows, interpolation, spools and least squares, each against a closed form."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dyn_nodes.analysis.least_squares import solve
from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.analysis.oil_shooting import Shooting
from dyn_nodes.analysis.spool_motion import SpoolMotion
from dyn_nodes.analysis.weak_form import covered, held, interpolated, windows
from dyn_nodes.model.hydraulic import Valve

VALVE = Valve(1e-2, 6e-3, 1e-4, 6e-3, 5e-4, 0.08, 1e-3, 8.0, 1e-2)


def test_the_rate_of_a_window_is_the_mean_of_the_derivative():
    grid = windows(0.0, 4.0, 5e-3, 0.3, 0.1)
    values = np.column_stack([np.sin(3.0 * grid.times), grid.times**2])
    rates = np.column_stack([3.0 * np.cos(3.0 * grid.times), 2.0 * grid.times])
    np.testing.assert_allclose(grid.rate(values), grid.mean(rates), atol=2e-6)
    np.testing.assert_allclose(grid.mean(np.ones_like(grid.times)), 1.0)
    np.testing.assert_allclose(grid.mean(grid.times), grid.centers, atol=1e-12)


def test_gaps_of_a_signal_are_detected_and_commands_are_held():
    times = np.concatenate([np.arange(0.0, 1.0, 0.01), np.arange(2.0, 3.0, 0.01)])
    samples = Samples(times, np.sin(times)[:, None])
    at = np.array([0.005, 0.5, 1.5, 2.5])
    assert covered(samples, at, 0.1).tolist() == [True, True, False, True]
    np.testing.assert_allclose(interpolated(samples, at[[0, 1, 3]])[:, 0], np.sin(at[[0, 1, 3]]), atol=1e-8)
    steps = Samples(np.array([1.0, 2.0]), np.array([[3.0], [-1.0]]))
    assert held(steps, np.array([0.5, 1.0, 1.9, 2.0, 9.0]))[:, 0].tolist() == [0.0, 3.0, 3.0, -1.0, -1.0]


def test_the_spool_follows_late_and_with_a_lag():
    commands = Samples(np.array([0.0, 1.0, 1.3]), np.array([[4.0], [-20.0], [-20.0]]))
    motion = SpoolMotion(VALVE, commands)
    times = np.array([0.05, 0.2, 1.2, 3.0])
    spool, by_dead_time = motion.at(times, 0.1, 0.08)
    first = 4e-3 * (1.0 - np.exp(-0.1 / 0.08))
    assert spool[:2] == pytest.approx([0.0, first])
    before = 4e-3 * (1.0 - np.exp(-1.0 / 0.08))
    assert spool[2] == pytest.approx(-8e-3 + (before + 8e-3) * np.exp(-0.1 / 0.08))  # clipped to 8 V
    assert spool[3] == pytest.approx(-8e-3)
    later, _ = motion.at(times, 0.1 + 1e-6, 0.08)
    np.testing.assert_allclose((later - spool)[1:] / 1e-6, by_dead_time[1:], rtol=1e-4, atol=1e-9)


def test_intervals_hold_for_residuals_that_last():
    """White noise, and noise correlated over half a second at 100 Hz: 95 % of the intervals contain the true value."""
    rng, truth = np.random.default_rng(3), np.array([2.0, -1.0, 0.5])
    times = np.arange(0.0, 60.0, 0.01)
    blocks = np.floor(times / 3.0).astype(np.intp)
    hits = []
    for case in range(150):
        rows = np.column_stack([np.ones_like(times), *np.cumsum(rng.normal(size=(2, len(times))), axis=1) * 0.01])
        white = rng.normal(size=len(times) + 99)
        noise = np.convolve(white, np.ones(50) / np.sqrt(50.0), 'valid')[: len(times)] if case % 2 else white[50:-49]
        estimate = solve(rows, rows @ truth + noise, blocks)
        hits.append(np.abs(estimate.values - truth) <= estimate.half_widths)
    assert 0.92 <= np.mean(hits) <= 0.985


def test_prior_knowledge_is_weighted_by_its_deviation():
    """One row of noise 1 with a prior mean of deviation 1: the mean of both, with their combined deviation."""
    rows = np.ones((400, 1))
    right = np.random.default_rng(4).normal(size=400) * 20.0
    estimate = solve(rows / 20.0, right / 20.0, np.arange(400) // 10, np.array([1.0]), np.array([10.0]))
    assert estimate.values[0] == pytest.approx((right.mean() + 10.0) / 2.0, abs=0.02)
    assert estimate.errors[0] == pytest.approx(np.sqrt(0.5), rel=0.2)
    nothing = solve(np.zeros((400, 1)), right, np.arange(400) // 10, np.array([3.0]), np.array([7.0]))
    assert nothing.values[0] == pytest.approx(7.0)
    assert nothing.errors[0] == pytest.approx(3.0)


def jackknife(rows, right, blocks):
    """Return the covariance (k, k) of Wu (1986) over blocks: (g - 1)/g times the sum of the squared moves."""
    whole = np.linalg.lstsq(rows, right, rcond=None)[0]
    names = np.unique(blocks)
    moves = [np.linalg.lstsq(rows[blocks != block], right[blocks != block], rcond=None)[0] - whole for block in names]
    return (len(names) - 1) / len(names) * sum(np.outer(move, move) for move in moves)


@pytest.mark.parametrize('count', [3, 12, 40])
def test_the_covariance_is_that_of_solutions_without_each_block(count):
    """Blocks of different sizes; the degrees of freedom are one less than the number of blocks."""
    rng = np.random.default_rng(count)
    blocks = np.repeat(np.arange(count), rng.integers(5, 12, count))
    rows = rng.normal(size=(len(blocks), 2)) * [1.0, 1e3]
    right = rows @ [2.0, -1e-3] + rng.normal(size=count)[blocks]
    estimate = solve(rows, right, blocks)
    assert estimate.covariance == pytest.approx(jackknife(rows, right, blocks), rel=1e-9)
    assert estimate.freedom == count - 1


def test_the_mean_of_blocks_has_its_standard_error():
    """For equal blocks: exactly the deviation of their means over the root of their number."""
    blocks = np.arange(40) // 8
    right = np.random.default_rng(6).normal(size=40)
    estimate = solve(np.ones((40, 1)), right, blocks)
    means = right.reshape(5, 8).mean(axis=1)
    assert estimate.errors[0] == pytest.approx(means.std(ddof=1) / np.sqrt(5.0), rel=1e-12)
    assert estimate.half_widths[0] == pytest.approx(
        2.7764451 * estimate.errors[0], rel=1e-8
    )  # t of 4 degrees of freedom


def test_stretches_of_a_shooting_count_as_one_observation_each():
    """One unknown, the mean: exactly the deviation of the means of the intervals over the root of their number."""
    stretches = np.arange(40) // 8
    right = np.random.default_rng(6).normal(size=40)
    problem = SimpleNamespace(
        jacobian=lambda unknowns: np.ones((40, 1)),
        residuals=lambda unknowns: right - unknowns[0],
        rows_of=stretches,
        stretches=range(5),
    )
    covariance = Shooting.covariance(problem, np.array([right.mean()]))
    assert covariance == pytest.approx(np.array([[right.reshape(5, 8).mean(axis=1).var(ddof=1) / 5.0]]), rel=1e-12)
