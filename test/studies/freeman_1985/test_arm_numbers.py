"""Arms of freeman-1985: kinematics to third order, dynamics and hand coordinates (spec 7.1, 7.2, 7.5)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from printed_numbers import matches, symmetric, upper
from scipy.integrate import solve_ivp

from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import TreeCoefficients, serial_model
from dyn_nodes.studies.freeman_1985 import arms, integration
from dyn_nodes.studies.freeman_1985.arms import A3_GRAVITY, A3_Q, A6_A, A6_JERK, A6_Q, A6_V, arm_a3, arm_a6

DIGITS = 1e-7


@cache
def a6(kinds='RRRRRR'):
    tree = arm_a6(kinds)
    return tree, TreeCoefficients(tree).at(A6_Q)


@cache
def a3():
    tree = arm_a3()
    return tree, TreeCoefficients(tree).at(A3_Q)


def test_pose_of_arm_a6():
    tree, here = a6()
    wrist, tool = tree.frame('joint_6'), tree.frame('tool')
    matches('freeman-1985/7.1/R6', here.pose(wrist)[1], DIGITS)
    matches('freeman-1985/7.1/P', here.pose(tool)[1], DIGITS)
    matches('freeman-1985/7.1/T6', here.pose(wrist)[0], DIGITS)


def test_first_order_coefficients_of_arm_a6():
    tree, here = a6()
    tool = tree.frame('tool')
    matches('freeman-1985/7.1/G_point', here.point(tool).G, DIGITS)
    matches('freeman-1985/7.1/G_rotation', here.rotation(tool).G, DIGITS)


def test_second_order_coefficients_of_arm_a6():
    tree, here = a6()
    H, Hr = here.point(tree.frame('tool')).H, here.rotation(tree.frame('tool')).H
    entries = [H[:, 0, 1], H[:, 1, 2], H[:, 4, 4], H[:, 1, 5]]
    matches('freeman-1985/7.1/h_point', entries, DIGITS)
    matches('freeman-1985/7.1/h_rotation', [Hr[:, 0, 1], Hr[:, 1, 0], Hr[:, 1, 5]], DIGITS)
    asymmetry = [np.abs(part - np.swapaxes(part, 1, 2)).max() for part in (Hr, H)]
    matches('freeman-1985/7.1/asymmetry', asymmetry, 5e-4)


def test_third_order_coefficients_of_arm_a6():
    tree, here = a6()
    D, Dr = here.point(tree.frame('tool')).D, here.rotation(tree.frame('tool')).D
    entries = [D[:, 0, 1, 2], D[:, 2, 1, 0], D[:, 1, 4, 5]]
    matches('freeman-1985/7.1/d_point', entries, DIGITS)
    entries = [Dr[:, 1, 4, 5], Dr[:, 4, 1, 5], Dr[:, 1, 5, 4], Dr[:, 0, 1, 2]]
    matches('freeman-1985/7.1/d_rotation', entries, DIGITS)


def test_velocity_acceleration_and_jerk_of_arm_a6():
    tree, here = a6()
    point, hand = here.point(tree.frame('tool')), here.rotation(tree.frame('tool'))
    rates = [point.velocity(A6_V), point.acceleration(A6_V, A6_A), point.jerk(A6_V, A6_A, A6_JERK)]
    matches('freeman-1985/7.1/P_rates', rates, DIGITS)
    rates = [hand.velocity(A6_V), hand.acceleration(A6_V, A6_A), hand.jerk(A6_V, A6_A, A6_JERK)]
    matches('freeman-1985/7.1/hand_rates', rates, DIGITS)


def test_a_slide_in_arm_a6():
    tree, here = a6('RRPRRR')
    tool = tree.frame('tool')
    point = here.point(tool)
    matches('freeman-1985/7.1/slide_P', here.pose(tool)[1], DIGITS)
    matches('freeman-1985/7.1/slide_g', point.G[:, 2], DIGITS)
    matches('freeman-1985/7.1/slide_h', [point.H[:, 0, 2], point.H[:, 2, 2], point.H[:, 2, 3]], DIGITS)


def test_inertia_of_arm_a6():
    model = serial_model(a6()[1])
    matches('freeman-1985/7.2/inertia', upper(model.inertia), DIGITS)
    matches('freeman-1985/7.2/eigenvalues', np.linalg.eigvalsh(model.inertia)[[0, -1]], 1e-6)
    matches('freeman-1985/7.2/energy', model.kinetic_energy(A6_V), 1e-9)


def test_inertia_power_of_arm_a6():
    model = serial_model(a6()[1])
    planes = symmetric(model.power)
    matches('freeman-1985/7.2/power_1', [*planes[0, 0], *planes[0, 1, 1:]], DIGITS)
    matches('freeman-1985/7.2/raw_1', [model.power[0, 0, 1], model.power[0, 1, 0]], 1e-6)
    matches('freeman-1985/7.2/power_3', [planes[2, 0, 0], planes[2, 1, 1], planes[2, 0, 3], planes[2, 3, 3]], DIGITS)


def test_loads_of_arm_a6():
    tree, here = a6()
    hand = here.frame(tree.frame('tool'))
    tool = [*arms.A6_FORCE, *arms.A6_MOMENT]
    bare, heavy = serial_model(here), serial_model(here, arms.A6_GRAVITY)
    matches('freeman-1985/7.2/velocity_load', bare.velocity_load(A6_V), DIGITS)
    matches('freeman-1985/7.2/bare', bare.effort(A6_V, A6_A), DIGITS)
    matches('freeman-1985/7.2/tool_load', bare.with_load(hand, tool).effort(A6_V, A6_A), DIGITS)
    matches('freeman-1985/7.2/gravity', heavy.load, DIGITS)
    matches('freeman-1985/7.2/all_loads', heavy.with_load(hand, tool).effort(A6_V, A6_A), DIGITS)


def test_arm_a6_in_hand_coordinates():
    tree, here = a6()
    hand = here.frame(tree.frame('tool'))
    joints, model = hand.inverse(), serial_model(here)
    there, rates = model.by(joints), hand.velocity(A6_V)
    matches('freeman-1985/7.2/hand_determinant', np.linalg.det(hand.G), DIGITS)
    matches('freeman-1985/7.2/hand_condition', hand.condition, 0.05)
    matches('freeman-1985/7.2/hand_inertia', np.diag(there.inertia), DIGITS)
    matches('freeman-1985/7.2/hand_velocity_load', there.velocity_load(rates), DIGITS)
    accelerations = hand.acceleration(A6_V, A6_A)
    matches('freeman-1985/7.2/hand_effort', there.effort(rates, accelerations), DIGITS)
    assert hand.G.T @ there.effort(rates, accelerations) == pytest.approx(model.effort(A6_V, A6_A), abs=1e-13)
    assert joints.acceleration(rates, accelerations) == pytest.approx(A6_A, abs=1e-12)
    jerk = hand.jerk(A6_V, A6_A, A6_JERK)
    assert joints.jerk(rates, accelerations, jerk) == pytest.approx(A6_JERK, abs=1e-12)


def test_direct_transfer_of_the_wrist_partitioned_arm():
    tree, here = a3()
    wrist = here.point(tree.frame('wrist'))
    joints = wrist.inverse()
    matches('freeman-1985/7.5/P', here.pose(tree.frame('wrist'))[1], 1e-6)
    matches('freeman-1985/7.5/G', wrist.G, 1e-6)
    matches('freeman-1985/7.5/H1', joints.H[0], 1e-6)
    matches('freeman-1985/7.5/H2', joints.H[1], 1e-6)
    matches('freeman-1985/7.5/H3', joints.H[2], 1e-6)
    accelerations = joints.acceleration([1, 2, -0.5], [0.3, -0.4, 0.2])
    matches('freeman-1985/7.5/accelerations', accelerations, 1e-6)


def test_closed_forms_of_the_wrist_partitioned_arm():
    """(B-6), the planes of H^P, (B-8) and (B-15)."""
    tree, here = a3()
    wrist = here.point(tree.frame('wrist'))
    one, two, three = A3_Q
    c1, s1, c23, s23, s3 = np.cos(one), np.sin(one), np.cos(two + three), np.sin(two + three), np.sin(three)
    p, r, S, C = 10 * np.sin(two) + 8 * s23, 10 * np.cos(two) + 8 * c23, 8 * s23, 8 * c23
    inverse = np.array([
        [-s1 / r, c1 / r, 0],
        [c1 * c23 / (10 * s3), s1 * c23 / (10 * s3), s23 / (10 * s3)],
        [-r * c1 / (80 * s3), -r * s1 / (80 * s3), -p / (80 * s3)],
    ])  # fmt: skip
    planes = np.array([
        [[-r * c1, p * s1, S * s1], [p * s1, -r * c1, -C * c1], [S * s1, -C * c1, -C * c1]],
        [[-r * s1, -p * c1, -S * c1], [-p * c1, -r * s1, -C * s1], [-S * c1, -C * s1, -C * s1]],
        [[0, 0, 0], [0, -p, -S], [0, -S, -S]],
    ])  # fmt: skip
    assert pytest.approx(inverse, abs=1e-15) == wrist.inverse().G
    assert pytest.approx(planes, abs=1e-13) == wrist.H
    double = np.array([[np.sin(2 * one), -np.cos(2 * one), 0], [-np.cos(2 * one), -np.sin(2 * one), 0], [0, 0, 0]])
    assert wrist.inverse().H[0] == pytest.approx(double / r**2, abs=1e-16)
    v, a = np.array([1, 2, -0.5]), np.array([0.3, -0.4, 0.2])
    turned = (a[1] * c1 - a[0] * s1) / r - 2 / r**2 * (v[0] * c1 + v[1] * s1) * (v[1] * c1 - v[0] * s1)
    assert wrist.inverse().acceleration(v, a)[0] == pytest.approx(turned, abs=1e-15)


def test_dynamics_of_the_wrist_partitioned_arm():
    model = serial_model(a3()[1], A3_GRAVITY)
    matches('freeman-1985/7.5/inertia', model.inertia, 1e-6)
    matches('freeman-1985/7.5/load', model.load, 1e-6)
    matches('freeman-1985/7.5/effort', model.effort([1, -2, 3], [5, 4, -3]), 1e-6)


def test_the_wrist_partitioned_arm_falls_for_a_second():
    tree = arm_a3()
    model = TreeCoefficients(tree)

    def rate(_, state):
        dynamics = serial_model(model.at(state[:3], 2), A3_GRAVITY)
        return np.r_[state[3:], dynamics.acceleration(state[3:], np.zeros(3))]

    def energy(state):
        here = model.at(state[:3], 2)
        height = sum(body.mass * here.pose(Frame(k, np.eye(3), body.com))[1][2] for k, body in enumerate(tree.bodies))
        return serial_model(here).kinetic_energy(state[3:]) + 386.4 * height

    start = np.r_[A3_Q, 1.0, -2.0, 3.0]
    end = solve_ivp(rate, (0, 1), start, 'DOP853', rtol=1e-10, atol=1e-11).y[:, -1]
    matches('freeman-1985/7.5/fall', end[:3], 1e-6)
    matches('freeman-1985/7.5/fall_rates', end[3:], 1e-6)
    matches('freeman-1985/7.5/fall_energy', [energy(start), energy(end)], 1e-6)


def test_integrators_of_the_fall():
    """The Adams rows are from VODE, the reference code; our method needs no more evaluations and is more accurate."""
    fixed = [integration.fixed(steps) for steps in integration.STEPS]
    assert [fall.evaluations for fall in fixed] == [800, 1600, 3200]
    matches('freeman-1985/7.5/rk4_errors', [fall.error * 1e7 for fall in fixed], [50, 0.5, 0.05])
    pair = [integration.peer('RK45', tolerance) for tolerance in integration.TOLERANCES]
    matches('freeman-1985/7.5/rk45_evaluations', [fall.evaluations for fall in pair], 0)
    matches('freeman-1985/7.5/rk45_errors', [fall.error * 1e8 for fall in pair], [5e3, 5, 0.05])
    vode = [integration.peer('VODE', tolerance) for tolerance in integration.TOLERANCES]
    matches('freeman-1985/7.5/adams_evaluations', [fall.evaluations for fall in vode], 0)
    matches('freeman-1985/7.5/adams_errors', [fall.error * 1e7 for fall in vode], [500, 5, 0.05])
    matches(
        'freeman-1985/7.5/equal_error',
        [integration.evaluations_at(falls) for falls in (vode, pair, fixed)],
        [10, 15, 40],
    )
    adams = [integration.adaptive('adams', tolerance) for tolerance in integration.TOLERANCES]
    assert [fall.evaluations for fall in adams] == pytest.approx([320, 511, 739], rel=0.02)
    for ours, other in zip(adams, vode):
        assert ours.error <= other.error
        assert ours.evaluations <= 1.05 * other.evaluations
