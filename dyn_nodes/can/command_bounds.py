"""Bounds of the commands that a bridge sends: the voltage limits, a share of them, and the bounds of the mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.common.arrays import Array


class CommandBounds:
    """Clamps commands. Clamped, not refused: a lever at its end still moves the valve as far as it may.

    Args:
        mapping: its `lower` and `upper` of commands bound them, V; 0 V is always within.
        names: of the actuators, in the order of the commands.

    Attributes:
        limits: (n,) voltage limits, V.
        lower, upper: (n,) V, within the limits.
        clamped: count of the commands beyond the mapping's bounds, by actuator.
        last: the newest of them as text.  last_time: s, None where there was none.
    """

    def __init__(self, mapping: CanMapping, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.limits = np.array([mapping.machine.actuator(name).command_limit for name in names])
        given = {channel.name: channel for frame in mapping.commands for channel in frame.channels}
        self.lower, self.upper = -self.limits, self.limits.copy()
        for k, name in enumerate(names):
            if name in given:
                self.lower[k] = max(self.lower[k], given[name].lower)
                self.upper[k] = min(self.upper[k], given[name].upper)
        self.clamped: Counter[str] = Counter()
        self.last = ''
        self.last_time: float | None = None

    def applied(self, volts: Array, share: float) -> Array:
        """Return commands (n,) within the bounds and a share of the voltage limits; volts are finite."""
        within = np.clip(volts, -share * self.limits, share * self.limits)
        return np.clip(within, self.lower, self.upper)

    def note(self, volts: Array, now: float) -> None:
        """Count the commands (n,) beyond the mapping's bounds at a time, s; the voltage limit is no news."""
        wanted = np.clip(volts, -self.limits, self.limits)
        for k in np.flatnonzero((wanted < self.lower) | (wanted > self.upper)):
            name, bounds = self.names[k], f'{self.lower[k]:g} to {self.upper[k]:g} V'
            self.clamped[name] += 1
            self.last, self.last_time = f'{name}: expected {bounds}, found {volts[k]:g} V', now

    def recent(self, now: float, window: float = 5.0) -> bool:
        """Return whether a command was clamped in the last seconds."""
        return self.last_time is not None and now - self.last_time < window
