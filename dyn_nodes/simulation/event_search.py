"""Events of a machine with constraints: found after a period, located within the steps that led there.

The integration goes on as if nothing had been watched. Only where a sign has changed over the period is it integrated
once more, step by step, and the step in which it happened is halved until the instant is known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.simulation.constrained_stepper import ConstrainedStepper
from dyn_nodes.simulation.events import Event, Watcher

Array = NDArray[np.float64]
HALVINGS = 34
"""A step of 1 ms is then known to 6e-14 s."""


class EventSearch:
    """Looks for changes of sign along the steps of a stepper.

    Args:
        stepper: that integrates; it is left at another state.
        watcher: holds the signs up to now, and takes what is found.
        values: returns (2 n,) the values of the watches and the numbers to be reported, at a state.
    """

    def __init__(self, stepper: ConstrainedStepper, watcher: Watcher, values: Callable[[Array], Array]) -> None:
        self.stepper, self.watcher, self.values = stepper, watcher, values
        self._count = 0

    def between(self, x: Array, start: float, end: float, numbers: Array, efforts: Array, after: Array) -> list[Event]:
        """Return the events from a state x at `start` to the state `after` at `end`, s, under held efforts.

        Args:
            x: (n,) state.
            start: s.
            end: s.
            numbers: parameters of the system.
            efforts: of the actuated joints.
            after: (n,) state.
        """
        n, positive = len(self.watcher.watches), self.watcher.positive
        if ((self.values(after)[:n] > 0.0) == positive).all():
            return []
        self._numbers, self._efforts, self._count = numbers, efforts, 0
        steps = max(1, int(np.ceil((end - start) / self.stepper.step - 1e-9)))
        h, state = (end - start) / steps, x
        for k in range(steps):
            time = start + k * h
            following = after if k == steps - 1 else self._advanced(state, time, h)
            values = self.values(following)
            for j in np.flatnonzero((values[:n] > 0.0) != positive):
                self._locate(int(j), state, time, h, values)
            state = following
        return self.watcher.events(self._count)

    def _advanced(self, x: Array, time: float, duration: float) -> Array:
        self.stepper.put(x, time, self._numbers)
        self.stepper.advance(duration, self._efforts)
        return self.stepper.state

    def _locate(self, j: int, x: Array, time: float, h: float, values: Array) -> None:
        """Halve the step from x until the instant is known at which watch j changes its sign."""
        n, found = len(self.watcher.watches), self.watcher.found
        now = bool(values[j] > 0.0)
        low, high, quantity = 0.0, 1.0, float(values[n + j])
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            inside = self.values(self._advanced(x, time, middle * h))
            if bool(inside[j] > 0.0) == now:
                high, quantity = middle, float(inside[n + j])
            else:
                low = middle
        if self._count < len(found):
            found[self._count] = j, time + high * h, float(now), quantity
        self._count += 1
        self.watcher.positive[j] = now
