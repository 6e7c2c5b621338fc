"""Conversion of seconds and time stamps; checks of stamps."""

from __future__ import annotations

from typing import Any

from dyn_nodes.common.errors import UserError
from dyn_nodes.middleware import message
from dyn_nodes.middleware.prepared import STAMP

TimeMessage = message('builtin_interfaces/msg/Time')
NANO = 1_000_000_000
LATEST_STAMP = (1 << 31) * NANO - 1
"""Latest time of a stamp, ns: the end of the second 2038-01-19 03:14:07 UTC."""
_TIMES = ('builtin_interfaces/Time',)


class StampError(UserError, ValueError):
    """An invalid stamp: negative seconds, or nanoseconds of a second or more."""


def nanoseconds_of(seconds: float) -> int:
    """Return simulated seconds as whole nanoseconds, rounded: equal times give equal stamps."""
    return round(seconds * NANO)


def stamp_of(seconds: float) -> Any:
    """Return seconds as builtin_interfaces/Time; see `stamp_at`."""
    return stamp_at(nanoseconds_of(seconds))


def stamp_at(nanoseconds: int) -> Any:
    """Return nanoseconds as builtin_interfaces/Time, at most `LATEST_STAMP`."""
    whole, rest = divmod(min(nanoseconds, LATEST_STAMP), NANO)
    return TimeMessage(sec=int(whole), nanosec=int(rest))


def packed_stamp(nanoseconds: int) -> bytes:
    """Return nanoseconds as the CDR form of builtin_interfaces/Time; see `stamp_at`."""
    return STAMP.pack(*divmod(min(nanoseconds, LATEST_STAMP), NANO))


def nanoseconds_of_stamp(stamp: Any) -> int:
    """Return a stamp as nanoseconds."""
    return int(stamp.sec) * NANO + int(stamp.nanosec)


def seconds_of_stamp(stamp: Any) -> float:
    """Return a stamp as seconds."""
    return nanoseconds_of_stamp(stamp) / NANO


def stamped_fields(kind: Any) -> tuple[tuple[str, ...], ...]:
    """Return the paths of a message type's stamps: `header.stamp` and fields of type Time."""
    fields = kind.get_fields_and_field_types()
    paths: list[tuple[str, ...]] = [(name,) for name, label in fields.items() if label in _TIMES]
    if fields.get('header') == 'std_msgs/Header':
        paths.append(('header', 'stamp'))
    return tuple(paths)


def check_stamps(msg: Any, fields: tuple[tuple[str, ...], ...]) -> None:
    """Check a message's stamps.

    Args:
        msg: the message.
        fields: paths of its stamps, of `stamped_fields`.

    Raises:
        StampError: a stamp is invalid.
    """
    for path in fields:
        stamp = msg
        for name in path:
            stamp = getattr(stamp, name)
        if stamp.sec < 0 or stamp.nanosec >= NANO:
            raise StampError(
                f'{".".join(path)}: expected seconds from 0 and less than {NANO} nanoseconds, '
                f'found {stamp.sec} s and {stamp.nanosec} ns'
            )
