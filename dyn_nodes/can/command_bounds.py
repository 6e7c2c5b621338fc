"""Bounds of commands sent by a bridge: voltage limits, a share of them, and the bounds of the mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.common.arrays import Array


class CommandBounds:
    """Clamps commands instead of rejecting them: a lever at its end still moves the valve as far as allowed.

    Args:
        mapping: mapping with the bounds `lower` and `upper` of commands, V, which include 0 V.
        names: names of the actuators in the order of the commands.

    Attributes:
        limits: (n,) voltage limits, V.
        lower: (n,) lower bounds within the limits, V.
        upper: (n,) upper bounds within the limits, V.
        clamped: number of commands beyond the mapping's bounds, by actuator.
        last: text of the last clamped command.
        last_time: time of the last clamped command, s; None: none.
    """

    def __init__(self, mapping: CanMapping, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.limits = np.array([mapping.machine.actuator(name).command_limit for name in names])
        mapped = {channel.name: channel for frame in mapping.commands for channel in frame.channels}
        self.lower, self.upper = -self.limits, self.limits.copy()
        for k, name in enumerate(names):
            if name in mapped:
                self.lower[k] = max(self.lower[k], mapped[name].lower)
                self.upper[k] = min(self.upper[k], mapped[name].upper)
        self.clamped: Counter[str] = Counter()
        self.last = ''
        self.last_time: float | None = None

    def applied(self, volts: Array, share: float) -> Array:
        """Return commands (n,), V, clamped to the bounds and a share of the voltage limits; `volts` must be finite."""
        within = np.clip(volts, -share * self.limits, share * self.limits)
        return np.clip(within, self.lower, self.upper)

    def note(self, volts: Array, now: float) -> None:
        """Count commands (n,) beyond the mapping's bounds at a time, s; commands beyond voltage limits do not count."""
        wanted = np.clip(volts, -self.limits, self.limits)
        for k in np.flatnonzero((wanted < self.lower) | (wanted > self.upper)):
            name, bounds = self.names[k], f'{self.lower[k]:g} to {self.upper[k]:g} V'
            self.clamped[name] += 1
            self.last, self.last_time = f'{name}: expected {bounds}, found {volts[k]:g} V', now

    def recent(self, now: float, window: float = 5.0) -> bool:
        """Return whether a command was clamped within the last `window` seconds."""
        return self.last_time is not None and now - self.last_time < window
