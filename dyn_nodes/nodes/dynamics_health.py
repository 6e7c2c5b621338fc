"""Diagnostics of the dynamics node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dyn_nodes.measures import Levels
from dyn_nodes.nodes.commands import Rejections
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.pacing import Pacer
from dyn_nodes.nodes.stability_health import judge, margin_values
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.checks import GREATEST_GAP
from dyn_nodes.stability.balance import Balance

CONSTRAINTS_PERIOD = 0.5
"""Period of the check of constraints in simulated time, s."""
GREATEST_CONDITION = 1e6


class DynamicsHealth:
    """Statuses of the node.

    Args:
        pacer: moves the node's time.
        rejections: of commands to the node.
        levels: alarm levels by measure.

    Attributes:
        fault: text of the fault that ended the run, or ''.
    """

    def __init__(self, pacer: Pacer, rejections: Rejections, levels: Mapping[str, Levels]) -> None:
        self.pacer, self.rejections, self.levels = pacer, rejections, levels
        self.node = pacer.node
        self.fault = ''
        self._were_timed_out = (False, False)
        self._inaccurate = False
        self._constraints: Any = None
        self._constraints_at = -np.inf

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        statuses = {'simulation': self.simulation, 'commands': self.commands, 'stability': self.stability}
        return statuses | {'constraints': self.constraints} if self.node.plant.constraints is not None else statuses

    def timeout_changed(self) -> bool:
        """Return whether a timeout of answers or commands has started or ended since the last call."""
        timed_out = self.pacer.timed_out, self.pacer.uncommanded
        changed, self._were_timed_out = timed_out != self._were_timed_out, timed_out
        return changed

    def simulation(self) -> Health:
        """Return the status `simulation`: time and numerical accuracy."""
        node, pacer = self.node, self.pacer
        health = Health(more=self._simulation_values)
        if not pacer.started:
            health.text = f'waiting: {pacer.readiness.missing}'
        if pacer.paused:
            health.text = 'paused'
        if self.fault:
            health.worse(ERROR, self.fault)
        if node.plant.overturned:
            health.worse(ERROR, 'overturned')
        inaccurate = node.plant.guard.failed
        if inaccurate:
            health.worse(WARN, f'inaccurate: {inaccurate}')
            if not self._inaccurate:
                node.plant.note(Event(node.plant.time, 'inaccurate', details={'text': inaccurate}))
        self._inaccurate = bool(inaccurate)
        if pacer.late:
            health.worse(WARN, 'slower than real time')
        return health

    def _simulation_values(self) -> dict[str, str]:
        plant, pacer = self.node.plant, self.pacer
        values = {
            'simulated time': f'{plant.time:.3f}',
            'mode': self.node.values['mode'],
            'payload': f'{plant.p[plant.system.index("parameter", "payload_mass")]:.6g}',
        }
        for check in plant.guard.checks[: 1 if plant.constraints is None else None]:
            limits = f'{check.measured:.3g} {check.unit}, allowed {check.allowed:.3g}' if check.judged else check.reason
            values[f'{check.name} error'] = limits
        if pacer.paced:
            values['missed deadlines'] = str(pacer.schedule.missed)
            values['lost time'] = f'{pacer.schedule.lost:.3f}'
            values['real-time factor'] = f'{pacer.factor.value:.3f}'
        return values

    def commands(self) -> Health:
        """Return the status `commands`: used and rejected commands, timeouts of the partner."""
        pacer, rejections = self.pacer, self.rejections
        text = 'receiving commands' if self.node.commands else 'no command yet'
        if self.node.without_command:
            some = set(self.node.plant.actuated) - set(self.node.without_command)
            held = ', '.join(self.node.without_command) if some else 'all joints'
            text = f'{text}, without a value for {held}: held'
        health = Health(text=text, more=rejections.values)
        if saturated := self.node.targets.saturated:
            health.worse(WARN, f'saturated: {saturated}')
        if pacer.timed_out:
            reaction = 'holding the joints' if pacer.paced or not pacer.waits else 'simulated time stands still'
            health.worse(ERROR, f'no command for {pacer.timeout:g} s: {reaction}')
        if pacer.uncommanded:
            health.worse(ERROR, f'no command for {self.node.values["command_timeout"]:g} s: holding the joints')
        if rejections.recent(pacer.now()):
            health.worse(WARN, f'rejected: {rejections.last}')
        return health

    def constraints(self) -> Health:
        """Return the status `constraints`: rank, mobility, drift, constraints whose forces are not unique."""
        plant = self.node.plant
        assert plant.constraints is not None
        if not 0.0 <= plant.time - self._constraints_at < CONSTRAINTS_PERIOD:
            self._constraints_at, self._constraints = plant.time, plant.constraints.health()
        state = self._constraints
        values = {
            'rows': f'{state.rows}',
            'independent rows': f'{state.rank}',
            'mobility': f'{state.mobility}',
            'underactuation': f'{state.underactuation}',
            'condition number': f'{state.condition:.6g}',
            'drift': f'{state.drift:.3g}',
            'slip': f'{state.slip:.3g}',
            'forces not unique': ', '.join(state.indeterminate),
        }
        text = 'all constraint forces are unique'
        if state.indeterminate:
            text = 'some constraint forces are not unique: the forces of least norm are reported'
        health = Health(text=text, values=values)
        if state.condition > GREATEST_CONDITION:
            health.worse(WARN, 'near a position in which constraints depend on each other: forces grow without bound')
        if state.drift > GREATEST_GAP:
            health.worse(WARN, f'constraints have drifted apart by {state.drift:.3g} m or rad')
        return health

    def stability(self) -> Health:
        """Return the status `stability`: every margin with its alarm levels."""
        balance: Balance | None = self.node.plant.balance()
        if balance is None:
            return Health(text='no wheels to stand on')
        levels = self.levels
        health = Health(text='stable', more=lambda: margin_values(balance, levels, balance.margins))
        judge(health, balance, levels, balance.margins)
        return health
