"""Schema of the YAML that maps signals of a bus to quantities of a machine. Data only."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from dyn_nodes.can.checksums import CHECKSUMS
from dyn_nodes.can.units import UNITS
from dyn_nodes.model.schema import choice, named, number, table, text

JointMeasure = Literal['position', 'cylinder_length', 'cylinder_stroke']


@dataclass(frozen=True, kw_only=True)
class SignalEntry:
    """A signal. Quantity in SI units = sign * (number in DBC scaling) * unit + offset."""

    signal: Annotated[str, text('Message.Signal of the DBC')]
    unit: Annotated[str, choice('absent: unit of the DBC', tuple(UNITS))] = ''
    sign: Annotated[float, number('1, or -1 for a sensor of opposite sign')] = 1.0
    offset: Annotated[float, number('added, in SI units')] = 0.0
    lower: Annotated[float | None, number('lower bound of valid measurements and of commands, SI units')] = None
    upper: Annotated[float | None, number('upper bound of valid measurements and of commands, SI units')] = None
    max_rate: Annotated[
        float | None, number('maximum plausible rate of change, SI units per second', '', 'positive')
    ] = None
    filter: Annotated[float, number('time constant of a first-order low-pass; 0: none', 's', 'non-negative')] = 0.0


@dataclass(frozen=True, kw_only=True)
class JointEntry(SignalEntry):
    """A signal of a joint."""

    measures: Annotated[
        JointMeasure,
        choice('the joint itself; its cylinder, pin to pin; its piston, from fully retracted', get_args(JointMeasure)),
    ] = 'position'


@dataclass(frozen=True, kw_only=True)
class PositionEntry(JointEntry):
    """A signal of the position of a joint."""

    joint_offset: Annotated[
        float, number('added to the position of the joint, rad or m; for a cylinder after its linkage')
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class FrameEntry:
    """Timing and checks of a message of the DBC."""

    period: Annotated[
        float | None, number('between two frames of this message; absent: cycle time of the DBC', 's', 'positive')
    ] = None
    timeout: Annotated[
        float | None, number('age at which signals are stale; absent: timeout of the file', 's', 'positive')
    ] = None
    counter: Annotated[str, text('alive counter, a signal that increases by one per frame')] = ''
    checksum: Annotated[str, text('signal of one whole byte')] = ''
    checksum_kind: Annotated[str, choice('checksum of all other bytes', tuple(CHECKSUMS))] = 'crc8_j1850'


@dataclass(frozen=True, kw_only=True)
class MappingEntries:
    """Top level of the file."""

    machine: Annotated[str, text('name of a machine of this package, or path of a URDF from this file')]
    config: Annotated[str, text('name of its machine YAML, or path from this file; absent: YAML of the same name')] = ''
    dbc: Annotated[str, text('path of the DBC from this file')]
    timeout: Annotated[float, number('age at which signals are stale', 's', 'positive')] = 0.1
    joints: Annotated[tuple[PositionEntry, ...], named('positions, by joint', PositionEntry)] = ()
    velocities: Annotated[tuple[JointEntry, ...], named('velocities, by joint', JointEntry)] = ()
    imu: Annotated[tuple[SignalEntry, ...], named('six axes, such as angular_velocity_x', SignalEntry)] = ()
    pressures: Annotated[tuple[SignalEntry, ...], named('by <actuator>/<line>', SignalEntry)] = ()
    payload: Annotated[SignalEntry | None, table('payload weighed by the machine', SignalEntry)] = None
    wheel_loads: Annotated[tuple[SignalEntry, ...], named('normal forces, by wheel', SignalEntry)] = ()
    commands: Annotated[tuple[SignalEntry, ...], named('commands of valves, by actuator', SignalEntry)] = ()
    frames: Annotated[dict[str, FrameEntry], named('by message of the DBC', FrameEntry)] = field(default_factory=dict)
