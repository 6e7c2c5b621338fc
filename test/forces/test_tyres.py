from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dyn_nodes.elements.forces import friction_power, rolling_contact, stribeck, tyre_friction
from dyn_nodes.model.machine import LuGre, Wheel
from dyn_nodes.model.rolling import Rolling

RUBBER = LuGre(0.9, 0.8, 200.0, 1.0, 0.0, 0.5, 1.0)
RADIUS, LOAD = 0.3, 4000.0
UP, AHEAD, LEFT = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


def wheel(roller_angle=None, relaxation_length=0.1):
    stiffness = 2e5
    return Wheel(
        'w', 'w', np.zeros(3), stiffness, 0.0, RADIUS + LOAD / stiffness, RUBBER,
        rolling=Rolling(LEFT, roller_angle, relaxation_length),
    )  # fmt: skip


def contact(velocity, spin, bristles, which=None, axle=LEFT):
    return rolling_contact(
        which or wheel(), UP, axle, (0.0, 0.0, RADIUS), velocity, tuple(spin * a for a in axle), bristles
    )


def flat(vector):
    return np.array(vector, dtype=float).ravel()


def steady(velocity, spin, which=None, axle=LEFT):
    """Return the contact with bristles at rest: each bristle's rate is linear in its deflection."""
    count = 2 if which is None or which.rolling.roller_angle is None else 1
    first = flat(contact(velocity, spin, np.zeros(count), which, axle).bristle_rate)
    second = flat(contact(velocity, spin, np.full(count, 1e-3), which, axle).bristle_rate)
    return contact(velocity, spin, 1e-3 * first / (first - second), which, axle)


def test_a_wheel_that_rolls_without_slip_rolls_freely():
    result = steady((2.0, 0.0, 0.0), 2.0 / RADIUS)
    assert flat(result.friction) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert float(result.normal_force) == pytest.approx(LOAD)


def test_a_wheel_rolls_forward_along_axle_cross_up():
    result = contact((2.0, 0.0, 0.0), 2.0 / RADIUS, (0.0, 0.0))
    assert flat(result.slip) == pytest.approx([0.0, 0.0], abs=1e-12)
    turned = contact((0.0, 2.0, 0.0), 2.0 / RADIUS, (0.0, 0.0), axle=(-1.0, 0.0, 0.0))
    assert flat(turned.slip) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_small_slip_angles_cause_a_side_force_of_the_cornering_stiffness():
    """The stiffness is sigma_0 N L per radian for a patch of length L."""
    angle = 1e-4
    result = steady((20.0, 20.0 * math.tan(angle), 0.0), 20.0 / RADIUS)
    stiffness = RUBBER.bristle_stiffness * LOAD * 0.1
    # sliding removes a share |v| sigma_0 / eta of the deflection that rolling removes
    shared = 20.0 * angle * RUBBER.bristle_stiffness / float(stribeck(RUBBER, 20.0 * angle)) * 0.1 / 20.0
    assert float(result.friction[1]) == pytest.approx(-stiffness * math.tan(angle) / (1 + shared), rel=1e-6)
    assert shared < 3e-3


def test_small_longitudinal_slip_causes_a_drive_force_of_the_same_stiffness():
    slip = 1e-4
    result = steady((20.0, 0.0, 0.0), 20.0 * (1 + slip) / RADIUS)
    assert float(result.friction[0]) == pytest.approx(RUBBER.bristle_stiffness * LOAD * 0.1 * slip, rel=4e-3)


@given(direction=st.floats(-math.pi, math.pi), speed=st.floats(1.0, 10.0))
def test_a_locked_wheel_slides_with_one_friction_force_against_its_velocity(direction, speed):
    velocity = (speed * math.cos(direction), speed * math.sin(direction), 0.0)
    result = steady(velocity, 0.0)
    expected = -LOAD * float(stribeck(RUBBER, speed)) * np.array([math.cos(direction), math.sin(direction)])
    assert flat(result.friction) == pytest.approx(expected, rel=1e-6, abs=1e-3)


@given(angle=st.floats(-1.5, 1.5), vx=st.floats(-2, 2), vy=st.floats(-2, 2), spin=st.floats(-10, 10))
def test_a_roller_wheel_pushes_only_along_the_axis_of_its_roller(angle, vx, vy, spin):
    result = contact((vx, vy, 0.0), spin, (1e-3,), wheel(angle))
    across = np.array([-math.sin(angle), math.cos(angle)])
    assert abs(across @ flat(result.friction)) < 1e-9 * LOAD


def test_a_mecanum_wheel_grips_along_its_roller():
    """At +45 degrees the roller points forward and left: moved to the right with a fixed hub, friction opposes it."""
    result = contact((0.0, -1.0, 0.0), 0.0, (0.0,), wheel(math.pi / 4))
    assert float(result.friction[1]) > 0
    assert float(result.friction[0]) == pytest.approx(float(result.friction[1]))
    rolls = contact((1.0, -1.0, 0.0), 0.0, (0.0,), wheel(math.pi / 4))
    assert flat(rolls.friction) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_braked_wheel_at_rest_holds_like_a_spring():
    result = contact((0.0, 0.0, 0.0), 0.0, (1e-3, -2e-3))
    assert flat(result.friction) == pytest.approx([-200.0 * LOAD * 1e-3, 200.0 * LOAD * 2e-3])


def test_friction_fades_with_the_distance_rolled():
    decay = []
    for speed in (1.0, 10.0):
        z0 = np.array([0.0, 1e-6])  # small: sliding is negligible
        times = np.array([0.0, 0.1 / speed])
        path = solve_ivp(
            lambda t, z, speed=speed: flat(contact((speed, 0.0, 0.0), speed / RADIUS, z).bristle_rate),
            times, z0, rtol=1e-10, atol=1e-16,
        )  # fmt: skip
        decay.append(path.y[1, -1] / z0[1])
    assert decay == pytest.approx([math.exp(-1)] * 2, rel=1e-3)


@given(
    v=st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-1, 1)),
    spin=st.floats(-20, 20),
    z=st.tuples(st.floats(-3e-3, 3e-3), st.floats(-3e-3, 3e-3)),
)
def test_the_contact_force_has_the_power_of_push_and_friction(v, spin, z):
    result = contact(v, spin, z)
    arm = flat(result.application_point) - np.array([0.0, 0.0, RADIUS])
    power = flat(result.force) @ (np.array(v) + np.cross([0.0, spin, 0.0], arm))
    expected = float(result.normal_force) * float(result.height_rate) + float(friction_power(result))
    assert power == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(vx=st.floats(-5, 5), vy=st.floats(-5, 5), spin=st.floats(-40, 40))
def test_steady_friction_never_generates_energy(vx, vy, spin):
    result = steady((vx, vy, 0.0), spin)
    assert float(friction_power(result)) <= 1e-6 * LOAD


def test_bristles_of_a_spinning_wheel_stay_within_a_step_of_a_millisecond():
    """At 10 m/s of slip bristles relax at 2500 1/s; they are slowed down without changing the steady force."""
    forces, rates = tyre_friction(RUBBER, [30.0], [0.0], LOAD, 0.0)
    slower, _ = tyre_friction(RUBBER, [30.0], [1e-3], LOAD, 0.0)
    assert rates[0] == pytest.approx(30.0 * 1000.0 / (30.0 * 200.0 / float(stribeck(RUBBER, 30.0))))
    assert forces[0] != slower[0]
    at_rest = float(stribeck(RUBBER, 30.0)) / RUBBER.bristle_stiffness
    final, still = tyre_friction(RUBBER, [30.0], [at_rest], LOAD, 0.0)
    assert float(still[0]) == pytest.approx(0.0, abs=1e-9)
    assert float(final[0]) == pytest.approx(-LOAD * 0.8, rel=1e-6)
