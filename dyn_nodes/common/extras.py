"""Packages of the extras of setup.py, and the line that names those that are missing."""

from __future__ import annotations

import importlib.util
import os
import sys

EXTRAS = {'viewer': ('viser', 'yourdfpy'), 'plots': ('matplotlib',)}
"""Packages that an extra brings."""


def lacking(*extras: str) -> str | None:
    """Return the line that says what to install, or None where all packages of these extras are there."""
    absent = [package for extra in extras for package in EXTRAS[extra] if not _is_there(package)]
    return install_line(*absent) if absent else None


def install_line(*packages: str) -> str:
    """Return the line that names missing packages and the command of pip for them."""
    line = f'{sys.executable} -m pip install ' + ' '.join(f'"{package}"' for package in packages)
    if os.environ.get('ROS_DISTRO'):
        line += ' (add --break-system-packages where pip refuses, as on Ubuntu 24.04)'
    names = ', '.join(map(repr, packages))
    verb = 'package {} is' if len(packages) == 1 else 'packages {} are'
    return f'the Python {verb.format(names)} missing: {line}'


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
