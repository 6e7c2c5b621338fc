"""The life cycle of managed nodes of rclpy, where `lifecycle_msgs` is installed; the embedded runtime has none."""

from __future__ import annotations

import importlib
from typing import Any

from dyn_nodes.middleware.select import RUNTIME


class Unmanaged:
    """Base class of nodes without a life cycle."""


def _lifecycle() -> tuple[Any, Any]:
    """Return the mix-in class of managed nodes and the results of transitions, or `Unmanaged` and None."""
    if RUNTIME != 'embedded':
        try:
            module = importlib.import_module('rclpy.lifecycle')
            return module.LifecycleNodeMixin, module.TransitionCallbackReturn
        except (ImportError, AttributeError):  # not installed; another name in Humble
            pass
    return Unmanaged, None


LifecycleMixin, TransitionResult = _lifecycle()
