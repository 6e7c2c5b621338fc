"""Valve voltages over time: trapezoids in named phases, from a YAML task description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.recover_on import RecoverOn
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import PRINTABLE, MachineError, Report, did_you_mean, is_printable
from dyn_nodes.model.yaml_source import Entry

WAITING, HOLDING, SETTLING = 'wait', 'hold', 'settle'
"""Names of the phases before the first segment, between segments and after the last one."""


class TaskError(MachineError):
    """A task file has faults; `problems` has all of them, `str()` one line for each."""


def trapezoid(ta: float, tb: float, u: float, r: float) -> tuple[Array, Array]:
    """Return the knots (times, volts) of trap(ta, tb, u, r) (section 3 of abo-shanab-2003's specification).

    0 until ta, linear to u at ta + r, constant to tb - r, linear to 0 at tb.

    Args:
        ta: start, s.
        tb: end, s.
        u: volts of the plateau.
        r: ramp, s, > 0.

    Raises:
        ValueError: a number is not finite, or the ramps are longer than the interval.
    """
    if not all(math.isfinite(value) for value in (ta, tb, u, r)):
        raise ValueError(f'trapezoid: expected finite numbers, found {(ta, tb, u, r)}')
    if r <= 0.0 or 2.0 * r > tb - ta + 1e-12:
        raise ValueError(f'trapezoid: expected a ramp of 0 < r <= {0.5 * (tb - ta):.6g} s, found {r:.6g} s')
    return np.array([ta, ta + r, max(tb - r, ta + r), tb]), np.array([0.0, u, u, 0.0])


@dataclass(frozen=True)
class Segment:
    """Trapezoids of one or more actuators at the same time.

    Attributes:
        name: of the phase, shown in displays.
        start, end, ramp: s.
        volts: plateau by actuator name.
        recovery: part of the recovery, which a run may leave out.

    Raises:
        ValueError: as `trapezoid`.
    """

    name: str
    start: float
    end: float
    ramp: float
    volts: dict[str, float]
    recovery: bool = False

    def __post_init__(self) -> None:
        for level in self.volts.values() or (0.0,):
            trapezoid(self.start, self.end, level, self.ramp)


@dataclass(frozen=True, eq=False)
class VoltageProfile:
    """Piecewise-linear valve voltages of a whole task.

    Attributes:
        name: of the task.
        duration: s.
        segments: in the order of time, no two at the same time.
        recover_on: condition for the start of the recovery; None: it plays at its times.
        knots: (times, volts) by actuator name; 0 V outside and for every actuator without knots.

    Raises:
        ValueError: segments overlap, or one ends after `duration`.
    """

    name: str
    duration: float
    segments: tuple[Segment, ...]
    recover_on: RecoverOn | None = None
    knots: dict[str, tuple[Array, Array]] = field(init=False)

    def __post_init__(self) -> None:
        end, before = 0.0, 'the start of the task'
        for segment in self.segments:
            if segment.start < end - 1e-12:
                raise ValueError(
                    f'segment {segment.name!r}: expected a start at or after {before}, {end:.6g} s, '
                    f'found {segment.start:.6g} s'
                )
            end, before = segment.end, f'the end of {segment.name!r}'
        if end > self.duration:
            raise ValueError(f'duration: expected at least {end:.6g} s ({before}), found {self.duration:.6g} s')
        object.__setattr__(self, 'knots', self._gather())

    def _gather(self) -> dict[str, tuple[Array, Array]]:
        knots: dict[str, tuple[Array, Array]] = {}
        for segment in self.segments:
            for actuator, level in segment.volts.items():
                times, volts = trapezoid(segment.start, segment.end, level, segment.ramp)
                if actuator in knots:
                    earlier = knots[actuator]
                    times, volts = np.concatenate([earlier[0], times]), np.concatenate([earlier[1], volts])
                knots[actuator] = (times, volts)
        return knots

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators with a voltage at some time."""
        return tuple(self.knots)

    @property
    def knot_times(self) -> Array:
        """Times at which a slope changes, ascending, each once: where an integrator should stop."""
        times = [np.array([0.0, self.duration])] + [times for times, _ in self.knots.values()]
        return np.unique(np.concatenate(times))

    def evaluate(self, time: ArrayLike, actuators: Sequence[str]) -> Array:
        """Return volts at one or many times.

        Args:
            time: scalar or (...), s.
            actuators: names, in the order of the result.

        Returns:
            (..., len(actuators)), V.

        Raises:
            ValueError: the profile drives an actuator that is not in `actuators`.
        """
        for name in self.knots:
            if name not in actuators:
                raise ValueError(f'task {self.name!r} drives actuator {did_you_mean(name, actuators)}')
        times = np.asarray(time, dtype=np.float64)
        volts = np.zeros((*times.shape, len(actuators)))
        for index, name in enumerate(actuators):
            if name in self.knots:
                volts[..., index] = np.interp(times, *self.knots[name])
        return volts

    def phase(self, time: float) -> str:
        """Return the name of the segment at a time, or `wait`, `hold`, `settle` before, between and after."""
        for index, segment in enumerate(self.segments):
            if time < segment.start:
                return HOLDING if index else WAITING
            if time < segment.end:
                return segment.name
        return SETTLING if self.segments else WAITING

    def without_recovery(self) -> VoltageProfile:
        """Return the task without the segments marked as recovery."""
        kept = tuple(segment for segment in self.segments if not segment.recovery)
        return replace(self, segments=kept, recover_on=None)


def load_voltage_profile(
    path: str | Path, actuators: Sequence[str] | None = None, recovery: bool = True
) -> VoltageProfile:
    """Read a task file.

    Args:
        path: YAML with `name`, `duration` (s) and `segments`, each with `name`, `start`, `end`, `ramp` (s), `volts`
            (actuator: V) and optionally `recovery: true`; optionally `recover_on` with `event` or `measure` and
            `below`, `delay`, `timeout` (s).
        actuators: of the machine; None: any.
        recovery: False leaves out the segments marked as recovery.

    Raises:
        TaskError: with file, line, key, expected and found, for every fault.
    """
    profile = load_file(path, lambda root, report: _Reader(report, actuators).profile(root), TaskError)
    return profile if recovery else profile.without_recovery()


class _Reader:
    """Converts the entries of a task file to a profile, and reports their faults."""

    def __init__(self, report: Report, actuators: Sequence[str] | None) -> None:
        self.report = report
        self.actuators = actuators

    def profile(self, root: Entry) -> VoltageProfile | None:
        self._check_keys(root, ('name', 'description', 'duration', 'recover_on', 'segments'))
        name = self._text(root, 'name')
        duration = self._number(root, 'duration', 's')
        listed = self._required(root, 'segments', 'a list of segments')
        if listed is not None and (listed.kind != 'list' or not listed.items):
            self.report.add(listed.line, listed.path, 'a list of segments', listed.describe())
        segments = [self._segment(item) for item in (listed.items if listed is not None else [])]
        on = self._recover_on(root.mapping.get('recover_on'))
        if (
            on is not None
            and listed is not None
            and not any(segment is not None and segment.recovery for segment in segments)
        ):
            self.report.add(listed.line, listed.path, 'a segment with `recovery: true` (recover_on waits)', 'none')
        if self.report.failed or listed is None:
            return None
        try:
            return VoltageProfile(name, duration, tuple(segment for segment in segments if segment is not None), on)
        except ValueError as error:
            self._add_split(listed.line, 'segments', error)
            return None

    def _recover_on(self, entry: Entry | None) -> RecoverOn | None:
        if entry is None:
            return None
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path, 'a mapping', entry.describe())
            return None
        self._check_keys(entry, ('event', 'measure', 'below', 'delay', 'timeout'))
        values: dict[str, Any] = {key: self._text(entry, key) for key in ('event', 'measure') if key in entry.mapping}
        units = {'below': 'the unit of the measure', 'delay': 's', 'timeout': 's'}
        needed = {'below'} if 'measure' in values else set()
        for key in (key for key in units if key in {*entry.mapping, *needed}):
            values[key] = self._number(entry, key, units[key])
        if self.report.failed:
            return None
        try:
            return RecoverOn(**values)
        except ValueError as error:
            self._add_split(entry.line, entry.path, error)
            return None

    def _segment(self, entry: Entry) -> Segment | None:
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path, 'a mapping', entry.describe())
            return None
        self._check_keys(entry, ('name', 'start', 'end', 'ramp', 'volts', 'recovery'))
        name = self._text(entry, 'name')
        start, end, ramp = (self._number(entry, key, 's') for key in ('start', 'end', 'ramp'))
        volts = self._volts(entry)
        flag = entry.mapping.get('recovery')
        if flag is not None and flag.kind != 'bool':
            self.report.add(flag.line, flag.path, 'true or false', flag.describe())
        if self.report.failed:
            return None
        try:
            recovery = flag is not None and flag.text.lower() in ('true', 'yes', 'on')
            return Segment(name, start, end, ramp, volts, recovery)
        except ValueError as error:
            self._add_split(entry.line, entry.path, error)
            return None

    def _volts(self, entry: Entry) -> dict[str, float]:
        volts = self._required(entry, 'volts', 'a mapping of actuator: volts')
        if volts is None:
            return {}
        if volts.kind != 'map' or not volts.mapping:
            self.report.add(volts.line, volts.path, 'a mapping of actuator: volts', volts.describe())
        for name, child in volts.mapping.items():
            if self.actuators is not None and name not in self.actuators:
                self.report.add(child.line, child.path, 'an actuator', did_you_mean(name, self.actuators))
        return {name: self._number(volts, name, 'V') for name in volts.mapping}

    def _check_keys(self, entry: Entry, keys: Sequence[str]) -> None:
        for name, child in entry.mapping.items():
            if name not in keys:
                self.report.add(child.line, child.path, 'a key of this mapping', did_you_mean(name, keys))

    def _required(self, entry: Entry, key: str, expected: str) -> Entry | None:
        child = entry.mapping.get(key)
        if child is None:
            where = f'{entry.path}.{key}' if entry.path else key
            self.report.add(entry.line, where, expected, 'nothing')
        return child

    def _text(self, entry: Entry, key: str) -> str:
        child = self._required(entry, key, 'a name')
        if child is not None and (child.kind not in ('text', 'quoted') or not child.text.strip()):
            self.report.add(child.line, child.path, 'a name', child.describe())
        elif child is not None and not is_printable(child.text.strip()):
            self.report.add(child.line, child.path, PRINTABLE, child.describe())
        return child.text.strip() if child is not None else ''

    def _number(self, entry: Entry, key: str, unit: str) -> float:
        child = self._required(entry, key, f'a number in {unit}')
        if child is None:
            return 0.0
        try:
            value = float(child.text) if child.kind == 'text' else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.report.add(child.line, child.path, f'a finite number in {unit}', child.describe())
            return 0.0
        return value

    def _add_split(self, line: int, path: str, error: ValueError) -> None:
        """Report an error with a message of the form `location: expected ..., found ...`."""
        location, _, rest = str(error).partition(': expected ')
        expected, _, actual = rest.rpartition(', found ')
        self.report.add(line, f'{path}, {location}', expected, actual)
