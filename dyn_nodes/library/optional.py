"""Libraries that are installed only where tables or figures are wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def matplotlib() -> Any:
    """Return Matplotlib. Raises ImportError that says how to install it."""
    return _imported('matplotlib', 'plots')


def pandas() -> Any:
    """Return pandas. Raises ImportError that says how to install it."""
    return _imported('pandas', 'tables')


def xarray() -> Any:
    """Return xarray. Raises ImportError that says how to install it."""
    return _imported('xarray', 'tables')


def _imported(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: pip install {name}, or pip install 'dyn_nodes[{extra}]'") from None
