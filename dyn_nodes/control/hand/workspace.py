"""Reach, condition and stiffness of the hand over postures that fill the ranges of the joints.

With the coefficients G of the hand, rotations scaled to metres (`HandTask.length`):

    condition       greatest over least singular value of G
    manipulability  product of the singular values of G
    stiffness       1 / greatest eigenvalue of C = G_p K^-1 G_p^T, the compliance of the hand's position
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandError, HandKinematics, HandTask
from dyn_nodes.elements.actuators import actuator_elements
from dyn_nodes.model.machine import Machine

TURN = np.pi
"""Range of a revolute joint without limits: from -TURN to TURN, rad."""
SINGULAR = 1e-12
"""Ratio of least to greatest singular value below which the least counts as zero."""


class MovedByJoints(Protocol):
    """A link and the joints that move it."""

    @property
    def joints(self) -> Sequence[str]:
        """Names."""


class LimitedJoints(MovedByJoints, Protocol):
    """The same, with the limits of the joints."""

    @property
    def lower(self) -> Array:
        """(n,) rad or m."""

    @property
    def upper(self) -> Array:
        """(n,) rad or m."""

    @property
    def turning(self) -> Array:
        """(n,) True for a revolute joint."""


@dataclass(frozen=True, eq=False)
class Workspace:
    """The hand at many postures.

    Attributes:
        joints: names of the n joints.
        postures: (N, n) their positions, rad or m.
        positions: (N, 3) origin of the hand in axes of the base link, m.
        condition: (N,) of G; infinite at a singular posture.
        manipulability: (N,) m for each joint rate to the power of the number of rows.
        stiffness: (N,) against a force in the worst direction, N/m; NaN where a joint's stiffness is unknown.
        vertical_stiffness: (N,) against a force along z of the base link, N/m.
    """

    joints: tuple[str, ...]
    postures: Array
    positions: Array
    condition: Array
    manipulability: Array
    stiffness: Array
    vertical_stiffness: Array

    @property
    def reach(self) -> Array:
        """(N,) horizontal distance of the hand from the origin of the base link, m."""
        return np.asarray(np.hypot(self.positions[:, 0], self.positions[:, 1]))


def ranges_of(hand: LimitedJoints, overrides: Mapping[str, tuple[float, float]] | None = None) -> Array:
    """Return least and greatest position (n, 2) of the hand's joints.

    Args:
        hand: with the limits.
        overrides: ranges by joint that replace the limits.

    Raises:
        HandError: a sliding joint without limits, an unknown joint, an invalid range.
    """
    ranges = dict(overrides or {})
    unknown = [name for name in ranges if name not in hand.joints]
    if unknown:
        raise HandError(f'range: expected joints of the hand, {", ".join(hand.joints)}, found {", ".join(unknown)}')
    result = np.empty((len(hand.joints), 2))
    for k, name in enumerate(hand.joints):
        lower, upper = ranges.get(name, (hand.lower[k], hand.upper[k]))
        if name not in ranges and hand.turning[k]:
            lower, upper = max(lower, -TURN), min(upper, TURN)
        if not (np.isfinite(lower) and np.isfinite(upper) and lower <= upper):
            raise HandError(
                f'joint {name!r}: expected a range from a least to a greatest position, found {lower}, {upper}'
            )
        result[k] = lower, upper
    return result


def spread(ranges: Array, count: int, seed: int = 0) -> Array:
    """Return postures (count, n) that fill the ranges evenly: points of Halton's sequence, scrambled by a seed."""
    from scipy.stats import qmc

    unit = qmc.Halton(d=len(ranges), scramble=True, seed=seed).random(count)
    return np.asarray(ranges[:, 0] + unit * (ranges[:, 1] - ranges[:, 0]))


def joint_stiffness(
    machine: Machine, hand: MovedByJoints, overrides: Mapping[str, float] | None = None
) -> Callable[[Array], Array]:
    """Return the stiffness of the hand's joints as a function of postures (N, n): (N, n) N m/rad or N/m.

    It is an override by name, else the stiffness of the trapped oil of the joint's actuator, else NaN.

    Raises:
        HandError: an unknown joint, a stiffness that is not above zero.
    """
    values = dict(overrides or {})
    for name, value in values.items():
        if name not in hand.joints:
            raise HandError(f'stiffness: expected joints of the hand, {", ".join(hand.joints)}, found {name}')
        if not value > 0.0:
            raise HandError(f'stiffness of {name!r}: expected a number above 0, found {value}')
    laws = {}
    for element in actuator_elements(machine):
        if element.joint in hand.joints and element.joint not in values:
            q = ca.SX.sym('q')
            laws[element.joint] = ca.Function('stiffness', [q], [ca.SX(element.locked_stiffness(q))])

    def at(postures: Array) -> Array:
        result = np.full(postures.shape, np.nan)
        for k, name in enumerate(hand.joints):
            if name in values:
                result[:, k] = values[name]
            elif name in laws:
                result[:, k] = np.array(laws[name](postures[:, k].reshape(1, -1))).ravel()
        return result

    return at


def survey(
    hand: HandKinematics,
    postures: Array,
    task: HandTask | None = None,
    start: Array | None = None,
    stiffness: Callable[[Array], Array] | None = None,
) -> Workspace:
    """Return the workspace over postures of the hand's joints.

    Args:
        hand: the hand.
        postures: (N, n) of its joints.
        task: rows of G; None: the hand's default task.
        start: positions of all joints of the tree, used for joints that are not the hand's; None: zero.
        stiffness: of the joints (`joint_stiffness`); None: unknown.
    """
    task = task or hand.default_task
    whole = np.zeros((len(postures), len(hand.names))) if start is None else np.tile(start, (len(postures), 1))
    whole[:, hand.indices] = postures
    poses = hand.model.poses(whole)
    points = hand.model.points_at(poses, [hand.frame.body], hand.frame.p, 1)
    turns = hand.model.rotations_at(poses, [hand.frame.body], 1)
    G = np.concatenate([points.G[:, 0], turns.G[:, 0]], axis=1)[:, :, hand.indices]
    values = np.linalg.svd(G[:, task.indices] * task.scales[:, None], compute_uv=False)
    greatest, least = values[:, 0], values[:, -1]
    if len(task.rows) > len(hand.joints):
        least = np.zeros_like(least)  # a motion of these rows is impossible
    regular = least > SINGULAR * greatest
    condition = np.full(len(postures), np.inf)
    condition[regular] = greatest[regular] / least[regular]
    product = np.where(regular, np.prod(values, axis=1), 0.0)
    worst, vertical = _stiffness(
        G[:, :3], np.full(postures.shape, np.nan) if stiffness is None else stiffness(postures)
    )
    assert points.positions is not None
    return Workspace(hand.joints, postures, points.positions[:, 0], condition, product, worst, vertical)


def _stiffness(G: Array, K: Array) -> tuple[Array, Array]:
    """Return stiffness (N,) in the worst direction and along z from G (N, 3, n) and joint stiffness (N, n)."""
    defined = np.all(K > 0.0, axis=1)
    worst, vertical = np.full(len(K), np.nan), np.full(len(K), np.nan)
    if defined.any():
        C = np.einsum('eik,ek,ejk->eij', G[defined], 1.0 / K[defined], G[defined])
        with np.errstate(divide='ignore'):
            worst[defined] = 1.0 / np.linalg.eigvalsh(C)[:, -1]
            vertical[defined] = 1.0 / C[:, 2, 2]
    return worst, vertical
