"""Entry points for `ros2 run`, `ros2 launch` and the shell: a node, the command, or one line about a missing package.

pip installs the packages for computing; the cockpit and figures are extras. A ROS 2 workspace does not install them,
because several packages are not in the distributions of ROS. `from dyn_nodes.entry import dynamics_node` returns a
function for any node of the package.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable

from dyn_nodes.common.extras import EXTRAS, install_line, lacking
from dyn_nodes.common.garbage import seldom_collections
from dyn_nodes.common.leaving import leave_on_signals, restore_signals

#: Name for pip by name of the module, for packages that a ROS 2 workspace may lack.
PIP_NAMES = {
    'can': 'python-can',
    'cantools': 'cantools',
    'casadi': 'casadi',
    'cyclonedds': 'cyclonedds',
    'lxml': 'lxml',
    'matplotlib': 'matplotlib',
    'mcap': 'mcap',
    'numba': 'numba',
    'numpy': 'numpy',
    'PIL': 'Pillow',
    'rich': 'rich',
    'rosbags': 'rosbags',
    'scipy': 'scipy',
    'trimesh': 'trimesh',
    'viser': 'viser',
    'yaml': 'PyYAML',
    'yourdfpy': 'yourdfpy',
}


def missing(name: str, error: ImportError) -> str | None:
    """Return a line with the package to install, or None if the error is not a missing package.

    Args:
        name: name of the program.
        error: error that the import of the program raised.
    """
    package = (error.name or '').partition('.')[0]
    if package == 'rclpy':
        return (
            f'{name}: rclpy was found but cannot be imported by Python {sys.version_info.major}.'
            f'{sys.version_info.minor} ({error}): use the Python of your ROS 2, or set DYN_NODES_MIDDLEWARE=embedded'
        )
    if not isinstance(error, ModuleNotFoundError) or package not in PIP_NAMES:
        return None
    together = [extra for extra, packages in EXTRAS.items() if package in packages]
    return f'{name}: {lacking(*together) or install_line(PIP_NAMES[package])}'


def start(name: str, module: str, args: list[str] | None = None, interrupted: int = 0) -> int:
    """Run the `main` of a module. The exit status is 1 if a package is missing, at the import or later.

    A signal during the import ends the process at once.

    Linear algebra runs on one thread, unless OPENBLAS_NUM_THREADS is set: the matrices of a machine are small, and
    threads that wait for each other by spinning take processor time from the other nodes.

    Args:
        name: of the program, for messages.
        module: with `main`.
        args: command line; None: `sys.argv`, and the process ends after `main`.
        interrupted: exit status after Ctrl-C.
    """
    if args is None:
        leave_on_signals(interrupted)
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    try:
        with seldom_collections():
            main = importlib.import_module(module).main
        if args is not None:
            return main(args)
        if interrupted:
            restore_signals()  # nodes set handlers
        return main()
    except KeyboardInterrupt:
        if args is not None:
            raise
        return interrupted
    except ImportError as error:
        text = missing(name, error)
        if text is None:
            raise
        print(text, file=sys.stderr)
        return 1


def command(args: list[str] | None = None) -> int:
    """Run the `dyn-nodes` command."""
    return start('dyn-nodes', 'dyn_nodes.cli', args, interrupted=130)


def __getattr__(name: str) -> Callable[..., int]:
    if not name.endswith('_node'):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return lambda args=None: _start_node(name, args)


def _start_node(name: str, args: list[str] | None) -> int:
    """Run a node, or print its help if the command line requests it."""
    if is_help_wanted(sys.argv[1:] if args is None else args):
        return start(name, 'dyn_nodes.nodes.node_help', [name])
    return start(name, f'dyn_nodes.nodes.{name}', args)


def is_help_wanted(words: list[str]) -> bool:
    """Return whether a node's command line has a help option before `--ros-args`."""
    options = words[: words.index('--ros-args')] if '--ros-args' in words else words
    return '-h' in options or '--help' in options
