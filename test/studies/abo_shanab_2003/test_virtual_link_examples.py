"""The source's two examples of virtual links against chains, Newton-Euler and an explicit Lagrangian."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.studies.abo_shanab_2003.dh_machines import spherical_joint
from dyn_nodes.studies.abo_shanab_2003.lagrange_euler import inverse_dynamics
from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import ThreeLinkChain, spherical_joint_torque
from dyn_nodes.studies.reference import tabulated

LENGTH, MASS = (1.0, 0.8, 0.6), (10.0, 8.0, 5.0)
CHAIN = ThreeLinkChain(LENGTH, (0.5, 0.4, 0.3), MASS, tuple(m * length**2 / 12 for m, length in zip(MASS, LENGTH)))
STATE = ((0.3, 0.7, -0.4), (1.2, -0.8, 2.0))
TORQUES = (20.0, -5.0, 3.0)
SPHERICAL = {'mass': 5.0, 'com_height': 0.3, 'inertia': 2.0, 'axial_inertia': 0.7, 'length': 0.4}


def newton_euler_of_links(chain, angles, rates, accelerations):
    """Link by link from the tip: joint forces (3, 2) on each link and relative joint moments (3,)."""
    angles, rates, accelerations = (np.asarray(part, dtype=float) for part in (angles, rates, accelerations))
    direction = np.column_stack([np.sin(angles), -np.cos(angles)])
    across = np.column_stack([np.cos(angles), np.sin(angles)])
    swing = across * accelerations[:, None] - direction * (rates**2)[:, None]
    joint = np.zeros(2)
    centres = []
    for i in range(3):
        centres.append(joint + chain.com[i] * swing[i])
        joint = joint + chain.length[i] * swing[i]
    force, moment = np.zeros((4, 2)), np.zeros(4)
    for i in (2, 1, 0):
        force[i] = force[i + 1] + chain.mass[i] * (centres[i] + np.array((0, 9.81)))
        proximal, distal = -chain.com[i] * direction[i], (chain.length[i] - chain.com[i]) * direction[i]
        turn = proximal[0] * force[i, 1] - proximal[1] * force[i, 0]
        turn -= distal[0] * force[i + 1, 1] - distal[1] * force[i + 1, 0]
        moment[i] = moment[i + 1] + chain.inertia[i] * accelerations[i] - turn
    return force[:3], moment[:3], centres


def test_three_link_numbers():
    matrix, _ = CHAIN.extended_equations(*STATE)
    upper = np.hstack(tabulated('abo-shanab-2003/6.1/mass_matrix'))
    np.testing.assert_allclose(matrix[np.triu_indices(3)], upper, atol=5.1e-11)
    accelerations = CHAIN.accelerations(*STATE, TORQUES)
    np.testing.assert_allclose(accelerations, tabulated('abo-shanab-2003/6.1/accelerations'), atol=5.1e-11)
    reaction = tabulated('abo-shanab-2003/6.1/reaction')[0]
    np.testing.assert_allclose(CHAIN.reaction(*STATE, accelerations), reaction, atol=5.1e-11)
    force, moment, centres = newton_euler_of_links(CHAIN, *STATE, accelerations)
    np.testing.assert_allclose(force[1], reaction, atol=5.1e-11)
    np.testing.assert_allclose(moment, (18, -2, 3), atol=1e-10)
    constrained = CHAIN.constrained_motion(*STATE, TORQUES)
    np.testing.assert_allclose(constrained.multiplier, reaction, atol=5.1e-11)
    np.testing.assert_allclose(constrained.acceleration[:3], accelerations, rtol=1e-11)
    np.testing.assert_allclose(
        constrained.acceleration[3:], tabulated('abo-shanab-2003/6.1/constrained_accelerations'), atol=5.1e-11
    )
    np.testing.assert_allclose(constrained.acceleration[3:], centres[1], rtol=1e-11)


@pytest.mark.pins('abo-shanab-2003/6.1/as_printed')
def test_three_link_equations_as_printed_are_wrong():
    """The faults of the source in (3.17) change the accelerations."""
    (t1, t2, t3), (w1, w2, w3) = STATE
    _, m2, m3 = MASS
    (l1, l2, l3), (_, d2, d3) = LENGTH, CHAIN.com
    s21, s31, s32 = np.sin(t2 - t1), np.sin(t3 - t1), np.sin(t3 - t2)
    matrix, bias = CHAIN.extended_equations(*STATE)
    faulty = np.array(
        [
            (m2 + m3) * l1 * d2 * s21 * w2**2
            + m3 * l1 * d3 * s31 * w3**2
            + (MASS[0] * 0.5 + (m2 + m3) * l1) * 9.81 * np.sin(t1),
            (m2 * d2 + m3 * l2) * l1 * s21 * w1**2
            - m3 * l1 * d3 * s32 * w3**2
            + (m2 * d2 - m2 * l3) * 9.81 * np.sin(t2),
            m3 * l1 * d3 * s31 * w1**2 - m3 * l1 * d3 * s32 * w2**2 + m3 * d3 * 9.81 * np.sin(t3),
        ]
    )
    accelerations = np.linalg.solve(matrix[:3, :3], np.array(TORQUES) - faulty)
    np.testing.assert_allclose(accelerations, (-4.4311, 2.7407, 21.4302), atol=5.1e-5)
    assert np.abs(faulty - bias[:3]).max() > 1.0


def test_chain_at_rest_hangs_on_the_joint():
    force = CHAIN.reaction(np.zeros(3), np.zeros(3), CHAIN.accelerations(np.zeros(3), np.zeros(3), np.zeros(3)))
    np.testing.assert_allclose(force, tabulated('abo-shanab-2003/6.1/hanging'), atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_virtual_links_newton_euler_and_multipliers_agree(seed):
    rng = np.random.default_rng(seed)
    chain = ThreeLinkChain(*(tuple(rng.uniform(0.3, 3, 3)) for _ in range(4)))
    angles, rates, torques = rng.normal(size=(3, 3)) * 2
    accelerations = chain.accelerations(angles, rates, torques)
    reaction = chain.reaction(angles, rates, accelerations)
    force, moment, _ = newton_euler_of_links(chain, angles, rates, accelerations)
    constrained = chain.constrained_motion(angles, rates, torques)
    scale = 1e-10 * (np.abs(reaction).max() + np.abs(accelerations).max() + 1)
    np.testing.assert_allclose(force[1], reaction, atol=scale)
    np.testing.assert_allclose(moment - np.append(moment[1:], 0), torques, atol=scale * 10)
    np.testing.assert_allclose(constrained.multiplier, reaction, atol=scale)
    np.testing.assert_allclose(constrained.acceleration[:3], accelerations, atol=scale)


@pytest.mark.parametrize('virtual', [(0.0, 0.0), (1.3, 0.7)])
def test_extended_equations_are_those_of_the_lagrangian(virtual):
    q, qd = ca.SX.sym('q', 5), ca.SX.sym('qd', 5)

    def velocity(position):
        return ca.jtimes(position, q, qd)

    joint, kinetic, potential = ca.SX.zeros(2), 0, 0
    for i in range(3):
        direction = ca.vertcat(ca.sin(q[i]), -ca.cos(q[i]))
        if i == 1:
            for mass, offset in ((virtual[0], ca.vertcat(q[3], 0)), (virtual[1], q[3:])):
                kinetic += 0.5 * mass * ca.sumsqr(velocity(joint + offset))
                potential += mass * 9.81 * (joint + offset)[1]
            joint = joint + q[3:]
        centre = joint + CHAIN.com[i] * direction
        kinetic += 0.5 * MASS[i] * ca.sumsqr(velocity(centre)) + 0.5 * CHAIN.inertia[i] * qd[i] ** 2
        potential += MASS[i] * 9.81 * centre[1]
        joint = joint + CHAIN.length[i] * direction
    momentum = ca.gradient(kinetic, qd)
    bias = ca.jtimes(momentum, q, qd) - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    evaluate = ca.Function('f', [q, qd], [ca.jacobian(momentum, qd), bias])
    expected = evaluate([*STATE[0], 0, 0], [*STATE[1], 0, 0])
    matrix, force = CHAIN.extended_equations(*STATE, virtual)
    np.testing.assert_allclose(matrix, np.array(expected[0]), atol=1e-12)
    np.testing.assert_allclose(force, np.array(expected[1])[:, 0], atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_spherical_joint_by_virtual_links_is_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=(3, 3)) * 2
    chain = spherical_joint(**SPHERICAL)
    closed = spherical_joint_torque(q, qd, qdd, **SPHERICAL)
    virtual = inverse_dynamics(chain, q, qd, qdd)
    assert np.abs(closed - virtual).max() <= 1e-12 * max(1.0, np.abs(virtual).max())


def test_spherical_joint_closed_form_is_that_of_the_lagrangian():
    q, qd, qdd = (ca.SX.sym(name, 3) for name in ('q', 'qd', 'qdd'))
    s2, c2, s3, c3 = ca.sin(q[1]), ca.cos(q[1]), ca.sin(q[2]), ca.cos(q[2])
    omega = ca.vertcat(-s2 * c3 * qd[0] + s3 * qd[1], s2 * s3 * qd[0] + c3 * qd[1], c2 * qd[0] + qd[2])
    across, reach = 2.0 + 5.0 * 0.7**2, 0.7
    kinetic = 0.5 * (across * (omega[0] ** 2 + omega[1] ** 2) + 0.7 * omega[2] ** 2)
    potential = 5.0 * 9.81 * ca.cos(q[0]) * s2 * reach
    momentum = ca.gradient(kinetic, qd)
    torque = ca.jtimes(momentum, q, qd) + ca.jtimes(momentum, qd, qdd) - ca.gradient(kinetic - potential, q)
    state = ((0.3, 0.8, -0.5), (1.0, -0.6, 2.0), (0.5, 1.5, -1.0))
    expected = np.array(ca.Function('f', [q, qd, qdd], [torque])(*state))[:, 0]
    closed = spherical_joint_torque(*state, **SPHERICAL)
    np.testing.assert_allclose(closed, expected, rtol=1e-12)
    np.testing.assert_allclose(closed, tabulated('abo-shanab-2003/6.2/spherical'), atol=5.1e-13)
