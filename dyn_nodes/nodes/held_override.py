"""A key that overrides a governor while it is held, for a limited time.

override = HeldOverride(10.0)
override.update(True, now)  # repeated while the key is held
override.left(now)         # remaining time, s; 0 while it is not active
"""

from __future__ import annotations

HELD = 0.3
"""Time after a message in which its key counts as held, s."""


class HeldOverride:
    """Time for which a held key may override.

    An override ends with the release of the key, without messages of it, or after its longest time; then it starts
    again only after the key was released.

    Args:
        longest: time, s; 0: there is no override.

    Attributes:
        count: number of overrides.
    """

    def __init__(self, longest: float) -> None:
        self.longest, self.count = longest, 0
        self._since: float | None = None
        self._pressed_at = -float('inf')

    def update(self, is_pressed: bool, now: float) -> None:
        """Process a message of the key at a time, s."""
        if not is_pressed or now - self._pressed_at > HELD:
            self._since = None
        self._pressed_at = now if is_pressed else -float('inf')
        if is_pressed and self._since is None:
            self._since = now
            self.count += self.longest > 0.0

    def left(self, now: float) -> float:
        """Return the remaining time of a present override at a time, s; 0 without one."""
        if self._since is None or now - self._pressed_at > HELD:
            return 0.0
        return max(self.longest - (now - self._since), 0.0)
