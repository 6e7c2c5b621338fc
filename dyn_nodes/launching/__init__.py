"""Runs launch files of ROS 2's XML front end without ROS, so that one file serves `ros2 launch` and `dyn-nodes launch`.

A file is read, every substitution performed and every node resolved *before* the first process starts: what is wrong
with a file is said at once, with its line, and nothing has to be stopped again.

    with LaunchSession.from_file('log_loader.launch.xml', {'recovery': 'true'}) as session:
        session.wait()

The launcher imports nothing heavy (no NumPy, no middleware): from the command to the nodes' own start takes some tens
of milliseconds.
"""

from __future__ import annotations

from dyn_nodes.launching.description import ChildSpec, LaunchDescription
from dyn_nodes.launching.errors import LaunchError
from dyn_nodes.launching.interpreter import declared_arguments, interpret
from dyn_nodes.launching.runner import find_launch_file, parse_launch_arguments, run_launch
from dyn_nodes.launching.session import ChildState, LaunchSession

__all__ = [
    'ChildSpec',
    'ChildState',
    'LaunchDescription',
    'LaunchError',
    'LaunchSession',
    'declared_arguments',
    'find_launch_file',
    'interpret',
    'parse_launch_arguments',
    'run_launch',
]
