"""Managed nodes: a life cycle for `ros2 lifecycle`, on rclpy with `lifecycle_msgs`.

An inactive node receives nothing: its messages and timers are ignored, it publishes nothing, and the timeouts of its
partners lead them to their safe states. When it is activated, it continues as after a gap in its messages.
"""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware.lifecycle import LifecycleMixin, TransitionResult, lifecycle_state, start_lifecycle
from dyn_nodes.nodes.diagnostics import one_line


class Managed(LifecycleMixin):  # type: ignore[misc]
    """Mix-in of an `OverridableNode` with the parameter `autostart`; `is_managed` of the node is true.

    Without rclpy or `lifecycle_msgs` the node is always active.
    """

    runs_inactive = False
    """Whether messages and timers are served while the node is inactive."""
    is_active: bool
    values: dict[str, Any]

    def manage(self) -> None:
        """Offer the services of the life cycle at the end of the construction; with `autostart` activate the node."""
        log = self.get_logger()
        if not start_lifecycle(self, lambda error: log.warn(f'change_state: {one_line(error)}')):
            return
        self.is_active = False
        if self.values['autostart']:
            self.trigger_configure()
            if not self.runs_inactive:
                self.trigger_activate()

    @property
    def lifecycle_state(self) -> str:
        """Return the name of the state; '' without a life cycle."""
        return lifecycle_state(self)

    def obstacle(self, is_active: bool) -> str:
        """Change what activation changes; return why this is not possible, or ''.

        Args:
            is_active: whether the node is activated, or deactivated.
        """
        return ''

    def on_configure(self, state: Any) -> Any:
        """Answer the transition `configure`."""
        self.is_active = self.runs_inactive
        return TransitionResult.SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Answer the transition `activate`."""
        return self._change(True)

    def on_deactivate(self, state: Any) -> Any:
        """Answer the transition `deactivate`."""
        return self._change(False)

    def on_cleanup(self, state: Any) -> Any:
        """Answer the transition `cleanup`."""
        self.is_active = False
        return TransitionResult.SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """Answer the transition `shutdown`; of an active node only where it can be deactivated."""
        result = self._change(False) if state.label == 'active' else TransitionResult.SUCCESS
        self.is_active = self.is_active and result != TransitionResult.SUCCESS
        return result

    def on_error(self, state: Any) -> Any:
        """Answer an exception of a transition: the node is unconfigured."""
        self.is_active = False
        return TransitionResult.SUCCESS

    def _change(self, is_active: bool) -> Any:
        reason = self.obstacle(is_active)
        if reason:
            self.get_logger().warn(f'{"activate" if is_active else "deactivate"}: {reason}')
            return TransitionResult.FAILURE
        self.is_active = is_active or self.runs_inactive
        return TransitionResult.SUCCESS
