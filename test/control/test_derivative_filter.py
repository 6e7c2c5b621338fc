"""The filter that differentiates: exact on what it models, consistent with its own covariance, robust in time."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.derivative_filter import DerivativeFilter


def tracker(density=0.1, deviations=(3e-5, 1e-3), **options):
    return DerivativeFilter(3, density, deviations, (1.0, 1.0, 1.0), **options)


def test_constant_acceleration_is_followed_without_lag_at_uneven_times():
    rng = np.random.default_rng(2)
    found = tracker()
    time = 0.0
    for _ in range(400):
        time += rng.uniform(0.002, 0.02)
        position = np.array([0.3 + 0.2 * time - 0.4 * time**2, 1.0 - time])
        x = found.update(time, position, None)
    assert x[0] == pytest.approx(position, abs=1e-9)
    assert x[1] == pytest.approx([0.2 - 0.8 * time, -1.0], abs=1e-7)
    assert x[2] == pytest.approx([-0.8, 0.0], abs=1e-6)


@pytest.mark.parametrize('with_velocity', [True, False])
def test_its_covariance_is_that_of_its_errors(with_velocity):
    """A motion of exactly the modelled kind, 400 joints: the scatter of the errors is what the filter claims."""
    rng = np.random.default_rng(3)
    n, step, density, deviations = 400, 0.005, 0.5, (3e-5, 1e-3)
    found = tracker(density, deviations)
    F = np.array([[1.0, step, step**2 / 2], [0.0, 1.0, step], [0.0, 0.0, 1.0]])
    s = [step**k / f for k, f in ((5, 20), (4, 8), (3, 6), (3, 3), (2, 2), (1, 1))]
    Q = density * np.array([[s[0], s[1], s[2]], [s[1], s[3], s[4]], [s[2], s[4], s[5]]])
    root = np.linalg.cholesky(Q)
    truth = np.zeros((3, n))
    for k in range(300):
        if k:
            truth = F @ truth + root @ rng.normal(size=(3, n))
        position = truth[0] + rng.normal(0.0, deviations[0], n)
        velocity = truth[1] + rng.normal(0.0, deviations[1], n) if with_velocity else None
        x = found.update(k * step, position, velocity)
    claimed = np.sqrt(np.diag(found.covariance))
    assert (x - truth).std(axis=1) == pytest.approx(claimed, rel=0.15)


def test_measured_velocities_make_the_acceleration_quieter():
    spread = []
    for with_velocity in (False, True):
        found = tracker()
        for k in range(500):
            zeros = np.zeros(1)
            found.update(0.005 * k, zeros, zeros if with_velocity else None)
        spread.append(found.covariance[2, 2])
    assert spread[1] < 0.8 * spread[0]


@pytest.mark.parametrize('later', [0.99, 1.0 - 1e-9, 5.0])
def test_after_a_gap_or_time_that_does_not_rise_it_begins_again(later):
    found = tracker(gap=0.2)
    for k in range(101):
        found.update(0.01 * k, np.array([0.01 * k]), None)
    assert found.x[1] == pytest.approx([1.0], abs=1e-3)
    x = found.update(later, np.array([7.0]), None)
    assert x[:, 0] == pytest.approx([7.0, 0.0, 0.0])


@pytest.mark.parametrize(
    'wrong',
    [
        {'states': 0, 'deviations': (1.0,), 'start': ()},
        {'states': 2, 'deviations': (1.0,), 'start': (1.0,)},
        {'states': 2, 'deviations': (0.0,), 'start': (1.0, 1.0)},
        {'states': 2, 'deviations': (1.0, 1.0, 1.0), 'start': (1.0, 1.0)},
        {'states': 2, 'deviations': (1.0,), 'start': (1.0, 1.0), 'density': np.nan},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match='expected'):
        DerivativeFilter(**{'density': 1.0, **wrong})


def test_a_filter_with_a_gate_follows_a_jump_of_the_acceleration_at_once():
    """5 rad/s2 from one moment to the next: without a gate it takes ten samples of 5 ms to see half of it."""
    rng = np.random.default_rng(3)
    found = []
    for gate in (np.inf, 6.0):
        derivative = DerivativeFilter(3, 0.1, (3e-5, 1e-3), (1.0, 0.1, 0.1), gate=gate)
        for k in range(210):
            late = max(0.0, 0.005 * (k - 200))
            position, velocity = 2.5 * late**2 + rng.normal(0.0, 3e-5), 5.0 * late + rng.normal(0.0, 1e-3)
            state = derivative.update(0.005 * k, np.array([position]), np.array([velocity]))
            if k == 199:
                quiet = state[2, 0]
                assert derivative.surprise < 6.0
            if k == 202:
                found.append(float(state[2, 0]))
        rng = np.random.default_rng(3)
    assert abs(quiet) < 0.3
    assert found[0] < 1.5
    assert found[1] == pytest.approx(5.0, abs=0.5)


def plain_step(x, P, step, density, measured, variances):
    """The Kalman filter of three states in matrices, all measurements at once."""
    F = np.array([[1.0, step, step**2 / 2], [0.0, 1.0, step], [0.0, 0.0, 1.0]])
    Q = np.zeros((3, 3))
    for node, weight in zip(*np.polynomial.legendre.leggauss(3), strict=True):  # exact for this integral
        age = 0.5 * step * (1.0 + node)
        response = np.array([age**2 / 2, age, 1.0])
        Q += 0.5 * step * weight * density * np.outer(response, response)
    x, P = F @ x, F @ P @ F.T + Q
    rows = [k for k, values in enumerate(measured) if values is not None]
    H, R = np.eye(3)[rows], np.diag(variances[rows])
    gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
    return x + gain @ (np.array([measured[k] for k in rows]) - H @ x), P - gain @ H @ P


def test_its_kernel_agrees_with_the_filter_in_matrices():
    """Random measurements at uneven times; now and then one of the two is missing."""
    rng = np.random.default_rng(5)
    deviations = 0.02, 0.1
    found = tracker(0.5, deviations)
    found.update(0.0, rng.normal(size=4), rng.normal(size=4))
    x, P, time = found.x, found.covariance, 0.0
    for turn in range(60):
        step = rng.uniform(0.005, 0.1)
        time += step
        measured = [rng.normal(size=4), rng.normal(size=4)]
        if turn % 3:
            measured[turn % 3 - 1] = None
        earlier, kept = found.x, found.x.copy()
        x, P = plain_step(x, P, step, 0.5, measured, np.square(deviations))
        found.update(time, *measured)
        np.testing.assert_allclose(found.x, x, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(found.covariance, P, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(earlier, kept)  # estimates that were given out stay as they were


def test_another_number_of_quantities_is_refused_while_the_filter_follows_some():
    found = tracker()
    found.update(0.0, np.zeros(3), None)
    with pytest.raises(ValueError, match='expected 3 quantities, found 2'):
        found.update(0.01, np.zeros(2), None)
    found.clear()
    assert found.update(0.0, np.ones(2), None).shape == (3, 2)
