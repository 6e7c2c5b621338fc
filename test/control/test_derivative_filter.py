"""The derivative filter: exact on its model, consistent with its covariance, robust in time."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.derivative_filter import DerivativeFilter


def tracker(density=0.1, deviations=(3e-5, 1e-3), **options):
    return DerivativeFilter(3, density, deviations, (1.0, 1.0, 1.0), **options)


def test_constant_acceleration_is_followed_without_lag_at_uneven_times():
    rng = np.random.default_rng(2)
    filtered = tracker()
    time = 0.0
    for _ in range(400):
        time += rng.uniform(0.002, 0.02)
        position = np.array([0.3 + 0.2 * time - 0.4 * time**2, 1.0 - time])
        x = filtered.update(time, position, None)
    assert x[0] == pytest.approx(position, abs=1e-9)
    assert x[1] == pytest.approx([0.2 - 0.8 * time, -1.0], abs=1e-7)
    assert x[2] == pytest.approx([-0.8, 0.0], abs=1e-6)


@pytest.mark.parametrize('with_velocity', [True, False])
def test_its_covariance_equals_that_of_its_errors(with_velocity):
    """A motion of exactly the modelled kind, 400 joints: the scatter of the errors is that of the covariance."""
    rng = np.random.default_rng(3)
    n, step, density, deviations = 400, 0.005, 0.5, (3e-5, 1e-3)
    filtered = tracker(density, deviations)
    F = np.array([[1.0, step, step**2 / 2], [0.0, 1.0, step], [0.0, 0.0, 1.0]])
    s = [step**k / f for k, f in ((5, 20), (4, 8), (3, 6), (3, 3), (2, 2), (1, 1))]
    Q = density * np.array([[s[0], s[1], s[2]], [s[1], s[3], s[4]], [s[2], s[4], s[5]]])
    root = np.linalg.cholesky(Q)
    states = np.zeros((3, n))
    for k in range(300):
        if k:
            states = F @ states + root @ rng.normal(size=(3, n))
        position = states[0] + rng.normal(0.0, deviations[0], n)
        velocity = states[1] + rng.normal(0.0, deviations[1], n) if with_velocity else None
        x = filtered.update(k * step, position, velocity)
    claimed = np.sqrt(np.diag(filtered.covariance))
    assert (x - states).std(axis=1) == pytest.approx(claimed, rel=0.15)


def test_measured_velocities_make_the_acceleration_quieter():
    spread = []
    for with_velocity in (False, True):
        filtered = tracker()
        for k in range(500):
            zeros = np.zeros(1)
            filtered.update(0.005 * k, zeros, zeros if with_velocity else None)
        spread.append(filtered.covariance[2, 2])
    assert spread[1] < 0.8 * spread[0]


@pytest.mark.parametrize('later', [0.99, 1.0 - 1e-9, 5.0])
def test_it_restarts_after_a_gap_or_if_time_does_not_increase(later):
    filtered = tracker(gap=0.2)
    for k in range(101):
        filtered.update(0.01 * k, np.array([0.01 * k]), None)
    assert filtered.x[1] == pytest.approx([1.0], abs=1e-3)
    x = filtered.update(later, np.array([7.0]), None)
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
def test_invalid_settings_are_rejected(wrong):
    with pytest.raises(ValueError, match='expected'):
        DerivativeFilter(**{'density': 1.0, **wrong})


def test_a_filter_with_a_gate_follows_a_jump_of_the_acceleration_at_once():
    """A step of 5 rad/s2: without a gate the filter needs ten samples of 5 ms to follow half of it."""
    rng = np.random.default_rng(3)
    accelerations = []
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
                accelerations.append(float(state[2, 0]))
        rng = np.random.default_rng(3)
    assert abs(quiet) < 0.3
    assert accelerations[0] < 1.5
    assert accelerations[1] == pytest.approx(5.0, abs=0.5)


def plain_step(x, P, step, density, measured, variances):
    """Return a step of the Kalman filter of three states in matrices, all measurements at once."""
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
    """Random measurements at uneven times; at times one of the two is missing."""
    rng = np.random.default_rng(5)
    deviations = 0.02, 0.1
    filtered = tracker(0.5, deviations)
    filtered.update(0.0, rng.normal(size=4), rng.normal(size=4))
    x, P, time = filtered.x, filtered.covariance, 0.0
    for turn in range(60):
        step = rng.uniform(0.005, 0.1)
        time += step
        measured = [rng.normal(size=4), rng.normal(size=4)]
        if turn % 3:
            measured[turn % 3 - 1] = None
        earlier, kept = filtered.x, filtered.x.copy()
        x, P = plain_step(x, P, step, 0.5, measured, np.square(deviations))
        filtered.update(time, *measured)
        np.testing.assert_allclose(filtered.x, x, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(filtered.covariance, P, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(earlier, kept)  # returned estimates do not change


def test_another_number_of_quantities_is_rejected_after_the_start():
    filtered = tracker()
    filtered.update(0.0, np.zeros(3), None)
    with pytest.raises(ValueError, match='expected 3 quantities, found 2'):
        filtered.update(0.01, np.zeros(2), None)
    filtered.clear()
    assert filtered.update(0.0, np.ones(2), None).shape == (3, 2)
