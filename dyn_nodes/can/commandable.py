"""Faults of a mapping that allow to read a machine but not to command it: `~/arm` of the bridge is rejected."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.can.j1939 import NO_UNIT, destination, source
from dyn_nodes.can.mapping import CanMapping, Frame

JOINT_KINDS = ('position', 'velocity')
"""Measurements that show whether a joint moves."""


class Obstacle(NamedTuple):
    """Expected and found property of the command of an actuator."""

    actuator: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f'commands.{self.actuator}: expected {self.expected}, found {self.found}'


def obstacles(mapping: CanMapping) -> tuple[Obstacle, ...]:
    """Return the reasons why the machine of a mapping must not be commanded; empty if it may be.

    Motion of a commanded joint without measurement is unobserved, and a bus without measurements never becomes stale.
    In J1939, a frame needs the address of one sender; a command to all control units also reaches other machines.
    """
    unmeasured = [obstacle for frame in mapping.commands for obstacle in _unmeasured(mapping, frame)]
    return (
        *unmeasured,
        *(obstacle for frame in mapping.commands if frame.is_j1939 for obstacle in _unaddressed(frame)),
    )


def _unmeasured(mapping: CanMapping, frame: Frame) -> list[Obstacle]:
    measured = {
        channel.name for other in mapping.measurements for channel in other.channels if channel.kind in JOINT_KINDS
    }
    joints = {channel.name: mapping.machine.actuator(channel.name).joint for channel in frame.channels}
    return [
        Obstacle(name, f'a signal of the position or velocity of {joint}', 'none')
        for name, joint in joints.items()
        if joint not in measured
    ]


def _unaddressed(frame: Frame) -> list[Obstacle]:
    addresses = {'source': source(frame.message.frame_id), 'destination': destination(frame.message.frame_id)}
    return [
        Obstacle(frame.channels[0].name, f'the {role} address of one control unit in {frame.name}', f'0x{address:02X}')
        for role, address in addresses.items()
        if address is not None and address in NO_UNIT
    ]
