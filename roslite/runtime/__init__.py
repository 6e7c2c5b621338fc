"""Embedded ROS 2 runtime: rclpy's API over Cyclone DDS, for computers without ROS 2. `api` exports its names."""
