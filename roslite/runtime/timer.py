"""Timers on any clock, and rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .clock import Clock, TimeJump


class Timer:
    """Runs a callback periodically on a clock.

    Calls stay on the grid of periods: a late call does not shift the next ones, and missed periods are skipped, as in
    rcl.

    Args:
        callback: function without arguments (rclpy's keyword for TimerInfo is not supported).
        period: ns.
        clock: clock of the timer.
        on_change: function called when the time of the next call changes.
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
        """Clock of the timer."""
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        """Period, ns."""
        return self._period

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        self._period = int(value)
        self._on_change()

    def _on_jump(self, jump: TimeJump) -> None:
        now = self._clock.nanoseconds()
        if jump.clock_change:  # another time base: the rest of the period is kept
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
        """Stop calls until `reset`."""
        self._cancelled = True

    def reset(self) -> None:
        """Start a new period now."""
        self._cancelled = False
        self._last = self._clock.nanoseconds()
        self._next = self._last + self._period
        self._on_change()

    def time_since_last_call(self) -> int:
        """Return the time since the last call, ns."""
        return self._clock.nanoseconds() - self._last

    def time_until_next_call(self) -> int | None:
        """Return the time until the next call, ns (negative if late); None if cancelled."""
        return None if self._cancelled else self._next - self._clock.nanoseconds()

    def take(self) -> bool:
        """Mark a due call as made; return whether one was due."""
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
        """Run the callback if a call is due; return its result."""
        return self.callback() if self.take() and self.callback is not None else None

    def destroy(self) -> None:
        """Disconnect the timer from its clock."""
        self._cancelled = True
        self._clock.remove_jump_listener(self._on_jump)


class Rate:
    """Sleep that gives a loop a frequency."""

    def __init__(self, frequency: float, clock: Clock, context: Any) -> None:
        if frequency <= 0:
            raise ValueError(f'frequency must be greater than 0, found {frequency}')
        self._period = round(1e9 / frequency)
        self._clock = clock
        self._context = context
        self._next = clock.nanoseconds() + self._period

    def sleep(self) -> None:
        """Block until the start of the next period. With a simulated clock, the node must spin in another thread."""
        from .time import Time

        self._clock.sleep_until(Time(nanoseconds=self._next, clock_type=self._clock.clock_type), self._context)
        self._next = max(self._next + self._period, self._clock.nanoseconds())

    def destroy(self) -> None:
        """Do nothing; for compatibility with rclpy."""
