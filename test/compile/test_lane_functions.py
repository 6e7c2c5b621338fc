"""Vector kernels: errors of their functions, and every operation against the scalar kernel, lane by lane."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from every_operation import EXPRESSIONS, X, Y, Z

from dyn_nodes.compile import compile_functions
from dyn_nodes.compile.lanes import interleaved, lane_count, separated
from dyn_nodes.compile.module import lane_module

WIDE = np.finfo(np.longdouble).nmant > 60
"""True if this computer has floats wider than double for comparison."""
COUNT = 100_000
GREATEST = 1.0
"""Greatest error, units in the last place."""


@pytest.fixture(scope='module', params=sorted({2, 4, lane_count()}))
def functions(request):
    """Return the four functions as vector kernels."""
    graphs = {name: getattr(ca, name)(X) for name in ('sin', 'cos', 'exp', 'log')}
    kernels = {name: ca.Function(name, [X], [graph]) for name, graph in graphs.items()}
    module = compile_functions('functions of lanes', kernels)
    return lane_module(module, tuple(kernels), request.param), request.param


def values(functions, name, x):
    module, lanes = functions
    kernel, result = getattr(module, name), np.empty(len(x))
    assert len(x) % lanes == 0
    for k in range(0, len(x), lanes):
        kernel(x[k : k + lanes], result[k : k + lanes])
    return result


def off(actual, x, function):
    """Return errors in units in the last place of the result."""
    exact = function(x.astype(np.longdouble))
    return np.abs((actual.astype(np.longdouble) - exact) / np.spacing(np.abs(exact.astype(np.float64)))).astype(float)


def arguments(name):
    rng = np.random.default_rng(3)
    if name == 'exp':
        return rng.uniform(-708.0, 709.7, COUNT)
    if name == 'log':
        near = 1.0 + rng.normal(size=COUNT // 4) * 1e-3
        return np.concatenate([near, rng.uniform(0.0, 4.0, COUNT // 4), 10.0 ** rng.uniform(-320, 308, COUNT // 2)])
    quarters = rng.integers(-(2**20), 2**20, COUNT // 4) * (np.pi / 2)
    sizes = 10.0 ** rng.uniform(-12, np.log10(1.64e6), COUNT // 2) * rng.choice([-1.0, 1.0], COUNT // 2)
    return np.concatenate([quarters, rng.uniform(-4.0, 4.0, COUNT // 4), sizes])


@pytest.mark.skipif(not WIDE, reason='no wider floats here')
@pytest.mark.parametrize('name', ['sin', 'cos', 'exp', 'log'])
def test_functions_of_lanes_are_within_a_unit_in_the_last_place(functions, name):
    x = arguments(name)
    assert off(values(functions, name, x), x, getattr(np, name)).max() < GREATEST


def test_functions_of_lanes_at_the_limits_of_their_domains_and_beyond(functions):
    x = np.array([0.0, np.inf, np.nan, -np.inf, -1.0, 5e-324, 1.0, -0.0])
    with np.errstate(all='ignore'):
        assert np.array_equal(values(functions, 'log', x), np.log(x), equal_nan=True)
    x = np.array([-np.inf, np.inf, np.nan, 0.0, -746.0, 710.0, -1e300, 1e300])
    with np.errstate(all='ignore'):
        assert np.array_equal(values(functions, 'exp', x), np.exp(x), equal_nan=True)
    x = np.array(
        [-745.0, -740.0, -720.0, -709.0, -744.4, -730.5, -711.0, -708.5]
    )  # results that are not normal numbers
    assert np.abs(values(functions, 'exp', x) - np.exp(x)).max() <= 1e-323
    x = np.array([1e300, 0.5, np.inf, -0.5, np.nan, 2.0, -np.inf, 1e7])
    with np.errstate(all='ignore'):
        for name, function in (('sin', np.sin), ('cos', np.cos)):
            result, expected = values(functions, name, x), function(x)
            assert np.array_equal(np.isnan(result), np.isnan(expected))
            finite = np.isfinite(expected)
            assert np.abs(result[finite] - expected[finite]).max() <= 2.3e-16


def test_sines_and_cosines_of_a_kernel_with_many_angles_of_any_size():
    """Angles are inputs, results of few or of many operations, and another sine."""
    many = X
    for k in range(12):
        many = many * Y + k
    angles = [X, Y, X - 2.0 * Y, many, 3.0 * ca.sin(X), Z]
    turned = ca.vertcat(*[function(angle) for angle in angles for function in (ca.sin, ca.cos)], *angles)
    lanes, rng = lane_count(), np.random.default_rng(7)
    module = compile_functions('angles of lanes', {'turned': ca.Function('turned', [ca.vertcat(X, Y, Z)], [turned])})
    kernel = lane_module(module, ('turned',), lanes).turned
    for trial in range(60):
        rows = rng.uniform(-1.5, 1.5, (lanes, 3))
        rows[rng.random(rows.shape) < (trial % 3) / 3] *= 10.0 ** rng.integers(3, 300)
        result = np.empty(turned.shape[0] * lanes)
        kernel(interleaved(rows, lanes), result)
        result = separated(result, lanes)
        of = result[:, 2 * len(angles) :]
        finite = np.isfinite(of)
        for k, function in enumerate((np.sin, np.cos)):
            values = result[:, k : 2 * len(angles) : 2]
            np.testing.assert_allclose(values[finite], function(of[finite]), rtol=0.0, atol=2.3e-16)
            assert np.isnan(values[~finite]).all()


@pytest.fixture(scope='module')
def every_operation():
    graphs = [ca.SX(graph) for graph in EXPRESSIONS.values()]
    law = ca.Function('law', [ca.vertcat(X, Y, Z)], [ca.densify(ca.vertcat(*graphs))])
    module = compile_functions('operations of lanes', {'law': law})
    return module, lane_module(module, ('law',), lane_count()), len(graphs)


def test_every_operation_equals_the_scalar_kernel_in_every_lane(every_operation):
    scalar, vector, count = every_operation
    lanes, rng = lane_count(), np.random.default_rng(5)
    special = np.array([0.0, 1.0, -1.0, 0.5, np.nan, np.inf])
    for trial in range(200):
        rows = rng.normal(size=(lanes, 3)) * 3.0
        rows[rng.random(rows.shape) < 0.2 * (trial % 2)] = special[trial % len(special)]
        result, expected = np.empty(count * lanes), np.empty((lanes, count))
        vector.law(interleaved(rows, lanes), result)
        for row, output in zip(rows, expected):
            scalar.law(row.copy(), output)
        np.testing.assert_allclose(separated(result, lanes), expected, rtol=4e-15, atol=1e-300)


def test_a_lane_does_not_depend_on_its_neighbours(every_operation):
    _, vector, count = every_operation
    lanes, rng = lane_count(), np.random.default_rng(6)
    rows = rng.normal(size=(lanes, 3))
    result, moved = np.empty(count * lanes), np.empty(count * lanes)
    vector.law(interleaved(rows, lanes), result)
    others = rng.normal(size=(lanes, 3)) * 1e3
    others[lanes - 1] = rows[0]
    vector.law(interleaved(others, lanes), moved)
    assert np.array_equal(separated(result, lanes)[0], separated(moved, lanes)[lanes - 1])


def test_a_vector_of_another_length_is_rejected(every_operation):
    _, vector, count = every_operation
    with pytest.raises(ValueError, match='expected a vector of'):
        vector.law(np.zeros(3), np.empty(count))
