"""Interventions of the tip-over governor in a bag: when, how long, of which function, and how much was held back.

The governor answers `valve_commands_in` by `valve_commands` and `governor/scale`, whether its answer moves the machine
or not (shadow), and again where commands come seldom. An answer with a scale below 1 holds something back; answers less
than `PAUSE` apart are one intervention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.bag_reading import BagData, BagReadingError, Table, read_bag
from dyn_nodes.common.arrays import Array
from dyn_nodes.middleware.bag_reader import WALL_CLOCK, BagReader
from dyn_nodes.middleware.bags import BagError

SCALE, LEVERS = '/governor/scale', 'can/levers'
PAUSE = 0.5
"""Time between two interventions, s."""
LONGEST_ANSWER = 0.2
"""Time for which an answer counts where no other follows, s."""
LATE = 0.01
"""Between a command and its answer in a bag, s."""
PASSED = 0.02
"""Part of its command by which a function that is let through may differ."""
DIAGNOSTICS_PERIOD = 1.0
"""Of a node, s."""


@dataclass(frozen=True)
class Intervention:
    """One intervention.

    Attributes:
        start, end: s since the start of the bag.
        scale: least part of a held lever's command that was let through.
        functions: that were held back.
        margin: least share of a wheel's load on the certified stop, by the diagnostics; nan where none came in time.
        wheel: of that margin.
    """

    start: float
    end: float
    scale: float
    functions: tuple[str, ...]
    margin: float
    wheel: str


@dataclass(frozen=True)
class FunctionShare:
    """One function over the whole bag.

    Attributes:
        commanded: time with a command, s.
        held: time for which less was let through, s.
        share: of its commands, V s, that was held back.
    """

    commanded: float
    held: float
    share: float


@dataclass(frozen=True)
class Interventions:
    """All interventions of a bag.

    Attributes:
        found: in their order.
        functions: by name.
        answers: commands that were answered; without a certainty of the machine the valves go to neutral: `neutral`.
        neutral: commands to which the answer was neutral as nothing certain was known of the machine.
        seconds: of the commands.
        least: (value, time) of each stability measure in the bag, by its topic.
        origin: time of the start of the bag, s since 1970; 0 where its time is simulated.
    """

    found: tuple[Intervention, ...]
    functions: dict[str, FunctionShare]
    answers: int
    neutral: int
    seconds: float
    least: dict[str, tuple[float, float]]
    origin: float

    @property
    def held(self) -> float:
        """Time of all interventions, s."""
        return sum(one.end - one.start for one in self.found)

    def worst(self, count: int) -> list[Intervention]:
        """Return those with the least margin, then the least scale."""
        return sorted(self.found, key=lambda one: (_last_if_nan(one.margin), one.scale))[:count]


def read_interventions(path: Path, namespace: str | None = None) -> Interventions:
    """Read a bag and find the interventions of the only governor in it, or of that in a namespace.

    Raises:
        BagReadingError: as `read_bag` and `find_interventions`; no governor, or several and no namespace.
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
    found = sorted(topic[: -len(SCALE)] for topic in topics if topic.endswith(SCALE))
    if not found:
        raise BagReadingError(f'{path}: expected messages of a governor on {SCALE}, found none')
    if len(found) > 1:
        listed = ', '.join(space or '/' for space in found)
        raise BagReadingError(f'{path}: several governors are in this bag, choose a namespace: {listed}')
    return found[0]


def find_interventions(data: BagData) -> Interventions:
    """Find the governor's interventions.

    Commands are those of `valve_commands_in`; of a bag without it those of `can/levers`.

    Raises:
        BagReadingError: commands or answers of a governor are missing.
    """
    data = _since_start(data)
    levers = LEVERS if 'valve_commands_in' not in data.tables and LEVERS in data.tables else 'valve_commands_in'
    asked, passed = data.table(levers), data.table('valve_commands')
    scales = data.table('governor/scale')
    names = list(asked.columns)
    if list(passed.columns) != names:
        found = ', '.join(passed.columns)
        raise BagReadingError(
            f'{data.path}: expected the functions of {levers}, {", ".join(names)}, in valve_commands, found {found}'
        )
    answers = _Answers(
        names,
        scales.time,
        scales.columns['data'],
        np.column_stack([asked.columns[name][_last(asked.time, scales.time)] for name in names]),
        np.column_stack([passed.columns[name][_nearest(passed.time, scales.time)] for name in names]),
    )
    margins, neutral = _margins(data), _unanswered(asked.time, scales.time)
    return Interventions(
        tuple(answers.intervention(part, margins) for part in answers.parts()),
        {name: answers.share(k) for k, name in enumerate(names)},
        len(asked.time) - neutral,
        neutral,
        float(asked.time[-1] - asked.time[0]),
        _least(data),
        data.origin,
    )


class _Answers:
    """Answers of a governor.

    Args:
        names: of the functions.
        times: (t,) s.  scale: (t,) of the answers.
        wanted, given: (t, n) V.

    Attributes:
        lasting: (t,) time for which each answer counts, s.
        held: (t, n) the function is held back.
        kept_back: (t, n) V, 0 where it is not.
    """

    def __init__(self, names: list[str], times: Array, scale: Array, wanted: Array, given: Array) -> None:
        self.names, self.times, self.scale, self.wanted = names, times, scale, wanted
        self.lasting = np.minimum(np.diff(times, append=times[-1] + LONGEST_ANSWER), LONGEST_ANSWER)
        size = np.abs(wanted)
        missing = np.clip(size - np.sign(wanted) * given, 0.0, size)
        self.held = (scale < 1.0)[:, np.newaxis] & (missing > PASSED * size)
        self.kept_back = np.where(self.held, missing, 0.0)

    def share(self, k: int) -> FunctionShare:
        """Return a function over all answers."""
        size = np.abs(self.wanted[:, k])
        total = float(size @ self.lasting)
        lost = float(self.kept_back[:, k] @ self.lasting)
        commanded, held = self.lasting[size > 0.0].sum(), self.lasting[self.held[:, k]].sum()
        return FunctionShare(float(commanded), float(held), lost / total if total else 0.0)

    def parts(self) -> list[NDArray[np.intp]]:
        """Places of the answers of each intervention."""
        places = np.flatnonzero(self.scale < 1.0)
        if not len(places):
            return []
        return np.split(places, np.flatnonzero(np.diff(self.times[places]) > PAUSE) + 1)

    def intervention(self, part: NDArray[np.intp], margins: list[tuple[float, float, str]]) -> Intervention:
        """Return the intervention of some answers, with the least margin of the diagnostics meanwhile."""
        start, end = float(self.times[part[0]]), float(self.times[part[-1]] + self.lasting[part[-1]])
        functions = tuple(name for k, name in enumerate(self.names) if self.held[part, k].any())
        near = [entry for entry in margins if start <= entry[0] <= end + DIAGNOSTICS_PERIOD]
        _, margin, wheel = min(near, key=lambda entry: entry[1], default=(0.0, math.nan, ''))
        return Intervention(start, end, float(self.scale[part].min()), functions, margin, wheel)


def _since_start(data: BagData) -> BagData:
    """Return a bag with times since its start also where a simulation beside it has stamps near 0."""
    starts = [float(table.time[0]) for table in data.tables.values() if len(table.time)]
    start = min((time for time in starts if time > WALL_CLOCK), default=0.0)
    tables = {topic: Table(table.time - start, table.columns) for topic, table in data.tables.items()}
    statuses = {topic: [(time - start, one) for time, one in entries] for topic, entries in data.statuses.items()}
    return replace(data, tables=tables, statuses=statuses, origin=data.origin + start)


def _last_if_nan(margin: float) -> float:
    return margin if math.isfinite(margin) else math.inf


def _nearest(known: Array, times: Array) -> NDArray[np.intp]:
    """Places (t,) of the known times next to given ones (t,)."""
    after = np.clip(np.searchsorted(known, times), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(known[before] - times) < np.abs(known[after] - times), before, after)


def _last(known: Array, times: Array) -> NDArray[np.intp]:
    """Places (t,) of the last known times before given ones (t,), or a little after them."""
    return np.maximum(np.searchsorted(known, times + 0.5 * LATE, side='right') - 1, 0)


def _unanswered(asked: Array, answered: Array) -> int:
    """Return how many commands (t,) have no answer (s,) within their usual distance: times of both, s."""
    if not len(answered):
        return len(asked)
    usual = float(np.median(np.diff(asked))) if len(asked) > 1 else LONGEST_ANSWER
    return int((np.abs(answered[_nearest(answered, asked)] - asked) > max(usual, LATE)).sum())


def _margins(data: BagData) -> list[tuple[float, float, str]]:
    """Time, margin kept and its wheel of each status of a governor that holds something back."""
    found = []
    for entries in data.statuses.values():
        for time, status in entries:
            if status.name.endswith('tip_over_governor_node: governor') and status.values.get('held back'):
                margin = _number(status.values.get('margin kept', ''))
                if math.isfinite(margin):
                    found.append((time, margin, status.values.get('least loaded wheel', '')))
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _least(data: BagData) -> dict[str, tuple[float, float]]:
    """Least value and its time of each measure of a monitor, by topic."""
    found = {}
    for topic, table in data.tables.items():
        values = table.columns.get('data')
        if topic.rpartition('/')[0] not in ('stability', 'monitor/stability') or values is None:
            continue
        if np.isfinite(values).any():
            place = int(np.nanargmin(values))
            found[topic] = float(values[place]), float(table.time[place])
    return dict(sorted(found.items()))
