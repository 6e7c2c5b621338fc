"""Stability of reach and straddle trucks."""

from __future__ import annotations

from typing import ClassVar

from dyn_nodes.analysis.standards.iso22915 import TiltTable, TiltTest, slope_quantity
from dyn_nodes.analysis.standards.iso22915_2 import LATERAL_TRAVEL

AS_PART_2 = 'as for counterbalanced trucks (part 2)'


class Iso22915Part3(TiltTable):
    """Reach and straddle trucks; mast or fork extended for stacking, retracted for travelling."""

    kind = 'iso22915_3'
    title = 'ISO 22915-3, Industrial trucks - Verification of stability - Reach and straddle trucks'
    tests: ClassVar[tuple[TiltTest, ...]] = (
        TiltTest(
            'Longitudinal, stacking, mast or fork extended',
            False,
            True,
            'raised',
            slope_quantity('stacking_slope', 4.0, 'longitudinal, stacking', AS_PART_2, False),
        ),
        TiltTest(
            'Longitudinal, travelling, mast or fork retracted',
            False,
            True,
            'travel',
            slope_quantity('travel_slope', 18.0, 'longitudinal, travelling', AS_PART_2, False),
            'backward',
            False,
        ),
        TiltTest(
            'Lateral, stacking, mast or fork retracted',
            True,
            True,
            'raised',
            slope_quantity('lateral_slope', 6.0, 'lateral, stacking', AS_PART_2, False),
            'backward',
            False,
        ),
        TiltTest('Lateral, travelling', True, False, 'travel', LATERAL_TRAVEL, 'backward', False),
    )
