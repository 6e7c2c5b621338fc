"""What the controller node says of itself on /diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dyn_nodes.nodes.diagnostics import WARN, Health
from dyn_nodes.nodes.follower import FollowerHealth

if TYPE_CHECKING:
    from dyn_nodes.nodes.controller_node import ControllerNode


class ControllerHealth(FollowerHealth):
    """Gathers the node's statuses."""

    silence = ('no command is due', 'neutral commands')
    node: ControllerNode

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        return {'joint_states': self.joint_states, 'commands': self.commands}

    def commands(self) -> Health:
        """What runs, and what was refused."""
        node = self.node
        values = {
            'output': node.values['output'],
            'joints': ', '.join(node.motion.joint_names),
            'phase': node.phase,
            'sent': str(node.sent),
            'trajectories': str(node.trajectories),
            **node.refusals.values(),
        }
        health = Health(text=node.phase or 'waiting', values=values)
        if node.refusals.recent(node.now()):
            health.worse(WARN, f'refused: {node.refusals.last}')
        return health
