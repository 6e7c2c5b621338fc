"""Relations between numbers of a machine, each with its usual range, and the units that explain values outside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dyn_nodes.model.problems import number


class Quantity(NamedTuple):
    """A number of a machine's files.

    Attributes:
        where: dotted key of the machine YAML, or element of the URDF (`link base_link, mass`).
        unit: SI unit in which it is expected.
    """

    where: str
    value: float
    unit: str


class Relation(NamedTuple):
    """A product of powers of quantities, and its range for real machines.

    Attributes:
        name: of the value in messages: `a piston speed`.
        value, low, high: of the relation, in `unit`.
        terms: quantities with their exponents, the most probably wrong one first.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    terms: tuple[tuple[Quantity, float], ...]

    def holds(self, value: float) -> bool:
        """Return whether a value of the relation is in its range."""
        return self.low <= value <= self.high


def relation(
    name: str, unit: str, low: float, high: float, *terms: tuple[Quantity, float], factor: float = 1.0
) -> tuple[Relation, ...]:
    """Return the relation with the value `factor` times the powers of its terms; () if a number is 0 or infinite.

    Args:
        name: as in `Relation`.
        unit: of the value.
        low: least value.
        high: greatest value.
        *terms: as in `Relation`.
        factor: constant factor of the value.
    """
    sizes = [factor, *(quantity.value for quantity, _ in terms)]
    if not all(math.isfinite(size) and size != 0.0 for size in sizes):
        return ()
    try:
        value = abs(factor) * math.prod(abs(quantity.value) ** power for quantity, power in terms)
    except OverflowError:
        value = math.inf
    return (Relation(name, value, unit, low, high, terms),)


class Doubt(NamedTuple):
    """A quantity that is probably wrong.

    Attributes:
        relation: outside its range.
        units: in which the number would fit; may be empty.
    """

    quantity: Quantity
    relation: Relation
    units: tuple[str, ...]

    @property
    def expected(self) -> str:
        """The range of the relation, for a message."""
        low, high, unit = self.relation.low, self.relation.high, self.relation.unit
        span = f'{_short(low)} to {_short(high)}' if low > 0.0 else f'at most {_short(high)}'
        span = f'at least {_short(low)}' if math.isinf(high) else span
        return f'{self.relation.name} of {span}{unit and " "}{unit}'

    @property
    def found(self) -> str:
        """The number, the value of the relation and the suspected unit, for a message."""
        quantity, unit = self.quantity, self.relation.unit
        text = f'{number(quantity.value)}{quantity.unit and " "}{quantity.unit}'
        text += f', which gives {_short(self.relation.value)}{unit and " "}{unit}'
        return f'{text}; perhaps {" or ".join(self.units)}' if self.units else text


OTHER_UNITS: dict[str, dict[str, float]] = {
    'm': {'in mm': 1e-3, 'in cm': 1e-2, 'in inches': 0.0254},
    'm (radius)': {'in mm': 1e-3, 'in cm': 1e-2, 'in inches': 0.0254, 'a diameter': 0.5},
    'rad': {'in degrees': math.pi / 180.0},
    'm2': {'in cm2': 1e-4, 'in mm2': 1e-6},
    'm3': {'in litres': 1e-3, 'in cm3': 1e-6},
    'm3/s': {'in l/s': 1e-3, 'in l/min': 1e-3 / 60.0},
    'm3/rad': {'in cm3 per revolution': 1e-6 / (2.0 * math.pi), 'in litres per radian': 1e-3,
               'in m3 per revolution': 1.0 / (2.0 * math.pi)},
    'kg': {'in tonnes': 1e3, 'in grams': 1e-3},
    'kg m2': {'in t m2': 1e3, 'in kg cm2': 1e-4, 'in kg mm2': 1e-6, 'in g mm2': 1e-9},
    'N/m': {'in kN/m or N/mm': 1e3, 'in kN/mm': 1e6},
    'N s/m': {'in kN s/m or N s/mm': 1e3},
    'N m/rad': {'in kN m/rad': 1e3, 'in N m per degree': 180.0 / math.pi},
    'N m s/rad': {'in kN m s/rad': 1e3, 'in N m s per degree': 180.0 / math.pi},
    'Pa': {'in bar': 1e5, 'in MPa': 1e6, 'in kPa': 1e3, 'in psi': 6894.757, 'with a digit too much': 0.1,
           'a hundred times too great': 0.01},
    's': {'in ms': 1e-3},
    'V': {'in mV': 1e-3},
    'm/V': {'in mm/V': 1e-3},
    'A': {'in mA': 1e-3},
    'ohm': {'in mohm': 1e-3},
    'H': {'in mH': 1e-3, 'in uH': 1e-6},
    'N m/A': {'in mN m/A': 1e-3, 'in mV/rpm or V/krpm': 60e-3 / (2.0 * math.pi)},
    'm/s2': {'in cm/s2': 1e-2, 'in g': 9.81, 'in ft/s2': 0.3048},
    'm/s': {'in km/h': 1.0 / 3.6, 'in mm/s': 1e-3, 'in cm/s': 1e-2},
    'rad/s': {'in deg/s': math.pi / 180.0, 'in rpm': math.pi / 30.0},
    '1/m': {'in 1/mm': 1e3, 'in 1/cm': 1e2},
    's/m': {'in s/mm': 1e3},
    'Hz': {'in rpm': 1.0 / 60.0},
    'N m': {'in kN m': 1e3, 'in N mm': 1e-3, 'in N cm': 1e-2},
    'N': {'in kN': 1e3, 'in mN': 1e-3},
    'm3/(s Pa)': {'per bar': 1e-5, 'in l/min per bar': 1e-3 / 60.0 * 1e-5},
    'm^(3/2)/kg^(1/2)': {'of a density in g/cm3': 1e-3**0.5},
    '': {'in percent': 1e-2},
}  # fmt: skip
"""Units in which a number is written by mistake: SI unit -> name -> SI units per such unit."""


MOST_OTHERS = 2
"""Greatest number of alternative quantities that a warning names."""


def doubts(relations: Sequence[Relation], entry: Callable[[str], str]) -> Iterator[Doubt]:
    """Yield the quantities that explain the relations outside their range.

    A number in another unit changes all its relations. Each step selects the quantity and the unit that bring most
    relations back into their ranges without moving others out, until all are explained.

    Args:
        relations: of a machine.
        entry: returns the key of a quantity in the files; several quantities may come from one entry.
    """
    tables = [(one, _exponents(one, entry)) for one in relations]
    open_ones = [one for one in tables if not one[0].holds(one[0].value)]
    while open_ones:
        candidates = _candidates(open_ones, tables, entry)
        if not candidates:
            yield from (Doubt(one.terms[0][0], one, ()) for one, _ in open_ones)
            return
        best = max(candidates, key=lambda candidate: candidate.score)
        key, same = entry(best.quantity.where), {id(one) for one in best.explained}
        units = [
            candidate.unit
            for candidate in candidates
            if entry(candidate.quantity.where) == key and candidate.score == best.score
        ]
        rest = (candidate for candidate in candidates if {id(one) for one in candidate.explained} == same)
        others = {
            entry(candidate.quantity.where): candidate.unit
            for candidate in rest
            if entry(candidate.quantity.where) != key
        }
        units += [f'{where} {unit}' for where, unit in list(others.items())[:MOST_OTHERS]]
        yield Doubt(best.quantity, best.explained[0], tuple(dict.fromkeys(units)))
        open_ones = [one for one in open_ones if one[0] not in best.explained]


def _exponents(relation: Relation, entry: Callable[[str], str]) -> dict[str, float]:
    exponents: dict[str, float] = {}
    for quantity, power in relation.terms:
        key = entry(quantity.where)
        exponents[key] = exponents.get(key, 0.0) + power
    return exponents


Table = Sequence[tuple[Relation, dict[str, float]]]


class _Candidate(NamedTuple):
    """A quantity, a unit, the relations that they explain, and a score: number of these, index among the terms."""

    quantity: Quantity
    unit: str
    explained: list[Relation]
    score: tuple[int, int]


def _candidates(open_ones: Table, tables: Table, entry: Callable[[str], str]) -> list[_Candidate]:
    """Return the quantities with units that bring more relations into their ranges than out of them."""
    candidates = []
    outside = {id(one) for one, _ in open_ones}
    for quantity in _quantities(open_ones):
        key = entry(quantity.where)
        beside = [(one, powers[key]) for one, powers in tables if powers.get(key)]
        for name, scale in OTHER_UNITS.get(quantity.unit, {}).items():
            holds = [(one, one.holds(one.value * scale**power)) for one, power in beside]
            fixed = [one for one, back in holds if back and id(one) in outside]
            worse = sum(not back for _, back in holds)
            if len(fixed) > worse:
                ordered = sorted(fixed, key=lambda one: _term_index(one, key, entry))
                score = (len(fixed) - worse, -_term_index(ordered[0], key, entry))
                candidates.append(_Candidate(quantity, name, ordered, score))
    return candidates


def _term_index(relation: Relation, key: str, entry: Callable[[str], str]) -> int:
    """Return the index of a quantity among the terms of a relation."""
    return next(k for k, (quantity, _) in enumerate(relation.terms) if entry(quantity.where) == key)


def _quantities(open_ones: Table) -> Iterable[Quantity]:
    return dict.fromkeys(quantity for one, _ in open_ones for quantity, _ in one.terms)


def _short(value: float) -> str:
    return f'{value:.3g}'
