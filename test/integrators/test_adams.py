"""The Adams method of variable order: exact formulas, kinks of inputs, samples, evaluations, other integrators."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.integrate import quad, solve_ivp

from dyn_nodes.compile import build_module, integrators
from dyn_nodes.compile.integrators import adams, codes_of, run_adams

KNOTS, TABLE = np.zeros(1), np.zeros((1, 1))


@pytest.fixture(scope='module')
def clock():
    """Return a system with the integral of the input, the time, and a pendulum whose gravity is the input."""

    def make():
        x, u, p = ca.SX.sym('x', 4), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
        rhs = ca.vertcat(u, 1, x[3], -p * (1 + u) * ca.sin(x[2]))
        return {'rhs': ca.Function('rhs', [x, u, p], [rhs])}, {}

    return build_module('clock and pendulum', ['clock and pendulum'], make)


def run(module, times, knots=KNOTS, table=TABLE, tolerance=1e-8, p=9.0):
    x, trace = np.array([0.0, 0.0, 1.0, 0.0]), np.full((len(times), 4), np.nan)
    status, reached, accepted, rejected = run_adams(
        codes_of(module), x, np.asarray(times, float), knots, table, np.array([p]), -2.0, tolerance,
        np.full(4, tolerance), 1e-2, 1e-12, trace,
    )  # fmt: skip
    assert (status, reached) == (integrators.DONE, len(times))
    np.testing.assert_array_equal(trace[-1], x)
    return trace, accepted, rejected


def pendulum(times, force=lambda t: 0.0, p=9.0, breaks=()):
    """Return the states of the pendulum by SciPy, stretch by stretch between the breaks."""
    x, states = np.array([1.0, 0.0]), []
    edges = [times[0], *breaks, times[-1]]
    for since, until in pairwise(edges):
        inside = [t for t in times if since <= t < until or t == until == times[-1]]
        at = inside if until in inside else [*inside, until]
        solution = solve_ivp(
            lambda t, y: [y[1], -p * (1 + force(t)) * np.sin(y[0])], (since, until), x, 'DOP853', at,
            rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        states += list(solution.y.T[: len(inside)])
        x = solution.y[:, -1]
    return np.array(states)


@pytest.mark.parametrize('order', [1, 2, 5, 12])
def test_a_polynomial_of_the_order_is_predicted_and_corrected_exactly_over_uneven_steps(order):
    rng = np.random.default_rng(order)
    past = -np.concatenate([[0.0], np.cumsum(rng.uniform(0.05, 0.15, order + 2))])
    h, coefficients = 0.08, rng.standard_normal(order)
    psi, w, g = np.zeros(adams.SIZE), np.zeros(adams.SIZE), np.zeros(adams.SIZE)
    psi[: len(past)] = -past
    phi = [1.0 * polynomial.polyval(past, coefficients)]
    for j in range(1, order):
        quotient = (phi[-1][:-1] - phi[-1][1:]) / (psi[j : len(past)] - psi[: len(past) - j])
        phi.append(quotient)
    newest = np.array([column[0] * np.prod(psi[1 : j + 1]) for j, column in enumerate(phi)])
    adams.basis_integrals(psi, h, 0.0, order - 1, w)
    exact = quad(lambda t: polynomial.polyval(t, coefficients), 0, h, epsabs=1e-13)[0] / h
    assert w[:order] @ newest == pytest.approx(exact, rel=1e-9)
    adams.basis_integrals(psi, h, h, order, g)
    ends = np.concatenate([[h], past])
    basis = [np.prod([(0.3 * h - t) / (h - t) for t in ends[1 : j + 1]]) for j in range(order + 1)]
    assert basis[0] == g[0] == 1.0
    for j in range(1, order + 1):
        mean = quad(lambda s, j=j: np.prod([(s - t) / (h - t) for t in past[:j]]), 0, h, epsabs=1e-13)[0] / h
        assert g[j] == pytest.approx(mean, rel=1e-9)


def test_samples_between_steps_are_as_accurate_as_steps(clock):
    times = np.linspace(0.0, 5.0, 501)
    trace, accepted, rejected = run(clock, times, tolerance=1e-9)
    assert trace[:, 2:] == pytest.approx(pendulum(times), abs=1e-6)
    assert trace[:, 1] == pytest.approx(times, abs=1e-12)
    few = run(clock, [0.0, 5.0], tolerance=1e-9)
    np.testing.assert_array_equal(few[0][-1], trace[-1])
    assert few[1:] == (accepted, rejected)


def test_a_step_ends_at_every_kink_of_the_inputs_and_nowhere_else(clock):
    knots, table = np.array([0.5, 1.0, 1.5, 2.0, 3.0]), np.array([[0.0], [1.0], [2.0], [0.5], [0.5]])
    times = np.linspace(0.0, 4.0, 41)

    def force(t):
        return np.interp(t, knots, table[:, 0])

    trace, accepted, rejected = run(clock, times, knots, table)
    expected = pendulum(times, force, breaks=(0.5, 1.5, 2.0))
    assert trace[:, 2:] == pytest.approx(expected, abs=1e-6)
    integral = [quad(force, 0, t, points=[0.5, 1.0, 1.5, 2.0], epsabs=1e-12)[0] for t in times]
    assert trace[:, 0] == pytest.approx(integral, abs=1e-7)
    assert rejected < 0.1 * accepted
    straight = np.array([0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0])
    again = run(clock, times, straight, np.interp(straight, knots, table[:, 0])[:, np.newaxis])
    assert abs(again[1] - accepted) <= 0.05 * accepted


def test_evaluations_are_counted(clock):
    calls = integrators.evaluations('adams', 100, 7)
    assert calls == 1 + 2 * 100 + 7
    trace, accepted, rejected = run(clock, [0.0, 5.0], tolerance=1e-8)
    count = integrators.evaluations('adams', accepted, rejected)
    x, work = np.array([0.0, 0.0, 1.0, 0.0]), np.empty((2, 4))
    _, _, accepted, rejected = integrators.run_dopri5(
        codes_of(clock), x, np.array([0.0, 5.0]), KNOTS, TABLE, np.array([9.0]), -2.0, 1e-8, np.full(4, 1e-8), 1e-2,
        1e-12, work,
    )  # fmt: skip
    assert count < 0.6 * integrators.evaluations('dopri5', accepted, rejected)
    exact = pendulum([0.0, 5.0])[-1]
    assert np.abs(trace[-1, 2:] - exact).max() < 1e-6


def test_a_run_backwards_or_without_tolerances_is_rejected(clock):
    with pytest.raises(ValueError, match='an absolute tolerance a state'):
        run_adams(codes_of(clock), np.zeros(4), np.zeros(1), KNOTS, TABLE, np.ones(1), -2.0, 1e-6, np.ones(3), 1e-2,
                  1e-12, np.zeros((1, 4)))  # fmt: skip


def test_a_rate_that_is_not_a_number_ends_the_run(clock):
    trace = np.full((2, 4), np.nan)
    status, reached, *_ = run_adams(
        codes_of(clock), np.array([0.0, 0.0, np.nan, 0.0]), np.array([0.0, 1.0]), KNOTS, TABLE, np.ones(1), -2.0, 1e-6,
        np.full(4, 1e-6), 1e-2, 1e-12, trace,
    )  # fmt: skip
    assert integrators.STATUS[status] == 'step too small'
    assert reached == 1
