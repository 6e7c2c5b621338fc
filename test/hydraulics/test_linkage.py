from __future__ import annotations

import math

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.elements.hydraulics import lever, lever_rate, linkage, piston
from dyn_nodes.model.machine import PinTriangle
from dyn_nodes.studies.reference import tabulated


@pytest.mark.parametrize(
    ('degrees', 'position', 'arm'),
    [(degrees, *row) for degrees, row in zip((-10, 0, 30, 60), tabulated('abo-shanab-2003/6.10/linkage_boom'))],
)
def test_boom_linkage_has_the_reference_geometry(boom, degrees, position, arm):
    q = math.radians(degrees)
    assert piston(boom.linkage, q) == pytest.approx(position, abs=5e-7)
    assert lever(boom.linkage, q) == pytest.approx(arm, abs=5e-7)


@pytest.mark.parametrize(
    ('degrees', 'position', 'arm'),
    [(degrees, *row) for degrees, row in zip((-110, -60, 0), tabulated('abo-shanab-2003/6.10/linkage_stick'))],
)
def test_stick_linkage_extends_as_the_joint_angle_decreases(stick, degrees, position, arm):
    q = math.radians(degrees)
    assert piston(stick.linkage, q) == pytest.approx(position, abs=5e-7)
    assert lever(stick.linkage, q) == pytest.approx(arm, abs=5e-7)


_Q = ca.SX.sym('q')
_PINS = ca.SX.sym('pins', 5)
_SYMBOLIC = PinTriangle(_PINS[0], _PINS[1], _PINS[2], _PINS[3], _PINS[4], 1.0)
_X = piston(_SYMBOLIC, _Q)
_DERIVATIVES = ca.Function('d', [_Q, _PINS], [_X, ca.jacobian(_X, _Q), ca.hessian(_X, _Q)[0]])


@given(
    q=st.floats(-3.0, 3.0),
    a=st.floats(0.2, 1.0),
    b=st.floats(1.1, 3.0),
    angle=st.floats(-2.0, 2.0),
    direction=st.sampled_from([-1.0, 1.0]),
)
def test_lever_and_its_rate_are_the_exact_derivatives_and_the_cosine_rule_holds(q, a, b, angle, direction):
    triangle = PinTriangle(a, b, angle, direction, 0.5, 1.0)
    terms = linkage(triangle, q)
    x, first, second = (float(value) for value in _DERIVATIVES(q, [a, b, angle, direction, 0.5]))
    assert terms.piston == pytest.approx(x, abs=1e-13)
    assert (terms.piston + 0.5) ** 2 == pytest.approx(a * a + b * b - 2 * a * b * math.cos(direction * q + angle))
    assert lever(triangle, q) == pytest.approx(first, abs=1e-11)
    assert lever_rate(triangle, q) == pytest.approx(second, abs=1e-9)


def test_joint_sine_and_cosine_are_shared_with_the_machine(boom):
    q = ca.SX.sym('q')
    outputs = ca.cse([ca.vertcat(*linkage(boom.linkage, q)), ca.sin(q), ca.cos(q)])
    function = ca.Function('f', [q], outputs)
    trigonometric = [
        function.instruction_id(k) in (ca.OP_SIN, ca.OP_COS, ca.OP_TAN) for k in range(function.n_instructions())
    ]
    assert sum(trigonometric) == 2
