"""State feedback of a linear model about a nominal motion: u = u_nom(t) + K (x_nom(t) - x).

    K = linear_quadratic_gain(model.A, model.B, Q, R)
    feedback = StateFeedback(K, limit=24.0)
    volts = feedback.inputs(nominal_volts, model_deviation)

The gain is designed for one model; if the model varies along a motion, the gain can vary with it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError


class NoGainError(UserError, ValueError):
    """No gain gives this model the wanted properties."""


def linear_quadratic_gain(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> Array:
    """Return the gain K (m, n) of u = -K x that minimizes the integral of x^T Q x + u^T R u.

    Args:
        A: (n, n) of the model.
        B: (n, m) of the model.
        Q: (n, n) weight of the states, symmetric, not negative.
        R: (m, m) weight of the inputs, symmetric, positive.

    Raises:
        NoGainError: an uncontrollable mode is unstable, or Q does not weigh a mode on the imaginary axis.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_continuous_are

    a, b, q, r = (np.atleast_2d(np.asarray(part, float)) for part in (A, B, Q, R))
    if b.shape[0] != len(a) or q.shape != a.shape or r.shape != (b.shape[1],) * 2:
        raise ValueError(f'expected A, B, Q, R that fit, found shapes {a.shape}, {b.shape}, {q.shape}, {r.shape}')
    try:
        factor = cho_factor(r)
        S = solve_continuous_are(a, b, q, r)
    except (LinAlgError, ValueError) as error:
        raise NoGainError(f'no stabilizing gain: {error}') from error
    K = np.asarray(cho_solve(factor, b.T @ S))
    slowest = float(np.linalg.eigvals(a - b @ K).real.max())
    if not slowest < 0:
        raise NoGainError(f'no stabilizing gain: a pole stays at {slowest:.3g} 1/s')
    return K


def placed_gain(A: ArrayLike, B: ArrayLike, poles: ArrayLike) -> Array:
    """Return a gain K (m, n) of u = -K x with wanted poles of A - B K; with several inputs the most robust one.

    Args:
        A: (n, n) of the model.
        B: (n, m) of the model.
        poles: (n,) 1/s, complex ones in conjugate pairs, none repeated more often than the number of inputs.

    Raises:
        NoGainError: the poles cannot be placed: the model is not controllable, or a pole repeats too often.
    """
    from scipy.signal import place_poles

    a, b, wanted = np.asarray(A, float), np.asarray(B, float), np.asarray(poles)
    if wanted.shape != (len(a),):
        raise ValueError(f'expected {len(a)} poles, found shape {wanted.shape}')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)  # on robustness of the gain; the poles are checked below
            K = np.asarray(place_poles(a, b, wanted).gain_matrix)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise NoGainError(f'poles that cannot be placed: {error}') from error
    placed, size = np.linalg.eigvals(a - b @ K), max(1.0, float(np.abs(wanted).max()))
    off = max(float(np.abs(placed - pole).min()) for pole in wanted)
    if not off < 1e-3 * size:
        raise NoGainError(f'poles that cannot be placed: one is missed by {off:.3g} 1/s')
    return K


@dataclass(frozen=True, eq=False)
class StateFeedback:
    """Nominal inputs and a gain on the deviation from the nominal state.

    Attributes:
        gain: K (m, n).
        limit: greatest size of an input, or of each (m,); infinite: none.
    """

    gain: Array
    limit: float | Array = np.inf

    def inputs(self, nominal: ArrayLike, deviation: ArrayLike) -> Array:
        """Return the inputs (m,) between their limits; `deviation` (n,) is the state less the nominal one."""
        wanted = np.asarray(nominal, float) - self.gain @ np.asarray(deviation, float)
        return np.asarray(np.clip(wanted, -np.asarray(self.limit), np.asarray(self.limit)))
