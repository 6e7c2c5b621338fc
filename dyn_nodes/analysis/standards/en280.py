"""Stability calculation of mobile elevating work platforms: rated load, wind, hands, inertia and slope together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.analysis.standards.cases import Case, CaseStandard
from dyn_nodes.analysis.standards.loads import Stabilising, at_load, at_masses
from dyn_nodes.analysis.standards.postures import Arm, outrigger_postures
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import moved_links

STABILITY = 'Stability calculations'
NO_SOURCE = 'usual value for work platforms, no public source found'
STEP = np.radians(15.0)
"""Step of the slew angle, rad."""


class En280(CaseStandard):
    """Mobile elevating work platforms."""

    kind = 'en280'
    title = 'EN 280-1:2022, Mobile elevating work platforms - Design calculations, stability criteria'
    result = 'ratio of moments'
    not_shown = (
        'Static stability test and overload test on the real machine, with its measuring accuracy.',
        'Load sensing, moment sensing and position control systems; deflection of the extending structure.',
        'Kerb, depression and braking tests; stability while travelling.',
        'Wind on the shape of the structure: the machine file has no areas, they are inputs.',
        'Strength and fatigue of the structure.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return loads, forces and factors; see `CaseStandard.quantities`."""
        load = 0.0 if machine.payload is None else machine.payload.limit
        return (
            Quantity('rated_load', load, 'kg', 'rated load of the platform', 'machine file, payload.limit'),
            Quantity('load_factor', 1.0, '', 'factor of structural masses and rated load', NO_SOURCE, False),
            Quantity('inertia', 0.1, '', 'horizontal force over weight of moving masses', NO_SOURCE, False),
            Quantity('manual_force', 400.0, 'N', 'manual force, two or more persons', NO_SOURCE, False),
            Quantity('manual_height', 0.5, 'm', 'height of the manual force above the load point', NO_SOURCE, False),
            Quantity('wind_pressure', 100.0, 'Pa', 'wind pressure, 12.5 m/s', NO_SOURCE, False),
            Quantity(
                'load_area', 1.05, 'm2', 'area of persons and equipment in the wind, two persons', NO_SOURCE, False
            ),
            Quantity('arm_area', 2.0, 'm2', 'area of the extending structure in the wind', NO_SOURCE, False),
            Quantity('force_factor', 1.1, '', 'factor of wind and manual forces', NO_SOURCE, False),
            Quantity(
                'slope', 0.5, 'deg', 'inclination of the chassis: permitted slope and 0.5 degrees', NO_SOURCE, False
            ),
        )

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return greatest outreach and greatest height in every state of the outriggers; see `CaseStandard.cases`."""
        arm = Arm(machine, self.kind, level=True)
        limit = self._stabilising(machine, arm, values)
        cases = []
        for state, joints in outrigger_postures(machine).items():
            for name, chosen in self._arm_postures(arm).items():
                postures = arm.worst_swings(chosen, STEP, joints)
                cases.append(Case(f'{name}{state}', STABILITY, postures, limit, 'ratio', 1.0))
        return cases

    def _arm_postures(self, arm: Arm) -> dict[str, Array]:
        return {
            'greatest outreach': arm.farthest(),
            'greatest height, outward': arm.extreme(arm.at_height(np.inf, 1.0)),
            'greatest height, inward': arm.extreme(arm.at_height(np.inf, -1.0)),
        }

    def _stabilising(self, machine: Machine, arm: Arm, values: Mapping[str, float]) -> Stabilising:
        """Return the ratio of moments with all forces in one direction."""
        moving = sorted(moved_links(machine, arm.statics.chain[0]))
        load, lean = values['load_factor'] * values['rated_load'], float(np.tan(np.radians(values['slope'])))
        wind, factor = values['wind_pressure'], values['force_factor']
        boom, weight = arm.statics.arm[0].child, load * machine.gravity
        outer = next(link for link in machine.links if link.name == boom)
        pushes = (
            at_load(machine, factor * values['manual_force'], values['manual_height']),
            at_load(machine, factor * wind * values['load_area'] + (values['inertia'] + lean) * weight),
            *at_masses(machine, moving, values['inertia']),
            *at_masses(machine, [link.name for link in machine.links], lean),
            *at_masses(machine, [outer.name], factor * wind * values['arm_area'] / (outer.mass * machine.gravity)),
        )
        return Stabilising(load, pushes)

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the composition of the moments; see `CaseStandard.notes`."""
        return (
            'All forces act towards the tipping axis at the same time; 1 or more is stable. The weight of the machine '
            'stabilises, with the part of the extending structure beyond the axis deducted.',
            f'Wind on the extending structure acts at the centre of mass of its first link; slew angles in steps of '
            f'{np.degrees(STEP):g} degrees.',
        )
