"""Interventions of the tip-over governor in a bag: time, duration, functions, and the limitation.

The governor answers `valve_commands_in` by `valve_commands` and `governor/scale`, whether its answer moves the machine
or not (shadow mode), and repeats answers if commands are rare. An answer with a scale below 1 limits a function;
answers less than `PAUSE` apart belong to one intervention. The status of the governor names an override by a held key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.bag_reading import BagData, BagReadingError, Status, Table, read_bag
from dyn_nodes.common.arrays import Array
from dyn_nodes.middleware.bag_reader import WALL_CLOCK, BagReader
from dyn_nodes.middleware.bags import BagError

SCALE, LEVERS, STATE = '/governor/scale', 'can/levers', 'governor/state'
PAUSE = 0.5
"""Least time between two interventions, s."""
LONGEST_ANSWER = 0.2
"""Longest validity of an answer, s."""
LATE = 0.01
"""Greatest delay between a command and its answer in a bag, s."""
PASSED = 0.02
"""Greatest relative deviation of a passed command."""
OVERRIDE = 'override: '
"""Start of the text of the governor's status while a held key overrides it."""
DIAGNOSTICS_PERIOD = 1.0
"""Period of the diagnostics of a node, s."""


@dataclass(frozen=True)
class Intervention:
    """One intervention.

    Attributes:
        start, end: s since the start of the bag.
        scale: least passed share of the command of a limited lever.
        functions: names of the limited functions.
        margin: least share of a wheel's load in the certified stop, from the diagnostics; NaN without diagnostics in
            time.
        wheel: wheel of this margin.
    """

    start: float
    end: float
    scale: float
    functions: tuple[str, ...]
    margin: float
    wheel: str


@dataclass(frozen=True)
class Override:
    """One override of the governor by a held key.

    Attributes:
        start, end: s since the start of the bag.
        margin: least share of a wheel's load, or moment about an edge, in the stops that were predicted meanwhile; NaN
            without a status.
        wheel: wheel or edge of this margin.
        least: least value of each stability measure in the bag, by its topic.
    """

    start: float
    end: float
    margin: float
    wheel: str
    least: dict[str, float]


@dataclass(frozen=True)
class FunctionShare:
    """One function over the whole bag.

    Attributes:
        commanded: time with a command, s.
        held: time with a limited command, s.
        share: share of its commands, V s, that was not passed.
    """

    commanded: float
    held: float
    share: float


@dataclass(frozen=True)
class Interventions:
    """All interventions of a bag.

    Attributes:
        entries: interventions in order.
        overrides: overrides in order.
        functions: shares by name.
        answers: number of commands with an answer.
        neutral: number of commands without an answer, because the state of the machine was uncertain: valves at
            neutral.
        seconds: time span of the commands.
        least: (value, time) of each stability measure in the bag, by its topic.
        origin: start time of the bag, s since 1970; 0 for simulated time.
    """

    entries: tuple[Intervention, ...]
    overrides: tuple[Override, ...]
    functions: dict[str, FunctionShare]
    answers: int
    neutral: int
    seconds: float
    least: dict[str, tuple[float, float]]
    origin: float

    @property
    def held(self) -> float:
        """Total time of all interventions, s."""
        return sum(entry.end - entry.start for entry in self.entries)

    def worst(self, count: int) -> list[Intervention]:
        """Return the interventions with the least margin, then the least scale."""
        return sorted(self.entries, key=lambda entry: (_last_if_nan(entry.margin), entry.scale))[:count]


def read_interventions(path: Path, namespace: str | None = None) -> Interventions:
    """Return the interventions of the only governor in a bag, or of the governor in a namespace.

    Raises:
        BagReadingError: see `read_bag` and `find_interventions`; also no governor, or several governors without
            `namespace`.
    """
    return find_interventions(read_bag(path, namespace=_namespace(path) if namespace is None else namespace))


def _namespace(path: Path) -> str:
    if not path.exists():
        raise BagReadingError(f'{path}: expected a bag directory, found nothing')
    try:
        with BagReader(path) as reader:
            topics = {connection.topic for connection in reader.connections}
    except BagError as error:
        raise BagReadingError(str(error)) from None
    namespaces = sorted(topic[: -len(SCALE)] for topic in topics if topic.endswith(SCALE))
    if not namespaces:
        raise BagReadingError(f'{path}: expected messages of a governor on {SCALE}, found none')
    if len(namespaces) > 1:
        listed = ', '.join(space or '/' for space in namespaces)
        raise BagReadingError(f'{path}: several governors are in this bag, choose a namespace: {listed}')
    return namespaces[0]


def find_interventions(data: BagData) -> Interventions:
    """Return the governor's interventions.

    Commands come from `valve_commands_in`, or from `can/levers` in a bag without it.

    Raises:
        BagReadingError: commands or answers of a governor are missing.
    """
    data = _since_start(data)
    levers = LEVERS if 'valve_commands_in' not in data.tables and LEVERS in data.tables else 'valve_commands_in'
    commands, passed = data.table(levers), data.table('valve_commands')
    scales = data.table('governor/scale')
    names = list(commands.columns)
    if list(passed.columns) != names:
        functions = ', '.join(passed.columns)
        raise BagReadingError(
            f'{data.path}: expected the functions of {levers}, {", ".join(names)}, in valve_commands, found {functions}'
        )
    answers = _Answers(
        names,
        scales.time,
        scales.columns['data'],
        np.column_stack([commands.columns[name][_last(commands.time, scales.time)] for name in names]),
        np.column_stack([passed.columns[name][_nearest(passed.time, scales.time)] for name in names]),
    )
    margins, neutral = _margins(data), _unanswered(commands.time, scales.time)
    return Interventions(
        tuple(answers.intervention(part, margins) for part in answers.parts()),
        tuple(_overrides(data, float(scales.time[-1]))),
        {name: answers.share(k) for k, name in enumerate(names)},
        len(commands.time) - neutral,
        neutral,
        float(commands.time[-1] - commands.time[0]),
        _least(data),
        data.origin,
    )


class _Answers:
    """Answers of a governor.

    Args:
        names: names of the functions.
        times: (t,) s.  scale: (t,) scales of the answers.
        wanted, passed: (t, n) commands before and after the governor, V.

    Attributes:
        lasting: (t,) validity of each answer, s.
        held: (t, n) whether the function is limited.
        kept_back: (t, n) reduction of the command, V.
    """

    def __init__(self, names: list[str], times: Array, scale: Array, wanted: Array, passed: Array) -> None:
        self.names, self.times, self.scale, self.wanted = names, times, scale, wanted
        self.lasting = np.minimum(np.diff(times, append=times[-1] + LONGEST_ANSWER), LONGEST_ANSWER)
        size = np.abs(wanted)
        missing = np.clip(size - np.sign(wanted) * passed, 0.0, size)
        self.held = (scale < 1.0)[:, np.newaxis] & (missing > PASSED * size)
        self.kept_back = np.where(self.held, missing, 0.0)

    def share(self, k: int) -> FunctionShare:
        """Return the share of a function over all answers."""
        size = np.abs(self.wanted[:, k])
        total = float(size @ self.lasting)
        lost = float(self.kept_back[:, k] @ self.lasting)
        commanded, held = self.lasting[size > 0.0].sum(), self.lasting[self.held[:, k]].sum()
        return FunctionShare(float(commanded), float(held), lost / total if total else 0.0)

    def parts(self) -> list[NDArray[np.intp]]:
        """Return the indices of the answers of each intervention."""
        indices = np.flatnonzero(self.scale < 1.0)
        if not len(indices):
            return []
        return np.split(indices, np.flatnonzero(np.diff(self.times[indices]) > PAUSE) + 1)

    def intervention(self, part: NDArray[np.intp], margins: list[tuple[float, float, str]]) -> Intervention:
        """Return the intervention of some answers, with the least margin of the diagnostics in this time."""
        start, end = float(self.times[part[0]]), float(self.times[part[-1]] + self.lasting[part[-1]])
        functions = tuple(name for k, name in enumerate(self.names) if self.held[part, k].any())
        near = [entry for entry in margins if start <= entry[0] <= end + DIAGNOSTICS_PERIOD]
        _, margin, wheel = min(near, key=lambda entry: entry[1], default=(0.0, math.nan, ''))
        return Intervention(start, end, float(self.scale[part].min()), functions, margin, wheel)


def _since_start(data: BagData) -> BagData:
    """Return a bag with times since its start, also if a simulation in it has stamps near 0."""
    starts = [float(table.time[0]) for table in data.tables.values() if len(table.time)]
    start = min((time for time in starts if time > WALL_CLOCK), default=0.0)
    tables = {topic: Table(table.time - start, table.columns) for topic, table in data.tables.items()}
    statuses = {topic: [(time - start, status) for time, status in entries] for topic, entries in data.statuses.items()}
    return replace(data, tables=tables, statuses=statuses, origin=data.origin + start)


def _last_if_nan(margin: float) -> float:
    return margin if math.isfinite(margin) else math.inf


def _nearest(candidates: Array, times: Array) -> NDArray[np.intp]:
    """Return the indices (t,) of the times in `candidates` nearest to `times` (t,)."""
    after = np.clip(np.searchsorted(candidates, times), 0, len(candidates) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(candidates[before] - times) < np.abs(candidates[after] - times), before, after)


def _last(candidates: Array, times: Array) -> NDArray[np.intp]:
    """Return the indices (t,) of the last times in `candidates` before `times` (t,), or shortly after them."""
    return np.maximum(np.searchsorted(candidates, times + 0.5 * LATE, side='right') - 1, 0)


def _unanswered(commands: Array, answers: Array) -> int:
    """Return the number of commands (t,) without an answer (s,) within their usual period; both are times, s."""
    if not len(answers):
        return len(commands)
    usual = float(np.median(np.diff(commands))) if len(commands) > 1 else LONGEST_ANSWER
    return int((np.abs(answers[_nearest(answers, commands)] - commands) > max(usual, LATE)).sum())


def _margins(data: BagData) -> list[tuple[float, float, str]]:
    """Return time, margin and its wheel of each status of a governor that limits a function."""
    margins = [(time, *_margin(status)) for time, status in _states(data) if status.values.get('held back')]
    return [entry for entry in margins if math.isfinite(entry[1])]


def _states(data: BagData) -> list[tuple[float, Status]]:
    """Return the statuses of the governor with their times, in order of time."""
    states = [
        entry
        for entries in data.statuses.values()
        for entry in entries
        if entry[1].name.endswith('tip_over_governor_node: governor') and entry[0] is not None
    ]
    return sorted(states, key=lambda entry: entry[0])


def _margin(status: Status) -> tuple[float, str]:
    """Return the margin of a status, NaN if unknown, and its wheel or edge."""
    values = status.values
    wheel = values.get('least loaded wheel') or values.get('edge nearest to tipping', '')
    return _number(values.get('margin kept', '')), wheel


def _overrides(data: BagData, last: float) -> list[Override]:
    """Return the overrides of a bag whose last answer has a time, s."""
    overrides, part = list[Override](), list[tuple[float, Status]]()
    states = _states(data)
    changes = [(time, status) for time, status in data.statuses.get(STATE, []) if time is not None]
    for time, status in [*(changes or states), (last, Status('', 0, '', {}))]:
        if status.message.startswith(OVERRIDE):
            part.append((time, status))
        elif part:
            start, end = part[0][0], max(time, part[-1][0])
            margins = [_margin(each) for at, each in states if start <= at <= end and each.message.startswith(OVERRIDE)]
            margin, wheel = min((entry for entry in margins if math.isfinite(entry[0])), default=(math.nan, ''))
            least = {topic: value for topic, (value, _) in _least(data, start, end).items()}
            overrides.append(Override(start, end, margin, wheel, least))
            part = []
    return overrides


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _least(data: BagData, start: float = -math.inf, end: float = math.inf) -> dict[str, tuple[float, float]]:
    """Return the least value and its time of each measure of a monitor between two times, s, by topic."""
    result = {}
    for topic, table in data.tables.items():
        values = table.columns.get('data')
        if topic.rpartition('/')[0] not in ('stability', 'monitor/stability') or values is None:
            continue
        values = np.where((start <= table.time) & (table.time <= end), values, np.nan)
        if np.isfinite(values).any():
            index = int(np.nanargmin(values))
            result[topic] = float(values[index]), float(table.time[index])
    return dict(sorted(result.items()))
