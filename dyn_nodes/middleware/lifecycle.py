"""The life cycle of managed nodes of rclpy, where `lifecycle_msgs` is installed; the embedded runtime has none."""

from __future__ import annotations

import importlib
from collections.abc import Callable
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


def start_lifecycle(node: Any, on_impossible: Callable[[str], None]) -> bool:
    """Offer the services of the life cycle of a node with `LifecycleMixin`; return whether there is one.

    Args:
        node: the node, unconfigured from now on.
        on_impossible: called with the error of a request for a transition that the present state does not have. rclpy
            raises it in the executor; the request fails instead.
    """
    if LifecycleMixin is Unmanaged:
        return False
    LifecycleMixin.__init__(node)
    change = node._service_change_state.callback

    def answer(request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except RuntimeError as error:  # RCLError
            on_impossible(str(error))
            response.success = False
            return response

    node._service_change_state.callback = answer
    return True


def lifecycle_services() -> tuple[Any, Any] | None:
    """Return the service classes ChangeState and GetState of `lifecycle_msgs`; None without life cycles."""
    if LifecycleMixin is Unmanaged:
        return None
    module = importlib.import_module('lifecycle_msgs.srv')
    return module.ChangeState, module.GetState


def lifecycle_state(node: Any) -> str:
    """Return the name of the state of a node; '' without a life cycle."""
    machine = getattr(node, '_state_machine', None)
    return '' if machine is None else str(machine.current_state[1])


def end_lifecycle(node: Any) -> None:
    """Destroy the life cycle of a node, if it has one, before the node."""
    machine = getattr(node, '_state_machine', None)
    if machine is not None:
        machine.destroy_when_not_in_use()
