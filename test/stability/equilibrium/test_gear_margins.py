"""Margins about the tipping axes of compliant running gear, compared with hand statics on hard springs."""

from __future__ import annotations

import numpy as np
import pytest
from gear_cases import machine_of_case, stiffened
from random_gear import random_machine

from dyn_nodes.library.machine import Machine
from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses

HARD = 1e-3
"""Relative difference by the remaining lean."""


@pytest.mark.parametrize('load', [500, 1000, 1300])
def test_the_margin_over_a_pivoted_axle_is_taken_about_the_line_from_contact_to_pivot(load):
    machine = Machine(stiffened(machine_of_case(f'pivot_side_{load}')))
    margins = machine.margins(measures=('static', 'net_moment'))
    lifted = (2000.0 + load / 2.0) / 2.0 - load * 1.2 / 1.6  # load of the front wheel that lifts, kg
    moment = 9.81 * lifted * 1.6 * 2.0 / np.hypot(2.0, 0.8)
    assert margins['net_moment'].edges['right'] == pytest.approx(moment, rel=HARD)
    assert margins['static'].value == pytest.approx(moment / 9.81 / machine.data.total_mass, rel=HARD)
    assert margins['static'].critical == 'right'


@pytest.mark.parametrize('seed', range(4))
def test_a_rocker_bogie_tips_forward_about_the_pivots_of_its_bogies(seed, tmp_path):
    """Each rear wheel carries half of the load that is not on the bogies' pivots, plus the share of its arm."""
    machine = stiffened(random_machine(seed, 'rocker_bogie', tmp_path))
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    above = [link for link in machine.links if not link.name.startswith('bogie')]
    mass, center = center_of_mass(above, poses, None)
    share = mass / machine.total_mass
    (pivot, left, _), (_, right, _) = (poses[f'bogie_{side}'][:3, 3] for side in ('left', 'right'))
    beside = 2.0 * abs(center[1]) / (left - right) * (pivot - poses['rocker_left'][0, 3])
    result = Machine(machine).margins(measures=('longitudinal',))['longitudinal']
    assert result.edges['front'] == pytest.approx(share * (pivot - center[0] - beside), rel=HARD)


@pytest.mark.parametrize('kind', ['oscillating_axle', 'tandem', 'articulated', 'crawler_on_beams'])
def test_margins_vanish_where_the_equilibrium_is_lost(kind, tmp_path):
    """At half the load a beam may still be off its stop, with another axis; just below the load the margin ends."""
    machine = Machine(random_machine(2, kind, tmp_path))
    load = machine.tipping().load
    values = [
        machine.margins(machine.posture(payload=share * load), payload=share * load, measures=('static',))['static']
        for share in (0.5, 0.9, 0.995)
    ]
    distances = [float(value.value) for value in values]
    assert min(distances) > 0.0
    assert distances[2] < 0.1 * max(distances)  # it vanishes like a square root
