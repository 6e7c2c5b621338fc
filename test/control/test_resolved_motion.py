"""Joint rates, accelerations and jerks from those of the hand; efforts that move joints or hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.linalg import inv
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand import (
    ArmDynamics,
    HandKinematics,
    HandLimits,
    HandPath,
    HandTask,
    LoopGains,
    computed_torque,
    operational_space,
    pseudo_inverse,
    resolved_acceleration,
    resolved_jerk,
    resolved_rate,
)
from dyn_nodes.model import load_machine
from dyn_nodes.studies.freeman_1985.arms import A6_A, A6_JERK, A6_Q, A6_V, arm_a6

RANDOM = np.random.default_rng(11)
G = RANDOM.normal(size=(4, 7))
A = RANDOM.normal(size=(7, 7))
INERTIA = A @ A.T + np.eye(7)


@pytest.fixture(scope='module')
def a6():
    return HandKinematics(arm_a6(), 'tool')


@pytest.fixture(scope='module')
def pa10():
    machine = load_machine(find_resource('urdf/arm_pa10.urdf'), find_resource('config/arm_pa10.yaml'))
    return HandKinematics.of(machine, 'link_7')


def test_the_joints_of_arm_a6_come_back_from_the_hand_to_third_order(a6):
    here = a6.coefficients(A6_Q, 3)
    motion = here.velocity(A6_V), here.acceleration(A6_V, A6_A), here.jerk(A6_V, A6_A, A6_JERK)
    np.testing.assert_allclose(resolved_rate(here, motion[0]), A6_V, atol=1e-13)
    np.testing.assert_allclose(resolved_acceleration(here, A6_V, motion[1]), A6_A, atol=1e-12)
    np.testing.assert_allclose(resolved_jerk(here, A6_V, A6_A, motion[2]), A6_JERK, atol=1e-12)


@pytest.mark.parametrize('weights', [None, np.arange(1.0, 8.0), INERTIA], ids=['none', 'numbers', 'inertia'])
def test_the_weighted_inverse_gives_the_motion_with_the_least_weighted_rates(weights):
    W = np.eye(7) if weights is None else np.diag(weights) if np.ndim(weights) == 1 else weights
    inverse = pseudo_inverse(G, weights)
    np.testing.assert_allclose(G @ inverse, np.eye(4), atol=1e-12)
    rates = inverse @ [1.0, -2.0, 0.5, 1.0]
    np.testing.assert_allclose(null_space(G).T @ W @ rates, 0.0, atol=1e-11)  # stationary within the null space
    np.testing.assert_allclose(inverse, inv(W) @ G.T @ inv(G @ inv(W) @ G.T), atol=1e-11)


def test_a_task_of_the_null_space_does_not_move_the_hand(pa10):
    posture, wanted = np.array([0.3, 0.4, -0.2, 1.1, 0.5, 0.7, 0.1]), RANDOM.normal(size=6)
    here = pa10.coefficients(posture, 2)
    null, rates = RANDOM.normal(size=7), RANDOM.normal(size=7)
    moved = resolved_rate(here, wanted, null)
    np.testing.assert_allclose(here.G @ moved, wanted, atol=1e-12)
    assert np.linalg.norm(moved - resolved_rate(here, wanted)) > 0.1
    np.testing.assert_allclose(
        here.acceleration(rates, resolved_acceleration(here, rates, wanted, null)), wanted, atol=1e-11
    )


def test_damping_bounds_the_rates_at_a_singular_posture(pa10):
    here = pa10.coefficients(np.zeros(7), 1)  # stretched: one direction is lost
    wanted = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    near = pa10.coefficients(np.array([0, 1e-4, 0, 1e-4, 0, 1e-4, 0]), 1)
    assert np.linalg.cond(here.G) > 1e12
    assert np.abs(resolved_rate(near, wanted)).max() > 1e3
    assert np.abs(resolved_rate(near, wanted, damping=1e-2)).max() < 10.0


def test_weights_that_are_not_positive_are_rejected():
    with pytest.raises(ValueError, match='weights: expected positive numbers'):
        pseudo_inverse(G, [1, 1, 1, -1, 1, 1, 1])
    with pytest.raises(ValueError, match=r'weights: expected 7 numbers or \(7, 7\), found shape \(3,\)'):
        pseudo_inverse(G, np.ones(3))


def test_operational_space_control_is_khatibs_with_the_inertia_seen_at_the_hand(pa10):
    posture, rates = np.array([0.3, 0.4, -0.2, 1.1, 0.5, 0.7, 0.1]), RANDOM.normal(size=7)
    arm, gains = ArmDynamics(pa10), LoopGains(bandwidth=10.0, null_bandwidth=2.0)
    path = HandPath.line(pa10.pose(posture), pa10.pose(posture).moved([0.1, 0.1, -0.1, 0, 0, 0.2]), HandLimits())
    reference = path.at(0.5)
    efforts = operational_space(arm, posture, rates, reference, gains=gains)
    here, model = pa10.coefficients(posture, 2), arm.model(posture)
    J, M = here.G, model.inertia
    seen = inv(J @ inv(M) @ J.T)
    error = pa10.pose(posture).error_to(reference.pose)
    wanted = reference.acceleration + 100.0 * error + 20.0 * (reference.velocity - J @ rates)
    force = seen @ (wanted - here.acceleration(rates, np.zeros(7)))
    forces_back = inv(M) @ J.T @ seen
    null_effort = M @ (-2.0 * 2.0 * rates)
    expected = J.T @ force + (np.eye(7) - J.T @ forces_back.T) @ null_effort + model.velocity_load(rates) - model.load
    np.testing.assert_allclose(efforts, expected, atol=1e-9)


def simulated(arm, posture, law, end):
    n = len(posture)

    def rates(t, x):
        return np.concatenate([x[n:], arm.model(x[:n]).acceleration(x[n:], law(t, x[:n], x[n:]))])

    return solve_ivp(rates, (0.0, end), np.concatenate([posture, np.zeros(n)]), rtol=1e-6, atol=1e-8).y[:, -1]


def test_computed_torque_leads_the_joints_of_arm_a6_to_their_reference(a6):
    arm, goal = ArmDynamics(a6), A6_Q + 0.1

    def law(t, q, v):
        return computed_torque(arm, q, v, (goal, np.zeros(6), np.zeros(6)), LoopGains(20.0))

    x = simulated(arm, np.array(A6_Q), law, 0.5)
    np.testing.assert_allclose(x[:6] - goal, -0.1 * (1 + 10.0) * np.exp(-10.0), atol=2e-6)  # critically damped


def test_operational_space_control_keeps_the_hand_on_its_line_with_fewer_rows_than_joints(a6):
    arm, task = ArmDynamics(a6), HandTask(('x', 'y', 'z'))
    start = a6.pose(A6_Q)
    path = HandPath.line(start, start.moved([0.05, -0.05, 0.05, 0, 0, 0]), HandLimits(0.5, 2.0, 20.0))

    def law(t, q, v):
        return operational_space(arm, q, v, path.at(t), task, A6_Q)

    x = simulated(arm, np.array(A6_Q), law, 0.6 * path.duration)
    error = a6.pose(x[:6]).error_to(path.at(0.6 * path.duration).pose)
    assert np.abs(error[:3]).max() < 1e-5
