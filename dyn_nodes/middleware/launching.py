"""Launch files without ROS (`roslite.launching`), with the nodes and the launch files of this package."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.common.share import PACKAGE, share_directory
from roslite.launching import (
    ChildSpec,
    ChildState,
    LaunchError,
    LaunchSession,
    PythonPackage,
    declared_arguments,
    interpret,
    parse_launch_arguments,
    register,
    run_launch,
    runner,
)
from roslite.launching.errors import SubstitutionError
from roslite.launching.finished import finished_nodes, recorded_life
from roslite.launching.session import log_root
from roslite.launching.substitutions import literal

__all__ = [
    'ChildSpec',
    'ChildState',
    'LaunchError',
    'LaunchSession',
    'SubstitutionError',
    'declared_arguments',
    'finished_nodes',
    'find_launch_file',
    'interpret',
    'node_names',
    'literal',
    'log_root',
    'recorded_life',
    'parse_launch_arguments',
    'run_launch',
]

NODES_FOLDER = Path(__file__).resolve().parents[1] / 'nodes'


def node_names() -> list[str]:
    """Return the nodes of this package that `<node pkg="dyn_nodes" exec="...">` and `dyn-nodes run` can start."""
    return sorted(path.stem for path in NODES_FOLDER.glob('*_node.py') if not path.stem.startswith('_'))


def find_launch_file(name: str, package: str = PACKAGE) -> Path:
    """Return a launch file by its path, or by its name in a package's `launch/`.

    Args:
        name: A path (`demo/my.launch.xml`), a file name (`log_loader.launch.xml`) or the short form (`log_loader`).
        package: The package to search.

    Raises:
        LaunchError: No such file; the message lists the existing ones.
    """
    path = Path(name)
    return path if path.is_file() and package == PACKAGE else runner.find_launch_file(name, package)


register(
    PythonPackage(
        PACKAGE,
        share_directory,
        lambda: {node: f'{PACKAGE}.nodes.{node}' for node in node_names()},
        {'dyn-nodes': f'{PACKAGE}.cli'},
        accepts_signals=True,
    )
)
