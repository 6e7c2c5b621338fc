"""Stability of mobile cranes by calculation, and loads of their outriggers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.standards.cases import Case
from dyn_nodes.analysis.standards.cranes import CraneStandard
from dyn_nodes.analysis.standards.posed import Limit, Posed, support_positions
from dyn_nodes.analysis.standards.postures import outrigger_postures
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity
from dyn_nodes.model.machine import Machine

BACKWARD = 'Backward stability'
PUBLIC = 'ISO 4305:2014, by a public build specification of a crane simulator'


@dataclass(frozen=True)
class BoomSide:
    """Part of the weight on the supports on the side of the boom, which points along a heading, rad."""

    heading: float

    def __call__(self, posed: Posed) -> Limit:
        """Return the part; 0 if the crane tips."""
        loads, points = posed.support_loads(0.0), support_positions(posed)
        if np.isnan(loads).any() or not loads.sum() > 0.0:
            return Limit(0.0, ())
        standing = loads > 0.0
        middle = 0.5 * (points[standing].min(axis=0) + points[standing].max(axis=0))
        ahead = (points - middle) @ np.array([np.cos(self.heading), np.sin(self.heading)])
        return Limit(float(loads[ahead > 1e-6].sum() / loads.sum()), ())


class En13000(CraneStandard):
    """Mobile cranes."""

    kind = 'en13000'
    title = 'EN 13000:2010 with A1:2014 and ISO 4305:2014, Mobile cranes - Determination of stability'
    angle = 'Tipping angle with rated load'
    not_shown = (
        'Overload tests on the real crane; strength of boom, outriggers and hoist.',
        'Deflection of the boom, which increases the radius under load.',
        'Wind on load and boom, inertia of hoisting and slewing (see `dyn-nodes loadchart` for stops of the arm).',
        'Rated capacity limiter, outrigger monitoring, and the configurations of the load chart.',
        'Ground: the outriggers stand on level, firm ground; the pressure is for an even distribution under a pad.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return factors of the test load, and further limits; see `CaseStandard.quantities`."""
        return (
            Quantity('test_factor', 1.25, '', 'test load over rated load', PUBLIC),
            Quantity('boom_share', 0.1, '', 'part of the boom mass at its head in the test load', PUBLIC),
            Quantity(
                'tipping_angle',
                4.0,
                'deg',
                'least tipping angle with rated load',
                f'{PUBLIC}; 4.5 in some cases',
                False,
            ),
            Quantity('backward_share', 0.15, '', 'least part of the weight on the side of the boom', PUBLIC),
            *super().quantities(machine),
        )

    def factors(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the factors of the test load; see `CraneStandard.factors`."""
        return values['test_factor'], values['boom_share']

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return rated loads, tipping angles and backward stability; see `CaseStandard.cases`."""
        arm = self.arm(machine)
        cases = list(super().cases(machine, values, settings))
        steep = arm.extreme(lambda mount: -arm.reach(mount))
        for state, joints in outrigger_postures(machine).items():
            for name, swing in (('front', 0.0), ('left', np.pi / 2), ('rear', np.pi), ('right', -np.pi / 2)):
                if arm.statics.swing is None or not arm.statics.swing.lower <= swing <= arm.statics.swing.upper:
                    continue
                postures = ({**arm.posture(steep, swing), **joints},)
                required = values['backward_share']
                cases.append(
                    Case(f'boom over the {name}{state}', BACKWARD, postures, BoomSide(swing), 'share', required)
                )
        return cases
