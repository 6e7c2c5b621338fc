"""Thin ROS nodes: parameters, topics, clock; no physics."""
