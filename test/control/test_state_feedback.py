"""State feedback gains: the Riccati equation, placed poles, rejections."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.state_feedback import NoGainError, StateFeedback, linear_quadratic_gain, placed_gain

CHAIN = np.diag([1.0, 1.0], 1)
PUSH = np.array([[0.0], [0.0], [1.0]])


def test_the_gain_of_a_double_integrator_is_that_of_the_textbook():
    K = linear_quadratic_gain(CHAIN[:2, :2], PUSH[1:], np.diag([4.0, 0.0]), [[1.0]])
    assert pytest.approx(np.array([[2.0, 2.0]])) == K


def test_the_gain_is_the_least_costly_one():
    """The cost x0^T S x0 of a gain is the solution of a Lyapunov equation; every other gain costs more."""
    from scipy.linalg import solve_continuous_lyapunov

    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    Q, R = np.diag([1.0, 2.0, 0.5, 3.0]), np.diag([1.0, 0.3])

    def cost(K):
        closed = A - B @ K
        assert np.linalg.eigvals(closed).real.max() < 0
        return np.trace(solve_continuous_lyapunov(closed.T, -(Q + K.T @ R @ K)))

    best = linear_quadratic_gain(A, B, Q, R)
    for _ in range(10):
        assert cost(best + 0.01 * rng.normal(size=best.shape)) > cost(best)


def test_poles_are_placed():
    wanted = np.array([-2.0, -3.0 + 1.0j, -3.0 - 1.0j])
    K = placed_gain(CHAIN, PUSH, wanted)
    assert np.sort_complex(np.linalg.eigvals(CHAIN - PUSH @ K)) == pytest.approx(np.sort_complex(wanted))


def test_an_uncontrollable_model_is_rejected():
    A = np.diag([1.0, -1.0])
    out_of_reach = np.array([[0.0], [1.0]])
    with pytest.raises(NoGainError, match='no stabilizing gain'):
        linear_quadratic_gain(A, out_of_reach, np.eye(2), [[1.0]])
    with pytest.raises(NoGainError, match='poles that cannot be placed'):
        placed_gain(A, out_of_reach, [-2.0, -3.0])
    with pytest.raises(NoGainError, match='poles that cannot be placed'):
        placed_gain(CHAIN, PUSH, [-1.0, -1.0, -2.0])


def test_vectors_and_weights_of_wrong_shape_are_rejected():
    with pytest.raises(ValueError, match='expected A, B, Q, R that fit'):
        linear_quadratic_gain(CHAIN, PUSH, np.eye(2), [[1.0]])
    with pytest.raises(ValueError, match='expected 3 poles, found shape'):
        placed_gain(CHAIN, PUSH, [-1.0])
    with pytest.raises(NoGainError, match='no stabilizing gain'):
        linear_quadratic_gain(CHAIN, PUSH, np.eye(3), [[-1.0]])


def test_inputs_are_nominal_on_the_path_and_keep_their_limits():
    feedback = StateFeedback(np.array([[10.0, 1.0], [0.0, 5.0]]), limit=np.array([24.0, 2.0]))
    assert feedback.inputs([3.0, -1.0], [0.0, 0.0]).tolist() == [3.0, -1.0]
    assert feedback.inputs([3.0, -1.0], [0.1, 0.2]).tolist() == pytest.approx([1.8, -2.0])
    assert feedback.inputs([3.0, -1.0], [-9.0, 0.0]).tolist() == [24.0, -1.0]
