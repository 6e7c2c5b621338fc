"""Stability of rough-terrain variable-reach trucks (telehandlers)."""

from __future__ import annotations

from typing import ClassVar

from dyn_nodes.analysis.standards.iso22915 import TiltTable, TiltTest, slope_quantity

USUAL = 'usual for rough-terrain trucks'
STACKING = slope_quantity('stacking_slope', 7.0, 'longitudinal, stacking', USUAL, False)
TRAVEL = slope_quantity('travel_slope', 22.0, 'longitudinal, travelling', USUAL, False)
LATERAL = slope_quantity('lateral_slope', 12.0, 'lateral, stacking', USUAL, False)
LATERAL_TRAVEL = slope_quantity(
    'lateral_travel_slope',
    50.0,
    'lateral, travelling',
    f'{USUAL}; the standard derives it from the travel speed',
    False,
)


class Iso22915Part14(TiltTable):
    """Rough-terrain variable-reach trucks; the forks stay level."""

    kind = 'iso22915_14'
    title = 'ISO 22915-14, Industrial trucks - Verification of stability - Rough-terrain variable-reach trucks'
    levels = True
    tests: ClassVar[tuple[TiltTest, ...]] = (
        TiltTest('Longitudinal, load raised', False, True, 'raised', STACKING),
        TiltTest('Longitudinal, load at greatest reach', False, True, 'reach', STACKING),
        TiltTest('Longitudinal, travelling', False, True, 'travel', TRAVEL, forward=False),
        TiltTest('Lateral, load raised', True, True, 'raised', LATERAL),
        TiltTest('Lateral, travelling', True, False, 'travel', LATERAL_TRAVEL, forward=False),
    )
