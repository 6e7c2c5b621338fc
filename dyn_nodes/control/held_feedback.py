"""State feedback gains for inputs that are held between samples, exact for the sampled model at any period."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.state_feedback import NoGainError, placed_gain


def held_model(A: ArrayLike, B: ArrayLike, hold: float) -> tuple[Array, Array]:
    """Return F and G of the sampled model x' = F x + G u, with u (m,) held.

    Args:
        A: (n, n) 1/s.
        B: (n, m).
        hold: s.
    """
    from scipy.linalg import expm

    a, b = np.atleast_2d(np.asarray(A, float)), np.atleast_2d(np.asarray(B, float))
    n, m = b.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = a, b
    after = expm(whole * hold)
    return np.asarray(after[:n, :n]), np.asarray(after[:n, n:])


def held_placed_gain(A: ArrayLike, B: ArrayLike, poles: ArrayLike, hold: float) -> Array:
    """Return the gain (m, n) for poles s (n,), 1/s: the sampled model has the poles e^(s hold).

    Raises:
        NoGainError: as `placed_gain`.
    """
    return placed_gain(*held_model(A, B, hold), np.exp(np.asarray(poles) * hold))


def held_quadratic_gain(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, hold: float) -> Array:
    """Return the gain (m, n) of u = -K x, u held, that minimizes the integral of x^T Q x + u^T R u.

    The integral includes the cost between the samples (Van Loan's integrals).

    Args:
        A: (n, n) of the model.
        B: (n, m) of the model.
        Q: (n, n) weight of the states.
        R: (m, m) weight of the inputs, positive.
        hold: s.

    Raises:
        NoGainError: an uncontrollable mode is unstable.
    """
    from scipy.linalg import LinAlgError, expm, solve, solve_discrete_are

    a, b, q, r = (np.atleast_2d(np.asarray(part, float)) for part in (A, B, Q, R))
    n, m = b.shape
    flow, cost = np.zeros((n + m, n + m)), np.zeros((n + m, n + m))
    flow[:n, :n], flow[:n, n:] = a, b
    cost[:n, :n], cost[n:, n:] = q, r
    both = expm(np.block([[-flow.T, cost], [np.zeros_like(flow), flow]]) * hold)
    after, early = both[n + m :, n + m :], both[: n + m, n + m :]
    whole = after.T @ early
    whole = 0.5 * (whole + whole.T)
    F, G = after[:n, :n], after[:n, n:]
    Qd, Sd, Rd = whole[:n, :n], whole[:n, n:], whole[n:, n:]
    try:
        P = solve_discrete_are(F, G, Qd, Rd, s=Sd)
    except (LinAlgError, ValueError) as error:
        raise NoGainError(f'no stabilizing gain: {error}') from error
    K = np.asarray(solve(Rd + G.T @ P @ G, G.T @ P @ F + Sd.T, assume_a='pos'))
    slowest = float(np.abs(np.linalg.eigvals(F - G @ K)).max())
    if not slowest < 1.0:
        raise NoGainError(f'no stabilizing gain: a pole stays at {np.log(slowest) / hold:.3g} 1/s')
    return K
