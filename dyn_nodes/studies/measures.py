"""What readers are told of each stability measure: its name in words, its unit, its meaning."""

from __future__ import annotations

from typing import NamedTuple


class MeasureText(NamedTuple):
    """Words for a measure.

    Attributes:
        label: name in words.
        unit: as displayed, '' for a pure number.
        scale: displayed value = value in SI units times this.
        meaning: one sentence for an engineer.
    """

    label: str
    unit: str
    scale: float
    meaning: str


MEASURE_TEXTS: dict[str, MeasureText] = {
    'static': MeasureText(
        'static',
        'm',
        1.0,
        'Distance of the projected centre of mass from the nearest edge of the support polygon. '
        'Sees the posture only, no motion.',
    ),
    'longitudinal': MeasureText(
        'longitudinal', 'm', 1.0, 'The same, along the direction of travel, to the front and the rear boundary.'
    ),
    'zmp': MeasureText(
        'zero moment point',
        '',
        1.0,
        'Distance of the zero moment point from the nearest edge over the largest distance there is: 1 in the middle, '
        '0 on an edge. While the machine rocks on an edge it stays at 0.',
    ),
    'force_angle': MeasureText(
        'force-angle',
        'kN m',
        1e-3,
        'Angle between the net force and an edge, times its distance, times the force. Sees how high the load is.',
    ),
    'energy': MeasureText(
        'energy level', 'kJ', 1e-3, 'Work that overturns the machine about the weakest edge, against gravity alone.'
    ),
    'extended_energy': MeasureText(
        'energy level with motion',
        'kJ',
        1e-3,
        'Work that overturns the machine about the weakest edge, against gravity, inertia and external loads. '
        '0 while it is already tipping.',
    ),
    'load_share': MeasureText(
        'wheel-load share', '%', 100.0, 'Share of the least loaded wheel in the whole load; 0 once it has lifted.'
    ),
    'net_moment': MeasureText(
        'net moment',
        'kN m',
        1e-3,
        'Moment that presses the machine down about its weakest edge; it begins to tip when this goes through zero.',
    ),
}


MEASURE_TEXTS['zmp_degree'] = MEASURE_TEXTS['zmp']


def measure_text(name: str) -> MeasureText:
    """Return the words for a measure; for an unknown one its own name, in SI units."""
    return MEASURE_TEXTS.get(name, MeasureText(name.replace('_', ' '), '', 1.0, ''))
