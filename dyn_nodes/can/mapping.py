"""A mapping as the bus needs it: channels between signals and quantities, and the frames that carry them."""

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
IMU_AXES = tuple(f'{what}_{axis}' for what in ('angular_velocity', 'linear_acceleration') for axis in 'xyz')
NOT_AVAILABLE = 0xFB
"""First byte of the raw values of SAE J1939-71 that are no measurement: reserved, error, not available. Of fewer than
8 bits, the last two values are error and not available."""
ROUNDING = 1e-6
"""Steps of a signal, or parts of a value, by which a bound may be missed: errors of floating point."""


@dataclass(frozen=True)
class Channel:
    """A quantity and its signal: quantity = factor * number + offset, the number as the DBC scales it.

    Attributes:
        kind, name: of the quantity; the name of a joint, `<actuator>/<line>`, ...
        message, signal: of the DBC.
        factor, offset: to SI units.
        lower, upper: bounds of the quantity, SI units: beyond them a sensor is broken; commands are never beyond them.
        max_rate: a quantity that changes faster is not believed, SI units/s.
        filter: time constant, s.
        cylinder: through which the signal measures a joint; None: directly.
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
        """Kind and name: what values go by."""
        return self.kind, self.name

    def value(self, number: float, position: float | None = None) -> float:
        """Return the quantity of a number; NaN where there is none.

        Args:
            number: of the signal, in the unit of the DBC.
            position: of the joint, for the velocity of a cylinder.
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
    """A message of the DBC that carries quantities.

    Attributes:
        message: of cantools.
        channels: that it carries.
        period: between two frames, s.  timeout: age at which its signals are stale, s.
        counter, checksum: signals, or ''.  checksum_byte: its place.  checksum_kind: in `CHECKSUMS`.
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
        """Time between two values of a signal, s: of a multiplexed message, all of its groups in turn."""
        return self.period * multiplexer_groups(self.message)

    @property
    def is_command(self) -> bool:
        """Return whether it carries commands to the machine; else measurements from it."""
        return self.channels[0].kind == 'command'

    @property
    def is_j1939(self) -> bool:
        """Return whether the DBC marks it as a parameter group of SAE J1939."""
        return self.message.protocol == 'j1939'

    def checksum_of(self, data: bytes) -> int:
        """Return the checksum that a frame's data should hold."""
        kind: Callable[[Any], int] = CHECKSUMS[self.checksum_kind]
        return kind(data[: self.checksum_byte] + data[self.checksum_byte + 1 :])


@dataclass(frozen=True)
class CanMapping:
    """A machine on a bus.

    Attributes:
        machine: with its linkages.
        frames: both directions, in the order of the DBC.
        sources: paths of the mapping and the DBC.
    """

    machine: Machine
    frames: tuple[Frame, ...]
    sources: tuple[str, str]

    @property
    def measurements(self) -> tuple[Frame, ...]:
        """Frames that the machine sends."""
        return tuple(frame for frame in self.frames if not frame.is_command)

    @property
    def commands(self) -> tuple[Frame, ...]:
        """Frames that the machine receives."""
        return tuple(frame for frame in self.frames if frame.is_command)


def multiplexer_groups(message: Any) -> int:
    """Return the number of groups of signals that a message carries in turn, 1 without a multiplexer."""
    return max(len({group for signal in message.signals for group in signal.multiplexer_ids or ()}), 1)


def resolution(frame: Frame, channel: Channel) -> float:
    """Return by how much a quantity changes with one step of its signal, SI units; of a cylinder at its least lever."""
    signal = frame.message.get_signal_by_name(channel.signal)
    step = 0.0 if signal.is_float else abs(channel.factor * float(signal.scale))
    return step / channel.cylinder.least_lever() if channel.cylinder is not None else step


def raw_limits(signal: Any, is_j1939: bool) -> tuple[int, int]:
    """Return the least and the greatest raw value of an integer signal that are a measurement."""
    if signal.is_signed:
        return -(1 << signal.length - 1), (1 << signal.length - 1) - 1
    count = 1 << signal.length
    if is_j1939 and signal.length > 1:
        count = NOT_AVAILABLE << signal.length - 8 if signal.length >= 8 else count - 2
    return 0, count - 1


def number_limits(signal: Any, is_j1939: bool) -> tuple[float, float]:
    """Return the least and the greatest number that a signal can hold and that its DBC allows."""
    if signal.is_float:
        low, high = -math.inf, math.inf
    else:
        ends = [raw * float(signal.scale) + float(signal.offset) for raw in raw_limits(signal, is_j1939)]
        low, high = min(ends), max(ends)
    if signal.minimum is not None and signal.maximum is not None and signal.minimum < signal.maximum:
        low, high = max(low, float(signal.minimum)), min(high, float(signal.maximum))
    return low, high


def command_raw_limits(channel: Channel, signal: Any, is_j1939: bool) -> tuple[float, float]:
    """Return the least and the greatest raw value whose command lies within its bounds; of integers rounded inwards."""
    low, high = number_limits(signal, is_j1939)
    ends = sorted((bound - channel.offset) / channel.factor for bound in (channel.lower, channel.upper))
    numbers = max(low, ends[0]), min(high, ends[1])
    raw = sorted((number - float(signal.offset)) / float(signal.scale) for number in numbers)
    if signal.is_float:
        return raw[0], raw[1]
    return math.ceil(raw[0] - ROUNDING), math.floor(raw[1] + ROUNDING)
