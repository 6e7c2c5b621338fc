"""Frames of commands that this computer has not sent: two controllers must not command one machine."""

from __future__ import annotations

from collections.abc import Iterable

from dyn_nodes.can.j1939 import EVERY_UNIT, NO_UNIT, destination, parameter_group, source
from dyn_nodes.can.mapping import Frame

ADDRESS_CLAIMED = 0xEE00
"""Parameter group by which a control unit claims its source address (SAE J1939-81)."""


class CompetingSenders:
    """Notes control units that send the commands which a bridge sends, or claim its source address.

    An interface of python-can does not return the frames that it sends, so that each is of another sender: also one
    with a wrong checksum, a frozen counter or another size, since the machine may use it. Of J1939, a frame
    counts with any priority and source address, to the control unit of the machine or to all of them.

    Args:
        frames: of the commands.
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
        """Take a frame that is none of the machine's measurements, at a time, s."""
        frame, what = self._exact.get((identifier, extended)), ''
        if frame is not None:
            what = f'sends {frame.name}'
        elif extended:
            group, sender = parameter_group(identifier), source(identifier)
            if (frame := self._groups.get((group, destination(identifier)))) is not None:
                what = f'sends {frame.name} from source address 0x{sender:02X}'
            elif group == ADDRESS_CLAIMED and (frame := self._claims.get(sender)) is not None:
                what = f'claims source address 0x{sender:02X} of {frame.name}'
        if frame is not None:
            self._until[what] = now + frame.timeout

    def found(self, now: float) -> str:
        """Return what another control unit has sent within the timeout of its message, in one line, or ''."""
        recent = [what for what, until in self._until.items() if now <= until]
        return f'another control unit {", ".join(recent)}' if recent else ''
