"""Straight-line code: merged, pruned and stored without loss."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.compile import Tape, compile_functions
from dyn_nodes.compile.calls import WIDE_FROM
from dyn_nodes.compile.tape import SELECT

X = ca.SX.sym('x', 3)


def tape_of(*expressions):
    return Tape.from_function(ca.Function('f', [X], [ca.densify(ca.vertcat(*expressions))]))


def random_graph(seed, size=40):
    """Return an expression of random operations on random earlier ones, each bounded."""
    rng = np.random.default_rng(seed)
    values = [X[0], X[1], X[2], ca.SX(float(rng.normal()))]
    for _ in range(size):
        a, b, c = (values[int(k)] for k in rng.integers(len(values), size=3))
        choice = int(rng.integers(8))
        values.append(
            [
                a + b,
                a - b,
                ca.sin(a) * ca.cos(b),
                a / (1 + b * b),
                ca.if_else(a < b, b, c),
                ca.fmax(a, b),
                ca.tanh(a * b),
                ca.sqrt(1 + ca.fabs(a)),
            ][choice]
        )
    return values[-6:]


def test_equal_subexpressions_are_computed_once():
    def long_way():
        return ca.sin(X[0] * X[1]) + X[2]

    # two graphs without a common node: CasADi itself detects no equality
    both = tape_of(long_way(), 2.5 * long_way())
    assert both.operations == 4
    assert np.count_nonzero(both.code[:, 0] == ca.OP_SIN) == 1


def test_operands_of_commutative_operations_may_be_swapped():
    assert tape_of(X[0] * X[1], X[1] * X[0], X[0] + X[1], X[1] + X[0]).operations == 2
    assert tape_of(X[0] - X[1], X[1] - X[0]).operations == 2
    assert tape_of(ca.atan2(X[0], X[1]), ca.atan2(X[1], X[0])).operations == 2


@pytest.mark.parametrize('seed', range(6))
def test_every_value_is_needed_by_an_output_or_a_later_value(seed):
    tape = tape_of(*random_graph(seed))
    used = set(tape.results[:, 2].tolist())
    for op, *operands in tape.code.tolist():
        if op not in (ca.OP_INPUT, ca.OP_CONST):
            used.update(operands)
    assert used - {-1} == set(range(len(tape.code)))


def test_a_common_divisor_is_inverted_once():
    divisor = 1 + ca.exp(X[2])
    tape = tape_of(X[0] / divisor, X[1] / divisor, X[0] / X[1])
    assert np.count_nonzero(tape.code[:, 0] == ca.OP_INV) == 1
    assert np.count_nonzero(tape.code[:, 0] == ca.OP_DIV) == 1


def test_two_armed_branch_becomes_one_selection():
    tape = tape_of(ca.if_else(X[0] > 0, X[1], X[2]))
    assert np.count_nonzero(tape.code[:, 0] == SELECT) == 1
    assert not np.any(np.isin(tape.code[:, 0], (ca.OP_IF_ELSE_ZERO, ca.OP_NOT, ca.OP_ADD)))


def test_operands_come_before_their_use():
    tape = tape_of(*random_graph(3))
    for k, (op, *operands) in enumerate(tape.code.tolist()):
        if op not in (ca.OP_INPUT, ca.OP_CONST):
            assert all(operand < k for operand in operands if operand >= 0)


def test_tape_survives_storage(tmp_path):
    tape = tape_of(*random_graph(1))
    tape.save(tmp_path / 'tape.npz')
    again = Tape.load(tmp_path / 'tape.npz')
    assert again.digest == tape.digest
    assert (again.inputs, again.outputs) == (tape.inputs, tape.outputs)


def test_digest_distinguishes_constants_and_operations():
    digests = {
        tape_of(e).digest for e in (X[0] + 1, X[0] + 2, X[0] - 1, X[1] + 1, ca.vertcat(X[0] + 1, 0), 1 + X[0] * X[0])
    }
    assert len(digests) == 6
    assert tape_of(X[0] + 1).digest == tape_of(X[0] + 1).digest


def test_sparse_output_is_rejected_by_index():
    function = ca.Function('f', [X], [X, ca.SX(2, 2)])
    with pytest.raises(ValueError, match='f: output 1 is sparse'):
        Tape.from_function(function)


def test_function_of_matrices_is_rejected():
    x = ca.MX.sym('x', 3)
    with pytest.raises(ValueError, match='expected an SX function'):
        Tape.from_function(ca.Function('f', [x], [x * 2]))


@pytest.fixture(scope='module')
def graphs():
    functions = {f'graph{k}': ca.Function(f'graph{k}', [X], [ca.vertcat(*random_graph(k))]) for k in range(4)}
    return functions, compile_functions('random_graphs', functions, batch=list(functions))


@given(st.integers(0, 3), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_random_graphs_equal_casadi(graphs, which, numbers):
    functions, module = graphs
    name, x = f'graph{which}', np.array(numbers)
    output = np.empty(6)
    getattr(module, name)(x, output)
    expected = np.array(functions[name](x)).ravel()
    np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('which', range(4))
def test_batch_gives_the_bits_of_single_calls(graphs, which):
    _, module = graphs
    name = f'graph{which}'
    rows = np.random.default_rng(which).normal(size=(50, 3))
    together, one = np.empty((50, 6)), np.empty(6)
    getattr(module, f'{name}_batch')(rows, together)
    for row, output in zip(rows, together):
        getattr(module, name)(row, one)
        np.testing.assert_array_equal(one, output)


def test_long_batches_use_lanes_and_equal_single_calls(graphs):
    _, module = graphs
    count = WIDE_FROM + 3  # the last lanes are not all rows
    rows = np.random.default_rng(9).normal(size=(count, 3))
    together, guard, one = np.full((count, 6), np.nan), np.full((2, 6), 7.0), np.empty(6)
    everything = np.vstack([together, guard])
    module.graph0_batch(rows, everything[:count])
    assert np.array_equal(everything[count:], guard)
    for row, output in zip(rows, everything):
        module.graph0(row, one)
        np.testing.assert_allclose(output, one, rtol=1e-13, atol=1e-13)


def test_elements_without_a_value_are_stored_as_zero():
    function = ca.Function('f', [X], [ca.densify(ca.vertcat(X[0], ca.SX(3, 1), X[1])), ca.densify(ca.SX(2, 1))])
    kernel = compile_functions('structural_zeros', {'f': function}).f
    first, second = np.full(5, np.nan), np.full(2, np.nan)
    kernel(np.array([1.5, -2.5, 0.0]), first, second)
    np.testing.assert_array_equal(first, [1.5, 0, 0, 0, -2.5])
    np.testing.assert_array_equal(second, [0, 0])


def test_output_may_be_an_input_or_a_constant():
    function = ca.Function('f', [X], [X, ca.densify(ca.vertcat(3.25, X[2], X[2] > 0))])
    kernel = compile_functions('plain_outputs', {'f': function}).f
    first, second = np.empty(3), np.empty(3)
    kernel(np.array([1.0, 2.0, 3.0]), first, second)
    np.testing.assert_array_equal(first, [1, 2, 3])
    np.testing.assert_array_equal(second, [3.25, 3, 1])
