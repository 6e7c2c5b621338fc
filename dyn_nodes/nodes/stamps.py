"""Seconds to time stamps and back."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message

TimeMessage = message('builtin_interfaces/msg/Time')
NANO = 1_000_000_000


def nanoseconds_of(seconds: float) -> int:
    """Return simulated seconds as whole nanoseconds, rounded: equal times give equal stamps."""
    return round(seconds * NANO)


def stamp_of(seconds: float) -> Any:
    """Return builtin_interfaces/Time."""
    whole, rest = divmod(nanoseconds_of(seconds), NANO)
    return TimeMessage(sec=int(whole), nanosec=int(rest))


def nanoseconds_of_stamp(stamp: Any) -> int:
    """Return a stamp as nanoseconds."""
    return int(stamp.sec) * NANO + int(stamp.nanosec)


def seconds_of_stamp(stamp: Any) -> float:
    """Return a stamp as seconds."""
    return nanoseconds_of_stamp(stamp) / NANO
