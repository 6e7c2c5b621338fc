"""Flexible joints by the source's method: free motion as an exponential over a small step (yesiloglu-2007, C10).

`direct` accelerations hold at the instant, for any integrator; `exponential` accelerations hold `step` seconds later on
the motion of the flexible joints alone, with all else frozen. Their difference is proportional to the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks

SERIES_TOLERANCE = 1e-15
LARGEST = 20.0


class Spring(Protocol):
    """A joint's linear spring and damper."""

    @property
    def joint(self) -> str:
        """Name."""

    @property
    def stiffness(self) -> float:
        """N m/rad or N/m."""

    @property
    def damping(self) -> float:
        """N m s/rad or N s/m."""

    @property
    def rest(self) -> float:
        """Unstressed position, rad or m."""


@dataclass(frozen=True, eq=False)
class FlexibleSolution:
    """Accelerations of a system with flexible joints.

    Attributes:
        acceleration: (nv,).
        multipliers: (m,).
        free: (nv,) accelerations with the loops cut.
        M_star: (k, k) mass matrix of the flexible joints alone (eq. 4.8).
        decay: (2k, 2k) M_s^-1 L_sd of the first-order form (eq. 4.14).
        order: of the truncated series.
    """

    acceleration: Array
    multipliers: Array
    free: Array
    M_star: Array
    decay: Array
    order: int


def flexible_dynamics(
    system: ConstraintBlocks, springs: Sequence[Spring], q: ArrayLike, v: ArrayLike, tau: ArrayLike, step: float = 0.0
) -> FlexibleSolution:
    """Return accelerations with the flexible joints advanced by `step` s along their own exponential; 0 is `direct`.

    Args:
        system: whose force elements include the springs; regular mass matrix, independent rows.
        springs: springs of the flexible joints, with the values of the system.
        q: (nq,) positions.
        v: (nv,) velocities.
        tau: (nv,) generalized forces of actuators.
        step: s.
    """
    position, velocity = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    blocks = system.at(position, velocity)
    bodies = [system.tree.bodies[system.tree.body(spring.joint)] for spring in springs]
    indices = np.array([body.v for body in bodies], dtype=np.intp)
    stiffness, damping = (
        np.diag([getattr(spring, attribute) for spring in springs]) for attribute in ('stiffness', 'damping')
    )
    stretch = np.array([position[body.q] - spring.rest for body, spring in zip(bodies, springs)])
    k, n = len(springs), system.tree.nv
    rest = np.setdiff1d(np.arange(n), indices)
    # forces without the springs, which the first-order form includes
    load = np.asarray(tau, dtype=np.float64) - blocks.h
    load[indices] += stiffness @ stretch + damping @ velocity[indices]
    M1, M2 = blocks.M[np.ix_(rest, rest)], blocks.M[np.ix_(rest, indices)]
    through = np.linalg.solve(M1, np.column_stack([M2, load[rest]]))
    M_star = blocks.M[np.ix_(indices, indices)] - M2.T @ through[:, :k]
    force = load[indices] - M2.T @ through[:, k]
    inverse = np.linalg.inv(M_star)
    decay = np.block([[np.zeros((k, k)), -np.eye(k)], [inverse @ stiffness, inverse @ damping]])
    rate = np.concatenate([np.zeros(k), inverse @ force]) - decay @ np.concatenate([stretch, velocity[indices]])
    growth, order = exponential(-decay * step)
    free = np.empty(n)
    free[indices] = (growth @ rate)[k:]
    free[rest] = through[:, k] - through[:, :k] @ free[indices]
    spread = np.linalg.solve(blocks.M, blocks.J.T)
    multipliers = np.linalg.solve(blocks.J @ spread, blocks.gamma - blocks.J @ free)
    acceleration = np.asarray(free + spread @ multipliers)
    return FlexibleSolution(acceleration, np.asarray(multipliers), free, M_star, decay, order)


def exponential(Y: Array, tolerance: float = SERIES_TOLERANCE) -> tuple[Array, int]:
    """Return e^Y by its series and the order at which the next term is below the tolerance (eq. 4.24).

    The order rises with the size of Y; intended for small steps, as in the source.

    Raises:
        ValueError: Y is so large that the series would lose digits.
    """
    size = float(np.linalg.norm(Y))
    if not size < LARGEST:
        raise ValueError(f'expected a matrix of norm below {LARGEST:g}, found {size:.3g}: take a smaller step')
    total, term, order = np.eye(len(Y)), np.eye(len(Y)), 0
    while True:
        following = term @ Y / (order + 1)
        if np.linalg.norm(following) <= tolerance * np.linalg.norm(total):
            return total, order
        term, total, order = following, total + following, order + 1
