"""Actions of rclpy, where it and the package of the action type are installed; the embedded runtime has none."""

from __future__ import annotations

import importlib
from typing import Any

from dyn_nodes.middleware.select import RUNTIME


class NoActionsError(Exception):
    """Actions of a type are not available, with the reason as text."""


def action(name: str) -> tuple[Any, Any]:
    """Return the module `rclpy.action` and the class of an action type.

    Args:
        name: `package/action/Name`.

    Raises:
        NoActionsError: the embedded runtime, or the package of the type is not installed.
    """
    if RUNTIME == 'embedded':
        raise NoActionsError('the embedded runtime has no actions, which need rclpy')
    package, _, kind = name.split('/')
    try:
        types = importlib.import_module(f'{package}.action')
        return importlib.import_module('rclpy.action'), getattr(types, kind)
    except (ImportError, AttributeError) as error:
        raise NoActionsError(f'{name} is not installed ({error})') from None
