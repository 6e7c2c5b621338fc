"""Clocks: system, steady, and ROS time, which follows /clock when `use_sim_time` is set."""

from __future__ import annotations

import threading
import time as _time
from collections.abc import Callable

from .context import Context, get_default_context
from .time import ClockType, Duration, Time

#: Period in which a sleeping clock checks for shutdown, s.
_SLEEP_SLICE = 0.05


class TimeJump:
    """Argument of a jump callback: size of the jump, and whether ROS time was switched on or off."""

    def __init__(self, delta: Duration, clock_changed: bool) -> None:
        self.delta = delta
        self.clock_change = clock_changed


class Clock:
    """A source of time.

    Args:
        clock_type: type; `Clock(clock_type=ClockType.ROS_TIME)` returns a `ROSClock`.
    """

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:
        """Create the class of the type, as in rclpy."""
        return object.__new__(ROSClock if clock_type == ClockType.ROS_TIME else cls)

    def __init__(self, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> None:
        self._type = ClockType(clock_type)
        self._listeners: list[Callable[[TimeJump], None]] = []
        self._read = _time.monotonic_ns if self._type == ClockType.STEADY_TIME else _time.time_ns

    @property
    def clock_type(self) -> ClockType:
        """Type of the clock."""
        return self._type

    @property
    def is_driven(self) -> bool:
        """True if the time is set externally; waiting by wall time is then useless."""
        return False

    def __repr__(self) -> str:
        return f'Clock(clock_type={self._type.name})'

    def nanoseconds(self) -> int:
        """Return the time, ns; faster than `now`."""
        return self._read()

    def now(self) -> Time:
        """Return the current time."""
        return Time(nanoseconds=self.nanoseconds(), clock_type=self._type)

    def add_jump_listener(self, listener: Callable[[TimeJump], None]) -> None:
        """Call `listener` after each change of a driven clock's time."""
        self._listeners.append(listener)

    def remove_jump_listener(self, listener: Callable[[TimeJump], None]) -> None:
        """Stop calling `listener`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def sleep_until(self, until: Time, context: Context | None = None) -> bool:
        """Block until a time of this clock; return False if the context was shut down before.

        Raises:
            ValueError: `until` has another clock type.
        """
        if until.clock_type != self._type:
            raise ValueError("until's clock type does not match this clock's type")
        context = context or get_default_context()
        while context.ok():
            left = until.nanoseconds - self.nanoseconds()
            if left <= 0:
                return True
            _time.sleep(min(_SLEEP_SLICE, left * 1e-9) if not self.is_driven else 0.001)
        return False

    def sleep_for(self, duration: Duration, context: Context | None = None) -> bool:
        """Block for a duration of this clock; return False if the context was shut down before."""
        return self.sleep_until(self.now() + duration, context)


class ROSClock(Clock):
    """System time, or the time from `set_ros_time_override` while ROS time is active."""

    def __new__(cls) -> ROSClock:
        """Create the clock; there are no arguments."""
        return object.__new__(cls)

    def __init__(self, *, clock_type: ClockType = ClockType.ROS_TIME) -> None:
        super().__init__(clock_type=ClockType.ROS_TIME)
        self._active = False
        self._time = 0
        self._lock = threading.Lock()

    @property
    def ros_time_is_active(self) -> bool:
        """True if time is simulated."""
        return self._active

    @property
    def is_driven(self) -> bool:
        """True if time is simulated."""
        return self._active

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        with self._lock:
            if enabled == self._active:
                return
            before = self.nanoseconds()
            self._active = bool(enabled)
            delta = self.nanoseconds() - before
        self._announce(delta, True)

    def set_ros_time_override(self, time: Time) -> None:
        """Set the simulated time.

        Raises:
            TypeError: not a Time.
        """
        if not isinstance(time, Time):
            raise TypeError(f'Time must be specified as rclpy.time.Time. Received type: {type(time)}')
        self._set_nanoseconds(time.nanoseconds)

    def _set_nanoseconds(self, nanoseconds: int) -> None:
        with self._lock:
            delta = nanoseconds - self._time
            self._time = nanoseconds
        if self._active:
            self._announce(delta, False)

    def _announce(self, delta: int, changed: bool) -> None:
        if self._listeners:
            jump = TimeJump(Duration(nanoseconds=delta), changed)
            for listener in list(self._listeners):
                listener(jump)

    def nanoseconds(self) -> int:
        """Return the time, ns."""
        return self._time if self._active else _time.time_ns()
