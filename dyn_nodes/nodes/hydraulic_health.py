"""Diagnostics of the hydraulic actuator node."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.follower import FollowerHealth

if TYPE_CHECKING:
    from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode


class HydraulicHealth(FollowerHealth):
    """Gathers the node's statuses.

    In lockstep every text is a function of simulated time, but for the reports of silence.
    """

    node: HydraulicActuatorNode

    def __init__(self, node: HydraulicActuatorNode) -> None:
        super().__init__(node)
        self._told = (False, False)

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        return {'joint_states': self.joint_states, 'valve_commands': self.valve_commands, 'hydraulics': self.hydraulics}

    def states_silent(self) -> bool:
        """Tell whether joint states have been coming, and have stopped."""
        if self.node.lockstep and self.node.waiting is not None:
            return False  # it is our own answer that is missing
        return super().states_silent()

    def commands_silent(self) -> bool:
        """Tell whether the spools have to be at neutral, or the exchange stands still for want of a command."""
        node = self.node
        if node.awaits_commands:
            waits = node.waiting is not None and not node.fault and time.monotonic() - node.heard > self.patience
            return waits or node.source_lost
        return not node.voltages_received or time.monotonic() - node.commanded > node.values['command_timeout']

    def silence_changed(self) -> bool:
        """Tell whether silence began or ended since the last call."""
        now = self.states_silent(), self.commands_silent()
        changed, self._told = now != self._told, now
        return changed

    def valve_commands(self) -> Health:
        """What is commanded."""
        node = self.node
        values = {'received': str(node.voltages_received), 'order': ', '.join(node.valve_names)}
        health = Health(text='receiving valve_commands', values={**values, **node.command_refusals.values()})
        timeout = node.source_patience if node.awaits_commands else node.values['command_timeout']
        if node.source_lost:
            health.worse(WARN, f'no valve_commands for {timeout:g} s: spools to neutral')
        elif node.awaits_commands:
            if self.commands_silent():
                health.worse(WARN, f'no valve_commands for t = {(node.stamp or 0) / 1e9:.3f} s: time stands still')
        elif not node.voltages_received:
            health.worse(WARN, 'no valve_commands yet: spools at neutral')
        elif self.commands_silent():
            health.worse(WARN, f'no valve_commands for {timeout:g} s: spools to neutral')
        if node.command_refusals.recent(node.now()):
            refused = f'refused: {node.command_refusals.last}'
            health.text = f'{health.text}; {refused}' if health.level == WARN else health.text
            health.worse(WARN, refused)
        return health

    def hydraulics(self) -> Health:
        """The oil."""
        node = self.node
        health = Health(text='running', values={'restarts': str(node.restarts), 'answered': str(node.answered)})
        if node.fault:
            health.worse(ERROR, node.fault)
        return health
