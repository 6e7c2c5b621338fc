"""Ground reactions that can exist (tanner-1998, chapter 5): balance, no lift, drive torques, friction cones.

Balance and drive torques leave 3 w - 6 reactions of a rigid machine undetermined, or fewer if tractions are prescribed.
The conditions of no lift and the friction cones bound the remaining reactions to a convex and compact set. If the set
is empty, the motion cannot take place: a wheel lifts or slides. The margin t measures how far the set reaches inside,

    greatest t with  F_z >= t  and  sqrt(F_x^2 + F_y^2) <= mu (F_z - t)  at every wheel,

a second-order cone program that is solved exactly. A non-empty set does not prove that the ground exerts reactions of
it, since the stiffnesses select them; `robust` is True if the split of least norm is in the set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.stability._reaction_kernels import normals_kernel, ranges_kernel, reactions_kernel
from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_states

TOLERANCE = 1e-9
"""Fraction of the load that may remain unbalanced."""
ROUND_OFF = np.array([1e-6])
"""Tolerance for states of machines; the wheels of planar machines are on a line."""
ONWARD = (1.0, 0.0, 0.0)


class AdmissibleReactions(NamedTuple):
    """Result of :func:`admissible_reactions`; with a leading dimension (t,) for a batch.

    Forces act from the ground on the wheels: along the rolling direction, to its left and along the normal, N.

    Attributes:
        margin: () t, N: least distance to the borders of the cones, as a normal force, of `best`. Negative if no
            admissible reactions exist; -inf if no reactions balance the load; NaN for inputs with NaN.
        possible: () admissible reactions exist.
        robust: () the split of least norm is admissible.
        split: (w, 3) reactions of least norm.
        best: (w, 3) admissible reactions with the greatest margin.
        slack: (w,) distance of `best` to the border, F_z - sqrt(F_x^2 + F_y^2) / mu, N.
        friction_use: (w,) sqrt(F_x^2 + F_y^2) / (mu F_z) of the split; inf on a wheel that it pulls.
        tightest: () index of the wheel with the greatest use, or of the most pulled wheel; -1: unknown.
        least, greatest: (w, 3) range of every force component; NaN if not possible or not requested.
        freedom: () dimension of the reactions that balance the load, without the cones.
        mismatch: () part of the load that no reactions balance, N: motion and drive torques are inconsistent.
    """

    margin: Array
    possible: Flags
    robust: Flags
    split: Array
    best: Array
    slack: Array
    friction_use: Array
    tightest: NDArray[np.int64]
    least: Array
    greatest: Array
    freedom: NDArray[np.int64]
    mismatch: Array


def admissible_reactions(
    points: ArrayLike,
    com: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike = (0.0, 0.0, 0.0),
    *,
    friction: ArrayLike,
    normal: ArrayLike = UP,
    rolling: ArrayLike = ONWARD,
    traction: ArrayLike = np.nan,
    tolerance: float = TOLERANCE,
    ranges: bool = True,
) -> AdmissibleReactions:
    """Return the admissible ground reactions of a state, or of every state of a batch.

    Args:
        points: (w, 3) ground points of the wheels, m; any order, also on a line; (t, w, 3) for a batch.
        com: (3,) point at which `force` acts, m.
        force: (3,) net force without the ground's: gravity, inertia, external, N.
        moment: (3,) net moment about `com` without the ground's, N m.
        friction: (w,) static coefficients, or one for all; 0: a castor, which takes no horizontal force.
        normal: (3,) of the ground.
        rolling: (w, 3) rolling directions of the wheels, or one for all; required with `traction`.
        traction: (w,) prescribed rolling forces, drive torque over radius, 0 on a free wheel, N; NaN: any.
        tolerance: fraction of the load that may remain unbalanced.
        ranges: compute `least` and `greatest`, too: up to 6 w more programs.

    Raises:
        ValueError: wrong shape, a negative coefficient, a traction on a wheel without friction, a normal of length
            zero, or a rolling direction along the normal on a wheel with traction.
    """
    count = np.shape(points)[-2] if np.ndim(points) > 1 else 1
    arrays, single = as_states(
        points=(points, ('w', 3)),
        com=(com, (3,)),
        force=(force, (3,)),
        moment=(moment, (3,)),
        normal=(normal, (3,)),
        friction=(_each(friction, (count,)), ('w',)),
        rolling=(_each(rolling, (count, 3)), ('w', 3)),
        traction=(_each(traction, (count,)), ('w',)),
        tolerance=(tolerance, ()),
    )
    at, com_, force_, moment_, normal_, friction_, rolling_, traction_, tolerance_ = arrays
    _check(normal_, friction_, rolling_, traction_)
    result = _evaluate(at, com_, force_, moment_, normal_, friction_, rolling_, traction_, tolerance_, ranges)
    return AdmissibleReactions(*(part[0] for part in result)) if single else result


def _each(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return values for every wheel; a single value is repeated."""
    array = np.asarray(values, dtype=np.float64)
    return np.broadcast_to(array, shape).copy() if array.ndim < len(shape) else array


def _check(normal: Array, friction: Array, rolling: Array, traction: Array) -> None:
    if (friction < 0.0).any() or np.isinf(friction).any():
        wheel = int(np.argwhere((friction < 0.0) | np.isinf(friction))[0, 1])
        raise ValueError(f'friction: expected coefficients of 0 or more, found {friction[:, wheel].min():g} at {wheel}')
    size = np.linalg.norm(normal, axis=1)
    if (size == 0.0).any():
        raise ValueError('normal: expected a direction, found a vector of length zero')
    pulled = (friction == 0.0) & (np.nan_to_num(traction) != 0.0)
    if pulled.any():
        wheel = int(np.argwhere(pulled)[0, 1])
        raise ValueError(f'traction: expected none at {wheel}, which has no friction')
    across = np.cross(normal[:, None, :], rolling)
    lost = (np.linalg.norm(across, axis=2) <= 1e-9 * size[:, None]) & np.isfinite(traction) & (friction > 0.0)
    if lost.any():
        wheel = int(np.argwhere(lost)[0, 1])
        raise ValueError(f'rolling: expected a direction on the ground at {wheel}, found none')


def _evaluate(
    points: Array,
    com: Array,
    force: Array,
    moment: Array,
    normal: Array,
    friction: Array,
    rolling: Array,
    traction: Array,
    tolerance: Array,
    ranges: bool,
) -> AdmissibleReactions:
    # Numba compiles the kernels again for arrays of another layout and for read-only arrays
    rolling, friction, traction = (np.require(part, requirements=['C', 'W']) for part in (rolling, friction, traction))
    inputs = (points, com, force, moment, normal, friction, rolling, traction)
    states, wheels = max(len(array) for array in (*inputs, tolerance)), points.shape[1]
    margin, mismatch, freedom = np.empty(states), np.empty(states), np.zeros(states, dtype=np.int64)
    possible, robust = np.zeros(states, dtype=np.bool_), np.zeros(states, dtype=np.bool_)
    split, best = np.empty((states, wheels, 3)), np.empty((states, wheels, 3))
    least, greatest = (np.full((states, wheels, 3), np.nan) for _ in range(2))
    slack, use = np.empty((states, wheels)), np.empty((states, wheels))
    reactions_kernel(*inputs, tolerance, margin, possible, robust, split, best, slack, use, freedom, mismatch)
    if ranges:
        ranges_kernel(*inputs, best, margin, possible, least, greatest)
    tightest = _tightest(use, split)
    return AdmissibleReactions(
        margin, possible, robust, split, best, slack, use, tightest, least, greatest, freedom, mismatch
    )


def _tightest(use: Array, split: Array) -> NDArray[np.int64]:
    pulled = np.where(np.isinf(use), -split[..., 2], -np.inf)
    lifted = np.isinf(use).any(axis=1)
    index = np.where(lifted, pulled.argmax(axis=1), np.nan_to_num(use, nan=-1.0).argmax(axis=1))
    return np.where(np.isnan(use).any(axis=1), -1, index)


def admissible_states(s: States) -> Parts:
    """Evaluate the measure `admissible` for many states: slack of the reactions with the greatest margin."""
    count, wheels = s.size, s.wheels.shape[1]
    if np.isnan(s.friction).all():
        return np.full(count, np.nan), np.full((count, wheels), np.nan), np.zeros(count, dtype=np.bool_)
    normal = np.empty((s.feet.shape[0], 3))
    normals_kernel(s.feet, normal)
    result = _evaluate(
        s.wheels, s.com, s.force, s.moment, normal, s.friction, s.rolling, s.traction, ROUND_OFF, ranges=False
    )
    margin, slack = result.margin, result.slack
    if len(margin) < count:
        margin, slack = np.repeat(margin, count), np.repeat(slack, count, axis=0)
    return margin, slack, np.isfinite(margin)
