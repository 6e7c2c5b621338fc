"""C functions with bound arrays of a system, and runs that end when a kernel has no value."""

from __future__ import annotations

import numpy as np
import pytest
from numba import carray, cfunc, types

from dyn_nodes.compile.code import POINTER, STOPPED, BoundCode, call_code
from dyn_nodes.compile.integrators import run_dopri5, run_rk4, run_rk4_watched
from dyn_nodes.compile.integrators.classical import CLASSICAL, classical_code
from dyn_nodes.compile.integrators.codes import STEP

GROWTH = 2.0


@cfunc(types.intp(*[POINTER, types.intp] * 5))
def grow(scale, scales, x, nx, u, nu, p, parameters, out, size):
    """Return the system dx/dt = scale x up to a greatest state p, without a rate beyond it."""
    if carray(x, nx)[0] > carray(p, parameters)[0]:
        return STOPPED - 8 * nu
    carray(out, size)[0] = carray(scale, scales)[0] * carray(x, nx)[0]
    return 0


@pytest.fixture
def codes():
    bound = BoundCode(grow, (np.array([GROWTH]),), 4)
    yield np.array([bound.address, *[0] * (STEP - 1), classical_code().address, CLASSICAL])
    assert bound.address


def test_a_bound_function_has_its_arrays_and_takes_the_rest(codes):
    scale, out = np.array([3.0, 1.0]), np.zeros(1)
    bound = BoundCode(grow, (scale,), 4)
    x, u, p = np.array([2.0]), np.zeros(1), np.array([5.0])
    assert call_code_from_python(bound.address, x, u, p, out) == 0
    assert out[0] == 6.0
    scale[0] = 4.0
    assert call_code_from_python(bound.address, x, u, p, out) == 0
    assert out[0] == 8.0
    with pytest.raises(ValueError, match='contiguous'):
        BoundCode(grow, (np.zeros((4, 4))[:, 0],), 4)


def call_code_from_python(address, *arrays):
    from numba import njit

    return njit(lambda address, x, u, p, out: call_code(address, x, u, p, out))(address, *arrays)


@pytest.mark.parametrize('run', ['rk4', 'watched', 'dopri5'])
def test_a_run_ends_at_the_last_instant_with_a_rate(codes, run):
    """exp(2 t) = 5, within a step; the state is the last one with a rate, the status comes from the kernel."""
    x, p, knots, table = np.ones(1), np.array([5.0]), np.zeros(1), np.zeros((1, 1))
    trace = np.zeros((11, 1))
    fixed = (codes, x, 0.0, 0.01, 100, knots, table, p, 0.0, 10, trace)
    if run == 'rk4':
        status, steps = run_rk4(*fixed)
    elif run == 'watched':
        status, steps, _ = run_rk4_watched(*fixed, np.ones(0, np.bool_), np.zeros((1, 4)))
    else:
        status, _, accepted, rejected = run_dopri5(
            codes, x, np.linspace(0.0, 1.0, 11), knots, table, p, 0.0, 1e-9, np.full(1, 1e-9), 0.01, 1e-12, trace
        )
        steps, _ = 80, accepted + rejected
    assert status == STOPPED - 8
    assert steps == 80
    assert x[0] == pytest.approx(5.0, abs=1e-9)
    assert x[0] <= 5.0
    assert trace[8, 0] == pytest.approx(np.exp(GROWTH * 0.8), rel=1e-7)
    assert trace[9, 0] == 0.0


def test_a_run_without_the_address_of_a_step_is_rejected(codes):
    codes[STEP] = 0
    with pytest.raises(ValueError, match='the address of a step'):
        run_rk4(codes, np.ones(1), 0.0, 0.01, 1, np.zeros(1), np.zeros((1, 1)), np.ones(1), 0.0, 1, np.zeros((2, 1)))
