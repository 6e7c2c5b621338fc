"""Timers on any clock, and rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .clock import Clock, TimeJump


class Timer:
    """Calls back with a period of a clock.

    Calls keep to the grid of periods: a late call does not shift the next ones, and periods missed altogether are
    skipped, as rcl does.

    Args:
        callback: called without arguments (or with a keyword for TimerInfo in rclpy; not here).
        period: nanoseconds.
        clock: the clock.
        on_change: called when the time of the next call moved.
    """

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        period: int,
        clock: Clock,
        on_change: Callable[[], None],
        *,
        autostart: bool = True,
    ) -> None:
        if period < 0:
            raise ValueError(f'timer period must not be negative, found {period} ns')
        self.callback = callback
        self._period = int(period)
        self._clock = clock
        self._on_change = on_change
        self._cancelled = not autostart
        self._last = clock.nanoseconds()
        self._next = self._last + self._period
        clock.add_jump_listener(self._on_jump)

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        """The period in nanoseconds."""
        return self._period

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        self._period = int(value)
        self._on_change()

    def _on_jump(self, jump: TimeJump) -> None:
        now = self._clock.nanoseconds()
        if jump.clock_change:  # another clock altogether: what was left of the period stays
            before = now - jump.delta.nanoseconds
            self._next = now + min(max(self._next - before, 0), self._period)
            self._last = now
        elif now < self._last:
            self._next = now + self._period
            self._last = now
        if self._next <= now:
            self._on_change()

    def is_ready(self) -> bool:
        """Return whether a call is due."""
        return not self._cancelled and self._clock.nanoseconds() >= self._next

    def is_canceled(self) -> bool:
        """Return whether it was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Make no more calls until `reset`."""
        self._cancelled = True

    def reset(self) -> None:
        """Start a period now."""
        self._cancelled = False
        self._last = self._clock.nanoseconds()
        self._next = self._last + self._period
        self._on_change()

    def time_since_last_call(self) -> int:
        """Return nanoseconds since the last call."""
        return self._clock.nanoseconds() - self._last

    def time_until_next_call(self) -> int | None:
        """Return nanoseconds until the next call is due (negative if late); None if cancelled."""
        return None if self._cancelled else self._next - self._clock.nanoseconds()

    def take(self) -> bool:
        """Count a call as made, if one is due."""
        now = self._clock.nanoseconds()
        if self._cancelled or now < self._next:
            return False
        self._last = now
        self._next += self._period
        if self._next <= now:
            missed = 1 + (now - self._next) // self._period if self._period else 0
            self._next = self._next + missed * self._period if self._period else now
        return True

    def run(self) -> Any:
        """Call back, if a call is due; returns what the callback returned."""
        return self.callback() if self.take() and self.callback is not None else None

    def destroy(self) -> None:
        """Leave the clock."""
        self._cancelled = True
        self._clock.remove_jump_listener(self._on_jump)


class Rate:
    """Sleeps so that a loop has a frequency."""

    def __init__(self, frequency: float, clock: Clock, context: Any) -> None:
        if frequency <= 0:
            raise ValueError(f'frequency must be greater than 0, found {frequency}')
        self._period = round(1e9 / frequency)
        self._clock = clock
        self._context = context
        self._next = clock.nanoseconds() + self._period

    def sleep(self) -> None:
        """Block until the next period starts. The node must spin in another thread if the clock is simulated."""
        from .time import Time

        self._clock.sleep_until(Time(nanoseconds=self._next, clock_type=self._clock.clock_type), self._context)
        self._next = max(self._next + self._period, self._clock.nanoseconds())

    def destroy(self) -> None:
        """Do nothing; for rclpy's sake."""
