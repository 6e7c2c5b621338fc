"""Plastic impact: a contact that closes instantaneously and stays closed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


class Impact(NamedTuple):
    """Result of an impact; the positions are unchanged.

    Attributes:
        velocity: (n,) generalized velocities after the impact.
        impulse: (m,) impulse of the contact on the machine, along the rows of the Jacobian, N s or N m s.
        energy_before, energy_after: kinetic energy, J.
    """

    velocity: Array
    impulse: Array
    energy_before: float
    energy_after: float


def plastic_impact(mass_matrix: ArrayLike, jacobian: ArrayLike, velocity: ArrayLike) -> Impact:
    r"""Return the motion after contact points have been stopped instantaneously (abo-shanab-2003, eqs 4.2 to 4.5, A13).

    The contacts' velocity J v becomes zero, and finite forces have no effect:

        Lambda = -(J M^-1 J^T)^-1 J v,    v+ = v + M^-1 J^T Lambda.

    The print of (4.2) lacks the inverse of the middle factor; (4.5) and (A13) have it. The kinetic energy never rises.

    Args:
        mass_matrix: M (n, n).
        jacobian: J (m, n) of the stopped points in the stopped directions; full row rank.
        velocity: v (n,) before the impact.

    Raises:
        ValueError: the shapes do not match.
        numpy.linalg.LinAlgError: the rows of J depend on each other.
    """
    M, J, v = (np.asarray(part, dtype=np.float64) for part in (mass_matrix, jacobian, velocity))
    if M.shape != (len(v), len(v)) or J.ndim != 2 or J.shape[1] != len(v):
        raise ValueError(
            f'impact: expected M (n, n), J (m, n) and v (n,), found shapes {M.shape}, {J.shape} and {v.shape}'
        )
    spread = np.linalg.solve(M, J.T)
    impulse = -np.linalg.solve(J @ spread, J @ v)
    after = v + spread @ impulse
    return Impact(np.asarray(after), np.asarray(impulse), float(0.5 * v @ M @ v), float(0.5 * after @ M @ after))
