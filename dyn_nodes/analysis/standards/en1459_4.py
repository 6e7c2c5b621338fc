"""Stability of variable-reach trucks that handle freely suspended loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.analysis.standards.cases import Case, CaseStandard
from dyn_nodes.analysis.standards.loads import Stabilising, at_load, at_masses
from dyn_nodes.analysis.standards.postures import Arm, outrigger_postures
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity
from dyn_nodes.model.machine import Machine

SUBJECT = 'Stability with freely suspended load'
NO_SOURCE = 'no public source found'
STEP = np.radians(15.0)
"""Step of the slew angle, rad."""


class En1459Part4(CaseStandard):
    """Variable-reach trucks with a suspended load: the load swings, the ground slopes."""

    kind = 'en1459_4'
    title = 'EN 1459-4, Rough-terrain trucks - Variable-reach trucks handling freely suspended loads'
    result = 'ratio of moments'
    not_shown = (
        'The tests of the standard on the real machine.',
        'Swing of the load from driving and braking: it is a constant angle to the worst side.',
        'Rope, hook and their mass: they are part of the load.',
        'Devices for lifting work, rating plates and instructions.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return load, swing and slope; see `CaseStandard.quantities`."""
        load = 0.0 if machine.payload is None else machine.payload.limit
        return (
            Quantity('rated_load', load, 'kg', 'rated load, raised', 'machine file, payload.limit'),
            Quantity(
                'reach_load', 0.25 * load, 'kg', 'rated load at greatest reach', 'a quarter of payload.limit', False
            ),
            Quantity('load_factor', 1.25, '', 'test load over rated load', NO_SOURCE, False),
            Quantity('swing', 5.0, 'deg', 'angle of the rope to the vertical', NO_SOURCE, False),
            Quantity('slope', 3.0, 'deg', 'slope of the ground', NO_SOURCE, False),
        )

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return load raised and at greatest reach; see `CaseStandard.cases`."""
        arm = Arm(machine, self.kind)
        chosen = (
            ('load raised', arm.extreme(arm.at_height(np.inf, 1.0)), values['rated_load']),
            ('load at greatest reach', arm.farthest(), values['reach_load']),
        )
        lean, swing = (float(np.tan(np.radians(values[name]))) for name in ('slope', 'swing'))
        links = [link.name for link in machine.links]
        cases = []
        for state, joints in outrigger_postures(machine).items():
            for name, posture, rated in chosen:
                load = values['load_factor'] * rated
                pushes = (at_load(machine, (swing + lean) * load * machine.gravity), *at_masses(machine, links, lean))
                postures = arm.worst_swings(posture, STEP, joints)
                cases.append(Case(f'{name}{state}', SUBJECT, postures, Stabilising(load, pushes), 'ratio', 1.0))
        return cases

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the composition of the moments; see `CaseStandard.notes`."""
        return ('Slope and swing act towards the tipping axis at the same time; 1 or more is stable.',)
