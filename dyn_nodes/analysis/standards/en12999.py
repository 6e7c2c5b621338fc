"""Stability of loader cranes on their vehicle."""

from __future__ import annotations

from collections.abc import Mapping

from dyn_nodes.analysis.standards.cranes import CraneStandard
from dyn_nodes.analysis.standards.standard import Quantity
from dyn_nodes.model.machine import Machine


class En12999(CraneStandard):
    """Loader cranes; wheels may lift as long as the vehicle does not tip."""

    kind = 'en12999'
    title = 'EN 12999:2020, Cranes - Loader cranes, stability of crane and vehicle'
    not_shown = (
        'The stability test of the installed crane on its vehicle, with all stabiliser positions.',
        'Strength and stiffness of vehicle frame, subframe and stabilisers.',
        'Load of the vehicle: the model stands as in the machine file, usually empty.',
        'Rated capacity limiter, stabiliser monitoring, capacity limited by hydraulics.',
        'Ground that yields under the stabilisers; slope of the vehicle.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return the factor of the test load; see `CaseStandard.quantities`."""
        return (
            Quantity('test_factor', 1.25, '', 'test load over rated load', 'no public source found', False),
            Quantity(
                'boom_share', 0.0, '', 'part of the boom mass at its head in the test load', 'none assumed', False
            ),
            *super().quantities(machine),
        )

    def factors(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the factors of the test load; see `CraneStandard.factors`."""
        return values['test_factor'], values['boom_share']
