"""Vector kernels in single precision: functions, every operation, guard zones, and rejected tapes."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from every_operation import OPERATIONS, X, Y, Z
from numba import njit

from dyn_nodes.compile import compile_functions, emit
from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.lanes import interleaved, lane_count, separated
from dyn_nodes.compile.module import lane_module
from dyn_nodes.compile.tape import Tape

WIDTHS = sorted({4, 2 * lane_count()})
FAR = 2.0**8 * np.pi / 2
LOOSE = [list(OPERATIONS).index(ca.OP_ACOSH)]
"""Tolerance near 1, where X * X was added: half of the digits."""
FIRM = [k for k, op in enumerate(OPERATIONS) if op not in (ca.OP_ACOSH, ca.OP_FMOD)]
"""Operations without the remainder, which may differ by a divisor."""


@njit
def call(code, x, y):
    """Call a kernel of one input and one output; return its status."""
    return call_code(code, x, y)


def rows_of(module, name, rows, size, lanes):
    """Return the results (lanes, size) of a kernel in single precision for rows (lanes, n)."""
    result = np.empty(size * lanes, np.float32)
    assert call(module.code(name), interleaved(rows.astype(np.float32), lanes), result) == 0
    return separated(result, lanes)


@pytest.fixture(scope='module', params=WIDTHS)
def turned(request):
    graph = ca.vertcat(ca.sin(X), ca.cos(X))
    module = compile_functions('single angles', {'turned': ca.Function('turned', [X], [graph])})
    return lane_module(module, ('turned',), request.param, single=True), request.param


def test_sine_and_cosine_are_within_a_unit_in_the_last_place(turned):
    module, lanes = turned
    rng = np.random.default_rng(3)
    quarters = rng.integers(-255, 256, 10_000) * (np.pi / 2)
    sizes = 10.0 ** rng.uniform(-12, np.log10(FAR), 10_000) * rng.choice([-1.0, 1.0], 10_000)
    angles = np.concatenate([quarters, rng.uniform(-4.0, 4.0, 10_000), sizes]).astype(np.float32)
    angles = angles[: len(angles) // lanes * lanes].reshape(-1, lanes, 1)
    result = np.array([rows_of(module, 'turned', rows, 2, lanes) for rows in angles])
    for k, function in enumerate((np.sin, np.cos)):
        exact = function(angles[:, :, 0].astype(np.float64))
        off = np.abs(result[:, :, k] - exact) / np.spacing(np.abs(exact).astype(np.float32))
        assert off.max() < 1.0


def test_sine_and_cosine_of_large_angles_equal_the_library(turned):
    module, lanes = turned
    angles = np.resize(np.array([1e30, 0.5, 3e4, np.inf, np.nan, -1e6], np.float32), lanes)
    result = rows_of(module, 'turned', angles[:, None], 2, lanes)
    with np.errstate(invalid='ignore'):
        expected = np.stack([np.sin(angles.astype(float)), np.cos(angles.astype(float))], axis=1)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=6e-8)


@pytest.fixture(scope='module')
def every_operation():
    law = ca.Function('law', [ca.vertcat(X, Y, Z)], [ca.densify(ca.vertcat(*map(ca.SX, OPERATIONS.values())))])
    module = compile_functions('single operations', {'law': law})
    return module, {lanes: lane_module(module, ('law',), lanes, single=True) for lanes in WIDTHS}


def test_every_operation_equals_double_precision_rounded(every_operation):
    scalar, vectors = every_operation
    rng, count = np.random.default_rng(5), len(OPERATIONS)
    for lanes, vector in vectors.items():
        for _ in range(100):
            rows = (rng.normal(size=(lanes, 3)) * 3.0).astype(np.float32)
            expected = np.empty((lanes, count))
            for row, output in zip(rows, expected):
                scalar.law(row.astype(np.float64), output)
            result = rows_of(vector, 'law', rows, count, lanes)
            np.testing.assert_allclose(result[:, FIRM], expected[:, FIRM], rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(result[:, LOOSE], expected[:, LOOSE], rtol=1e-5, atol=1e-3)


def test_every_width_gives_the_same_bits(every_operation):
    _, vectors = every_operation
    rows, count = np.random.default_rng(6).normal(size=(WIDTHS[-1], 3)), len(OPERATIONS)
    wide = rows_of(vectors[WIDTHS[-1]], 'law', rows, count, WIDTHS[-1])
    for first in range(0, WIDTHS[-1], 4):
        result = rows_of(vectors[4], 'law', rows[first : first + 4], count, 4)
        np.testing.assert_array_equal(result, wide[first : first + 4])


def test_a_vector_of_another_length_is_rejected_by_the_status(every_operation):
    _, vectors = every_operation
    result = np.zeros(3, np.float32)
    assert call(vectors[4].code('law'), np.zeros(12, np.float32), result) > 0
    assert not result.any()


@pytest.mark.parametrize('number', [1e-300, 1e300])
def test_a_number_outside_single_precision_is_rejected(number):
    module = compile_functions('single numbers', {'law': ca.Function('law', [X], [X + number])})
    with pytest.raises(ValueError, match=re.escape(f'expected numbers of its range, found {number:g}')):
        lane_module(module, ('law',), 4, single=True)


def test_guard_zones_detect_writes_outside(monkeypatch):
    monkeypatch.setenv('DYN_NODES_GUARD', '1')
    law = {'law': ca.Function('law', [X], [ca.vertcat(X + 1.0, ca.sin(X))])}
    sound = lane_module(compile_functions('single zones', law), ('law',), 4, single=True)
    result = np.empty(8, np.float32)
    assert call(sound.code('law'), np.full(4, 0.5, np.float32), result) == 0
    np.testing.assert_allclose(result.reshape(2, 4), np.tile([[1.5], [np.sin(0.5)]], 4), rtol=1e-7)

    monkeypatch.setattr(Tape, '__post_init__', lambda self: None)  # it would reject the tape
    monkeypatch.setattr(emit, '_structural_zeros', lambda _: ())
    load = Tape.load

    def damaged(path):
        tape = load(path)
        tape.results[1, 1] = 2  # one behind the end of the output
        return tape

    monkeypatch.setattr(Tape, 'load', damaged)
    law = {'law': ca.Function('law', [X], [ca.vertcat(X + 2.0, ca.cos(X))])}
    wrong = lane_module(compile_functions('single zones, damaged', law), ('law',), 4, single=True)
    assert call(wrong.code('law'), np.zeros(4, np.float32), result) < 0
