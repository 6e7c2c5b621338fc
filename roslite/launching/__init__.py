"""Runs XML launch files of ROS 2 without ROS; the same file also works with `ros2 launch`.

All substitutions are performed and all nodes resolved *before* the first process starts: faults of a file are reported
immediately with their line, and no process has to be stopped.

    with LaunchSession.from_file('talker.launch.xml', {'rate': '10'}) as session:
        session.wait()

Supported, with the attributes and the meaning of `ros2 launch`:

- elements: arg (choice), let, node (param, remap, env), executable (env), group (keep), include (arg),
  push_ros_namespace, set_env, unset_env, set_parameter, set_use_sim_time, set_remap, log, shutdown; `if` and `unless`
  on each; `on_exit="shutdown"`, `respawn`, `sigterm_timeout` and the like on processes;
- substitutions: var, env, eval, dirname, filename, file-content, find-pkg-share, find-pkg-prefix, find-exec, not, and,
  or, any, all, equals, not-equals, if, anon, log_dir.

Intentional differences: `$(eval)` accepts expressions only (see `expression.py`), `$(command)` is rejected, an unknown
launch argument is an error, and a process that dies is an error (exit status 1). A node of a package that is not
installed is skipped with a warning if it has a condition, directly or through a group or include around it; otherwise
it is an error. A computer without ROS can therefore run a file with RViz behind an argument.

Nodes of Python packages need no ROS installation once their package is registered (`register`).

The launcher imports only light modules (no NumPy, no middleware): nodes start some tens of milliseconds after the
command.
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
