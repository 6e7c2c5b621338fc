"""Valve voltages: open-loop profiles, position control, tracking of joint trajectories, torques of redundant drives."""

from __future__ import annotations

from dyn_nodes.control.motion import PositionMotion, ValveMotion
from dyn_nodes.control.recover_on import RecoverOn, recover_on
from dyn_nodes.control.recovery import SupervisedTask
from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution
from dyn_nodes.control.trajectory import JointReference, JointTrajectory, TrajectoryPoint
from dyn_nodes.control.trajectory_tracker import TrackerGains, TrajectoryTracker
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.voltage_profile import Segment, TaskError, VoltageProfile, load_voltage_profile, trapezoid

__all__ = [
    'InfeasibleDemandError',
    'JointReference',
    'JointTrajectory',
    'PositionMotion',
    'RecoverOn',
    'Segment',
    'SupervisedTask',
    'TaskError',
    'TorqueDistribution',
    'TrackerGains',
    'TrajectoryPoint',
    'TrajectoryTracker',
    'ValveMotion',
    'VoltageProfile',
    'load_voltage_profile',
    'recover_on',
    'spool_for_speed',
    'trapezoid',
]
