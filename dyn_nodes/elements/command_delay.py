"""Exact dead time of valves.

The compiled plant has no dead time: it has a finite number of states, and lags (Pade, a chain of first-order elements)
would smooth and overshoot. The dead time delays the inputs: tables of inputs are shifted (`Inputs.aligned`), held
commands pass a delay line (`CommandDelay`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_elements
from dyn_nodes.model.machine import Machine

History = tuple[tuple[float, Array], ...]
ROUND_OFF = 1e-9  # share of a period; a change of a command this close to an instant counts as at that instant


def input_delays(machine: Machine, inputs: Sequence[str]) -> Array | None:
    """Return the dead time of each input (n,), s; None if no actuator has a dead time."""
    commands = (command for actuator in actuator_elements(machine) for command in actuator.inputs)
    delays = {command.name: command.dead_time for command in commands}
    values = np.array([delays.get(name, 0.0) for name in inputs])
    return values if np.any(values > 0.0) else None


class CommandDelay:
    """Delay line of held commands. Before the first command the valves are at neutral.

    Attributes:
        history: (time, values) of every change of the commands still in use; assign an earlier history to go back.
    """

    def __init__(self, delays: Array) -> None:
        self.delays = np.array(delays, dtype=np.float64)
        self.history: History = ()

    def clear(self) -> None:
        """Remove all commands."""
        self.history = ()

    def table(self, start: float, end: float, values: Array) -> tuple[Array, Array]:
        """Hold `values` (n,) from `start` on; return the delayed values until `end`: knots (k,), table (k, n).

        The table is piecewise constant, each step as two rows with one time. Times must not decrease.
        """
        near = ROUND_OFF * (end - start)
        kept = [(time, held) for time, held in self.history if time < start - near]
        self.history = (*kept, (start, np.array(values, dtype=np.float64)))
        times = np.array([time for time, _ in self.history])
        steps = {float(t) for delay in self.delays for t in times + delay if start + near < t < end - near}
        knots, rows = [start], [self._arriving(start + near)]
        for step in sorted(steps):
            knots += [step, step]
            rows += [rows[-1], self._arriving(step + near)]
        oldest = int(np.searchsorted(times, end - float(self.delays.max()), side='right')) - 1
        self.history = self.history[max(oldest, 0) :]
        return np.array(knots), np.array(rows)

    def _arriving(self, time: float) -> Array:
        """Return the delayed values (n,) at a time."""
        values = np.zeros(len(self.delays))
        for k, delay in enumerate(self.delays):
            for changed, held in reversed(self.history):
                if changed <= time - delay:
                    values[k] = held[k]
                    break
        return values
