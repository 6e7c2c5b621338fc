"""Arm A6 of freeman-1985, linearized: with its tool load, and with motors as a state space (spec 7.3, 7.4)."""

from __future__ import annotations

import numpy as np
import pytest
from printed_numbers import matches

from dyn_nodes.control.state_feedback import linear_quadratic_gain, placed_gain
from dyn_nodes.simulation.linear import LinearModel
from dyn_nodes.studies.freeman_1985 import linear
from dyn_nodes.studies.freeman_1985.arms import A6_A, A6_Q, A6_V
from dyn_nodes.studies.freeman_1985.influence_linearization import effort_slopes
from dyn_nodes.studies.reference import tabulated

DIGITS = 1e-7


@pytest.fixture(scope='module')
def arm():
    return linear.MotorArm()


@pytest.fixture(scope='module')
def here(arm):
    return arm.at(0.0)


def test_slopes_of_the_efforts_of_arm_a6(arm):
    tool = linear.tool_load(arm.model.at(A6_Q))
    bare = effort_slopes(arm.model.at(A6_Q), A6_V, A6_A, loads=[tool])
    matches('freeman-1985/7.3/by_velocity', bare.by_velocity, DIGITS)
    matches('freeman-1985/7.3/by_position', bare.by_position, DIGITS)
    heavy = effort_slopes(arm.model.at(A6_Q), A6_V, A6_A, linear.A6_GRAVITY, [tool])
    matches('freeman-1985/7.3/gravity', np.diag(heavy.by_position), 1e-6)
    assert heavy.by_velocity == pytest.approx(bare.by_velocity, abs=1e-15)


def test_state_space_of_arm_a6_with_motors(here):
    F, inputs = here.F, here.inputs
    matches('freeman-1985/7.4/F21', F[6, :6], 1e-6)
    matches('freeman-1985/7.4/F22', np.diag(F[6:12, 6:12]), 1e-6)
    matches('freeman-1985/7.4/F23', np.diag(F[6:12, 12:]), 1e-6)
    poles = np.linalg.eigvals(F)
    real, pairs = np.sort(poles[poles.imag == 0].real), poles[poles.imag > 0]
    ordered = [*real[:6], *real[6:], *np.column_stack([pairs.real, pairs.imag])[np.argsort(pairs.real)].ravel()]
    matches('freeman-1985/7.4/poles', ordered, 6e-4)
    names = tuple(f'x{k}' for k in range(18))
    model = LinearModel(F, inputs, np.zeros((0, 18)), np.zeros((0, 6)), names, names[:6], ())
    matches('freeman-1985/7.4/rank', model.controllability().rank, 0)


def test_state_space_of_arm_a6_in_hand_coordinates(arm, here):
    F, _ = arm.in_hand_coordinates(0.0)
    matches('freeman-1985/7.4/hand_F21', np.diag(F[6:12, :6]), 1e-6)
    matches('freeman-1985/7.4/hand_F22', np.diag(F[6:12, 6:12]), 1e-6)
    turn = [F[5, 4], F[3, 5], F[4, 3]]
    matches('freeman-1985/7.4/hand_turn', turn, 1e-6)
    printed, _ = arm.in_hand_coordinates(0.0, as_printed=True)
    assert np.abs(F - printed).max() == pytest.approx(tabulated('freeman-1985/7.4/hand_turn')[2], abs=1e-6)
    assert np.abs((F - printed)[6:]).max() == 0.0


def test_a_small_deviation_follows_the_model_along_the_path_and_less_well_the_frozen_one(arm):
    start = np.r_[1e-3 * np.array([1, -1, 1, -1, 1, -1]), np.zeros(12)]
    nonlinear = arm.deviation(0.1, start)
    matches('freeman-1985/7.4/small', nonlinear[:6], 6e-7)
    along, frozen = arm.linear_deviation(0.1, start), arm.linear_deviation(0.1, start, frozen=True)
    assert along[:6] == pytest.approx(nonlinear[:6], abs=5e-7)
    matches('freeman-1985/7.4/frozen', frozen[4], 6e-7)
    rates = np.abs(frozen - along)[6:12] / np.abs(along)[6:12]
    assert 0.03 < np.median(rates) < 0.15


def test_feedback_of_the_state_brings_arm_a6_back_to_its_path(arm, here):
    Q = np.diag(np.r_[np.full(6, 1e6), np.full(6, 1e3), np.zeros(6)])
    K = linear_quadratic_gain(here.F, here.inputs, Q, np.eye(6))
    poles = np.linalg.eigvals(here.F - here.inputs @ K)
    matches('freeman-1985/7.4/lqr_pole', poles.real.max(), 1e-4)
    matches('freeman-1985/7.4/lqr_position', np.diag(K[:, :6]), 1e-3)
    matches('freeman-1985/7.4/lqr_velocity', np.diag(K[:, 6:12]), 1e-3)
    start = np.r_[0.01 * np.array([1, -1, 1, -1, 1, -1]), np.zeros(12)]
    left = arm.deviation(0.15, start, K)
    matches('freeman-1985/7.4/lqr_run', 1e4 * left[:6], 6e-3)


def test_poles_of_arm_a6_can_be_placed(here):
    k = np.arange(6)
    wanted = np.r_[-20.0 - 2 * k, -40.0 - 2 * k, -400.0 - 10 * k]
    K = placed_gain(here.F, here.inputs, wanted)
    real_parts = np.sort(np.linalg.eigvals(here.F - here.inputs @ K).real)
    # the printed formula in explicit form
    matches('freeman-1985/7.4/placed', real_parts[::-1], 1e-6)
