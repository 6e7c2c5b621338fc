"""Joint efforts that lead joints or hand along a reference: computed torque and operational-space control.

Both cancel the dynamics by the model T = I* a + v^T P* v - T^L (freeman-1985, 2-198) and close linear loops:

    joints  a = a_ref + 2 zeta w (v_ref - v) + w^2 (q_ref - q)
    hand    u = u_ref + 2 zeta w (du_ref - du) + w^2 e,  joints by the inverse of G weighted with I*

so each joint, or each component of the hand's motion, has a natural frequency w and a damping ratio zeta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandKinematics, HandTask
from dyn_nodes.control.hand.path import HandMotion
from dyn_nodes.control.hand.resolved_motion import resolved_acceleration
from dyn_nodes.control.number_checks import require_not_negative
from dyn_nodes.multibody.influence import TransferredModel, serial_model


@dataclass(frozen=True)
class LoopGains:
    """Gains of second-order loops.

    Attributes:
        bandwidth: natural frequency w, rad/s.
        damping_ratio: zeta.
        null_bandwidth: of the task in the null space, rad/s.
    """

    bandwidth: float = 15.0
    damping_ratio: float = 1.0
    null_bandwidth: float = 3.0

    def __post_init__(self) -> None:
        require_not_negative(vars(self), 'gains: ')


def loop(error: Array, rate: Array, bandwidth: float, damping_ratio: float) -> Array:
    """Return 2 zeta w rate + w^2 error."""
    return np.asarray(2.0 * damping_ratio * bandwidth * rate + bandwidth**2 * error)


class ArmDynamics:
    """The model of an arm on a fixed base, in the joints of its hand; the others are at rest.

    Args:
        hand: link and joints.
        gravity: (3,) in axes of the base link, m/s2.
        payload: kg at the payload point of the tree.
    """

    def __init__(self, hand: HandKinematics, gravity: ArrayLike = (0.0, 0.0, -9.81), payload: float = 0.0) -> None:
        self.hand, self.payload = hand, payload
        self.gravity = np.asarray(gravity, dtype=np.float64)

    def model(self, posture: ArrayLike) -> TransferredModel:
        """Return I*, P* and T^L in the hand's joints."""
        here = self.hand.model.at(posture, 2)
        return self.hand.in_joints(serial_model(here, self.gravity, self.payload), here)


def computed_torque(
    arm: ArmDynamics,
    posture: ArrayLike,
    rates: ArrayLike,
    reference: tuple[ArrayLike, ArrayLike, ArrayLike],
    gains: LoopGains = LoopGains(),
) -> Array:
    """Return efforts (n,) that lead the joints along a reference, N m or N.

    Args:
        arm: its model.
        posture: measured positions of all joints of the tree.
        rates: (n,) measured, of the hand's joints.
        reference: (n,) positions, rates, accelerations of the hand's joints.
        gains: of the loops.
    """
    q, v = np.asarray(posture, dtype=np.float64)[arm.hand.indices], np.asarray(rates, dtype=np.float64)
    q_ref, v_ref, a_ref = (np.asarray(part, dtype=np.float64) for part in reference)
    wanted = a_ref + loop(q_ref - q, v_ref - v, gains.bandwidth, gains.damping_ratio)
    return arm.model(posture).effort(v, wanted)


def operational_space(
    arm: ArmDynamics,
    posture: ArrayLike,
    rates: ArrayLike,
    reference: HandMotion,
    task: HandTask | None = None,
    rest: ArrayLike | None = None,
    gains: LoopGains = LoopGains(),
) -> Array:
    """Return efforts (n,) that lead the hand along a reference and redundant joints to a posture.

    Args:
        arm: its model.
        posture: measured positions of all joints of the tree.
        rates: (n,) measured, of the hand's joints.
        reference: of the hand, in axes of the base link.
        task: controlled rows; None: the hand's default task.
        rest: (n,) target positions of the null space; None: its motion is damped only.
        gains: of the loops.
    """
    hand, rows = arm.hand, (task or arm.hand.default_task)
    q, v = np.asarray(posture, dtype=np.float64)[hand.indices], np.asarray(rates, dtype=np.float64)
    here = hand.coefficients(posture, 2)
    error = hand.pose(posture).error_to(reference.pose)
    wanted = reference.acceleration + loop(
        error, reference.velocity - here.velocity(v), gains.bandwidth, gains.damping_ratio
    )
    aim = q if rest is None else np.asarray(rest, dtype=np.float64)
    null = loop(aim - q, -v, gains.null_bandwidth, 1.0)
    model = arm.model(posture)
    chosen = here.rows(rows.rows)
    return model.effort(v, resolved_acceleration(chosen, v, wanted[rows.indices], null, model.inertia))
