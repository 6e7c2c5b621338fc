"""What the controller node says of itself on /diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.exchange import LOCKSTEP_PATIENCE

if TYPE_CHECKING:
    from dyn_nodes.nodes.controller_node import ControllerNode


class ControllerHealth:
    """Gathers the node's statuses."""

    def __init__(self, node: ControllerNode) -> None:
        self.node = node
        timeout = node.values['command_timeout']
        self.patience = max(timeout, LOCKSTEP_PATIENCE) if node.lockstep else timeout

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        return {'joint_states': self.joint_states, 'commands': self.commands}

    def states_silent(self) -> bool:
        """Tell whether joint states have been coming, and have stopped."""
        return self.node.received > 0 and time.monotonic() - self.node.heard > self.patience

    def joint_states(self) -> Health:
        """What is measured."""
        node = self.node
        values = {'received': str(node.received), **node.state_refusals.values()}
        health = Health(text='receiving joint_states', values=values)
        if not node.received:
            health.worse(WARN, 'no joint_states yet')
        if node.state_refusals.recent(node.now()):
            health.worse(WARN, f'refused: {node.state_refusals.last}')
        if self.states_silent():
            does = 'no command is due' if node.lockstep else 'neutral commands'
            health.worse(ERROR, f'no joint_states for {self.patience:g} s: {does}')
        return health

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
