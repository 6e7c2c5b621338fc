"""Dead time of valves: what was commanded takes effect later, exactly.

A dead time is no part of the compiled plant, whose states are finitely many; approximations by lags (Pade, a chain of
first-order elements) would smooth and overshoot. It acts on the inputs alone, which are functions of time: a table of
inputs is shifted (`Inputs.aligned`), held commands go through a line that remembers them (`CommandDelay`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_elements
from dyn_nodes.model.machine import Machine

History = tuple[tuple[float, Array], ...]
ROUND_OFF = 1e-9  # of a period; a change of a command so close to an instant happens there


def input_delays(machine: Machine, inputs: Sequence[str]) -> Array | None:
    """Return the dead time of each input (n,), s; None where no actuator has any."""
    commands = (command for actuator in actuator_elements(machine) for command in actuator.inputs)
    delays = {command.name: command.dead_time for command in commands}
    values = np.array([delays.get(name, 0.0) for name in inputs])
    return values if np.any(values > 0.0) else None


class CommandDelay:
    """Held commands on their way to the valves. Before the first command the valves are at neutral.

    Attributes:
        history: (time, values) of every change of the commands that may still matter; assign an earlier one to go back.
    """

    def __init__(self, delays: Array) -> None:
        self.delays = np.array(delays, dtype=np.float64)
        self.history: History = ()

    def clear(self) -> None:
        """Forget all commands."""
        self.history = ()

    def table(self, start: float, end: float, values: Array) -> tuple[Array, Array]:
        """Hold `values` (n,) from `start` on; return what arrives from `start` to `end` as knots (k,) and table (k, n).

        The table is piecewise constant, each step as two rows with one time. Times must not go back.
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
        """What acts right at a time, (n,)."""
        values = np.zeros(len(self.delays))
        for k, delay in enumerate(self.delays):
            for changed, held in reversed(self.history):
                if changed <= time - delay:
                    values[k] = held[k]
                    break
        return values
