"""Data of a mapping: channels between signals and quantities, and their frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dyn_nodes.can.checksums import CHECKSUMS
from dyn_nodes.can.cylinder_length import CylinderLength
from dyn_nodes.model import Machine

Kind = Literal['position', 'velocity', 'imu', 'pressure', 'payload', 'wheel_load', 'command']
Key = tuple[Kind, str]
IMU_AXES = tuple(f'{quantity}_{axis}' for quantity in ('angular_velocity', 'linear_acceleration') for axis in 'xyz')
NOT_AVAILABLE = 0xFB
"""First value of the most significant byte that is not a measurement in SAE J1939-71: reserved, error, not available.
With fewer than 8 bits, the last two values are error and not available."""
ROUNDING = 1e-6
"""Tolerance of bounds for rounding errors, in steps of a signal or relative to a value."""


@dataclass(frozen=True)
class Channel:
    """A quantity and its signal: quantity = factor * number + offset, with the number in DBC scaling.

    Attributes:
        kind: kind of the quantity.
        name: name of a joint, `<actuator>/<line>`, ...
        message: message of the DBC.
        signal: signal of the DBC.
        factor: conversion to SI units.
        offset: conversion to SI units.
        lower: lower bound, SI units; measurements below it are faults, commands are clamped.
        upper: upper bound, SI units; measurements above it are faults, commands are clamped.
        max_rate: maximum plausible rate of change, SI units/s.
        filter: time constant, s.
        cylinder: cylinder whose length the signal measures; None: the joint itself.
        joint_offset: added to the position of a joint, rad or m.
    """

    kind: Kind
    name: str
    message: str
    signal: str
    factor: float
    offset: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    max_rate: float = math.inf
    filter: float = 0.0
    cylinder: CylinderLength | None = None
    joint_offset: float = 0.0

    @property
    def key(self) -> Key:
        """Dictionary key: (kind, name)."""
        return self.kind, self.name

    def value(self, number: float, position: float | None = None) -> float:
        """Return the quantity of a number, SI units; NaN if it is undefined.

        Args:
            number: number of the signal, in the unit of the DBC.
            position: position of the joint, for the velocity of a cylinder.
        """
        measured = self.factor * number + self.offset
        if self.kind == 'position':
            angle = measured if self.cylinder is None else self.cylinder.position(measured)
            return angle + self.joint_offset
        if self.cylinder is None:
            return measured
        return math.nan if position is None else measured / self.cylinder.lever(position)

    def number(self, value: float, position: float | None = None) -> float:
        """Return the number of a quantity: the inverse of `value`."""
        if self.kind == 'position':
            value -= self.joint_offset
            value = value if self.cylinder is None else self.cylinder.length(value)
        elif self.cylinder is not None:
            value = math.nan if position is None else value * self.cylinder.lever(position)
        return (value - self.offset) / self.factor


@dataclass(frozen=True)
class Frame:
    """A message of the DBC with mapped quantities.

    Attributes:
        message: message of cantools.
        channels: channels of the message.
        period: time between two frames, s.
        timeout: age at which its signals are stale, s.
        counter: signal of the alive counter, or ''.
        checksum: signal of the checksum, or ''.
        checksum_byte: index of the checksum byte.
        checksum_kind: name in `CHECKSUMS`.
    """

    message: Any
    channels: tuple[Channel, ...]
    period: float
    timeout: float
    counter: str = ''
    checksum: str = ''
    checksum_byte: int = -1
    checksum_kind: str = 'crc8_j1850'

    @property
    def name(self) -> str:
        """Name of the message."""
        return str(self.message.name)

    @property
    def cycle(self) -> float:
        """Time between two values of a signal, s; a multiplexed message sends its groups in turn."""
        return self.period * multiplexer_groups(self.message)

    @property
    def is_command(self) -> bool:
        """True for commands to the machine, False for measurements."""
        return self.channels[0].kind == 'command'

    @property
    def is_j1939(self) -> bool:
        """True if the DBC marks it as a parameter group of SAE J1939."""
        return self.message.protocol == 'j1939'

    def checksum_of(self, data: bytes) -> int:
        """Return the expected checksum of a frame's data."""
        kind: Callable[[Any], int] = CHECKSUMS[self.checksum_kind]
        return kind(data[: self.checksum_byte] + data[self.checksum_byte + 1 :])


@dataclass(frozen=True)
class CanMapping:
    """A machine on a bus.

    Attributes:
        machine: machine with its linkages.
        frames: frames of both directions, in the order of the DBC.
        sources: paths of the mapping and the DBC.
    """

    machine: Machine
    frames: tuple[Frame, ...]
    sources: tuple[str, str]

    @property
    def measurements(self) -> tuple[Frame, ...]:
        """Frames sent by the machine."""
        return tuple(frame for frame in self.frames if not frame.is_command)

    @property
    def commands(self) -> tuple[Frame, ...]:
        """Frames received by the machine."""
        return tuple(frame for frame in self.frames if frame.is_command)


def multiplexer_groups(message: Any) -> int:
    """Return the number of signal groups of a multiplexed message, 1 without a multiplexer."""
    return max(len({group for signal in message.signals for group in signal.multiplexer_ids or ()}), 1)


def resolution(frame: Frame, channel: Channel) -> float:
    """Return the change of a quantity per step of its signal, SI units; for a cylinder at its smallest lever."""
    signal = frame.message.get_signal_by_name(channel.signal)
    step = 0.0 if signal.is_float else abs(channel.factor * float(signal.scale))
    return step / channel.cylinder.least_lever() if channel.cylinder is not None else step


def raw_limits(signal: Any, is_j1939: bool) -> tuple[int, int]:
    """Return the minimum and maximum raw value of an integer signal that are measurements."""
    if signal.is_signed:
        return -(1 << signal.length - 1), (1 << signal.length - 1) - 1
    count = 1 << signal.length
    if is_j1939 and signal.length > 1:
        count = NOT_AVAILABLE << signal.length - 8 if signal.length >= 8 else count - 2
    return 0, count - 1


def number_limits(signal: Any, is_j1939: bool) -> tuple[float, float]:
    """Return the minimum and maximum number that a signal can represent and its DBC allows."""
    if signal.is_float:
        low, high = -math.inf, math.inf
    else:
        ends = [raw * float(signal.scale) + float(signal.offset) for raw in raw_limits(signal, is_j1939)]
        low, high = min(ends), max(ends)
    if signal.minimum is not None and signal.maximum is not None and signal.minimum < signal.maximum:
        low, high = max(low, float(signal.minimum)), min(high, float(signal.maximum))
    return low, high


def command_raw_limits(channel: Channel, signal: Any, is_j1939: bool) -> tuple[float, float]:
    """Return the minimum and maximum raw value of a command within its bounds; integers are rounded inwards."""
    low, high = number_limits(signal, is_j1939)
    ends = sorted((bound - channel.offset) / channel.factor for bound in (channel.lower, channel.upper))
    numbers = max(low, ends[0]), min(high, ends[1])
    raw = sorted((number - float(signal.offset)) / float(signal.scale) for number in numbers)
    if signal.is_float:
        return raw[0], raw[1]
    return math.ceil(raw[0] - ROUNDING), math.floor(raw[1] + ROUNDING)
