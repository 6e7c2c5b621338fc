"""Runs launch files of ROS 2's XML front end without ROS, so that one file serves `ros2 launch` and this.

A file is read, every substitution performed and every node resolved *before* the first process starts: what is wrong
with a file is said at once, with its line, and nothing has to be stopped again.

    with LaunchSession.from_file('talker.launch.xml', {'rate': '10'}) as session:
        session.wait()

Supported, with the attributes and the meaning that `ros2 launch` gives them:

- elements: arg (choice), let, node (param, remap, env), executable (env), group (keep), include (arg),
  push_ros_namespace, set_env, unset_env, set_parameter, set_use_sim_time, set_remap, log, shutdown; `if` and `unless`
  on each; `on_exit="shutdown"`, `respawn`, `sigterm_timeout` and the like on processes;
- substitutions: var, env, eval, dirname, filename, file-content, find-pkg-share, find-pkg-prefix, find-exec, not, and,
  or, any, all, equals, not-equals, if, anon, log_dir.

Different on purpose: `$(eval)` takes expressions only (see `expression.py`), `$(command)` is refused, an unknown launch
argument is an error, and so is a process that dies (exit status 1). A node of a package that is not installed is
skipped with a warning where it has a condition, alone or through a group or include around it, and an error elsewhere:
RViz behind an argument doesn't keep a computer without ROS from running the file.

Nodes of Python packages need no installation of ROS once their package is registered (`register`).

The launcher imports nothing heavy (no NumPy, no middleware): from the command to the nodes' own start takes some tens
of milliseconds.
"""

from __future__ import annotations

from roslite.launching.description import ChildSpec, LaunchDescription
from roslite.launching.errors import LaunchError
from roslite.launching.interpreter import declared_arguments, interpret
from roslite.launching.packages import PythonPackage, register
from roslite.launching.runner import find_launch_file, parse_launch_arguments, run_launch
from roslite.launching.session import ChildState, LaunchSession

__all__ = [
    'ChildSpec',
    'ChildState',
    'LaunchDescription',
    'LaunchError',
    'LaunchSession',
    'PythonPackage',
    'declared_arguments',
    'find_launch_file',
    'interpret',
    'parse_launch_arguments',
    'register',
    'run_launch',
]
