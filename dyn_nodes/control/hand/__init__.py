"""Control in coordinates of the hand: inverse kinematics, resolved motion, paths, references along them."""

from __future__ import annotations

from dyn_nodes.control.hand.inverse_kinematics import Result, Settings, Solution, inverse_kinematics
from dyn_nodes.control.hand.kinematics import POSE, POSITION, ROWS, HandError, HandKinematics, HandPose, HandTask

__all__ = [
    'POSE',
    'POSITION',
    'ROWS',
    'HandError',
    'HandKinematics',
    'HandPose',
    'HandTask',
    'Result',
    'Settings',
    'Solution',
    'inverse_kinematics',
]
