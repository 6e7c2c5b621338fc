"""Machine code of every operation of the emitter, against the evaluation by CasADi."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from every_operation import EXPRESSIONS, FUNCTION, OPERATIONS, X, Y, Z
from hypothesis import example, given
from hypothesis import strategies as st

from dyn_nodes.compile import Tape, compile_functions
from dyn_nodes.compile.emit import _COMPARE, _INTRINSIC
from dyn_nodes.compile.tape import LIBM, SELECT

NUMBERS = st.one_of(
    st.floats(-12, 12, allow_subnormal=False),
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -1e-300, 1e-9]),
)


@pytest.fixture(scope='module')
def kernel():
    return compile_functions('every_operation', {'every_operation': FUNCTION}).every_operation


def evaluate(kernel, *numbers):
    outputs = [np.full(1, np.nan) for _ in EXPRESSIONS]
    kernel(*(np.array([number]) for number in numbers), *outputs)
    return {name: float(output[0]) for name, output in zip(EXPRESSIONS, outputs)}


def test_every_operation_of_the_emitter_is_tested_here():
    arithmetic = {ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV, ca.OP_SIGN}
    choices = {ca.OP_FMIN, ca.OP_FMAX, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_IF_ELSE_ZERO, SELECT}
    assert set(OPERATIONS) == arithmetic | choices | set(_COMPARE) | set(LIBM) | set(_INTRINSIC)


@pytest.mark.parametrize('op', OPERATIONS)
def test_expression_is_read_as_its_operation(op):
    expression = ca.densify(ca.SX(OPERATIONS[op]))
    tape = Tape.from_function(ca.Function('one', [X, Y, Z], [expression]))
    assert op in tape.code[:, 0]


@given(NUMBERS, NUMBERS, NUMBERS)
@example(0.0, 0.0, 0.0)
@example(-0.0, 0.0, 1.0)
@example(1.0, 1.0, 1.0)
@example(-1.0, 2.0, 2.0)
@example(-4.0, 0.5, -3.0)
def test_machine_code_equals_casadi(kernel, x, y, z):
    expected = dict(zip(EXPRESSIONS, (float(value) for value in FUNCTION(x, y, z))))
    for name, value in evaluate(kernel, x, y, z).items():
        assert value == pytest.approx(expected[name], rel=4e-15, abs=1e-300), (name, x, y, z)


def test_branch_not_taken_has_no_effect(kernel):
    negative = evaluate(kernel, -4.0, 1.0, 1.0)
    assert negative['root in a branch'] == -2.0
    assert negative['logarithm in a branch'] == 0.0
    assert evaluate(kernel, 4.0, 1.0, 1.0)['root in a branch'] == 2.0
    assert evaluate(kernel, 0.0, 1.0, 1.0)['quotient in a branch'] == 7.0


@pytest.mark.parametrize('op', [ca.OP_ADD, ca.OP_MUL, ca.OP_SIGN, ca.OP_FABS, ca.OP_SIN, ca.OP_COPYSIGN, ca.OP_SQ])
def test_nan_is_never_turned_into_a_number(kernel, op):
    assert math.isnan(evaluate(kernel, math.nan, 1.0, 1.0)[f'operation {op}'])


def test_comparisons_with_nan_are_false_and_unequal(kernel):
    values = evaluate(kernel, math.nan, 1.0, 1.0)
    for op in (ca.OP_LT, ca.OP_LE, ca.OP_EQ):
        assert values[f'operation {op}'] == 0.0
    assert values[f'operation {ca.OP_NE}'] == 1.0


def test_operation_without_machine_code_is_named():
    function = ca.Function('inverse_error', [X], [ca.erfinv(X)])
    with pytest.raises(Exception, match=r'operation \d+ has no machine code here'):
        compile_functions('inverse_error', {'inverse_error': function})
