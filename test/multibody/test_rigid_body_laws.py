"""Laws for any state of the free log-loader, and derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigid_states import assert_close, effort_scale, moved, random_state
from scipy.spatial.transform import Rotation

SEEDS = st.integers(0, 2**32 - 1)
PAYLOADS = st.floats(0.0, 6000.0)
G = 9.81


def state(rigid, seed):
    return random_state(rigid, np.random.default_rng(seed))


def along_the_motion(function, rigid, q, v, a, h=1e-5):
    """Return the time derivative of function(q, v) along a motion with acceleration a, by fourth-order differences."""

    def at(t):
        return np.asarray(function(moved(rigid, q, v, t), v + t * a))

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@given(SEEDS, PAYLOADS)
def test_mass_matrix_is_symmetric_and_positive_definite(rigid, seed, payload):
    q, _, _ = state(rigid, seed)
    M = rigid.mass_matrix(q, rigid.parameters(payload=payload))
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@given(SEEDS, PAYLOADS)
def test_kinetic_energy_follows_from_the_mass_matrix(rigid, seed, payload):
    q, v, _ = state(rigid, seed)
    p = rigid.parameters(payload=payload)
    assert rigid.energy(q, v, p)[0] == pytest.approx(0.5 * v @ rigid.mass_matrix(q, p) @ v, rel=1e-12)


@given(SEEDS, PAYLOADS)
def test_forward_dynamics_inverts_inverse_dynamics(rigid, seed, payload):
    q, v, tau = state(rigid, seed)
    p = rigid.parameters(payload=payload)
    a = rigid.forward_dynamics(q, v, tau, p)
    assert np.abs(rigid.inverse_dynamics(q, v, a, p) - tau).max() < 1e-9 * max(effort_scale(rigid), np.abs(tau).max())
    assert_close(rigid.forward_dynamics_mass_matrix(q, v, tau, p), a, 1e-9)


@given(SEEDS, PAYLOADS)
def test_inverse_dynamics_is_linear_in_the_accelerations_with_the_mass_matrix(rigid, seed, payload):
    q, v, a = state(rigid, seed)
    p = rigid.parameters(payload=payload)
    difference = rigid.inverse_dynamics(q, v, a, p) - rigid.inverse_dynamics(q, v, np.zeros(rigid.nv), p)
    assert_close(difference, rigid.mass_matrix(q, p) @ a, 1e-12)


@settings(max_examples=50)
@given(SEEDS, PAYLOADS)
def test_energy_changes_by_the_power_of_the_efforts(rigid, seed, payload):
    """dT/dt + dV/dt = v . tau; with gravity counted as a force, dT/dt = v . (tau + gravity's generalized force)."""
    q, v, tau = state(rigid, seed)
    p = rigid.parameters(payload=payload)
    a = rigid.forward_dynamics(q, v, tau, p)
    kinetic_rate, potential_rate = along_the_motion(lambda q, v: rigid.energy(q, v, p), rigid, q, v, a)
    weight = -rigid.inverse_dynamics(q, np.zeros(rigid.nv), np.zeros(rigid.nv), p)
    scale = np.abs(v) @ (np.abs(tau) + np.abs(weight)) + abs(kinetic_rate)
    assert abs(kinetic_rate - v @ (tau + weight)) < 1e-7 * scale
    assert abs(potential_rate + v @ weight) < 1e-7 * scale


@settings(max_examples=50)
@given(SEEDS, PAYLOADS)
def test_internal_efforts_do_not_change_the_momentum(rigid, seed, payload):
    """In free fall the linear momentum changes by the weight; angular momentum about the centre of mass is constant."""
    q, v, tau = state(rigid, seed)
    p, tau = rigid.parameters(payload=payload), np.r_[np.zeros(6), tau[6:]]
    a = rigid.forward_dynamics(q, v, tau, p)
    rate = along_the_motion(lambda q, v: rigid.momentum(q, v, p), rigid, q, v, a)
    mass = rigid.machine.total_mass + payload
    scale = np.abs(rigid.momentum(q, v, p)).max() + np.abs(rigid.mass_matrix(q, p) @ a).max()
    assert np.abs(rate - np.r_[0, 0, 0, 0, 0, -mass * G]).max() < 1e-7 * scale


@settings(max_examples=50)
@given(SEEDS)
def test_base_wrench_is_the_rate_of_momentum(rigid, seed):
    q, v, tau = state(rigid, seed)
    p = rigid.parameters(gravity=(0.0, 0.0, 0.0))
    a = rigid.forward_dynamics(q, v, tau, p)
    rate = along_the_motion(lambda q, v: rigid.momentum(q, v, p), rigid, q, v, a)
    R = Rotation.from_quat(q[3:7])
    force = R.apply(tau[3:6])
    moment = R.apply(tau[0:3]) + np.cross(q[0:3] - rigid.center_of_mass(q, p), force)
    scale = np.abs(rigid.momentum(q, v, p)).max() + np.abs(rigid.mass_matrix(q, p) @ a).max()
    assert np.abs(rate - np.r_[moment, force]).max() < 1e-7 * scale


@given(SEEDS)
def test_center_of_mass_moves_with_the_linear_momentum(rigid, seed):
    q, v, _ = state(rigid, seed)
    p = rigid.parameters()
    rate = along_the_motion(lambda q, v: rigid.center_of_mass(q, p), rigid, q, v, np.zeros(rigid.nv))
    mass = rigid.machine.total_mass + rigid.machine.payload.mass
    assert_close(mass * rate, rigid.momentum(q, v, p)[3:], 1e-7)


@given(SEEDS, st.floats(-np.pi, np.pi), st.lists(st.floats(-100, 100), min_size=3, max_size=3))
def test_dynamics_are_invariant_to_world_translation_and_yaw(rigid, seed, yaw, shift):
    q, v, tau = state(rigid, seed)
    p, turn = rigid.parameters(), Rotation.from_euler('z', yaw)
    elsewhere = np.r_[turn.apply(q[:3]) + shift, (turn * Rotation.from_quat(q[3:7])).as_quat(), q[7:]]
    assert_close(rigid.mass_matrix(elsewhere, p), rigid.mass_matrix(q, p), 1e-10)
    assert_close(rigid.forward_dynamics(elsewhere, v, tau, p), rigid.forward_dynamics(q, v, tau, p), 1e-9)
    here, there = rigid.energy(q, v, p), rigid.energy(elsewhere, v, p)
    assert there[0] == pytest.approx(here[0], rel=1e-12)
    mass = rigid.machine.total_mass + p[3]
    assert there[1] - here[1] == pytest.approx(mass * G * shift[2], rel=1e-9, abs=1e-6 * mass)


@given(SEEDS, st.floats(0.2, 5.0))
def test_dynamics_are_invariant_to_the_length_of_the_quaternion(rigid, seed, length):
    q, v, tau = state(rigid, seed)
    p, longer = rigid.parameters(), np.r_[q[:3], length * q[3:7], q[7:]]
    assert_close(rigid.forward_dynamics(longer, v, tau, p), rigid.forward_dynamics(q, v, tau, p), 1e-10)
    assert_close(rigid.link_pose('payload_link', longer), rigid.link_pose('payload_link', q), 1e-12)
    assert_close(rigid.position_rate(longer, v)[3:7], length * rigid.position_rate(q, v)[3:7], 1e-12)


@settings(max_examples=30)
@given(SEEDS)
def test_jacobian_times_velocity_moves_the_link(rigid, seed):
    q, v, _ = state(rigid, seed)
    h, link = 1e-5, 'payload_link'
    ahead, behind = (rigid.link_pose(link, moved(rigid, q, v, t)) for t in (h, -h))
    twist = rigid.jacobian(link, q) @ v
    assert_close((ahead[:3, 3] - behind[:3, 3]) / (2 * h), twist[3:], 1e-6)
    spin = (ahead[:3, :3] - behind[:3, :3]) / (2 * h) @ rigid.link_pose(link, q)[:3, :3].T
    assert_close([spin[2, 1], spin[0, 2], spin[1, 0]], twist[:3], 1e-6)


@settings(max_examples=30)
@given(SEEDS)
def test_jacobian_rate_is_the_derivative_of_the_jacobian(rigid, seed):
    q, v, _ = state(rigid, seed)
    link, zero = 'payload_link', np.zeros(rigid.nv)
    rate = along_the_motion(lambda q, _: rigid.jacobian(link, q) @ v, rigid, q, v, zero)
    assert_close(rigid.jacobian_rate_times_velocity(link, q, v), rate, 1e-7)


@settings(max_examples=10)
@given(SEEDS, PAYLOADS)
def test_exact_derivatives_equal_differences(rigid, seed, payload):
    q, v, tau = state(rigid, seed)
    p = rigid.parameters(payload=payload)
    exact = rigid.forward_dynamics_derivatives(q, v, tau, p)
    arguments = [q, v, tau]
    for which, derivative in enumerate(exact):
        columns = []
        for k in range(len(arguments[which])):
            size = 1e-5 * (effort_scale(rigid) if which == 2 else 1.0)
            values = []
            for factor in (-2, -1, 1, 2):
                changed = [x.copy() for x in arguments]
                changed[which][k] += factor * size
                values.append(rigid.forward_dynamics(*changed, p))
            columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * size))
        assert_close(np.column_stack(columns), derivative, 1e-7)


def test_free_flight_conserves_energy_and_angular_momentum(rigid):
    """One second of tumbling with swinging joints, no efforts: Runge-Kutta at 1 ms."""
    rng, p, h = np.random.default_rng(9), rigid.parameters(), 1e-3
    q, v, _ = random_state(rigid, rng)
    start, energies = rigid.momentum(q, v, p), rigid.energy(q, v, p)
    center, zero = rigid.center_of_mass(q, p), np.zeros(rigid.nv)

    def rates(q, v):
        return rigid.position_rate(q, v), rigid.forward_dynamics(q, v, zero, p)

    for _ in range(1000):
        a1, b1 = rates(q, v)
        a2, b2 = rates(q + h / 2 * a1, v + h / 2 * b1)
        a3, b3 = rates(q + h / 2 * a2, v + h / 2 * b2)
        a4, b4 = rates(q + h * a3, v + h * b3)
        q, v = q + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    mass = rigid.machine.total_mass + p[3]
    end = rigid.momentum(q, v, p)
    assert_close(end[:3], start[:3], 1e-9)
    assert_close(end[3:], start[3:] - np.array([0, 0, mass * G]), 1e-9)
    assert_close(rigid.center_of_mass(q, p), center + start[3:] / mass - np.array([0, 0, G / 2]), 1e-9)
    assert sum(rigid.energy(q, v, p)) == pytest.approx(sum(energies), abs=1e-9 * np.abs(energies).sum())


# ---------------------------------------------------------------------------- interface


def test_names_follow_the_tree(rigid, rigid_chain):
    assert rigid.position_names == (
        *(f'base_{name}' for name in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')),
        *('swing_joint', 'boom_joint', 'stick_joint'),
    )
    assert rigid.velocity_names[:6] == tuple(f'base_{name}' for name in ('wx', 'wy', 'wz', 'vx', 'vy', 'vz'))
    assert rigid_chain.position_names == rigid_chain.velocity_names
    assert rigid_chain.position_names[:6] == ('base_z', 'base_x', 'base_y', 'base_pitch', 'base_roll', 'base_yaw')
    assert rigid.neutral().tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]


def test_an_unknown_link_is_reported_with_the_existing_ones(rigid):
    with pytest.raises(KeyError, match="unknown link 'bucket'; known: base_link, cabin_link"):
        rigid.jacobian('bucket', rigid.neutral())


@pytest.mark.parametrize('method', ['forward_dynamics', 'inverse_dynamics', 'forward_dynamics_mass_matrix'])
@pytest.mark.parametrize('wrong', range(4))
def test_a_vector_of_another_length_is_rejected_before_machine_code(rigid, method, wrong):
    arguments = [np.zeros(10), np.zeros(9), np.zeros(9), np.zeros(4)]
    arguments[wrong] = arguments[wrong][:-1]
    with pytest.raises(ValueError, match=r'log_loader: \w+: expected shape \(\d+,\), found \(\d,\)'):
        getattr(rigid, method)(*arguments)
