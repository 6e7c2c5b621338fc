"""ROS 2 without ROS: rclpy's API over Cyclone DDS, launch files and bags. See README.md beside this file.

- `roslite.runtime.api`: nodes, topics, services, parameters, clocks and executors with the API of rclpy
- `roslite.launching`: XML launch files
- `roslite.bags`: rosbag2 directories, MCAP and SQLite

This package imports no other package of this repository.
"""

from __future__ import annotations

__version__ = '0.2.0'
__all__ = ['bags', 'launching', 'runtime']
