"""Diagnostics of the actuator nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from dyn_nodes.nodes.commands import Rejections
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.follower import FollowerHealth


class CommandedNode(Protocol):
    """The parts of an actuator node that its statuses use.

    Attributes:
        received_at, commanded: times of the last joint states and valve_commands, steady clock, s.
    """

    status: ClassVar[str]
    neutral: ClassVar[str]
    values: dict[str, Any]
    lockstep: bool
    awaits_commands: bool
    waiting: tuple[int, Any, Any] | None
    fault: str
    stamp: int | None
    received_at: float
    commanded: float
    received: int
    answered: int
    restarts: int
    voltages_received: int
    valve_names: list[str]
    state_rejections: Rejections
    command_rejections: Rejections

    @property
    def source_lost(self) -> bool:
        """Return whether the source of valve_commands has been given up."""
        raise NotImplementedError

    @property
    def source_timeout(self) -> float:
        """Return the wall-clock timeout of the valve_commands of an instant, s."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the time that paces health, s."""
        raise NotImplementedError


class ActuatorHealth(FollowerHealth):
    """Statuses of an actuator node.

    In lockstep every text is a function of simulated time, except the reports of timeouts.
    """

    node: CommandedNode

    def __init__(self, node: CommandedNode) -> None:
        super().__init__(node)
        self._were_timed_out = (False, False)

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        statuses = {'joint_states': self.joint_states, 'valve_commands': self.valve_commands}
        return {**statuses, self.node.status: self.actuators}

    def states_timed_out(self) -> bool:
        """Return whether joint states were received and have timed out."""
        if self.node.lockstep and self.node.waiting is not None:
            return False  # the dynamics waits for the answer of this node
        return super().states_timed_out()

    def commands_timed_out(self) -> bool:
        """Return whether valve_commands have timed out: 0 V are used, or the exchange waits for them."""
        node = self.node
        if node.awaits_commands:
            waits = node.waiting is not None and not node.fault and time.monotonic() - node.received_at > self.timeout
            return waits or node.source_lost
        return not node.voltages_received or time.monotonic() - node.commanded > node.values['command_timeout']

    def timeout_changed(self) -> bool:
        """Return whether a timeout began or ended since the last call."""
        now = self.states_timed_out(), self.commands_timed_out()
        changed, self._were_timed_out = now != self._were_timed_out, now
        return changed

    def valve_commands(self) -> Health:
        """Return the status `valve_commands`."""
        node = self.node
        health = Health(text='receiving valve_commands', more=self._command_values)
        timeout = node.source_timeout if node.awaits_commands else node.values['command_timeout']
        if node.source_lost:
            health.worse(WARN, f'no valve_commands for {timeout:g} s: {node.neutral}')
        elif node.awaits_commands:
            if self.commands_timed_out():
                due = f't = {(node.stamp or 0) / 1e9:.3f} s (command_period: {node.values["command_period"]:g} s)'
                health.worse(WARN, f'no valve_commands for {due}: time stands still')
        elif not node.voltages_received:
            health.worse(WARN, f'no valve_commands yet: {node.neutral}')
        elif self.commands_timed_out():
            health.worse(WARN, f'no valve_commands for {timeout:g} s: {node.neutral}')
        if node.command_rejections.recent(node.now()):
            rejected = f'rejected: {node.command_rejections.last}'
            health.text = f'{health.text}; {rejected}' if health.level == WARN else health.text
            health.worse(WARN, rejected)
        return health

    def _command_values(self) -> dict[str, str]:
        node = self.node
        values = {'received': str(node.voltages_received), 'order': ', '.join(node.valve_names)}
        return {**values, **node.command_rejections.values()}

    def actuators(self) -> Health:
        """Return the status of the actuators."""
        node = self.node
        health = Health(more=lambda: {'restarts': str(node.restarts), 'answered': str(node.answered)})
        if node.fault:
            health.worse(ERROR, node.fault)
        return health
