"""Health of the controller of a team: states of its robots, state of the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health


class TeamHealth:
    """Statuses of team_controller_node.

    Args:
        node: the node.
    """

    def __init__(self, node: Any) -> None:
        self.node = node

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        return {'robots': self.robots, 'carrying': self.carrying}

    def robots(self) -> Health:
        """Return the status `robots`: reception of their states."""
        node = self.node
        health = Health(text='receiving states of all robots', values=node.state_rejections.values())
        if node.stamp is None:
            health.worse(WARN, f'waiting for {", ".join(link.name for link in node.late())}')
        if node.state_rejections.recent(node.now()):
            health.worse(WARN, f'rejected: {node.state_rejections.last}')
        if node.end_reason:
            health.worse(ERROR, f'ended: {node.end_reason}')
        return health

    def carrying(self) -> Health:
        """Return the status `carrying`: state of the task, and reason of braking."""
        node, carrying = self.node, self.node.carrying
        health = Health(text=carrying.state, more=self._values)
        if carrying.reason:
            health.worse(ERROR if any(carrying.free) else WARN, f'{carrying.state}: {carrying.reason}')
        if node.rejections.recent(node.now()):
            health.worse(WARN, f'rejected: {node.rejections.last}')
        return health

    def _values(self) -> dict[str, str]:
        carrying = self.node.carrying
        free = [holder.name for holder, is_free in zip(carrying.carriage.holders, carrying.free) if is_free]
        return {
            'state': carrying.state,
            'progress': f'{100.0 * carrying.progress:.1f} %',
            'deviation': f'{carrying.deviation:.4f} m',
            'free hands': ', '.join(free) or 'none',
            'goals': str(self.node.goals),
            **self.node.rejections.values(),
        }
