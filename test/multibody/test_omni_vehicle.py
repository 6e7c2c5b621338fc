"""Omnidirectional platforms against the numbers of saha-1991's specification, and against first principles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel, acceleration_components, component_rate
from dyn_nodes.studies.saha_1991.machines import vehicle

TABLE = {3: ((27, 150, 150), (2.53215, 39.5, 39.5), 38), 4: ((3.9807823, 400, 400), (2.7005078, 49, 49), 45)}
TABLE[6] = ((54, 300, 300), (3.3576, 47, 47), 44)


@pytest.mark.parametrize('count', [3, 4, 6])
def test_matrices_agree_with_the_table(count):
    gram, inertia, mass = TABLE[count]
    v = vehicle(count)
    assert pytest.approx(np.diag(gram), rel=1e-7, abs=1e-12) == v.L.T @ v.L
    assert v.inertia == pytest.approx(np.diag(inertia), rel=1e-7, abs=1e-12)
    assert v.total_mass == mass


def test_joint_space_inertia_agrees_with_the_table():
    three = vehicle(3)
    T = np.linalg.inv(three.L)
    expected = np.full((3, 3), -0.05651667) + np.eye(3) * (0.20681667 + 0.05651667)
    assert T.T @ three.inertia @ T == pytest.approx(expected, abs=1e-8)


def test_forward_dynamics_equals_the_multiplier_model():
    twist = np.array([0.3, 0.4, -0.25])
    v = vehicle(4)
    rate = v.twist_rate(twist, [0.03, -0.02, 0.05, 0.01])
    assert acceleration_components(twist, rate) == pytest.approx([0.02585871, 0.01632653, 0.0077551], abs=1e-8)


def hub_and_roller_twist(w: OmniWheel, twist: np.ndarray) -> np.ndarray:
    """Return the slip of the roller's point on the ground, from the centre's velocity, hub rate and roller rate."""
    yaw, vx, vy = twist
    centre = np.array([vx, vy]) + yaw * w.distance * np.array([-np.sin(w.direction), np.cos(w.direction)])
    v = OmniVehicle([w])
    hub, roller = float(v.L[0] @ twist), float(v.L_rollers[0] @ twist)
    f = np.array([-np.sin(w.hub), np.cos(w.hub)])
    g = np.array([-np.sin(w.hub + w.roller), np.cos(w.hub + w.roller)])
    return centre + w.radius * hub * f + w.roller_radius * roller * g


angles = st.floats(0.2, 2.9)


@settings(max_examples=100, deadline=None)
@given(angles, st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 2), st.tuples(*[st.floats(-2, 2)] * 3))
def test_the_rates_cause_no_slip_on_the_ground(roller, hub, direction, distance, twist):
    w = OmniWheel(roller, hub, direction, distance, 0.12, 0.02)
    assert hub_and_roller_twist(w, np.array(twist)) == pytest.approx([0.0, 0.0], abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_power_of_the_drives_is_the_rate_of_kinetic_energy_for_any_layout(seed):
    rng = np.random.default_rng(seed)
    wheels = [
        OmniWheel(rng.uniform(0.3, 2.8), *rng.uniform(-3, 3, 2), rng.uniform(0, 1), 0.1, 0.01, *rng.uniform(0.1, 3, 3))
        for _ in range(int(rng.integers(3, 7)))
    ]
    v = OmniVehicle(wheels, 20.0, 1.0)
    twist, torques = rng.normal(size=3), rng.normal(size=len(wheels))
    power = torques @ (v.L_driven @ twist)
    assert twist @ v.inertia @ v.twist_rate(twist, torques) == pytest.approx(power, rel=1e-9, abs=1e-9)


def test_an_unbalanced_vehicle_keeps_its_momentum_without_drives():
    wheels = [OmniWheel(np.pi / 2, b, b, 0.3, 0.1, 0.01, m) for b, m in ((0.5, 1.0), (2.0, 4.0), (4.0, 9.0))]
    v = OmniVehicle(wheels, 5.0, 0.4)  # no spin inertia: a free rigid body in the plane
    centres = np.array([[0.3 * np.cos(w.direction), 0.3 * np.sin(w.direction)] for w in wheels])
    first = sum(w.mass * c for w, c in zip(wheels, centres))

    def momentum(pose, t):
        p = v.total_mass * t[1:] + t[0] * np.array([-first[1], first[0]])
        angular = float((v.inertia @ t)[0])
        c, s = np.cos(pose[0]), np.sin(pose[0])
        world = np.array([p[0] * c - p[1] * s, p[0] * s + p[1] * c])
        return np.r_[angular + pose[1] * world[1] - pose[2] * world[0], world]

    def rate(state):
        c, s = np.cos(state[0]), np.sin(state[0])
        t = state[3:]
        return np.r_[t[0], t[1] * c - t[2] * s, t[1] * s + t[2] * c, v.twist_rate(t, np.zeros(3))]

    state = np.array([0.2, 1.0, -0.5, 0.8, 0.3, -0.4])
    before = momentum(state[:3], state[3:])
    for _ in range(400):
        k1 = rate(state)
        k2 = rate(state + 0.005 * k1)
        k3 = rate(state + 0.005 * k2)
        state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + rate(state + 0.01 * k3))
    assert momentum(state[:3], state[3:]) == pytest.approx(before, abs=1e-8)


def test_component_rates_and_acceleration_components_are_inverse():
    twist, rate = np.array([0.5, 1.0, -2.0]), np.array([0.1, 0.2, 0.3])
    assert component_rate(twist, acceleration_components(twist, rate)) == pytest.approx(rate, abs=1e-15)


def test_slip_is_the_part_that_no_rolling_motion_causes():
    v = vehicle(4)
    rolling = v.L_driven @ [0.3, 0.4, -0.25]
    assert v.twist_of(rolling) == pytest.approx([0.3, 0.4, -0.25], abs=1e-12)
    assert v.slip(rolling) == pytest.approx(np.zeros(4), abs=1e-12)
    assert np.abs(v.slip(rolling + np.array([0.5, 0, 0, 0]))).max() > 0.1


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'roller': 0.0}, 'wheel 1: rollers parallel to the hub'),
        ({'roller': np.pi}, 'conventional wheel'),
        ({'radius': 0.0}, 'wheel 1: expected radius > 0'),
        ({'mass': -1.0}, 'wheel 1: expected mass >= 0'),
    ],
)
def test_an_invalid_wheel_is_rejected(changes, message):
    fields = {'roller': 1.0, 'hub': 0.0, 'direction': 0.0, 'distance': 0.3, 'radius': 0.1, 'roller_radius': 0.01}
    with pytest.raises(ValueError, match=message):
        OmniVehicle([OmniWheel(**{**fields, **changes})])
