"""Faults of a mapping by which a machine can be read but must not be commanded: `~/arm` of the bridge is refused."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.can.j1939 import NO_UNIT, destination, source
from dyn_nodes.can.mapping import CanMapping, Frame

JOINT_KINDS = ('position', 'velocity')
"""Measurements that show whether a joint moves."""


class Obstacle(NamedTuple):
    """What was expected of a command and what was found instead; `actuator`: whose command it is."""

    actuator: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f'commands.{self.actuator}: expected {self.expected}, found {self.found}'


def obstacles(mapping: CanMapping) -> tuple[Obstacle, ...]:
    """Return why the machine of a mapping must not be commanded; none where it may be.

    A joint that is commanded and not measured moves unseen, and a bus without measurements never gets stale. In J1939,
    a frame needs the address of one sender, and a command to all control units is one to those of other machines.
    """
    unmeasured = [own for frame in mapping.commands for own in _unmeasured(mapping, frame)]
    return (*unmeasured, *(own for frame in mapping.commands if frame.is_j1939 for own in _unaddressed(frame)))


def _unmeasured(mapping: CanMapping, frame: Frame) -> list[Obstacle]:
    measured = {own.name for other in mapping.measurements for own in other.channels if own.kind in JOINT_KINDS}
    joints = {own.name: mapping.machine.actuator(own.name).joint for own in frame.channels}
    return [
        Obstacle(name, f'a signal of the position or velocity of {joint}', 'none')
        for name, joint in joints.items()
        if joint not in measured
    ]


def _unaddressed(frame: Frame) -> list[Obstacle]:
    addresses = {'source': source(frame.message.frame_id), 'destination': destination(frame.message.frame_id)}
    return [
        Obstacle(frame.channels[0].name, f'the {what} address of one control unit in {frame.name}', f'0x{address:02X}')
        for what, address in addresses.items()
        if address is not None and address in NO_UNIT
    ]
