"""Joints of a machine with constraints driven to positions: computed torque where passive joints move as they must."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints.linear import Subspaces

Array = NDArray[np.float64]
BANDWIDTH, DAMPING = 40.0, 1.0
"""Of the servos: natural frequency, rad/s, and damping ratio."""
CUTOFF = 1e-9
"""Of the inertia that driven joints feel: directions in which they fight each other, relative."""


def constrained_efforts(
    at: Blocks, places: NDArray[np.intp], errors: Array, rate_errors: Array, stiff: NDArray[np.bool_]
) -> Array:
    """Return the efforts (d,) of driven joints that lead them to a target, as stiff position servos would.

    Where driven joints fight each other, these are the efforts of least norm.

    Args:
        at: the machine now, without these efforts.
        places: (d,) of the driven joints among the velocities.
        errors: (d,) target less position, rad or m.
        rate_errors: (d,) likewise of the velocities.
        stiff: (d,) joints that work against all that acts on them; the others do not work against the ground.
    """
    spaces = Subspaces(at.J)
    N, forced = spaces.motions, spaces.pseudo_inverse @ at.gamma
    inertia = N.T @ at.M @ N
    own = N[places]  # accelerations of the driven joints from those of the motions
    still = forced[places] + own @ np.linalg.solve(inertia, N.T @ (-at.h - at.M @ forced))
    response = own @ np.linalg.solve(inertia, own.T)
    wanted = BANDWIDTH**2 * errors + 2 * DAMPING * BANDWIDTH * rate_errors
    loose = ~stiff
    push = np.zeros(len(stiff))
    push[loose] = np.linalg.pinv(response[np.ix_(loose, loose)], CUTOFF, hermitian=True) @ wanted[loose]
    rest = (wanted - still)[stiff] - response[np.ix_(stiff, loose)] @ push[loose]
    push[stiff] = np.linalg.pinv(response[np.ix_(stiff, stiff)], CUTOFF, hermitian=True) @ rest
    return push
