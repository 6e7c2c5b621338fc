"""A simulated log as frames of the machine's bus, as a logger records them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dyn_nodes.analysis.machine_log import MachineLog
from dyn_nodes.can.mapping import IMU_AXES, CanMapping, Frame, Key
from dyn_nodes.can.sender import RawFrame, Sender
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine

SUFFIXES = ('.blf', '.asc', '.log')
"""Suffixes of the frame logs that python-can writes."""
SOON = 1e-6
"""Delay after a frame within which samples still belong to it, s."""


def frames_of(log: MachineLog, machine: Machine, mapping: CanMapping) -> Iterator[tuple[float, RawFrame]]:
    """Yield the frames of a log and their times, s, in order.

    Each message has its period and the newest samples; messages without a quantity of the log are omitted.

    Args:
        log: log of the machine.
        machine: machine with the lines of its actuators.
        mapping: mapping of its bus.
    """
    samples = _samples(log, machine)
    start, end = min(float(times[0]) for times, _ in samples.values()), log.span[1]
    sender = Sender(frame for frame in mapping.frames if any(channel.key in samples for channel in frame.channels))
    times: list[tuple[float, int, Frame]] = []
    for index, frame in enumerate(sender.frames):
        count = int((end - start) / frame.period) + 1
        times += [(start + k * frame.period, index, frame) for k in range(count)]
    for time, _, frame in sorted(times, key=lambda entry: entry[:2]):
        raw = sender.encode(frame, {key: _held(samples[key], time) for key in _needed(frame) if key in samples})
        if raw is not None:
            yield time, raw


def _needed(frame: Frame) -> Iterator[Key]:
    """Yield the quantities of a frame; velocities of cylinders also need positions."""
    for channel in frame.channels:
        yield channel.key
        if channel.kind == 'velocity':
            yield 'position', channel.name


def _held(signal: tuple[Array, Array], time: float) -> float:
    times, values = signal
    return float(values[max(int(np.searchsorted(times, time + SOON, side='right')) - 1, 0)])


def _samples(log: MachineLog, machine: Machine) -> dict[Key, tuple[Array, Array]]:
    """Return times and values of every quantity."""
    signals: dict[Key, tuple[Array, Array]] = {}
    for k, name in enumerate(log.joints):
        signals['position', name] = log.positions.times, log.positions.values[:, k]
        signals['velocity', name] = log.velocities.times, log.velocities.values[:, k]
    if log.imu is not None:
        for k, name in enumerate(IMU_AXES):
            signals['imu', name] = log.imu.times, log.imu.values[:, k]
    for name, samples in log.pressures.items():
        for k, line in enumerate(hydraulic(machine.actuator(name)).lines):
            signals['pressure', f'{name}/{line}'] = samples.times, samples.values[:, k]
    for k, name in enumerate(log.actuators):
        signals['command', name] = log.commands.times, log.commands.values[:, k]
    return signals


def write_frames(path: Path, log: MachineLog, machine: Machine, mapping: CanMapping) -> int:
    """Write a log of frames, BLF, ASC or candump by its suffix; return their number.

    Raises:
        FileExistsError: the path exists.
        OSError: the log cannot be written.
    """
    import can

    if path.exists():
        raise FileExistsError(f'{path}: the log exists; nothing is ever overwritten')
    count = 0
    with can.Logger(path) as writer:
        for time, raw in frames_of(log, machine, mapping):
            writer(
                can.Message(
                    timestamp=time, arbitration_id=raw.identifier, is_extended_id=raw.extended, data=raw.data, channel=0
                )
            )
            count += 1
    return count
