"""Detection of command frames from other senders: two controllers must not command one machine."""

from __future__ import annotations

from collections.abc import Iterable

from dyn_nodes.can.j1939 import EVERY_UNIT, NO_UNIT, destination, parameter_group, source
from dyn_nodes.can.mapping import Frame

ADDRESS_CLAIMED = 0xEE00
"""Parameter group by which a control unit claims its source address (SAE J1939-81)."""


class CompetingSenders:
    """Records control units that send the same commands as a bridge, or claim its source address.

    An interface of python-can does not return the frames that it sends. Every received command frame is therefore from
    another sender; frames with a wrong checksum, counter or size count as well, because the machine may use them.
    J1939 frames count with any priority and source address, to the control unit of the machine or to all units.

    Args:
        frames: command frames.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._exact: dict[tuple[int, bool], Frame] = {}
        self._groups: dict[tuple[int, int | None], Frame] = {}
        self._claims: dict[int, Frame] = {}
        for frame in frames:
            identifier, extended = frame.message.frame_id, frame.message.is_extended_frame
            if not frame.is_j1939:
                self._exact[identifier, extended] = frame
                continue
            group, to = parameter_group(identifier), destination(identifier)
            self._groups[group, to] = frame
            if to is not None:
                self._groups[group, EVERY_UNIT] = frame
            if source(identifier) not in NO_UNIT:
                self._claims[source(identifier)] = frame
        self._until: dict[str, float] = {}

    def take(self, identifier: int, extended: bool, now: float) -> None:
        """Check a frame received at a time, s, that is not a measurement of the machine."""
        frame, activity = self._exact.get((identifier, extended)), ''
        if frame is not None:
            activity = f'sends {frame.name}'
        elif extended:
            group, sender = parameter_group(identifier), source(identifier)
            if (frame := self._groups.get((group, destination(identifier)))) is not None:
                activity = f'sends {frame.name} from source address 0x{sender:02X}'
            elif group == ADDRESS_CLAIMED and (frame := self._claims.get(sender)) is not None:
                activity = f'claims source address 0x{sender:02X} of {frame.name}'
        if frame is not None:
            self._until[activity] = now + frame.timeout

    def fault(self, now: float) -> str:
        """Return a line about competing frames within the timeouts of their messages, or ''."""
        recent = [activity for activity, until in self._until.items() if now <= until]
        return f'another control unit {", ".join(recent)}' if recent else ''
