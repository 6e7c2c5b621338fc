"""Faults of a log: gaps, clock jumps, sensors that are frozen while the machine moves, saturated sensors.

Only a clock that goes back is repaired: later entries are shifted, which keeps time monotonic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import CanMapping, Channel, Frame, Key, number_limits, resolution
from dyn_nodes.can.receiver import Receiver

UNORDERED = 5e-3
"""Tolerated disorder of the times of frames from two adapters, s."""
PAUSE = 1.0
"""Time without any frame, s, that counts as a forward jump of the logger's clock if no counter has lost a frame."""
FROZEN = 2.0
"""Time without change after which a sensor is checked, s."""
LEAST_MOTION, STEPS = 0.02, 10.0
"""Minimum motion of a joint during that time, rad or m, and in steps of the signal."""
LEAST_COMMAND = 0.1
"""Share of a valve's voltage limit above which its joint should move."""
SATURATED = 3
"""Number of successive values at the end of a signal's range that count as saturation."""
PHYSICAL = ('imu', 'pressure', 'wheel_load')
"""Kinds of quantities that change whenever the machine moves."""


class Finding(NamedTuple):
    """A fault of a log.

    Attributes:
        kind: `gap`, `missing`, `clock`, `frozen`, `saturated`, `rejected`, `signals` (contradicting signals) or
            `unused` (a column that is no signal of the mapping).
        what: message or `Message.Signal`; 'clock' for the log.
        times: number of occurrences.
        start: time of the longest or first occurrence, s.
        length: duration of the longest occurrence, s; 0 for an instant.
        text: description in one line.
    """

    kind: str
    what: str
    times: int
    start: float
    length: float
    text: str


@dataclass
class _Stretch:
    """Interval with a constant number, and the motion up to its start."""

    number: float
    start: float
    last: float
    moved: float


@dataclass
class _Worst:
    """Number of occurrences, and the longest one."""

    count: int = 0
    start: float = 0.0
    length: float = 0.0

    def add(self, start: float, length: float) -> None:
        self.count += 1
        if length > self.length or self.count == 1:
            self.start, self.length = start, length


class LogQuality:
    """Checks a log while it is read.

    Args:
        mapping: mapping of the bus.
        receiver: receiver of the frames.
    """

    def __init__(self, mapping: CanMapping, receiver: Receiver) -> None:
        self.mapping, self.receiver = mapping, receiver
        self.start: float | None = None
        self.end = 0.0
        self._offset = 0.0
        self._last: dict[str, float] = {}
        self._gaps: dict[str, _Worst] = {}
        self._clock: list[Finding] = []
        self._pause: tuple[float, float, int] | None = None
        self._stretches: dict[Key, _Stretch] = {}
        self._frozen: dict[Key, _Worst] = {}
        self._rails: dict[Key, int] = {}
        self._railed: dict[Key, _Worst] = {}
        self._rail_start: dict[Key, float] = {}
        self._seen: dict[Key, tuple[float, float]] = {}
        self._paths: dict[str, float] = {}
        self._turned: dict[str, float] = {}
        self._commanded: dict[str, float] = {}
        self._steps = {
            channel.key: resolution(frame, channel) for frame in mapping.frames for channel in frame.channels
        }
        self._ends = {channel.key: _ends(frame, channel) for frame in mapping.frames for channel in frame.channels}
        self._joints = {actuator.name: actuator.joint for actuator in mapping.machine.actuators}
        self._limits = {actuator.name: actuator.command_limit for actuator in mapping.machine.actuators}

    # -- time ---------------------------------------------------------------------------------------------------------

    def time(self, logged: float) -> float:
        """Return the time of an entry, s, shifted after the clock of the log has gone back."""
        now = logged + self._offset
        if self.start is None:
            self.start = self.end = now
            return now
        if now < self.end - UNORDERED:
            back = self.end - now
            text = f'the clock goes back by {back:.6g} s at {logged:.6g} s; later entries are shifted by as much'
            self._clock.append(Finding('clock', 'clock', 1, self.end, back, text))
            self._offset += back
        elif now > self.end + PAUSE:
            self._pause = self.end, now, self._lost()
        self.end = max(self.end, logged + self._offset)
        return self.end

    def _lost(self) -> int:
        return sum(count for reason, count in self.receiver.rejected.items() if reason.endswith(': lost frames'))

    def _judge_pause(self, frame: Frame, now: float) -> None:
        """Distinguish a clock jump from a bus without frames by the first alive counter after the pause."""
        if self._pause is None or not frame.counter or frame.name not in self._last:
            return
        start, end, lost = self._pause
        self._pause = None
        steps = 1 << frame.message.get_signal_by_name(frame.counter).length
        is_whole_turn = round((end - start) / frame.period) % steps in (0, 1, steps - 1)
        if self._lost() == lost and not is_whole_turn:
            text = f'the clock jumps ahead by {end - start:.6g} s: {frame.name}.{frame.counter} shows no lost frame'
            self._clock.append(Finding('clock', 'clock', 1, start, end - start, text))

    # -- numbers ------------------------------------------------------------------------------------------------------

    def take(self, frame: Frame, now: float) -> None:
        """Check a frame that the receiver has accepted at a time, s."""
        self._judge_pause(frame, now)
        before = self._last.get(frame.name)
        self._last[frame.name] = now
        if before is not None and now - before > frame.timeout:
            self._gaps.setdefault(frame.name, _Worst()).add(before, now - before)
        for channel in frame.channels:
            if self.receiver.received_at.get(channel.key) == now:
                self._count_motion(channel, now)
                self._check_number(channel, self.receiver.numbers[channel.key], now)

    def _count_motion(self, channel: Channel, now: float) -> None:
        """Add up the motion of joints, by position and by velocity, and the time for which they were commanded."""
        value = self.receiver.values[channel.key]
        before, at = self._seen.get(channel.key, (value, now))
        self._seen[channel.key] = value, now
        step = now - at if now - at <= PAUSE else 0.0
        if channel.kind == 'position':
            self._paths[channel.name] = self._paths.get(channel.name, 0.0) + abs(value - before)
        elif channel.kind == 'velocity':
            self._turned[channel.name] = self._turned.get(channel.name, 0.0) + abs(before) * step
        elif channel.kind == 'command' and abs(before) > LEAST_COMMAND * self._limits[channel.name]:
            joint = self._joints[channel.name]
            self._commanded[joint] = self._commanded.get(joint, 0.0) + step

    def _moved(self, channel: Channel) -> float:
        """Return the motion that should have changed the number: of its joint by another sensor, or of all joints."""
        if channel.kind == 'position':
            return self._turned.get(channel.name, 0.0)
        if channel.kind == 'velocity':
            return self._paths.get(channel.name, 0.0)
        return sum(self._paths.values())

    def _check_number(self, channel: Channel, number: float, now: float) -> None:
        key = channel.key
        stretch = self._stretches.get(key)
        if stretch is None or number != stretch.number or now - stretch.last > PAUSE:
            self._end_stretch(channel)
            self._stretches[key] = _Stretch(number, now, now, self._moved(channel))
        else:
            stretch.last = now
        low, high = self._ends[key]
        if number >= high or number <= low:
            self._rails[key] = self._rails.get(key, 0) + 1
            self._rail_start.setdefault(key, now)
            if self._rails[key] >= SATURATED:
                worst = self._railed.setdefault(key, _Worst())
                worst.count += 1
                if now - self._rail_start[key] >= worst.length:
                    worst.start, worst.length = self._rail_start[key], now - self._rail_start[key]
        else:
            self._rails.pop(key, None)
            self._rail_start.pop(key, None)

    def _end_stretch(self, channel: Channel) -> None:
        """End the interval of a constant number and record it if the sensor was frozen."""
        stretch = self._stretches.pop(channel.key, None)
        if stretch is None or stretch.last - stretch.start < FROZEN:
            return
        length = stretch.last - stretch.start
        moved = self._moved(channel) - stretch.moved
        if channel.kind == 'velocity':
            moved = abs(moved - abs(self._seen[channel.key][0]) * length)
            least = max(LEAST_MOTION, STEPS * self._steps.get(('position', channel.name), 0.0))
        elif channel.kind == 'position':
            least = max(LEAST_MOTION, STEPS * self._steps[channel.key])
        elif channel.kind in PHYSICAL and stretch.number > self._lowest(channel):
            least = LEAST_MOTION
        else:
            return
        if moved > least:
            self._frozen.setdefault(channel.key, _Worst()).add(stretch.start, length)

    def _rejected(self, reason: str, count: int) -> str:
        example = self.receiver.examples.get(reason)
        return f'{reason}: {count}{f", such as {example}" if example else ""}'

    def _lowest(self, channel: Channel) -> float:
        """Return the number for quantity 0, such as a lifted wheel or an unpressurized chamber; -inf for an IMU."""
        return -math.inf if channel.kind == 'imu' else -channel.offset / channel.factor

    # -- results ------------------------------------------------------------------------------------------------------

    def findings(self) -> tuple[Finding, ...]:
        """End the log and return its faults."""
        findings = list(self._clock)
        for frame in self.mapping.frames:
            last = self._last.get(frame.name)
            if last is None:
                findings.append(Finding('missing', frame.name, 1, 0.0, 0.0, f'{frame.name}: no usable frame'))
                continue
            if self.end - last > frame.timeout:
                self._gaps.setdefault(frame.name, _Worst()).add(last, self.end - last)
            for channel in frame.channels:
                self._end_stretch(channel)
        signals: Mapping[Key, str] = {
            channel.key: f'{frame.name}.{channel.signal}' for frame in self.mapping.frames for channel in frame.channels
        }
        findings += [_finding('gap', name, worst, 'gaps, the longest of') for name, worst in self._gaps.items()]
        frozen = 'times unchanged while the machine moved, the longest for'
        findings += [_finding('frozen', signals[key], worst, frozen) for key, worst in self._frozen.items()]
        railed = 'numbers at an end of its range, the longest for'
        findings += [_finding('saturated', signals[key], worst, railed) for key, worst in self._railed.items()]
        findings += [
            Finding('rejected', reason.partition(':')[0], count, 0.0, 0.0, self._rejected(reason, count))
            for reason, count in sorted(self.receiver.rejected.items())
        ]
        return tuple(findings)


def _finding(kind: str, name: str, worst: _Worst, words: str) -> Finding:
    text = f'{name}: {worst.count} {words} {worst.length:.4g} s from {worst.start:.6g} s on'
    return Finding(kind, name, worst.count, worst.start, worst.length, text)


def _ends(frame: Frame, channel: Channel) -> tuple[float, float]:
    """Return the numbers at which a signal is saturated; -inf for the lower end of a signal without negative range."""
    if channel.kind == 'command':
        return -math.inf, math.inf
    signal: Any = frame.message.get_signal_by_name(channel.signal)
    low, high = number_limits(signal, frame.is_j1939)
    half_step = 0.5 * abs(float(signal.scale)) if not signal.is_float else 0.0
    return (low + half_step if low < 0.0 else -math.inf), high - half_step
