from __future__ import annotations

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.elements.forces import (
    friction_power,
    ground_axes,
    kelvin_voigt,
    suspension_dissipation,
    suspension_energy,
    wheel_contact,
)
from dyn_nodes.model.machine import LuGre, Wheel

WHEEL = Wheel('front_right', 'base_link', np.zeros(3), 17.5e5, 7.5e4, 0.30, LuGre())
UP, AHEAD = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
ZERO = np.zeros(3)


def vector(bound: float):
    return arrays(np.float64, 3, elements=st.floats(-bound, bound))


def flat(value) -> np.ndarray:
    return np.array(value, dtype=float).ravel()


def test_wheel_pushes_by_spring_and_damper_while_it_touches():
    assert kelvin_voigt(17.5e5, 7.5e4, 0.3, 0.28, 0.0) == pytest.approx(35_000)
    assert kelvin_voigt(17.5e5, 7.5e4, 0.3, 0.28, -0.1) == pytest.approx(42_500)


def test_ground_never_pulls_and_a_lifted_damper_does_not_push():
    assert kelvin_voigt(17.5e5, 7.5e4, 0.3, 0.28, 1.0) == 0.0
    assert kelvin_voigt(17.5e5, 7.5e4, 0.3, 0.3, -1.0) == 0.0
    assert kelvin_voigt(17.5e5, 7.5e4, 0.3, 0.5, -10.0) == 0.0


@reaches(pressed=4, lifted=4, held_at_zero=4)
@given(height=st.floats(-1, 1) | st.floats(0.1, 0.3), rate=st.floats(-10, 10))
def test_normal_force_is_never_negative(height, rate):
    force = kelvin_voigt(17.5e5, 7.5e4, 0.3, height, rate)
    pull = 17.5e5 * (0.3 - height) < 7.5e4 * rate
    reached('pressed', force > 0.0)
    reached('lifted', height >= 0.3)
    reached('held_at_zero', height < 0.3 and pull)
    assert force >= 0.0
    if height >= 0.3:
        assert force == 0.0


@given(rotation=vector(1.0), heading=vector(1.0))
def test_contact_axes_are_orthonormal_and_right_handed(rotation, heading):
    normal = Rotation.from_rotvec(rotation).apply(UP)
    if np.linalg.norm(np.cross(heading, normal)) < 1e-3:
        return
    axes = ground_axes(normal, heading)
    matrix = np.column_stack([flat(axes.longitudinal), flat(axes.lateral), flat(axes.normal)])
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    assert flat(axes.longitudinal) @ heading > 0.0


def test_wheel_at_rest_on_level_ground_carries_its_spring_force():
    contact = wheel_contact(WHEEL, UP, AHEAD, [1.0, 2.0, 0.28], ZERO, ZERO, [0.0, 0.0])
    np.testing.assert_allclose(flat(contact.force), [0, 0, 35_000], atol=1e-6)
    np.testing.assert_allclose(flat(contact.application_point), [1.0, 2.0, 0.0], atol=1e-15)
    assert flat(contact.slip).tolist() == flat(contact.bristle_rate).tolist() == [0.0, 0.0]


def test_plane_offset_raises_the_ground():
    contact = wheel_contact(WHEEL, UP, AHEAD, [1.0, 2.0, 0.78], ZERO, ZERO, [0.0, 0.0], plane_offset=0.5)
    assert float(contact.normal_force) == pytest.approx(35_000)
    assert flat(contact.application_point)[2] == pytest.approx(0.5)


def test_friction_opposes_forward_and_left_slip():
    ahead = wheel_contact(WHEEL, UP, AHEAD, [0, 0, 0.28], [0.5, 0, 0], ZERO, [0.0, 0.0])
    assert flat(ahead.slip).tolist() == [0.5, 0.0]
    assert flat(ahead.force)[0] == pytest.approx(-(4.9487 + 0.0018) * 0.5 * 35_000)
    sideways = wheel_contact(WHEEL, UP, AHEAD, [0, 0, 0.28], [0, 0.5, 0], ZERO, [0.0, 0.0])
    assert flat(sideways.force)[1] == pytest.approx(-(4.9487 + 0.0018) * 0.5 * 35_000)


def test_slip_is_the_speed_of_the_body_fixed_point_on_the_ground():
    velocity, omega, point = np.array([0.3, -0.2, 0.1]), np.array([0.4, 0.5, -0.6]), np.array([1.0, 2.0, 0.28])
    contact = wheel_contact(WHEEL, UP, AHEAD, point, velocity, omega, [0.0, 0.0])
    expected = velocity + np.cross(omega, [0, 0, -0.28])
    np.testing.assert_allclose(flat(contact.slip), expected[:2], rtol=1e-13)
    assert float(contact.height_rate) == pytest.approx(expected[2])


@reaches(pressed=4, lifted=4, sliding=4)
@given(
    tilt=vector(0.8),
    velocity=vector(3.0),
    omega=vector(2.0),
    bristle=arrays(np.float64, 2, elements=st.floats(-0.02, 0.02)),
    height=st.floats(0.1, 0.4),
)
def test_the_wheel_force_has_the_power_of_suspension_and_friction(tilt, velocity, omega, bristle, height):
    rotation = Rotation.from_rotvec(tilt)
    normal, heading = rotation.apply(UP), rotation.apply([0.8, 0.3, 0.2])
    point = rotation.apply([1.0, -2.0, 0.0]) + height * normal
    contact = wheel_contact(WHEEL, normal, heading, point, velocity, omega, bristle)
    reached('pressed', float(contact.normal_force) > 0.0)
    reached('lifted', height >= 0.3)
    reached('sliding', float(friction_power(contact)) != 0.0)
    arm = flat(contact.application_point) - point
    power = flat(contact.force) @ (velocity + np.cross(omega, arm))
    expected = float(contact.normal_force * contact.height_rate + friction_power(contact))
    assert power == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert normal @ flat(contact.application_point) == pytest.approx(0.0, abs=1e-12)


@given(tilt=vector(1.0), velocity=vector(3.0), omega=vector(2.0))
def test_contact_on_a_slope_is_the_rotated_contact_on_level_ground(tilt, velocity, omega):
    rotation = Rotation.from_rotvec(tilt)
    point, bristle = np.array([1.0, -2.0, 0.27]), [0.01, -0.005]
    level = wheel_contact(WHEEL, UP, AHEAD, point, velocity, omega, bristle)
    turned = [rotation.apply(v) for v in (UP, AHEAD, point, velocity, omega)]
    slope = wheel_contact(WHEEL, *turned, bristle)
    np.testing.assert_allclose(flat(slope.force), rotation.apply(flat(level.force)), rtol=1e-9, atol=1e-4)
    np.testing.assert_allclose(flat(slope.bristle_rate), flat(level.bristle_rate), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(flat(slope.application_point), rotation.apply(flat(level.application_point)), atol=1e-12)


def test_wheel_without_friction_pushes_along_the_normal_only():
    bare = dataclasses.replace(WHEEL, friction=None)
    contact = wheel_contact(bare, UP, AHEAD, [0, 0, 0.28], [1.0, 1.0, 0.0], ZERO, [0.0, 0.0])
    np.testing.assert_allclose(flat(contact.force), [0, 0, 35_000], atol=1e-6)
    assert flat(contact.friction).tolist() == flat(contact.bristle_rate).tolist() == [0.0, 0.0]


def test_a_lifted_wheel_has_no_force():
    contact = wheel_contact(WHEEL, UP, AHEAD, [0, 0, 0.31], [1.0, 1.0, -2.0], [0.1, 0.2, 0.3], [0.01, 0.01])
    assert not flat(contact.force).any()


def symbolic_contact():
    state = ca.SX.sym('s', 17)  # normal, heading, point, velocity, angular velocity, bristle
    return state, wheel_contact(WHEEL, *(state[3 * i : 3 * i + 3] for i in range(5)), state[15:17])


def test_derivatives_are_finite_at_every_kink():
    state, contact = symbolic_contact()
    outputs = ca.vertcat(contact.force, contact.application_point, contact.bristle_rate)
    function = ca.Function('f', [state], [outputs, ca.jacobian(outputs, state)])
    for height in (0.28, 0.3, 0.31, 0.0):  # loaded, at touch, lifted, bottomed
        for speed in (ZERO, [0, 0, 1.0], [0, 0, 17.5e5 * 0.02 / 7.5e4], [1.0, 0, 0]):
            for bristle in ([0.0, 0.0], [0.0225, -0.0225]):
                for heading in (AHEAD, UP):  # UP: a vertical base has no heading
                    values, jacobian = function([*UP, *heading, 0, 0, height, *speed, 0, 0, 0, *bristle])
                    assert np.isfinite(flat(values)).all()
                    assert np.isfinite(flat(jacobian)).all()


def test_heave_on_four_wheels_has_the_reference_frequency_and_damping():
    for damping, ratio in ((7.5e4, 0.4288), (7.0e4, 0.4002)):
        mass, k, c = 17_481.0, 4 * 17.5e5, 4 * damping
        h, rate = ca.SX.sym('h'), ca.SX.sym('v')
        push = 4 * kelvin_voigt(17.5e5, damping, 0.3, h, rate)
        slope = ca.Function('f', [h, rate], [ca.jacobian(push, h), ca.jacobian(push, rate)])
        stiffness, viscous = (-float(value) for value in slope(0.27, 0.0))
        assert (stiffness, viscous) == (k, c)
        assert math.sqrt(stiffness / mass) / (2 * math.pi) == pytest.approx(3.185, abs=5e-4)
        assert viscous / (2 * math.sqrt(stiffness * mass)) == pytest.approx(ratio, abs=5e-5)


def test_energy_of_a_bouncing_and_skidding_wheel_balances():
    """Mechanical energy lost = suspension + friction losses, through impact, rebound, lift-off and skid."""
    wheel = dataclasses.replace(WHEEL, damping=1.0e4)
    mass, g = 5000.0, 9.81
    state = ca.SX.sym('s', 9)  # position, velocity, bristle, dissipated energy
    position, velocity, bristle = state[:3], state[3:6], state[6:8]
    contact = wheel_contact(wheel, UP, AHEAD, position, velocity, ZERO, bristle)
    loss = suspension_dissipation(wheel, contact) - friction_power(contact)
    acceleration = contact.force / mass - ca.vertcat(0, 0, g)
    rate = ca.Function('f', [state], [ca.vertcat(velocity, acceleration, contact.bristle_rate, loss)])
    stored = suspension_energy(wheel, contact) + mass * (0.5 * ca.sumsqr(velocity) + g * position[2])
    energy = ca.Function('e', [state], [stored])

    def height(t: float, x: np.ndarray) -> float:
        return x[2] - wheel.free_length

    height.terminal = True  # type: ignore[attr-defined]
    x, time, contacts = np.array([0, 0, 0.45, 2.0, 1.0, 0, 0, 0, 0]), 0.0, 0
    start = float(energy(x))
    while time < 3.0:
        run = solve_ivp(
            lambda t, y: flat(rate(y)), (time, 3.0), x, method='DOP853', rtol=1e-10, atol=1e-10, events=height
        )
        x, time = run.y[:, -1], run.t[-1]
        if run.status == 1:  # step over the kink, where the force jumps
            contacts += 1
            x, time = x + 1e-9 * flat(rate(x)), time + 1e-9
    assert contacts >= 4
    lost = start - float(energy(x))
    assert lost > 0.8 * start - mass * g * 0.3
    assert x[8] == pytest.approx(lost, abs=1e-6 * start)


@reaches(pressed=4, lifted=4, held_at_zero=4)
@given(height=st.floats(0.0, 0.5) | st.floats(0.2, 0.3), rate=st.floats(-5, 5) | st.floats(3, 5))
def test_suspension_never_generates_energy(height, rate):
    contact = wheel_contact(WHEEL, UP, AHEAD, [0, 0, height], [0, 0, rate], ZERO, [0.0, 0.0])
    reached('pressed', float(contact.normal_force) > 0.0)
    reached('lifted', height >= 0.3)
    reached('held_at_zero', height < 0.3 and float(contact.normal_force) == 0.0)
    assert float(suspension_dissipation(WHEEL, contact)) >= -1e-9
    assert float(suspension_energy(WHEEL, contact)) >= 0.0


def test_a_wheel_needs_few_operations():
    state, contact = symbolic_contact()
    outputs = ca.cse([contact.force, contact.application_point, contact.bristle_rate])
    function = ca.Function('f', [state], outputs)
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    assert kinds.count(ca.OP_SQRT) == 3  # heading, and one per friction direction
    assert kinds.count(ca.OP_EXP) == 2
    assert len(kinds) <= 165
