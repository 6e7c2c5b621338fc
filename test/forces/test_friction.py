from __future__ import annotations

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dyn_nodes.elements.forces import lugre, stribeck
from dyn_nodes.model.machine import LuGre

ICE = LuGre(static=0.05, kinetic=0.03)


def steady_coefficient(params: LuGre, speed: float) -> float:
    bristle = stribeck(params, abs(speed)) / params.bristle_stiffness * math.copysign(1.0, speed)
    friction = lugre(params, speed, bristle, 1.0)
    assert friction.deflection_rate == pytest.approx(0.0, abs=1e-12)
    return friction.force


@pytest.mark.parametrize(
    ('params', 'speed', 'total', 'eta'),
    [
        (LuGre(), 0.01, 0.888863, 0.888845),
        (LuGre(), 0.1, 0.865956, 0.865776),
        (LuGre(), 1.0, 0.803255, 0.801455),
        (LuGre(), 10.0, 0.681537, 0.663537),
        (ICE, 0.01, 0.049460, 0.049442),
        (ICE, 0.1, 0.048469, 0.048289),
        (ICE, 1.0, 0.046873, 0.045073),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.7/lugre_steady')
def test_steady_sliding_has_the_reference_coefficients(params, speed, total, eta):
    assert stribeck(params, speed) == pytest.approx(eta, abs=5e-7)
    assert steady_coefficient(params, speed) == pytest.approx(-total, abs=5e-7)
    assert steady_coefficient(params, -speed) == pytest.approx(total, abs=5e-7)


@pytest.mark.parametrize(('rate', 'expected'), [(1e3, 0.05192), (10e3, 0.05439), (50e3, 0.05755)])
@pytest.mark.pins('abo-shanab-2003/6.7/break_away')
def test_break_away_force_rises_with_the_rate_of_loading(rate, expected):
    mass, g = 19_518.0, 9.81
    weight = mass * g

    def motion(t: float, state: np.ndarray) -> list[float]:
        speed, bristle = state
        friction = lugre(ICE, speed, bristle, weight)
        return [(rate * t + friction.force) / mass, friction.deflection_rate]

    def moving(t: float, state: np.ndarray) -> float:
        return state[0] - 0.01

    moving.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(motion, (0.0, 30.0), [0.0, 0.0], method='LSODA', events=moving, rtol=1e-9, atol=1e-12)
    assert rate * run.t_events[0][0] / weight == pytest.approx(expected, abs=5e-6)


def test_friction_holds_like_a_damped_spring_at_rest():
    friction = lugre(LuGre(), 0.0, 0.01, 1000.0)
    assert friction.deflection_rate == 0.0
    assert friction.force == pytest.approx(-40 * 0.01 * 1000)


@given(speed=st.floats(-20, 20), bristle=st.floats(-0.02, 0.02), normal=st.floats(0, 2e5))
def test_friction_is_odd_and_proportional_to_the_load(speed, bristle, normal):
    ahead, back = lugre(LuGre(), speed, bristle, normal), lugre(LuGre(), -speed, -bristle, normal)
    assert ahead.force == -back.force
    assert ahead.deflection_rate == -back.deflection_rate
    assert ahead.force == pytest.approx(normal * lugre(LuGre(), speed, bristle, 1.0).force, rel=1e-12, abs=1e-12)
    if normal == 0.0:
        assert ahead.force == 0.0


@reaches(grows=8, relaxes=1)
@example(speed=12.5, fraction=-1.0)
@given(speed=st.floats(-20, 20), fraction=st.floats(-1, 1))
def test_bristles_never_bend_beyond_the_static_limit(speed, fraction):
    params = LuGre()
    limit = params.static / params.bristle_stiffness
    rate = lugre(params, speed, limit, 1.0).deflection_rate
    assert rate <= 1e-12  # at the upper limit the bristle does not grow
    assert lugre(params, speed, -limit, 1.0).deflection_rate >= -1e-12
    # within the limit the bristle tends to the deflection of steady sliding, also within the limit
    steady = math.copysign(float(stribeck(params, abs(speed))) / params.bristle_stiffness, speed)
    assert abs(steady) <= limit + 1e-12
    inside = float(lugre(params, speed, fraction * limit, 1.0).deflection_rate)
    reached('grows', abs(speed) > 1e-3 and abs(fraction * limit) < abs(steady))
    reached('relaxes', abs(speed) > 1e-3 and abs(fraction * limit) > abs(steady))
    assert inside * (steady - fraction * limit) >= -1e-12


@pytest.mark.parametrize('exponent', [0.5, 1.0, 2.0, 0.7, 1.5, 3.0])
def test_every_exponent_gives_the_stribeck_curve(exponent):
    params = LuGre(stribeck_exponent=exponent)
    for speed in (1e-3, 0.5, 12.5, 40.0):
        assert stribeck(params, speed) == pytest.approx(0.5 + 0.4 * math.exp(-((speed / 12.5) ** exponent)), abs=1e-9)


@pytest.mark.parametrize('exponent', [0.5, 1.0, 2.0, 0.7])
def test_derivatives_are_finite_at_zero_speed(exponent):
    state = ca.SX.sym('s', 3)
    friction = lugre(LuGre(stribeck_exponent=exponent), state[0], state[1], state[2])
    jacobian = ca.Function('j', [state], [ca.jacobian(ca.vertcat(*friction), state)])
    for speed in (0.0, -0.0, 1e-300, -1e-300, 1e-15, 1e-9, -1e-6):
        for bristle in (0.0, 0.0225, -0.0225):
            value = np.array(jacobian([speed, bristle, 5e4]))
            assert np.isfinite(value).all()
            # no derivative is steeper than the bristle spring, sigma_0 N
            assert abs(value).max() <= 40 * 5e4 * 1.01


def test_symbolic_parameters_agree_with_plain_ones():
    names = [field.name for field in dataclasses.fields(LuGre)]
    symbols = ca.SX.sym('p', len(names))
    symbolic = LuGre(**{name: symbols[i] for i, name in enumerate(names)})
    function = ca.Function('f', [symbols], list(lugre(symbolic, 0.3, 0.01, 2e4)[:2]))
    force, rate = function([getattr(ICE, name) for name in names])
    expected = lugre(ICE, 0.3, 0.01, 2e4)
    assert float(force) == pytest.approx(expected.force, rel=1e-12)
    assert float(rate) == pytest.approx(expected.deflection_rate, rel=1e-12)


def test_exponent_one_half_needs_no_power_function():
    v, z, n = (ca.SX.sym(name) for name in 'vzn')
    function = ca.Function('f', [v, z, n], list(lugre(LuGre(), v, z, n)[:2]))
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    assert ca.OP_POW not in kinds
    assert ca.OP_CONSTPOW not in kinds
    assert kinds.count(ca.OP_EXP) == kinds.count(ca.OP_SQRT) == kinds.count(ca.OP_DIV) == 1
