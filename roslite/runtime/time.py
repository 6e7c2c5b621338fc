"""rclpy's times and durations: integers of nanoseconds with a clock type."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .types import message

_NANO = 1_000_000_000
_LIMIT = 1 << 63
LATEST_STAMP = (1 << 31) * _NANO - 1
"""Maximum time of a builtin_interfaces/Time, ns: 2038-01-19 03:14:07 UTC plus the rest of that second."""


class ClockType(IntEnum):
    """Type of clock of a time."""

    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3


def _nanoseconds(seconds: float, nanoseconds: float) -> int:
    # Whole seconds are multiplied as integers: a double cannot represent the current date in nanoseconds.
    whole = int(seconds)
    total = whole * _NANO + round((seconds - whole) * _NANO) + int(nanoseconds)
    if not -_LIMIT <= total < _LIMIT:
        raise OverflowError('Total nanoseconds value is too large to store in C++ type int64_t')
    return total


class Duration:
    """A span of time.

    Args:
        seconds: seconds, may be fractional or negative.
        nanoseconds: added to `seconds`.
    """

    __slots__ = ('nanoseconds',)

    def __init__(self, *, seconds: float = 0, nanoseconds: float = 0) -> None:
        self.nanoseconds = _nanoseconds(seconds, nanoseconds)

    def __repr__(self) -> str:
        return f'Duration(nanoseconds={self.nanoseconds})'

    def _compare(self, other: object) -> int:
        if not isinstance(other, Duration):
            raise TypeError(f"Can't compare duration with object of type: {type(other)}")
        return (self.nanoseconds > other.nanoseconds) - (self.nanoseconds < other.nanoseconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __lt__(self, other: object) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: object) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._compare(other) >= 0

    def to_msg(self) -> Any:
        """Return a builtin_interfaces/Duration."""
        seconds, nanoseconds = divmod(self.nanoseconds, _NANO)
        return message('builtin_interfaces/msg/Duration')(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """Return the duration of a builtin_interfaces/Duration."""
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


class Time:
    """A point in time.

    Args:
        seconds: seconds, zero or more.
        nanoseconds: added to `seconds`.
        clock_type: type of clock.

    Raises:
        ValueError: a negative time.
    """

    __slots__ = ('clock_type', 'nanoseconds')

    def __init__(
        self, *, seconds: float = 0, nanoseconds: float = 0, clock_type: ClockType = ClockType.SYSTEM_TIME
    ) -> None:
        if seconds < 0 or nanoseconds < 0:
            raise ValueError(f'A time cannot be negative: {seconds} s, {nanoseconds} ns')
        self.nanoseconds = _nanoseconds(seconds, nanoseconds)
        self.clock_type = ClockType(clock_type)

    def seconds_nanoseconds(self) -> tuple[int, int]:
        """Return whole seconds and the rest in nanoseconds."""
        return divmod(self.nanoseconds, _NANO)

    def __repr__(self) -> str:
        return f'Time(nanoseconds={self.nanoseconds}, clock_type={self.clock_type.name})'

    def __add__(self, other: object) -> Time:
        if not isinstance(other, Duration):
            return NotImplemented
        return Time(nanoseconds=self.nanoseconds + other.nanoseconds, clock_type=self.clock_type)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        if isinstance(other, Time):
            self._same_clock(other)
            return Duration(nanoseconds=self.nanoseconds - other.nanoseconds)
        if isinstance(other, Duration):
            return Time(nanoseconds=self.nanoseconds - other.nanoseconds, clock_type=self.clock_type)
        return NotImplemented

    def _same_clock(self, other: object) -> Time:
        if not isinstance(other, Time):
            raise TypeError(f"Can't compare time with object of type: {type(other)}")
        if self.clock_type != other.clock_type:
            raise TypeError("Can't compare times with different clock types")
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self.nanoseconds == self._same_clock(other).nanoseconds

    def __hash__(self) -> int:
        return hash((self.nanoseconds, self.clock_type))

    def __lt__(self, other: object) -> bool:
        return self.nanoseconds < self._same_clock(other).nanoseconds

    def __le__(self, other: object) -> bool:
        return self.nanoseconds <= self._same_clock(other).nanoseconds

    def __gt__(self, other: object) -> bool:
        return self.nanoseconds > self._same_clock(other).nanoseconds

    def __ge__(self, other: object) -> bool:
        return self.nanoseconds >= self._same_clock(other).nanoseconds

    def to_msg(self) -> Any:
        """Return a builtin_interfaces/Time, at most `LATEST_STAMP`."""
        seconds, nanoseconds = divmod(min(self.nanoseconds, LATEST_STAMP), _NANO)
        return message('builtin_interfaces/msg/Time')(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any, clock_type: ClockType = ClockType.ROS_TIME) -> Time:
        """Return the time of a builtin_interfaces/Time."""
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec, clock_type=clock_type)
