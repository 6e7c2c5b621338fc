"""Faults of a log: gaps, jumps of its clock, sensors that keep their number while the machine moves or at their end.

Nothing is repaired but a clock that goes back: what follows is moved on, so that time never does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import CanMapping, Channel, Frame, Key, number_limits, resolution
from dyn_nodes.can.receiver import Receiver

UNORDERED = 5e-3
"""Frames of two adapters may stand in a log in another order than their times by so much, s."""
SILENT = 1.0
"""Without any frame for so long, s, the logger's clock has jumped ahead where no counter has lost a frame."""
FROZEN = 2.0
"""Time without a change after which a sensor is looked at, s."""
LEAST_MOTION, STEPS = 0.02, 10.0
"""rad or m, and steps of the signal, that a joint has to move meanwhile."""
LEAST_COMMAND = 0.1
"""Share of a valve's voltage limit at which its joint should move."""
SATURATED = 3
"""Numbers at the end of a signal's range, one after another."""
PHYSICAL = ('imu', 'pressure', 'wheel_load')
"""Kinds of quantities that change wherever the machine moves."""


class Finding(NamedTuple):
    """Something that is wrong.

    Attributes:
        kind: `gap`, `missing`, `clock`, `frozen`, `saturated`, `rejected` or `signals`: one contradicts another.
        what: message or `Message.Signal`; 'clock' for the log.
        times: how often.
        start: time of the longest or the first, s.  length: of the longest, s; 0 where it is an instant.
        text: one line.
    """

    kind: str
    what: str
    times: int
    start: float
    length: float
    text: str


@dataclass
class _Stretch:
    """Time over which a number has not changed, and what had moved when it began."""

    number: float
    start: float
    last: float
    moved: float


@dataclass
class _Worst:
    """How often something was found, and the longest."""

    count: int = 0
    start: float = 0.0
    length: float = 0.0

    def add(self, start: float, length: float) -> None:
        self.count += 1
        if length > self.length or self.count == 1:
            self.start, self.length = start, length


class LogQuality:
    """Looks at a log while it is read.

    Args:
        mapping: of the bus.
        receiver: that takes its frames.
    """

    def __init__(self, mapping: CanMapping, receiver: Receiver) -> None:
        self.mapping, self.receiver = mapping, receiver
        self.start: float | None = None
        self.end = 0.0
        self._offset = 0.0
        self._heard: dict[str, float] = {}
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
        self._steps = {own.key: resolution(frame, own) for frame in mapping.frames for own in frame.channels}
        self._ends = {own.key: _ends(frame, own) for frame in mapping.frames for own in frame.channels}
        self._joints = {actuator.name: actuator.joint for actuator in mapping.machine.actuators}
        self._limits = {actuator.name: actuator.command_limit for actuator in mapping.machine.actuators}

    # -- time ---------------------------------------------------------------------------------------------------------

    def time(self, logged: float) -> float:
        """Return the time of an entry, s: that of the log, moved on after its clock has gone back."""
        now = logged + self._offset
        if self.start is None:
            self.start = self.end = now
            return now
        if now < self.end - UNORDERED:
            back = self.end - now
            text = f'the clock goes back by {back:.6g} s at {logged:.6g} s; what follows is moved on by as much'
            self._clock.append(Finding('clock', 'clock', 1, self.end, back, text))
            self._offset += back
        elif now > self.end + SILENT:
            self._pause = self.end, now, self._lost()
        self.end = max(self.end, logged + self._offset)
        return self.end

    def _lost(self) -> int:
        return sum(count for what, count in self.receiver.rejected.items() if what.endswith(': lost frames'))

    def _judge_pause(self, frame: Frame, now: float) -> None:
        """Distinguish a clock that jumped from a bus without frames: by the first alive counter after the pause."""
        if self._pause is None or not frame.counter or frame.name not in self._heard:
            return
        start, end, lost = self._pause
        self._pause = None
        steps = 1 << frame.message.get_signal_by_name(frame.counter).length
        is_whole_turn = round((end - start) / frame.period) % steps in (0, 1, steps - 1)
        if self._lost() == lost and not is_whole_turn:
            text = f'the clock jumps ahead by {end - start:.6g} s: {frame.name}.{frame.counter} has lost no frame'
            self._clock.append(Finding('clock', 'clock', 1, start, end - start, text))

    # -- numbers ------------------------------------------------------------------------------------------------------

    def take(self, frame: Frame, now: float) -> None:
        """Look at a frame that the receiver has just used, at a time, s."""
        self._judge_pause(frame, now)
        before = self._heard.get(frame.name)
        self._heard[frame.name] = now
        if before is not None and now - before > frame.timeout:
            self._gaps.setdefault(frame.name, _Worst()).add(before, now - before)
        for channel in frame.channels:
            if self.receiver.heard.get(channel.key) == now:
                self._count_motion(channel, now)
                self._look(channel, self.receiver.numbers[channel.key], now)

    def _count_motion(self, channel: Channel, now: float) -> None:
        """Add up how far joints have moved, by position and by velocity, and for how long they were commanded."""
        value = self.receiver.values[channel.key]
        before, at = self._seen.get(channel.key, (value, now))
        self._seen[channel.key] = value, now
        step = now - at if now - at <= SILENT else 0.0
        if channel.kind == 'position':
            self._paths[channel.name] = self._paths.get(channel.name, 0.0) + abs(value - before)
        elif channel.kind == 'velocity':
            self._turned[channel.name] = self._turned.get(channel.name, 0.0) + abs(before) * step
        elif channel.kind == 'command' and abs(before) > LEAST_COMMAND * self._limits[channel.name]:
            joint = self._joints[channel.name]
            self._commanded[joint] = self._commanded.get(joint, 0.0) + step

    def _moved(self, channel: Channel) -> float:
        """Return what would have changed the number: how far its joint has moved by another sensor, or any joint."""
        if channel.kind == 'position':
            return self._turned.get(channel.name, 0.0)
        if channel.kind == 'velocity':
            return self._paths.get(channel.name, 0.0)
        return sum(self._paths.values())

    def _look(self, channel: Channel, number: float, now: float) -> None:
        key = channel.key
        stretch = self._stretches.get(key)
        if stretch is None or number != stretch.number or now - stretch.last > SILENT:
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
        """Judge a number that has changed at last."""
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

    def _rejected(self, what: str, count: int) -> str:
        example = self.receiver.examples.get(what)
        return f'{what}: {count}{f", such as {example}" if example else ""}'

    def _lowest(self, channel: Channel) -> float:
        """Return the number of 0 of a quantity that cannot be negative: a wheel in the air, an empty chamber."""
        return -math.inf if channel.kind == 'imu' else -channel.offset / channel.factor

    # -- results ------------------------------------------------------------------------------------------------------

    def findings(self) -> tuple[Finding, ...]:
        """End the log; return what is wrong with it."""
        found = list(self._clock)
        for frame in self.mapping.frames:
            heard = self._heard.get(frame.name)
            if heard is None:
                found.append(Finding('missing', frame.name, 1, 0.0, 0.0, f'{frame.name}: no frame of it could be used'))
                continue
            if self.end - heard > frame.timeout:
                self._gaps.setdefault(frame.name, _Worst()).add(heard, self.end - heard)
            for channel in frame.channels:
                self._end_stretch(channel)
        signals: Mapping[Key, str] = {
            own.key: f'{frame.name}.{own.signal}' for frame in self.mapping.frames for own in frame.channels
        }
        found += [_finding('gap', name, own, 'gaps, the longest of') for name, own in self._gaps.items()]
        frozen = 'times unchanged while the machine moved, the longest for'
        found += [_finding('frozen', signals[key], own, frozen) for key, own in self._frozen.items()]
        railed = 'numbers at an end of its range, the longest for'
        found += [_finding('saturated', signals[key], own, railed) for key, own in self._railed.items()]
        found += [
            Finding('rejected', what.partition(':')[0], count, 0.0, 0.0, self._rejected(what, count))
            for what, count in sorted(self.receiver.rejected.items())
        ]
        return tuple(found)


def _finding(kind: str, what: str, worst: _Worst, words: str) -> Finding:
    text = f'{what}: {worst.count} {words} {worst.length:.4g} s from {worst.start:.6g} s on'
    return Finding(kind, what, worst.count, worst.start, worst.length, text)


def _ends(frame: Frame, channel: Channel) -> tuple[float, float]:
    """Return the ends of a signal at which it is saturated; the lower one only where the signal has a sign."""
    if channel.kind == 'command':
        return -math.inf, math.inf
    signal: Any = frame.message.get_signal_by_name(channel.signal)
    low, high = number_limits(signal, frame.is_j1939)
    half_step = 0.5 * abs(float(signal.scale)) if not signal.is_float else 0.0
    return (low + half_step if low < 0.0 else -math.inf), high - half_step
