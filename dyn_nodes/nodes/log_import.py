"""Conversion of a log of a machine's bus into a bag with the topics of can_bridge_node."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dyn_nodes.can.log_file import LogError, LogFrame, LogRow, read_log, unused_columns
from dyn_nodes.can.log_quality import Finding, LogQuality
from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.can.receiver import Receiver
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.monitor.signal_checks import JointChecks
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.bag_topics import BagTopics
from dyn_nodes.nodes.can_topics import MeasurementTopics, names_of
from dyn_nodes.nodes.stamps import NANO

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')


class Imported(NamedTuple):
    """Result of the import of a log.

    Attributes:
        duration: s.  used, passed_over: numbers of frames (or rows of a message).
        counts: messages written, by topic.  findings: faults of the log.
    """

    duration: float
    used: int
    passed_over: int
    counts: dict[str, int]
    findings: tuple[Finding, ...]


def import_log(path: Path, mapping: CanMapping, directory: Path) -> Imported:
    """Write the measurements and commands of a log to a new bag.

    Raises:
        LogError: the log is damaged or has no frame of the mapping; no bag is left behind.
        BagError: the bag's directory exists or cannot be created.
        OSError: the bag cannot be written.
    """
    topics = BagTopics(directory)
    try:
        held = logged_part(path, mapping)
        receiver = Receiver(held.frames)
        quality = LogQuality(mapping, receiver)
        wrong = _read(path, held, receiver, quality, topics) if held.frames else {}
        if not receiver.taken:
            first = next(iter(receiver.last.values()), 'other messages, or nothing')
            expected = ', '.join(frame.name for frame in mapping.frames)
            raise LogError(f'{path}: expected a frame of {expected}, found none that can be used: {first}')
        topics.close({'log': path.name, 'mapping': Path(mapping.sources[0]).name})
    except BaseException:
        topics.bag.close()
        shutil.rmtree(directory, ignore_errors=True)
        raise
    findings = quality.findings()
    findings += tuple(
        Finding('unused', name, 1, 0.0, 0.0, f'column {name!r} is no signal of the mapping and is not used')
        for name in unused_columns(path, mapping)
    )
    findings += tuple(Finding('signals', name, 1, 0.0, 0.0, f'{name}: {text}') for name, text in wrong.items())
    duration = quality.end - (quality.start or 0.0)
    return Imported(duration, receiver.taken, receiver.passed_over, topics.bag.counts(), findings)


def logged_part(path: Path, mapping: CanMapping) -> CanMapping:
    """Return the part of a mapping whose signals are in a log: joint states need no velocities that were not logged.

    Raises LogError: the log is damaged.
    """
    receiver, signals = Receiver(mapping.frames), dict[str, set[str]]()
    for entry in read_log(path, mapping):
        if isinstance(entry, LogRow):
            for name, numbers in entry.numbers.items():
                signals.setdefault(name, set()).update(numbers)
        elif (frame := receiver.frame_of(entry.identifier, entry.extended)) is not None and frame.name not in signals:
            signals[frame.name] = {channel.signal for channel in frame.channels}
    frames = []
    for frame in mapping.frames:
        channels = tuple(channel for channel in frame.channels if channel.signal in signals.get(frame.name, ()))
        frames += [replace(frame, channels=channels)] if channels else []
    return replace(mapping, frames=tuple(frames))


def _read(
    path: Path, mapping: CanMapping, receiver: Receiver, quality: LogQuality, topics: BagTopics
) -> dict[str, str]:
    """Write the topics of a log; return the faults of its joints by name."""
    checks = JointChecks.of(mapping.machine, names_of(mapping.measurements, 'position'))
    measured = MeasurementTopics(topics, mapping, receiver, checks)
    names = list(names_of(mapping.commands, 'command'))
    volts = volts_message(names) if names else None
    commands = topics.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=10)) if names else None
    frames = {frame.name: frame for frame in mapping.frames}
    for entry in read_log(path, mapping):
        now = quality.time(entry.time)
        if isinstance(entry, LogFrame):
            taken = [receiver.take(entry.identifier, entry.extended, entry.data, now)]
        else:
            taken = [receiver.take_numbers(frames[name], numbers, now) for name, numbers in entry.numbers.items()]
        topics.time = round(now * NANO)
        for frame in taken:
            if frame is None:
                continue
            quality.take(frame, now)
            if not frame.is_command:
                measured.take(frame, now, topics.time)
            elif commands is not None and volts is not None:
                volts.data = [receiver.values.get(('command', name), 0.0) for name in names]
                commands.publish(volts)
    return checks.faults()
