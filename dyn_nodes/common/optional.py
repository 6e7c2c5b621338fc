"""Optional dependencies for tables and figures."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def matplotlib() -> Any:
    """Return Matplotlib. Raises ImportError with installation instructions."""
    return _imported('matplotlib', 'plots')


def pandas() -> Any:
    """Return pandas. Raises ImportError with installation instructions."""
    return _imported('pandas', 'tables')


def xarray() -> Any:
    """Return xarray. Raises ImportError with installation instructions."""
    return _imported('xarray', 'tables')


def needed(*names: str, extra: str) -> None:
    """Raise ImportError with installation instructions unless all modules can be imported."""
    for name in names:
        _imported(name, extra)


def _imported(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: pip install {name}, or pip install 'dyn_nodes[{extra}]'") from None
