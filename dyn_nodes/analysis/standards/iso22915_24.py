"""Stability of slewing rough-terrain variable-reach trucks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from dyn_nodes.analysis.standards.iso22915 import TiltTable, TiltTest
from dyn_nodes.analysis.standards.iso22915_14 import LATERAL, LATERAL_TRAVEL, STACKING, TRAVEL
from dyn_nodes.analysis.standards.postures import Arm
from dyn_nodes.analysis.standards.standard import CertifyError
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

AROUND = np.radians(30.0)
"""Step of the slew angle in stacking tests, rad."""


class Iso22915Part24(TiltTable):
    """Slewing rough-terrain variable-reach trucks: stacking tests take the worst slew angle."""

    kind = 'iso22915_24'
    title = 'ISO 22915-24, Industrial trucks - Verification of stability - Slewing variable-reach rough-terrain trucks'
    levels = True
    tests: ClassVar[tuple[TiltTest, ...]] = (
        TiltTest('Longitudinal, load raised, worst slew angle', False, True, 'raised', STACKING),
        TiltTest('Longitudinal, load at greatest reach, worst slew angle', False, True, 'reach', STACKING),
        TiltTest('Longitudinal, travelling', False, True, 'travel', TRAVEL, forward=False),
        TiltTest('Lateral, load raised, worst slew angle', True, True, 'raised', LATERAL),
        TiltTest('Lateral, load at greatest reach, worst slew angle', True, True, 'reach', LATERAL),
        TiltTest('Lateral, travelling', True, False, 'travel', LATERAL_TRAVEL, forward=False),
    )

    def check(self, machine: Machine, arm: Arm) -> None:
        """Raise CertifyError for a truck that does not slew; see `TiltTable.check`."""
        if arm.statics.swing is None:
            raise CertifyError(f'{machine.name}: {self.kind}: expected a slewing arm, found no joint that slews it')

    def postures(self, machine: Machine, arm: Arm, test: TiltTest, chosen: Array) -> tuple[Mapping[str, float], ...]:
        """Return the postures at all slew angles, or over the front when travelling; see `TiltTable.postures`."""
        swings = [0.0] if test.posture == 'travel' else arm.swings(AROUND)
        return tuple(arm.posture(chosen, float(swing)) for swing in swings)
