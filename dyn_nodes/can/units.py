"""Units of signals: physical quantity and size in SI units."""

from __future__ import annotations

import math
from typing import NamedTuple

STANDARD_GRAVITY = 9.80665
"""Unit g of accelerometers, m/s2."""


class Unit(NamedTuple):
    """A unit.

    Attributes:
        quantity: physical quantity.
        size: one unit in the SI unit of the quantity.
    """

    quantity: str
    size: float


UNITS = {
    'rad': Unit('angle', 1.0),
    'mrad': Unit('angle', 1e-3),
    'deg': Unit('angle', math.radians(1.0)),
    'rad/s': Unit('angular velocity', 1.0),
    'deg/s': Unit('angular velocity', math.radians(1.0)),
    'rpm': Unit('angular velocity', 2.0 * math.pi / 60.0),
    'm': Unit('length', 1.0),
    'cm': Unit('length', 1e-2),
    'mm': Unit('length', 1e-3),
    'm/s': Unit('velocity', 1.0),
    'mm/s': Unit('velocity', 1e-3),
    'm/s2': Unit('acceleration', 1.0),
    'g': Unit('acceleration', STANDARD_GRAVITY),
    'Pa': Unit('pressure', 1.0),
    'kPa': Unit('pressure', 1e3),
    'bar': Unit('pressure', 1e5),
    'MPa': Unit('pressure', 1e6),
    'kg': Unit('mass', 1.0),
    't': Unit('mass', 1e3),
    'N': Unit('force', 1.0),
    'kN': Unit('force', 1e3),
    'V': Unit('voltage', 1.0),
    'mV': Unit('voltage', 1e-3),
    '%': Unit('share of the limit', 1e-2),
}
"""Units by name in a mapping. `%` of a command is a share of the voltage limit of its valve."""

SPELLINGS = {
    '°': 'deg',
    'degree': 'deg',
    'degrees': 'deg',
    '°/s': 'deg/s',
    'm/s^2': 'm/s2',
    'm/s²': 'm/s2',
    '1/min': 'rpm',
}
"""Alternative spellings of units in a DBC."""


def unit_named(text: str) -> str:
    """Return the name in `UNITS` of a unit in a DBC, '' if it is not among them."""
    name = SPELLINGS.get(text.strip(), text.strip())
    return name if name in UNITS else ''
