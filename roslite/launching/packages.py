"""Packages that launch files can name: those of an ament index, and Python packages that a program registers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class PythonPackage:
    """A package of Python nodes that needs no ament index.

    Attributes:
        name: `pkg` in launch files.
        share: Returns the share directory; raises FileNotFoundError if there is none.
        nodes: Returns the module of every node, by `exec` in launch files. `python -m MODULE` runs a node.
        commands: The module of every other executable: a program that is not a node.
    """

    name: str
    share: Callable[[], Path]
    nodes: Callable[[], Mapping[str, str]]
    commands: Mapping[str, str] = field(default_factory=dict)


_registered: dict[str, PythonPackage] = {}


def register(package: PythonPackage) -> None:
    """Make a package known to launch files in this process; a package of the same name is replaced."""
    _registered[package.name] = package


def registered(name: str | None) -> PythonPackage | None:
    """Return the registered package of a name, None if there is none."""
    return None if name is None else _registered.get(name)


def ament_prefix(package: str) -> Path | None:
    """Prefix of an ament package, by the index below every entry of `AMENT_PREFIX_PATH`; None when there is none."""
    for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if entry and (Path(entry) / 'share' / 'ament_index' / 'resource_index' / 'packages' / package).is_file():
            return Path(entry)
    return None
