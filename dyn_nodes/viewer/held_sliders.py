"""Sliders of position-controlled coordinates: same rules as levers, but a slider keeps its value when released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_nodes.viewer.levers import Levers, Owner


class HeldSliders(Levers):
    """Setpoints of a position-controlled machine, behind the dead-man switch of the levers.

    They start at the measured values, even beyond the range of a slider: an untouched slider commands no motion. When
    driving ends, the machine is held at its measured values.

    Args:
        ranges: minimum and maximum by name.

    Attributes:
        present: measured values by name; empty until received.
    """

    def __init__(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(tuple(ranges), {name: max(abs(low), abs(high)) for name, (low, high) in ranges.items()})
        self.ranges = dict(ranges)
        self.present: dict[str, float] = {}
        self._sent: list[float] | None = None
        self._holds = False

    def arm(self, owner: Owner, now: float) -> bool:
        """Start to drive from the measured values. Return False if another page drives or they are unknown."""
        if self.owner is not None or not self.present:
            return self.owner == owner and owner is not None
        super().arm(owner, now)
        self._values = {name: self.present[name] for name in self.names}
        self._sent = [self._values[name] for name in self.names]  # no command before a slider moves
        return True

    def disarm(self, reason: str, now: float) -> None:
        """Stop driving; the machine is held at its measured values."""
        self._holds = self._holds or (self.owner is not None and bool(self.present))
        super().disarm(reason, now)

    def command(self, now: float, present: Sequence[Owner]) -> list[float] | None:
        """Return the values to send now; None: send nothing."""
        if self.owner is not None and self.owner not in present:
            self.disarm('the driving page was closed', now)
        if self.owner is None:
            holds, self._holds = self._holds, False
            return [self.present[name] for name in self.names] if holds else None
        values = [self._values[name] for name in self.names]
        if values == self._sent:
            return None
        self._sent = values
        return values

    def _within(self, name: str, value: float) -> float:
        low, high = self.ranges[name]
        return min(max(value, low), high)
