"""Jacobians by vertex elimination equal CasADi's, with fewer operations."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import dyn_nodes
from dyn_nodes.compile import Tape
from dyn_nodes.compile.elimination import eliminated_jacobian
from dyn_nodes.elements.actuators import ActuatorForces, actuator_elements
from dyn_nodes.multibody import TreeState, build_tree

X = ca.SX.sym('x', 3)


def operations(expression):
    symbols = ca.symvar(expression)
    return Tape.from_function(ca.Function('f', symbols, [ca.densify(expression)])).operations


def random_values(seed, size=30):
    """Return expressions of random operations on random earlier ones, bounded and differentiable at random numbers."""
    rng = np.random.default_rng(seed)
    values = [X[0], X[1], X[2], ca.SX(float(rng.normal()))]
    for _ in range(size):
        a, b, c = (values[int(k)] for k in rng.integers(len(values), size=3))
        choices = [
            a + b,
            a - b,
            ca.sin(a) * ca.cos(b),
            a / (1 + b * b),
            ca.if_else(a < b, b, c),
            ca.fmax(a, b),
            ca.fmin(a, 2 * b),
            ca.tanh(a * b),
            ca.sqrt(1 + ca.fabs(a)),
            ca.atan2(a, 2 + ca.fabs(b)),
            1 / (2 + ca.sin(a)),
        ]
        values.append(choices[int(rng.integers(len(choices)))])
    return ca.vertcat(*values[-4:], values[0], values[8])


@given(st.integers(0, 10_000))
@example(3936)  # a product of slopes is zero
def test_the_jacobian_equals_casadi(seed):
    values = random_values(seed)
    both = ca.Function('both', [X], [ca.densify(ca.jacobian(values, X)), ca.densify(eliminated_jacobian(values, X))])
    # numbers without ties, at which a maximum has two one-sided slopes
    expected, result = both(np.random.default_rng([seed, 1]).normal(size=3))
    assert np.allclose(np.array(result), np.array(expected), rtol=1e-9, atol=1e-9)


def test_values_may_be_variables_numbers_and_steps_to_other_values():
    first = ca.sin(X[0]) * X[1]
    values = ca.vertcat(X[2], 3.0, first, first * first + X[0], X[2])
    result = ca.Function('jacobian', [X], [ca.densify(eliminated_jacobian(values, X))])([0.3, 2.0, 5.0])
    expected = ca.Function('expected', [X], [ca.densify(ca.jacobian(values, X))])([0.3, 2.0, 5.0])
    assert np.allclose(np.array(result), np.array(expected), rtol=1e-14)


def test_slopes_that_vanish_everywhere_are_no_entries():
    result = eliminated_jacobian(ca.vertcat(X[0] * X[1], ca.sign(X[2]), X[2]), X)
    assert result.sparsity().get_triplet() == ([0, 0, 2], [0, 1, 2])


def test_the_greater_one_of_two_equal_numbers_has_the_slope_of_one_of_them():
    result = ca.Function('jacobian', [X], [eliminated_jacobian(ca.fmax(X[0], X[1]), X[:2])])([1.0, 1.0, 0.0])
    assert sorted(np.array(result).ravel().tolist()) == [0.0, 1.0]


def test_slopes_of_oil_by_its_pressures_take_fewer_operations_than_sweeps():
    log_loader = dyn_nodes.load('log_loader').data
    tree = build_tree(log_loader)
    n = tree.nv - 6
    q, v, oil, volts = (ca.SX.sym(name, size) for name, size in (('q', n), ('v', n), ('oil', 3 * n), ('volts', n)))
    position = ca.vertcat(ca.SX(3, 1), ca.SX([0, 0, 0, 1]), q)
    forces = ActuatorForces(log_loader, actuator_elements(log_loader))
    symbols = {name: ca.SX(value) for name, value in forces.parameters.items()}
    symbols |= {state.name: oil[k] for k, state in enumerate(forces.states)}
    symbols |= {input.name: volts[k] for k, input in enumerate(forces.inputs)}
    rates = ca.vertcat(*forces.rates(TreeState(tree, position, ca.vertcat(ca.SX(6, 1), v), ca.SX(5e3)), symbols))
    assert operations(eliminated_jacobian(rates, oil)) < 0.8 * operations(ca.jacobian(rates, oil))
