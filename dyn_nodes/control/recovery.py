"""A task whose recovery starts at an event or a measure of the machine, not at a time of the clock.

    task = SupervisedTask(profile, RecoverOn(event='lift_off', delay=0.3))
    task.record_event('lift_off', 8.343, now)
    task.record_measure('load_share', 0.0, now)
    volts = task.evaluate(now, actuators)

Segments without `recovery` play at their times. After the cause and the delay they end: their voltages fade out within
the first ramp while the recovery starts, with the lengths and levels of its segments. It starts once, after the start
of the first segment, and never before its cause is received: a late message makes it late, not stronger.

If the reports of the machine stop while segments play, tipping would go undetected: the voltages fade out from the
last ones (`record_volts`; 0 V without), and the task is not resumed. The recovery can still start after that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.recover_on import RecoverOn
from dyn_nodes.control.voltage_profile import VoltageProfile

STOPPED = 'stopped'
"""Phase after the reports of the machine have stopped."""


class SupervisedTask:
    """A voltage profile whose segments marked as recovery wait for a cause.

    Args:
        profile: with segments of both kinds.
        on: condition for the start of the recovery.

    Attributes:
        name, duration: of the profile; the latter moves with the recovery.
        started: start of the recovery, s; None without a cause.
        cause: in words, '' without one.
        stopped: time at which the voltages started to fade because the reports had stopped, s; else None.

    Raises:
        ValueError: a profile without recovery, or without other segments.
    """

    def __init__(self, profile: VoltageProfile, on: RecoverOn) -> None:
        recovery = tuple(segment for segment in profile.segments if segment.recovery)
        course = profile.without_recovery()
        if not recovery or not course.segments:
            actual = 'none' if not recovery else 'no other'
            raise ValueError(f'recover_on: expected segments with recovery and others, found {actual}')
        self.name, self.on, self._whole, self._course = profile.name, on, profile, course
        self._recovery = VoltageProfile(profile.name, profile.duration, recovery)
        self._first, self._last = course.segments[0].start, course.segments[-1].end
        self._ramp = recovery[0].ramp
        self.restart()

    def restart(self) -> None:
        """Restart, without a cause."""
        self.started: float | None = None
        self.stopped: float | None = None
        self.cause = ''
        self._reported: float | None = None
        self._volts: dict[str, float] = {}
        self._faded: dict[str, float] = {}

    # -- the machine -----------------------------------------------------------------------------------------------

    def record_event(self, kind: str, at: float, now: float) -> None:
        """Record an event of an instant, s, that is received now."""
        if kind == self.on.event and at >= self._first:
            self._start_recovery(at, now, f'{kind} at t = {at:.3f} s')

    def record_measure(self, name: str, value: float, now: float) -> None:
        """Record a value of a measure; a value that is not finite is ignored."""
        if name != self.on.watched or not math.isfinite(value):
            return
        self._reported = now
        if now >= self._first and self.on.is_reached(value):
            self._start_recovery(now, now, f'{name} {value:.4g} at t = {now:.3f} s')

    def _start_recovery(self, at: float, now: float, cause: str) -> None:
        if self.started is None:
            self.started, self.cause = max(now, at + self.on.delay), cause

    def record_volts(self, volts: Mapping[str, float]) -> None:
        """Record the voltages sent last, V by actuator: of the task, or neutral instead."""
        self._volts = dict(volts)

    def watch(self, now: float) -> None:
        """Stop the segments if the reports have timed out, or have not started when the first segment starts."""
        if self.stopped is not None or not self._first <= now < self._last:
            return
        if self.started is not None and now >= self.started:
            return
        if self._reported is None or now - self._reported > self.on.timeout:
            self.stopped, self._faded = now, self._volts

    # -- voltages ----------------------------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """End of the task, s."""
        if self.started is None:
            return self._whole.duration
        return max(self._whole.duration, self.started + self._whole.duration - self._recovery.segments[0].start)

    @property
    def knot_times(self) -> Array:
        """Times at which a slope changes, ascending, each once, at the present state."""
        times = [self._course.knot_times]
        for instant in (self.stopped, self.started):
            if instant is not None:
                times = [
                    np.concatenate([part[part < instant] for part in times]),
                    np.array([instant, instant + self._ramp]),
                ]
        if self.started is not None:
            moved = self._recovery.knot_times[1:] + self.started - self._recovery.segments[0].start
            times.append(moved[moved >= self.started])
        return np.unique(np.concatenate(times))

    def evaluate(self, time: float, actuators: Sequence[str]) -> Array:
        """Return the volts (n,) of actuators at a time, s, at the present state."""
        if self.started is not None and time >= self.started:
            before = self._before_recovery(self.started, actuators) * self._fade(time - self.started)
            moved = time - self.started + self._recovery.segments[0].start
            return np.asarray(before + self._recovery.evaluate(moved, actuators))
        return self._before_recovery(time, actuators)

    def _before_recovery(self, time: float, actuators: Sequence[str]) -> Array:
        if self.stopped is not None and time >= self.stopped:
            last = np.array([self._faded.get(name, 0.0) for name in actuators])
            return np.asarray(last * self._fade(time - self.stopped))
        return self._course.evaluate(time, actuators)

    def _fade(self, since: float) -> float:
        return max(0.0, 1.0 - since / self._ramp)

    def phase(self, time: float) -> str:
        """Return the name of the segment at a time, `stopped`, or one of `VoltageProfile.phase`."""
        if self.started is not None and time >= self.started:
            return self._recovery.phase(time - self.started + self._recovery.segments[0].start)
        if self.stopped is not None and time >= self.stopped:
            return STOPPED
        return self._course.phase(time)
