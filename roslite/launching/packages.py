"""Packages for launch files: from an ament index, or Python packages registered by a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class PythonPackage:
    """A package of Python nodes without an ament index.

    Attributes:
        name: `pkg` in launch files.
        share: function that returns the share directory; raises FileNotFoundError if there is none.
        nodes: function that returns the module of every node by `exec` in launch files; `python -m MODULE` runs a node.
        commands: modules of the executables that are not nodes.
        accepts_signals: the nodes start with SIGINT and SIGTERM blocked and unblock them when they can handle them:
            otherwise a signal during the start of the interpreter ends it with a traceback.
    """

    name: str
    share: Callable[[], Path]
    nodes: Callable[[], Mapping[str, str]]
    commands: Mapping[str, str] = field(default_factory=dict)
    accepts_signals: bool = False


_registered: dict[str, PythonPackage] = {}


def register(package: PythonPackage) -> None:
    """Register a package for launch files in this process; a package of the same name is replaced."""
    _registered[package.name] = package


def registered(name: str | None) -> PythonPackage | None:
    """Return the registered package of a name, None if there is none."""
    return None if name is None else _registered.get(name)


def ament_prefix(package: str) -> Path | None:
    """Return the prefix of an ament package from the index of each entry of `AMENT_PREFIX_PATH`; None: not found."""
    for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if entry and (Path(entry) / 'share' / 'ament_index' / 'resource_index' / 'packages' / package).is_file():
            return Path(entry)
    return None
