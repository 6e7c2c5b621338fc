"""The embedded ROS 2 runtime: rclpy's API over Cyclone DDS, for machines without ROS 2."""
