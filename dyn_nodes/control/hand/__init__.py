"""Control in coordinates of the hand: inverse kinematics, resolved motion, paths, references along them."""

from __future__ import annotations

from dyn_nodes.control.hand.curves import Arc, Curve, Line, Spline
from dyn_nodes.control.hand.effort_control import ArmDynamics, LoopGains, computed_torque, operational_space
from dyn_nodes.control.hand.follower import HandFollower, PumpSpeeds
from dyn_nodes.control.hand.inverse_kinematics import Result, Settings, Solution, inverse_kinematics
from dyn_nodes.control.hand.kinematics import POSE, POSITION, ROWS, HandError, HandKinematics, HandPose, HandTask
from dyn_nodes.control.hand.loop_hand import LoopHand, hand_of
from dyn_nodes.control.hand.motors import HandMotors, MotorLoopGains
from dyn_nodes.control.hand.path import HandLimits, HandMotion, HandPath
from dyn_nodes.control.hand.reference import HandReference, JointTarget, ReferenceLimits
from dyn_nodes.control.hand.resolved_motion import (
    pseudo_inverse,
    resolved_acceleration,
    resolved_jerk,
    resolved_rate,
)
from dyn_nodes.control.hand.timing import JerkTrapezoid, Progress
from dyn_nodes.control.hand.valves import HandValves, ValveLoopGains
from dyn_nodes.control.hand.whole_body import PointReference, WholeBodyFollower, WholeBodyServo

__all__ = [
    'POSE',
    'POSITION',
    'ROWS',
    'Arc',
    'ArmDynamics',
    'LoopHand',
    'Curve',
    'HandError',
    'HandFollower',
    'HandKinematics',
    'HandLimits',
    'HandMotion',
    'HandMotors',
    'HandPath',
    'HandPose',
    'HandReference',
    'HandTask',
    'HandValves',
    'JerkTrapezoid',
    'JointTarget',
    'Line',
    'LoopGains',
    'MotorLoopGains',
    'PointReference',
    'Progress',
    'PumpSpeeds',
    'ReferenceLimits',
    'Result',
    'Settings',
    'Solution',
    'Spline',
    'ValveLoopGains',
    'WholeBodyFollower',
    'WholeBodyServo',
    'computed_torque',
    'hand_of',
    'inverse_kinematics',
    'operational_space',
    'pseudo_inverse',
    'resolved_acceleration',
    'resolved_jerk',
    'resolved_rate',
]
