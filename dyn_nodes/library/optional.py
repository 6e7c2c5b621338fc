"""Libraries that are installed only where tables are wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def pandas() -> Any:
    """Return pandas. Raises ImportError that says how to install it."""
    return _imported('pandas')


def xarray() -> Any:
    """Return xarray. Raises ImportError that says how to install it."""
    return _imported('xarray')


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: pip install {name}, or pip install 'dyn_nodes[tables]'") from None
