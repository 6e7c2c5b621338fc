"""Measurements of a machine from a log: joints, IMU, line pressures and valve commands, each with separate times."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_nodes.analysis.bag_reading import BagData, Table
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.machine import Machine

IMU = ('wx', 'wy', 'wz', 'ax', 'ay', 'az')
LEAST_SAMPLES = 50


class LogError(UserError, ValueError):
    """The log does not permit a fit; the message has the reason."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one or more signals: times (m,) increasing, s; values (m, k)."""

    times: Array
    values: Array

    def between(self, start: float, end: float) -> Samples:
        """Return the samples from `start` to `end`, s."""
        inside = (self.times >= start) & (self.times <= end)
        return Samples(self.times[inside], self.values[inside])


@dataclass(frozen=True, eq=False)
class MachineLog:
    """Measurements of a machine.

    Attributes:
        joints: names of the movable joints.  actuators: names of the recorded hydraulic actuators.
        positions, velocities: (m, n) joint positions and velocities, rad or m, rad/s or m/s.
        imu: (m, 6) angular velocity, rad/s, and specific force, m/s2, at the base link's origin in its axes; None
            without an IMU.
        pressures: (m, 2) pressures of the two lines, Pa, by actuator.
        commands: (m, a) commands of the actuators, V, each held until the next one.
        name: name of the log, for messages and YAML lines.
    """

    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    positions: Samples
    velocities: Samples
    imu: Samples | None
    pressures: dict[str, Samples]
    commands: Samples
    name: str = 'log'

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of the time that all signals cover, s."""
        signals = [
            self.positions,
            self.commands,
            *self.pressures.values(),
            *([self.imu] if self.imu is not None else []),
        ]
        return max(float(samples.times[0]) for samples in signals), min(float(samples.times[-1]) for samples in signals)

    def between(self, start: float, end: float) -> MachineLog:
        """Return the part from `start` to `end`, s; all earlier commands are included.

        Raises:
            LogError: fewer than `LEAST_SAMPLES` joint states in this part.
        """
        part = replace(
            self,
            positions=self.positions.between(start, end),
            velocities=self.velocities.between(start, end),
            imu=None if self.imu is None else self.imu.between(start, end),
            pressures={name: samples.between(start, end) for name, samples in self.pressures.items()},
            commands=self.commands.between(-np.inf, end),
        )
        counts = [len(samples.times) for samples in (part.positions, *part.pressures.values())]
        if min(counts) < LEAST_SAMPLES:
            raise LogError(
                f'{self.name}: expected {LEAST_SAMPLES} messages or more of each topic between {start:.6g} and '
                f'{end:.6g} s, found {min(counts)}'
            )
        return part


def log_of_bag(data: BagData, machine: Machine) -> MachineLog:
    """Return the measurements of a bag.

    Args:
        data: content of the bag.
        machine: machine of the bag.

    Raises:
        LogError: a topic is missing or has unexpected content; the message names it.
    """
    joints = tuple(joint.name for joint in machine.movable_joints)
    states = _table(data, 'joint_states')
    for name in joints:
        if f'{name}/position' not in states.columns:
            available = ', '.join(
                column.rpartition('/')[0] for column in states.columns if column.endswith('/position')
            )
            raise LogError(f'{data.path}: expected {name!r} in joint_states, found {available}')
    positions = _samples(data, states, [f'{name}/position' for name in joints])
    velocities = _samples(data, states, [f'{name}/velocity' for name in joints])
    if not len(velocities.times):
        raise LogError(f'{data.path}: expected velocities in joint_states, found none')
    recorded = [
        actuator for actuator in _oil_actuators(machine) if all(topic in data.tables for topic in topics_of(actuator))
    ]
    if not recorded:
        available = ', '.join(sorted(data.counts))
        raise LogError(f'{data.path}: expected hydraulics/<actuator>/<line> pressures of two lines, found {available}')
    imu = _samples(data, data.tables['imu'], list(IMU)) if 'imu' in data.tables else None
    return MachineLog(
        joints,
        tuple(actuator.name for actuator in recorded),
        positions,
        velocities,
        imu,
        {actuator.name: _pressures(data, actuator) for actuator in recorded},
        _commands(data, machine, recorded),
        data.path.name,
    )


def topics_of(actuator: HydraulicRecord) -> tuple[str, str]:
    """Return the topics of the two line pressures, relative to the machine's namespace."""
    first, second = (f'hydraulics/{actuator.name}/{line}' for line in actuator.lines)
    return first, second


def _oil_actuators(machine: Machine) -> list[HydraulicRecord]:
    return oil_actuators(machine.actuators)


def _table(data: BagData, topic: str) -> Table:
    if topic not in data.tables:
        raise LogError(f'{data.path}: expected {data.namespace}/{topic}, found {", ".join(sorted(data.counts))}')
    return data.tables[topic]


def _samples(data: BagData, table: Table, columns: list[str]) -> Samples:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise LogError(f'{data.path}: expected the fields {", ".join(columns)}, found no {missing[0]}')
    return _clean(table.time, np.column_stack([table[name] for name in columns]))


def _clean(times: Array, values: Array) -> Samples:
    """Return samples with increasing times and finite values, the first of several messages with one stamp."""
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(times)) > 0.0]) if len(times) else np.zeros(0, bool)
    good = rising & np.isfinite(values).all(axis=1)
    return Samples(times[good], values[good])


def _pressures(data: BagData, actuator: HydraulicRecord) -> Samples:
    """Return both lines at the times of the first, with interpolated values of the second."""
    first, second = (_samples(data, data.tables[topic], ['pressure']) for topic in topics_of(actuator))
    if len(first.times) < 2 or len(second.times) < 2:
        raise LogError(f'{data.path}: expected pressures of {actuator.name}, found fewer than two messages')
    inside = (first.times >= second.times[0]) & (first.times <= second.times[-1])
    times = first.times[inside]
    beside = np.interp(times, second.times, second.values[:, 0])
    return Samples(times, np.column_stack([first.values[inside, 0], beside]))


def _commands(data: BagData, machine: Machine, recorded: list[HydraulicRecord]) -> Samples:
    table = _table(data, 'valve_commands')
    names = [actuator.name for actuator in machine.actuators]
    width = len(table.columns)
    if width != len(names):
        raise LogError(
            f'{data.path}: expected valve_commands of {len(names)} actuators ({", ".join(names)}), found {width}'
        )
    columns = list(table.columns) if set(table.columns) == set(names) else None
    keys = [actuator.name if columns else str(names.index(actuator.name)) for actuator in recorded]
    return _samples(data, table, keys)
