"""The stability measures: everything in which they differ, once.

Nodes, `check`, the cockpit, plots and reports go through this table. A new measure is a module of `stability` with its
function and an entry here. The table imports nothing that computes, so that a program that only shows margins starts
quickly.
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
"""In the unit that is shown: what is less is shown as 0."""
WITH_PREFIX, PREFIXES = ('N', 'N m', 'J', 'N kg m2'), ((1e9, 'G'), (1e6, 'M'), (1e3, 'k'))
"""Units of values that are shown with a prefix, by their size, and these prefixes."""
AXES = {
    '1': ('', 1.0),
    'm': ('m', 1.0),
    'N': ('kN', 1e-3),
    'N m': ('kN m', 1e-3),
    'J': ('kJ', 1e-3),
    'N kg m2': ('MN kg m2', 1e-6),
}
"""Unit of a plot's axis and its scale, by the unit of the values; another unit is shown as it is."""
OK, CAUTION, DANGER = BANDS = ('ok', 'caution', 'danger')
"""Bands of a margin, from the best to the worst."""
PARTS = (0.4, 0.2)
"""Levels of caution and danger as parts of the full scale.

A load of 75 % of the tipping load, the usual rating, leaves 0.25 of the net moment of the machine without it: `danger`
is less than that, and `caution` begins before it.
"""


@dataclass(frozen=True)
class Levels:
    """Alarm levels of a measure, in the unit of its values.

    Attributes:
        caution: at this value or less it is in the band `caution`.
        danger: at this value or less it is in the band `danger`.
        full: value of a full gauge; NaN where none is known.

    Raises:
        ValueError: levels that are not 0 <= danger <= caution.
    """

    caution: float = 0.0
    danger: float = 0.0
    full: float = math.nan

    def __post_init__(self) -> None:
        if not 0.0 <= self.danger <= self.caution < math.inf:
            raise ValueError(f'expected 0 <= danger <= caution, found danger {self.danger!r}, caution {self.caution!r}')

    def band(self, value: float) -> str:
        """Return OK, CAUTION or DANGER. A value that is not known (NaN) is in DANGER."""
        if not value > self.danger:
            return DANGER
        return OK if value > self.caution else CAUTION

    def __str__(self) -> str:
        return f'caution {self.caution!r}, danger {self.danger!r}, full scale {self.full!r}'


LEVELS_TEXT = re.compile(r'caution (\S+), danger (\S+), full scale (\S+)')


LEVELS_KEY = ' levels'
"""After the name of a measure: key of its alarm levels on /diagnostics."""


def levels_of_values(values: Iterable[tuple[str, str]]) -> dict[str, Levels]:
    """Return the alarm levels by measure among keys and values of a status on /diagnostics."""
    found = ((key.removesuffix(LEVELS_KEY), levels_of_text(text)) for key, text in values if key.endswith(LEVELS_KEY))
    return {name: levels for name, levels in found if levels is not None}


def levels_of_text(text: str) -> Levels | None:
    """Return the levels that `str` of them wrote, as on /diagnostics; None for another text."""
    found = LEVELS_TEXT.fullmatch(text)
    try:
        return None if found is None else Levels(*(float(number) for number in found.groups()))
    except ValueError:
        return None


@dataclass(frozen=True)
class Measure:
    """A stability measure.

    Attributes:
        name: in parameters and files.
        label: in words.
        unit: of its values, SI; '1' for a pure number.
        meaning: one sentence for an engineer.
        module: of `dyn_nodes.stability`; its function `<name>_states` takes `States` and returns the least value (t,),
            the values (t, n) and where they hold (t,).
        per: what has a value: every edge of the support polygon, every wheel, the loss of every foot, or both ends.
        display_unit: unit of a plot's axis, '' for a pure number; by the values' unless given.
        scale: value in that unit over the value in SI units.
        least_feet: corners of the support polygon that it needs.
        full_scale: greatest value there is, by number of values; None where there is no such bound.
        parts: levels of caution and danger as parts of the full scale.
        at_zero: what has happened where the value is 0.
        topic: below `stability/`; the name unless given.
        of_friction: it needs the friction coefficients of the wheels, and each wheel's force in one point.
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

        Full scale is the greatest value that there is. For a measure without such a bound it is the value of the
        machine at rest in its initial position; where that is not known, the only alarm is DANGER at 0.

        Args:
            count: number of values (edges, wheels).
            at_rest: least value of the machine at rest, NaN where it is not known.
        """
        full = at_rest if self.full_scale is None else self.full_scale(count)
        if not 0.0 < full < math.inf:
            return Levels()
        caution, danger = self.parts
        return Levels(_rounded(caution * full), _rounded(danger * full), _rounded(full))

    def display(self, value: float) -> str:
        """Return a value with its unit as people read it: '146 kN m', '0.66 m', '12 %'; '0 J' for round-off."""
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
            'Sees the posture only, no motion.',
            'static',
        ),
        Measure(
            'longitudinal',
            'longitudinal margin',
            'm',
            'The same, along the direction of travel, to the front and the rear boundary.',
            'static',
            per='end',
        ),
        Measure(
            'conservative',
            'conservative margin',
            'm',
            'Static margin that is left after the loss of any one foot.',
            'conservative',
            per='foot',
            least_feet=5,
        ),
        Measure(
            'zmp',
            'zero moment point',
            '1',
            'Distance of the zero moment point from the nearest edge over the largest distance there is: 1 in the '
            'middle, 0 on an edge. While the machine rocks on an edge it stays at 0.',
            'zmp',
            full_scale=_one,
            topic='zmp_degree',
        ),
        Measure(
            'force_angle',
            'force-angle',
            meaning='Angle between the net force and an edge, times its distance, times the force. Sees how high the '
            'load is.',
            module='force_angle',
            unit='N m',
        ),
        Measure(
            'energy',
            'energy level',
            meaning='Work that overturns the machine about the weakest edge, against gravity alone.',
            module='energy',
            unit='J',
        ),
        Measure(
            'normalized_energy',
            'normalized energy',
            'm',
            'Height by which the centre of mass has to rise before the machine overturns about the weakest edge; '
            'energy level over weight.',
            'normalized_energy',
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
            parts=(0.2, 0.1),  # a machine on four wheels may stand well with little load on one of them
            at_zero='lifted',
        ),
        Measure(
            'net_moment',
            'net moment',
            meaning='Moment that presses the machine down about its weakest edge; it begins to tip when this goes '
            'through zero.',
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
"""All measures by name, in the order in which they are shown everywhere."""

DEFAULT_MEASURES = ('static', 'zmp', 'force_angle', 'extended_energy', 'load_share', 'net_moment')
"""Names of the measures that are published unless a parameter chooses others."""


def _rounded(value: float) -> float:
    """Return a value with three significant digits: levels are shown as they are used."""
    return float(f'{value:.3g}')


def friction_levels() -> Levels:
    """Return the levels of the friction that is left, 1 - friction use."""
    return Levels(*PARTS, 1.0)


def measure(name: str) -> Measure:
    """Return a measure. Raises KeyError, with the known ones, for a name that does not exist."""
    if name not in MEASURES:
        raise KeyError(f'unknown stability measure {name!r}; known: {", ".join(MEASURES)}{near(name, MEASURES)}')
    return MEASURES[name]


def measure_of(word: str) -> Measure:
    """Return the measure with this name or topic; for another word, from a topic of others, one without a unit."""
    known = MEASURES.get(word) or next((item for item in MEASURES.values() if item.topic == word), None)
    return known or Measure(word, word.replace('_', ' '), '1', '', '')


def in_order(words: Iterable[str]) -> list[str]:
    """Return names or topics in the order of the measures, unknown ones last by name."""
    places = {name: place for place, name in enumerate(MEASURES)}
    return sorted(words, key=lambda word: (places.get(measure_of(word).name, len(places)), word))
