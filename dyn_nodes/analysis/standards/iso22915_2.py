"""Stability of counterbalanced trucks with mast."""

from __future__ import annotations

from typing import ClassVar

from dyn_nodes.analysis.standards.iso22915 import MONASH, TiltTable, TiltTest, slope_quantity
from dyn_nodes.analysis.standards.standard import Quantity
from dyn_nodes.model.machine import Machine

HEAVY = 5000.0
"""Rated load from which the first test has a smaller slope, kg."""
LATERAL_TRAVEL = slope_quantity(
    'lateral_travel_slope',
    50.0,
    'lateral, travelling',
    f'greatest value in {MONASH}; the standard derives it from the travel speed',
    False,
)


class Iso22915Part2(TiltTable):
    """Counterbalanced trucks with mast."""

    kind = 'iso22915_2'
    title = 'ISO 22915-2, Industrial trucks - Verification of stability - Counterbalanced trucks with mast'
    tests: ClassVar[tuple[TiltTest, ...]] = (
        TiltTest(
            'Longitudinal, stacking',
            False,
            True,
            'raised',
            slope_quantity('stacking_slope', 4.0, 'longitudinal, stacking', f'{MONASH}; 3.5 % from 5 t', True),
        ),
        TiltTest(
            'Longitudinal, travelling',
            False,
            True,
            'travel',
            slope_quantity('travel_slope', 18.0, 'longitudinal, travelling', MONASH, True),
            'backward',
        ),
        TiltTest(
            'Lateral, stacking',
            True,
            True,
            'raised',
            slope_quantity('lateral_slope', 6.0, 'lateral, stacking', MONASH, True),
            'backward',
        ),
        TiltTest('Lateral, travelling', True, False, 'travel', LATERAL_TRAVEL, 'backward'),
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return the quantities; heavy trucks have a smaller slope in the first test."""
        heavy = machine.payload is not None and machine.payload.limit >= HEAVY
        return tuple(
            each._replace(value=3.5) if heavy and each.name == 'stacking_slope' else each
            for each in super().quantities(machine)
        )
