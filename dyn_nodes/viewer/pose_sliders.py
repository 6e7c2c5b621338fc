"""Sliders of a platform's pose on the page: the rules of the levers, but a slider that is left alone stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_nodes.viewer.levers import Levers, Owner

NAMES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
LENGTHS, UNITS = NAMES[:3], dict.fromkeys(NAMES[:3], 'mm') | dict.fromkeys(NAMES[3:], '°')


class PoseSliders(Levers):
    """Offsets of a platform from its middle pose, mm and degrees, behind the switch of the levers.

    They begin where the platform is. When driving ends, the platform is held where it is.

    Args:
        limits: greatest offset by name, mm or degrees.

    Attributes:
        present: offsets of the measured platform by name; empty until it is known.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        super().__init__(NAMES, limits)
        self.present: dict[str, float] = {}
        self._sent: list[float] | None = None
        self._holds = False

    def arm(self, owner: Owner, now: float) -> bool:
        """Start to drive from the pose of the platform. Returns False where another page drives or it is not known."""
        if self.owner is not None or not self.present:
            return self.owner == owner and owner is not None
        super().arm(owner, now)
        self._values = {name: self._within(name, self.present[name]) for name in self.names}
        self._sent = [self._values[name] for name in self.names]  # nothing moves before a slider does
        return True

    def disarm(self, reason: str, now: float) -> None:
        """Stop driving; the platform is held where it is."""
        self._holds = self._holds or (self.owner is not None and bool(self.present))
        super().disarm(reason, now)

    def command(self, now: float, present: Sequence[Owner]) -> list[float] | None:
        """Return the offsets to send now, None where nothing is to be sent."""
        if self.owner is not None and self.owner not in present:
            self.disarm('the page that drove has gone', now)
        if self.owner is None:
            holds, self._holds = self._holds, False
            return [self.present[name] for name in self.names] if holds else None
        values = [self._values[name] for name in self.names]
        if values == self._sent:
            return None
        self._sent = values
        return values

    def _within(self, name: str, value: float) -> float:
        return min(max(value, -self.limits[name]), self.limits[name])
