"""The embedded ROS 2 runtime: rclpy's API over Cyclone DDS, for computers without ROS 2. `api` has its names."""
