"""Greatest sizes of a machine's numbers: larger ones are probably in a wrong unit."""

from __future__ import annotations

import math

LARGEST_ANGLE = 2.0 * math.pi * 1.01  # rad; beyond a full turn it is most likely in degrees
MANY_TURNS, NO_LIMIT = 4.0 * math.pi, 1e4  # rad; a joint position between them is taken for degrees
UNLIMITED_ANGLE = 2.99 * math.pi  # rad; limits of 3 pi, 10 or 1e16 stand for "no limit" in published descriptions
UNLIMITED_LENGTH = 1e3  # m; prismatic limits beyond, such as 999999, stand for "no limit"
LARGEST_OFFSET = 1000.0  # m; a centre of mass or a joint further away is most likely in millimetres
LARGEST_GYRATION = 100.0  # m; a link whose mass would lie further out has its inertia most likely in kg mm2
LARGEST_MASS = 1.0e7  # kg; the largest land machines have 1.4e7
LEAST_PRESSURE = 1.0e3  # Pa; less is most likely in bar or MPa
LEAST_BULK_MODULUS = 1.0e6  # Pa; oil has about 1e9
NAME = r'^[A-Za-z][A-Za-z0-9_]*$'  # part of a topic name


def angle_remark(value: float) -> str | None:
    """Return a remark on an angle that cannot be in radians, else None."""
    if abs(value) <= LARGEST_ANGLE:
        return None
    return f'{value:.6g} rad, which looks like degrees ({value:.6g} deg = {math.radians(value):.4f} rad)'


def limit_remark(value: float, is_angle: bool) -> str | None:
    """Return a remark on a joint limit that is neither plausible nor a way to write "no limit", else None."""
    if is_angle and MANY_TURNS < abs(value) < NO_LIMIT:
        return angle_remark(value)
    return None


def limit_or_none(value: float, is_angle: bool) -> float:
    """Return a joint limit, rad or m: infinite if the number means "no limit"."""
    return math.copysign(math.inf, value) if abs(value) > (UNLIMITED_ANGLE if is_angle else UNLIMITED_LENGTH) else value


def length_remark(value: float) -> str | None:
    """Return a remark on a length that cannot be in metres, else None."""
    if abs(value) <= LARGEST_OFFSET:
        return None
    return f'{value:.6g} m, which looks like millimetres ({value:.6g} mm = {value / 1000:.4g} m)'


def pressure_remark(value: float) -> str | None:
    """Return a remark on a pressure that cannot be in pascals, else None."""
    if value == 0 or abs(value) >= LEAST_PRESSURE:
        return None
    return f'{value:.6g} Pa, which looks like bar or MPa ({value:.6g} bar = {value * 1e5:.6g} Pa)'


# unit -> largest value of a machine in it, and the likely unit of a larger one
LARGEST_BY_UNIT = {
    'm': (LARGEST_OFFSET, 'millimetres'),
    'm2': (10.0, 'mm2 or cm2'),
    'm3': (100.0, 'litres or cm3'),
    'm3/s': (10.0, 'l/min'),
    'm3/rad': (1.0, 'cm3 per revolution'),
    'kg': (LARGEST_MASS, 'grams'),
    'm/s2': (100.0, 'mm/s2'),
    's': (1000.0, 'milliseconds'),
    'V': (1000.0, 'millivolts'),
    'Pa': (1.0e12, 'another unit'),
}


def unit_remark(value: float, unit: str) -> str | None:
    """Return a remark on a number that cannot be in its unit, else None."""
    if unit == 'rad':
        return angle_remark(value)
    if unit == 'm':
        return length_remark(value)
    if unit == 'Pa' and pressure_remark(value):
        return pressure_remark(value)
    largest, likely_unit = LARGEST_BY_UNIT.get(unit, (1.0e15, 'a mistake'))
    if abs(value) <= largest:
        return None
    return f'{value:.6g} {unit}, which looks like {likely_unit}'
