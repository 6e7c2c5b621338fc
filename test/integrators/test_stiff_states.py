"""The implicit formula for stiff states with the classical Runge-Kutta method for all others."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.compile import build_module, integrators
from dyn_nodes.compile.integrators import codes_of, run_rk4, run_rk4_watched
from dyn_nodes.compile.integrators.addresses import with_damped_steps, without_stiff
from dyn_nodes.compile.integrators.stiff import IMPLICIT
from dyn_nodes.multibody.elements import ElementState
from dyn_nodes.multibody.stiff_states import newton_correction, stiff_kernel

WEIGHTS = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
NODES = np.array([0.0, 0.5, 0.5, 1.0])
KNOTS, TABLE = np.array([0.0, 4.0]), np.array([[0.3], [2.0]])
BODY = (ElementState('body/position'), ElementState('body/rate'))
LINES = tuple(ElementState(f'line_{k}/pressure', stiff=True) for k in range(2))


def built(name, states, rates_of):
    """Return the module of a system whose states are all states of elements."""
    x, u, p = ca.SX.sym('x', len(states)), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rates = ca.densify(ca.vertcat(*rates_of(x, u, p)))
    stiff, indices = stiff_kernel((x, u, p), rates, states, 0)
    functions = {'rhs': ca.Function('rhs', [x, u, p], [rates]), 'watch': ca.Function('watch', [x, u, p], [x[:2]])}
    return build_module(name, [name], lambda: ({**functions, **stiff}, {'stiff': indices}))


@pytest.fixture(scope='module')
def piston():
    """Return a mass on two lines with leakage to an input, p times as fast as filling; a check valve feeds one line."""

    def rates(x, u, p):
        first, second = x[2], x[3]
        shortage = ca.fmax(-second, 0.0)
        check = p * shortage / ca.sqrt(shortage + 1e-3)
        crossing = 0.2 * p * (first - second)
        push = first - second - ca.sin(x[0]) - 0.1 * x[1]
        return x[1], push, p * (u - first) - x[1] - crossing, 0.5 * x[1] - 0.3 * u * second + check + crossing

    return built('piston between two lines', (*BODY, *LINES), rates)


@pytest.fixture(scope='module')
def drained():
    """Return a line that a piston of constant speed empties until a check valve of slope 1e5 /s opens."""

    def rates(x, u, p):
        shortage = ca.fmax(-x[2], 0.0)
        return x[1], -u, -p * x[1] + 3e3 * shortage / ca.sqrt(shortage + 1e-3)

    return built('line behind a check valve', (*BODY, LINES[0]), rates)


def end_of(module, start, count, parameter, explicit=False, end=4.0, damped=False):
    """Return status and state after equal steps of an integrator."""
    x, codes = np.array(start, dtype=float), codes_of(module)
    if explicit:
        codes = without_stiff(codes)
    if damped:
        codes = with_damped_steps(codes)
    nothing = np.empty((0, len(x)))
    status, _ = run_rk4(codes, x, 0.0, end / count, count, KNOTS, TABLE, np.array([parameter]), -2.0, 0, nothing)
    return status, x


def exact_end(module, start, parameter, end=4.0, method='DOP853'):
    """Return the state by SciPy with the same right-hand side."""

    def rates(t, x):
        rate = np.empty(len(x))
        module.rhs(np.ascontiguousarray(x), np.array([np.interp(t, KNOTS, TABLE[:, 0])]), np.array([parameter]), rate)
        return rate

    return solve_ivp(rates, (0.0, end), start, method=method, rtol=1e-10, atol=1e-12).y[:, -1]


def test_implicit_formula_has_the_nodes_of_the_explicit_one_and_order_three():
    np.testing.assert_allclose(IMPLICIT.sum(axis=1), NODES, atol=1e-15)
    np.testing.assert_array_equal(IMPLICIT[3], WEIGHTS)
    assert pytest.approx(1 / 6) == WEIGHTS @ IMPLICIT @ NODES


@pytest.mark.parametrize(('rate', 'bound'), [(0.1, 0.905), (1.0, 0.38), (10.0, 0.38), (1e3, 0.031), (1e6, 3.1e-5)])
def test_decay_is_followed_without_overshoot(rate, bound):
    growth = 1.0 - rate * WEIGHTS @ np.linalg.solve(np.eye(4) + rate * IMPLICIT, np.ones(4))
    assert np.exp(-rate) - 1e-3 <= growth < bound


def test_a_step_without_stiff_states_equals_the_classical_method(piston):
    start = [0.5, 0.0, 0.4, 0.3]
    np.testing.assert_array_equal(end_of(piston, start, 40, 1.5)[1], end_of(piston, start, 40, 1.5, explicit=True)[1])


@pytest.mark.parametrize('damped', [False, True])
def test_order_of_implicit_steps(piston, damped):
    """Rates of 40 /s and steps of 0.1 to 0.025 s: all steps are implicit."""
    start = [0.5, 0.0, 0.4, 0.3]
    exact = exact_end(piston, start, 30.0)
    errors = [np.abs(end_of(piston, start, count, 30.0, damped=damped)[1] - exact).max() for count in (40, 80, 160)]
    observed = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (observed > 2.7).all()


def test_stiff_states_bound_no_step(piston):
    """Slope 1e5 /s, steps of 0.02 s: 2,000 times its time constant; the classical method diverges at once."""
    start = [0.5, 0.0, 0.4, 0.3]
    assert end_of(piston, start, 200, 1e5, explicit=True)[0] == integrators.DIVERGED
    exact = exact_end(piston, start, 1e5, method='Radau')
    errors = []
    for count in (100, 200, 400):
        status, x = end_of(piston, start, count, 1e5)
        assert status == integrators.DONE
        errors.append(np.abs(x - exact).max())
    assert errors[1] < 1e-4
    assert errors[0] > 3.5 * errors[1] > 12.0 * errors[2]


@pytest.mark.parametrize('count', [7, 16, 61])
def test_a_check_valve_that_opens_within_a_step_catches_the_line(drained, count):
    """The line falls by up to 11 within a step and is held 2e-4 below zero, where its slope is 1e5 /s."""
    start, parameter = [0.0, 20.0, 3.0], 1.0
    exact = exact_end(drained, start, parameter, method='Radau')
    status, x = end_of(drained, start, count, parameter)
    assert status == integrators.DONE
    np.testing.assert_allclose(x[:2], exact[:2], atol=1e-9)
    assert x[2] == pytest.approx(exact[2], abs=5e-4)


def test_a_watched_run_takes_the_same_steps(drained):
    x, table = np.array([0.0, 2.0, 3.0]), np.zeros((4, 4))
    arguments = (0.0, 0.1, 40, KNOTS, TABLE, np.array([1.0]), -2.0, 0, np.empty((0, 3)))
    status, _, count = run_rk4_watched(codes_of(drained), x, *arguments, np.array([False]), table)
    assert status == integrators.DONE
    np.testing.assert_array_equal(x, end_of(drained, [0.0, 2.0, 3.0], 40, 1.0)[1])
    assert count == 1, 'the position becomes positive'


def test_correction_solves_the_coupled_states_with_the_exact_slope():
    """Two coupled lines and one separate line: the result equals a dense solve of all three."""
    x, u, p = ca.SX.sym('x', 4), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rate = ca.vertcat(-(x[1] ** 3) + p * (x[3] - x[1]), u - 5.0 * x[2], 2.0 * p * (x[1] - x[3]))
    kernel = newton_correction((x, u, p), rate, (1, 2, 3), (1.0, 2.0, 3.0))
    state, base, reach = np.array([9.0, 0.5, -1.0, 2.0]), np.array([0.1, 0.2, 0.3]), 0.7
    correction = np.array(kernel(state, np.array([4.0, *base, reach]), 8.0)).ravel()
    values = np.array(ca.Function('f', [x, u, p], [rate])(state, 4.0, 8.0)).ravel()
    slope = np.array(ca.Function('J', [x, u, p], [ca.jacobian(rate, x[1:])])(state, 4.0, 8.0))
    residual = state[1:] - base - reach * values
    np.testing.assert_allclose(correction[3:6], residual, rtol=1e-14)
    np.testing.assert_allclose(correction[:3], np.linalg.solve(np.eye(3) - reach * slope, -residual), rtol=1e-12)
    np.testing.assert_array_equal(correction[6:9], [1.0, 2.0, 3.0])
    assert correction[9] == pytest.approx(np.abs(slope).sum(axis=0).max())
    assert stiff_kernel((x, u, p), rate, BODY, 0) == ({}, [])
