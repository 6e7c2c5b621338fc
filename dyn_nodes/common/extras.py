"""Packages of the extras of setup.py, and a message that names missing ones."""

from __future__ import annotations

import importlib.util
import os
import sys

EXTRAS = {'viewer': ('viser', 'yourdfpy'), 'plots': ('matplotlib',)}
"""Packages of each extra."""


def lacking(*extras: str) -> str | None:
    """Return the message for missing packages of these extras, or None if all are installed."""
    absent = [package for extra in extras for package in EXTRAS[extra] if not _is_there(package)]
    return install_line(*absent) if absent else None


def install_line(*packages: str) -> str:
    """Return the message that names missing packages and pip's command for them."""
    line = f'{sys.executable} -m pip install ' + ' '.join(f'"{package}"' for package in packages)
    if os.environ.get('ROS_DISTRO'):
        line += ' (add --break-system-packages if pip requires it, as on Ubuntu 24.04)'
    names = ', '.join(map(repr, packages))
    verb = 'package {} is' if len(packages) == 1 else 'packages {} are'
    return f'the Python {verb.format(names)} missing: {line}'


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
