"""Table of the stability measures, with everything in which they differ.

Nodes, `check`, the cockpit, plots and reports use this table. A new measure is a module of `stability` with its
function and an entry here. The table imports no numerical code: a program that only shows margins starts quickly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from dyn_nodes.common.printing import near


def _equal_share(count: int) -> float:
    return 1.0 / max(count, 1)


def _one(count: int) -> float:
    return 1.0


LEAST_SHOWN = 5e-4
"""Least absolute value that is shown, in the unit of the display; smaller values are shown as 0."""
WITH_PREFIX, PREFIXES = ('N', 'N m', 'J', 'N kg m2'), ((1e9, 'G'), (1e6, 'M'), (1e3, 'k'))
"""Units of values that are shown with a prefix, and the prefixes by size of the value."""
AXES = {
    '1': ('', 1.0),
    'm': ('m', 1.0),
    'N': ('kN', 1e-3),
    'N m': ('kN m', 1e-3),
    'J': ('kJ', 1e-3),
    'N kg m2': ('MN kg m2', 1e-6),
}
"""Unit of a plot's axis and its scale, by the unit of the values. Units that are not listed are shown unchanged."""
OK, CAUTION, DANGER = BANDS = ('ok', 'caution', 'danger')
"""Bands of a margin, from the best to the worst."""
PARTS = (0.4, 0.2)
"""Levels of caution and danger as parts of the full scale.

A load of 75 % of the tipping load, the usual rating, leaves 0.25 of the net moment of the unloaded machine: `danger` is
below this value, `caution` starts above it.
"""

NORMAL, APPROACH, RATED, LIMIT = STAGES = ('normal', 'approach', 'rated', 'limit')
"""Stages of a load-moment indicator: below 90 % of the rated load, from 90 %, from 100 % and from 110 % on.

Load-moment indicators warn from 90 % of the rated load on; a limiter acts between 100 % and 110 % (EN 13000).
"""
STAGE_STARTS = {APPROACH: 0.9, RATED: 1.0, LIMIT: 1.1}
"""Utilisation at which a stage starts."""
BAND_OF_STAGE = {NORMAL: OK, APPROACH: CAUTION, RATED: DANGER, LIMIT: DANGER}


def stage_of(utilisation: float) -> str:
    """Return the stage of a utilisation of the rated load; an unknown one (NaN) is at the limit."""
    return next((stage for stage in STAGES[:-1] if utilisation < _end_of(stage)), LIMIT)


def _end_of(stage: str) -> float:
    return STAGE_STARTS[STAGES[STAGES.index(stage) + 1]]


@dataclass(frozen=True)
class Levels:
    """Alarm levels of a measure, in the unit of its values.

    Attributes:
        caution: values up to this one are in the band `caution`.
        danger: values up to this one are in the band `danger`.
        full: value of a full gauge; NaN if unknown.

    Raises:
        ValueError: unless 0 <= danger <= caution.
    """

    caution: float = 0.0
    danger: float = 0.0
    full: float = math.nan

    def __post_init__(self) -> None:
        if not 0.0 <= self.danger <= self.caution < math.inf:
            raise ValueError(f'expected 0 <= danger <= caution, found danger {self.danger!r}, caution {self.caution!r}')

    def band(self, value: float) -> str:
        """Return OK, CAUTION or DANGER. An unknown value (NaN) is in DANGER."""
        if not value > self.danger:
            return DANGER
        return OK if value > self.caution else CAUTION

    def __str__(self) -> str:
        return f'caution {self.caution!r}, danger {self.danger!r}, full scale {self.full!r}'


LEVELS_TEXT = re.compile(r'caution (\S+), danger (\S+), full scale (\S+)')


LEVELS_KEY = ' levels'
"""Suffix of a measure's name: key of its alarm levels on /diagnostics."""


def levels_of_values(values: Iterable[tuple[str, str]]) -> dict[str, Levels]:
    """Return the alarm levels by measure, from the keys and values of a status on /diagnostics."""
    pairs = ((key.removesuffix(LEVELS_KEY), levels_of_text(text)) for key, text in values if key.endswith(LEVELS_KEY))
    return {name: levels for name, levels in pairs if levels is not None}


def levels_of_text(text: str) -> Levels | None:
    """Return the levels from the text of `str(levels)`, as on /diagnostics; None for any other text."""
    match = LEVELS_TEXT.fullmatch(text)
    try:
        return None if match is None else Levels(*(float(number) for number in match.groups()))
    except ValueError:
        return None


@dataclass(frozen=True)
class Measure:
    """A stability measure.

    Attributes:
        name: name in parameters and files.
        label: name in texts.
        unit: SI unit of the values; '1' for a pure number.
        meaning: one sentence for an engineer.
        module: module of `dyn_nodes.stability`; its function `<name>_states` takes `States` and returns the least value
            (t,), the values (t, n) and whether they are valid (t,).
        per: object that has a value: every edge of the support polygon, every wheel, the loss of every foot, or both
            ends.
        display_unit: unit of a plot's axis, '' for a pure number; by default from `unit`.
        scale: value in `display_unit` over the value in SI units.
        least_feet: least number of corners of the support polygon.
        full_scale: greatest possible value, by number of values; None if the measure has no upper bound.
        parts: levels of caution and danger as parts of the full scale.
        at_zero: state of the machine at value 0.
        topic: topic below `stability/`; by default the name.
        with_motion: the measure includes inertia; False: it shows the machine at standstill in this posture.
        of_friction: the measure needs the friction coefficients of the wheels, and each wheel's force in one point.
    """

    name: str
    label: str
    unit: str
    meaning: str
    module: str
    per: Literal['edge', 'wheel', 'foot', 'end'] = 'edge'
    display_unit: str = ''
    scale: float = 1.0
    least_feet: int = 3
    full_scale: Callable[[int], float] | None = None
    parts: tuple[float, float] = PARTS
    at_zero: str = 'tipping'
    topic: str = ''
    with_motion: bool = True
    of_friction: bool = False

    def __post_init__(self) -> None:
        if not self.topic:
            object.__setattr__(self, 'topic', self.name)
        if not self.display_unit:
            unit, scale = AXES.get(self.unit, (self.unit, 1.0))
            object.__setattr__(self, 'display_unit', unit)
            object.__setattr__(self, 'scale', scale)

    def levels(self, count: int, at_rest: float = math.nan) -> Levels:
        """Return the alarm levels.

        Full scale is the upper bound of the measure. For a measure without an upper bound it is the value of the
        machine at rest in its initial position; if that value is unknown, the only alarm is DANGER at 0.

        Args:
            count: number of values (edges, wheels).
            at_rest: least value of the machine at rest, NaN if unknown.
        """
        full = at_rest if self.full_scale is None else self.full_scale(count)
        if not 0.0 < full < math.inf:
            return Levels()
        caution, danger = self.parts
        return Levels(_rounded(caution * full), _rounded(danger * full), _rounded(full))

    def is_zero(self, value: float) -> bool:
        """Return whether a value is negative, or is shown as zero."""
        return value <= 0.0 or self.display(value).split()[0] == '0'

    def display(self, value: float) -> str:
        """Return a value with its unit for people: '146 kN m', '0.66 m', '12 %'; '0 J' for round-off."""
        if abs(value * self.scale if self.unit not in WITH_PREFIX else value) < LEAST_SHOWN:
            value = 0.0
        if self.unit in WITH_PREFIX:
            factor, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), (1.0, ''))
            return f'{value / factor + 0.0:.3g} {prefix}{self.unit}'  # + 0.0: never -0
        return f'{value * self.scale + 0.0:.3g} {self.display_unit}'.rstrip()


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure(
            'static',
            'static margin',
            'm',
            'Distance of the projected centre of mass from the nearest edge of the support polygon. '
            'Depends on the posture only, not on motion.',
            'static',
            with_motion=False,
        ),
        Measure(
            'longitudinal',
            'longitudinal margin',
            'm',
            'Static margin along the direction of travel, to the front and the rear boundary.',
            'static',
            per='end',
            with_motion=False,
        ),
        Measure(
            'conservative',
            'conservative margin',
            'm',
            'Static margin after the loss of any one foot.',
            'conservative',
            per='foot',
            least_feet=5,
            with_motion=False,
        ),
        Measure(
            'zmp',
            'zero moment point',
            '1',
            'Distance of the zero moment point from the nearest edge over the largest possible distance: 1 in the '
            'middle, 0 on an edge. While the machine rocks on an edge it stays at 0.',
            'zmp',
            full_scale=_one,
            topic='zmp_degree',
        ),
        Measure(
            'force_angle',
            'force-angle',
            meaning='Angle between the net force and an edge, times its distance, times the force. Depends on the '
            'height of the load.',
            module='force_angle',
            unit='N m',
        ),
        Measure(
            'energy',
            'energy level',
            meaning='Work that overturns the machine about the weakest edge, against gravity alone.',
            module='energy',
            unit='J',
            with_motion=False,
        ),
        Measure(
            'normalized_energy',
            'normalized energy',
            'm',
            'Height by which the centre of mass has to rise before the machine overturns about the weakest edge; '
            'energy level over weight.',
            'normalized_energy',
            with_motion=False,
        ),
        Measure(
            'extended_energy',
            'energy level with motion',
            meaning='Work that overturns the machine about the weakest edge, against gravity, inertia and external '
            'loads. 0 while it is already tipping.',
            module='energy',
            unit='J',
        ),
        Measure(
            'load_share',
            'wheel-load share',
            '1',
            'Share of the least loaded wheel in the whole load; 0 once it has lifted.',
            'load_share',
            per='wheel',
            display_unit='%',
            scale=100.0,
            full_scale=_equal_share,
            parts=(0.2, 0.1),  # a machine on four wheels may be stable with little load on one of them
            at_zero='lifted',
        ),
        Measure(
            'net_moment',
            'net moment',
            meaning='Moment that holds the machine down about its weakest edge; the machine starts to tip when the '
            'moment passes through zero.',
            module='net_moment',
            unit='N m',
        ),
        Measure(
            'moment_height',
            'moment-height',
            meaning='Net moment about the weakest edge, weighted by the moment of inertia about the edge over the '
            'height of the centre of mass; while the machine tips, over this weight.',
            module='moment_height',
            unit='N kg m2',
        ),
        Measure(
            'admissible',
            'admissible reactions',
            'N',
            'Normal force that every wheel can spare, at best, before the machine has to slide or a wheel to lift: how '
            'far the ground reactions that balance the load can be inside the friction cones.',
            'admissible',
            per='wheel',
            at_zero='sliding or lifted',
            of_friction=True,
        ),
    )
}
"""All measures by name, in the order of all tables and plots."""

DEFAULT_MEASURES = ('static', 'zmp', 'force_angle', 'extended_energy', 'load_share', 'net_moment')
"""Names of the measures that are published unless a parameter chooses others."""


def _rounded(value: float) -> float:
    """Return a value with three significant digits, so that the levels that are shown are the levels in use."""
    return float(f'{value:.3g}')


def friction_levels() -> Levels:
    """Return the levels of the friction reserve, 1 - friction use."""
    return Levels(*PARTS, 1.0)


def measure(name: str) -> Measure:
    """Return a measure. Raise KeyError, with the list of names, for an unknown name."""
    if name not in MEASURES:
        raise KeyError(f'unknown stability measure {name!r}; known: {", ".join(MEASURES)}{near(name, MEASURES)}')
    return MEASURES[name]


def measure_of(word: str) -> Measure:
    """Return the measure with this name or topic; for any other word (a third-party topic) a measure without a unit."""
    listed = MEASURES.get(word) or next((entry for entry in MEASURES.values() if entry.topic == word), None)
    return listed or Measure(word, word.replace('_', ' '), '1', '', '')


def in_order(words: Iterable[str]) -> list[str]:
    """Return names or topics in the order of the measures, unknown ones last by name."""
    indices = {name: index for index, name in enumerate(MEASURES)}
    return sorted(words, key=lambda word: (indices.get(measure_of(word).name, len(indices)), word))
