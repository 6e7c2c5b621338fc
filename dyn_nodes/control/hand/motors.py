"""Voltages of electric motors that lead joints along the references of a hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.effort_control import loop
from dyn_nodes.control.hand.follower import HandFollower
from dyn_nodes.control.hand.resolved_motion import resolved_rate
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.control.number_checks import require_not_negative
from dyn_nodes.control.trajectory import JointReference

Law = Literal['joints', 'hand']
LAWS: tuple[str, ...] = get_args(Law)
NEAR_SINGULAR = 1e-2
"""Singular value of the hand's coefficients, relative to the greatest, below which corrections of the hand fade."""


@dataclass(frozen=True)
class MotorLoopGains:
    """Gains of all joints, or of the hand.

    Attributes:
        law: `joints` (computed torque) or `hand` (operational-space control, the null space follows the joints'
            references).
        bandwidth: natural frequency, rad/s.
        damping_ratio: damping ratio.
        null_bandwidth: of the joints in the null space, rad/s.
    """

    law: str = 'joints'
    bandwidth: float = 20.0
    damping_ratio: float = 1.0
    null_bandwidth: float = 5.0

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f'law: expected {" or ".join(LAWS)}, found {self.law!r}')
        names = ('bandwidth', 'damping_ratio', 'null_bandwidth')
        require_not_negative({name: getattr(self, name) for name in names})


class HandMotors:
    """Computes motor voltages from the references of a follower and measured joint states.

    Joints with a motor that do not move the hand are held at their positions of the last `restart`.

    Args:
        follower: of a hand with a motor on every joint.
        servo: of the machine.
        gains: of the loops; may be replaced at any time.

    Raises:
        ValueError: a joint of the hand without a motor.
    """

    def __init__(self, follower: HandFollower, servo: MotorServo, gains: MotorLoopGains = MotorLoopGains()) -> None:
        self.follower, self.servo, self.gains = follower, servo, gains
        hand = follower.reference.hand
        missing = [name for name in hand.joints if name not in servo.joint_names]
        if missing:
            raise ValueError(f'expected a motor on every joint of the hand, found none on {", ".join(missing)}')
        self._motors = np.array([hand.names.index(name) for name in servo.joint_names], dtype=np.intp)
        self._hand_indices = np.array([servo.joint_names.index(name) for name in hand.joints], dtype=np.intp)
        self._held = np.zeros(len(servo.joint_names))

    def restart(self, posture: ArrayLike) -> None:
        """Hold the joints that are not the hand's at their positions in a posture of all joints."""
        self._held = np.asarray(posture, dtype=np.float64)[self._motors]

    def voltages(self, time: float, posture: ArrayLike, rates: ArrayLike) -> Array:
        """Return one voltage per motor, V. The follower must have been advanced to this time.

        Args:
            time: s.
            posture: measured positions of all joints.
            rates: measured rates of all joints.
        """
        q, v = np.asarray(posture, dtype=np.float64), np.asarray(rates, dtype=np.float64)
        reference, ahead = self._sample(time), self._sample(time + self.servo.hold)
        motor_q, motor_v = q[self._motors], v[self._motors]
        gains = self.gains
        error, rate = reference.position - motor_q, reference.velocity - motor_v
        feedback = loop(error, rate, gains.bandwidth, gains.damping_ratio)
        if gains.law == 'hand':
            feedback[self._hand_indices] = self._of_hand(q, v, reference)
        return self.servo.voltages((motor_q, motor_v), reference, ahead, feedback)

    def _sample(self, time: float) -> JointReference:
        """Return the references of all motors' joints."""
        wanted = self.follower.sample(time)
        result = JointReference(self._held.copy(), np.zeros(len(self._held)), np.zeros(len(self._held)))
        for whole, part in zip(result, wanted):
            whole[self._hand_indices] = part
        return result

    def _of_hand(self, posture: Array, rates: Array, reference: JointReference) -> Array:
        """Return the accelerations (n,) of the hand's joints that correct the hand, and the joints in its null space.

        The inverse of G is weighted with the apparent inertia at the motors.
        """
        hand, task, gains = self.follower.reference.hand, self.follower.reference.task, self.gains
        indices = self._hand_indices
        q_ref, v_ref = reference.position[indices], reference.velocity[indices]
        here, aim = hand.coefficients(posture, 1), hand.with_joints(posture, q_ref)
        error = hand.pose(posture).error_to(hand.pose(aim))
        moving = hand.coefficients(aim, 1).velocity(v_ref) - here.velocity(rates[hand.indices])
        wanted = loop(error, moving, gains.bandwidth, gains.damping_ratio)[task.indices]
        null = loop(q_ref - posture[hand.indices], v_ref - rates[hand.indices], gains.null_bandwidth, 1.0)
        inertia = self.servo.apparent_inertia(posture[self._motors])[np.ix_(indices, indices)]
        chosen = here.rows([here.parameters[k] for k in task.indices])
        greatest = float(np.linalg.norm(np.linalg.solve(np.linalg.cholesky(inertia), chosen.G.T), 2))
        return resolved_rate(chosen, wanted, null, inertia, (NEAR_SINGULAR * greatest) ** 2)
