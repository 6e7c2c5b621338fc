"""Dynamics, hydraulics, ground reactions and tip-over stability of mobile manipulators, as ROS 2 nodes."""

__version__ = '0.1.0'
