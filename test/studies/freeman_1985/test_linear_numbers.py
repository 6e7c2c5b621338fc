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

DIGITS = 1e-7


@pytest.fixture(scope='module')
def arm():
    return linear.MotorArm()


@pytest.fixture(scope='module')
def here(arm):
    return arm.at(0.0)


@pytest.mark.pins('freeman-1985/7.3/by_velocity', 'freeman-1985/7.3/by_position', 'freeman-1985/7.3/gravity')
def test_slopes_of_the_efforts_of_arm_a6(arm):
    tool = linear.tool_load(arm.model.at(A6_Q))
    bare = effort_slopes(arm.model.at(A6_Q), A6_V, A6_A, loads=[tool])
    matches('7.3/by_velocity', 'arm A6, tool load: efforts by rates, by rows, N m s', bare.by_velocity,
            [[-0.74322385, 0.95472032, 0.40508412, -0.01142043, 0.00490709, -0.00059085],
             [-1.56314317, 0.19022871, 0.07893784, 0.01461980, -0.00324631, -0.00163751],
             [-0.36569579, 0.10963827, -0.00165260, 0.00933180, -0.00231181, -0.00112292],
             [0.00539983, -0.01108261, -0.00610840, 0.00040226, -0.00158873, 0.00001071],
             [-0.00261271, 0.00346024, -0.00036880, 0.00145722, 0.00003141, -0.00030889],
             [0.00022135, 0.00050867, 0.00042440, -0.00005477, 0.00015272, 0]], DIGITS)  # fmt: skip
    matches('7.3/by_position', 'arm A6, tool load: efforts by positions, by rows, N m', bare.by_position,
            [[3.25246181, 10.30207885, 4.93699214, -0.30181936, 1.73719062, 0.23920732],
             [6.81210336, 21.40096408, 12.31397870, 1.48673529, 2.60864332, -0.18066716],
             [4.66130032, 12.25977054, 12.43608304, 1.47894679, 2.60995188, -0.18078273],
             [-0.12438787, 1.41483442, 1.41796073, 0.55547695, 0.90027170, -0.07788270],
             [1.87848442, 2.18754478, 2.18879752, 0.73668046, 3.40374583, 0.22564020],
             [-0.07538853, -0.81982629, -0.82031342, -0.39411566, -0.36606241, 0.57084488]], DIGITS)  # fmt: skip
    heavy = effort_slopes(arm.model.at(A6_Q), A6_V, A6_A, linear.A6_GRAVITY, [tool])
    matches('7.3/gravity', 'arm A6, tool load and gravity: diagonal of efforts by positions, N m',
            np.diag(heavy.by_position),
            [3.252462, -21.833829, 5.045753, 0.507092, 3.322194, 0.565587], 1e-6)  # fmt: skip
    assert heavy.by_velocity == pytest.approx(bare.by_velocity, abs=1e-15)


@pytest.mark.pins(
    'freeman-1985/7.4/F21', 'freeman-1985/7.4/F22', 'freeman-1985/7.4/F23', 'freeman-1985/7.4/poles',
    'freeman-1985/7.4/rank',
)  # fmt: skip
def test_state_space_of_arm_a6_with_motors(here):
    F, inputs = here.F, here.inputs
    matches('7.4/F21', 'arm A6 with motors: first row of F21', F[6, :6],
            [-0.912249, -1.566414, -1.231219, 0.013408, -0.448857, -0.043510], 1e-6)  # fmt: skip
    matches('7.4/F22', 'arm A6 with motors: diagonal of F22', np.diag(F[6:12, 6:12]),
            [-0.006690, -0.257204, -0.439648, -0.956964, -0.966303, -0.998601], 1e-6)  # fmt: skip
    matches('7.4/F23', 'arm A6 with motors: diagonal of F23', np.diag(F[6:12, 12:]),
            [5.409232, 4.915483, 11.100373, 63.445492, 64.387086, 66.573575], 1e-6)  # fmt: skip
    poles = np.linalg.eigvals(F)
    real, pairs = np.sort(poles[poles.imag == 0].real), poles[poles.imag > 0]
    found = [*real[:6], *real[6:], *np.column_stack([pairs.real, pairs.imag])[np.argsort(pairs.real)].ravel()]
    matches('7.4/poles', 'arm A6 with motors: real poles, then real and imaginary parts of pairs, 1/s', found,
            [-622.406, -619.985, -614.320, -136.610, -130.532, -128.428, -0.4270, -0.0854, -0.0266, -0.0121, 0.0053,
             0.0432, -166.892, 259.393, -166.817, 82.928, -166.713, 145.522], 6e-4)  # fmt: skip
    names = tuple(f'x{k}' for k in range(18))
    model = LinearModel(F, inputs, np.zeros((0, 18)), np.zeros((0, 6)), names, names[:6], ())
    matches('7.4/rank', 'arm A6 with motors: rank of controllability', [model.controllability().rank], [18], 0)


@pytest.mark.pins('freeman-1985/7.4/hand_F21', 'freeman-1985/7.4/hand_F22', 'freeman-1985/7.4/hand_turn')
def test_state_space_of_arm_a6_in_hand_coordinates(arm, here):
    F, _ = arm.in_hand_coordinates(0.0)
    matches('7.4/hand_F21', 'arm A6 with motors: diagonal of F21 of the hand', np.diag(F[6:12, :6]),
            [-5.646, -3.129286, 13.452515, -19.77796, -37.989543, -5.866646], 1e-6)  # fmt: skip
    matches('7.4/hand_F22', 'arm A6 with motors: diagonal of F22 of the hand', np.diag(F[6:12, 6:12]),
            [-1.433634, -0.060898, -2.075206, -0.814737, -1.106468, -0.898214], 1e-6)  # fmt: skip
    turn = [F[5, 4], F[3, 5], F[4, 3]]
    matches('7.4/hand_turn', 'arm A6 with motors: angular velocity of the hand in F11', turn,
            [-0.077196, -0.247370, 1.495195], 1e-6)  # fmt: skip
    printed, _ = arm.in_hand_coordinates(0.0, as_printed=True)
    assert np.abs(F - printed).max() == pytest.approx(1.495195, abs=1e-6)
    assert np.abs((F - printed)[6:]).max() == 0.0


@pytest.mark.pins('freeman-1985/7.4/small', 'freeman-1985/7.4/frozen')
def test_a_small_deviation_follows_the_model_along_the_path_and_less_well_the_frozen_one(arm):
    start = np.r_[1e-3 * np.array([1, -1, 1, -1, 1, -1]), np.zeros(12)]
    nonlinear = arm.deviation(0.1, start)
    matches('7.4/small', 'arm A6 with motors: deviation after 0.1 s, rad', nonlinear[:6],
            [0.001000, -0.001005, 0.000999, -0.001004, 0.000953, -0.000994], 6e-7)  # fmt: skip
    along, frozen = arm.linear_deviation(0.1, start), arm.linear_deviation(0.1, start, frozen=True)
    assert along[:6] == pytest.approx(nonlinear[:6], abs=5e-7)
    matches('7.4/frozen', 'arm A6 with motors: deviation of joint 5 after 0.1 s, frozen model, rad', frozen[[4]],
            [0.000955], 6e-7)  # fmt: skip
    rates = np.abs(frozen - along)[6:12] / np.abs(along)[6:12]
    assert 0.03 < np.median(rates) < 0.15


@pytest.mark.pins(
    'freeman-1985/7.4/lqr_pole', 'freeman-1985/7.4/lqr_position', 'freeman-1985/7.4/lqr_velocity',
    'freeman-1985/7.4/lqr_run',
)  # fmt: skip
def test_feedback_of_the_state_brings_arm_a6_back_to_its_path(arm, here):
    Q = np.diag(np.r_[np.full(6, 1e6), np.full(6, 1e3), np.zeros(6)])
    K = linear_quadratic_gain(here.F, here.inputs, Q, np.eye(6))
    poles = np.linalg.eigvals(here.F - here.inputs @ K)
    matches('7.4/lqr_pole', 'arm A6 with motors: slowest pole under LQR, 1/s', [poles.real.max()], [-24.7666], 1e-4)
    matches('7.4/lqr_position', 'arm A6 with motors: diagonal of the position gain, V/rad', np.diag(K[:, :6]),
            [999.815, 1001.065, 999.652, 999.460, 996.670, 999.439], 1e-3)  # fmt: skip
    matches('7.4/lqr_velocity', 'arm A6 with motors: diagonal of the velocity gain, V s/rad', np.diag(K[:, 6:12]),
            [20.959, 21.553, 18.564, 29.269, 29.240, 29.195], 1e-3)  # fmt: skip
    start = np.r_[0.01 * np.array([1, -1, 1, -1, 1, -1]), np.zeros(12)]
    left = arm.deviation(0.15, start, K)
    matches('7.4/lqr_run', 'arm A6 with motors: deviation after 0.15 s under LQR, 1e-4 rad', 1e4 * left[:6],
            [2.83, -2.82, 2.59, -0.99, 0.99, -0.99], 6e-3)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.4/placed')
def test_poles_of_arm_a6_can_be_placed(here):
    k = np.arange(6)
    wanted = np.r_[-20.0 - 2 * k, -40.0 - 2 * k, -400.0 - 10 * k]
    K = placed_gain(here.F, here.inputs, wanted)
    found = np.sort(np.linalg.eigvals(here.F - here.inputs @ K).real)
    # the printed formula, written out
    matches('7.4/placed', 'arm A6 with motors: poles that are placed, 1/s', found[::-1],
            [-20, -22, -24, -26, -28, -30, -40, -42, -44, -46, -48, -50, -400, -410, -420, -430, -440, -450],
            1e-6)  # fmt: skip
