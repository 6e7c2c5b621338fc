"""All claims of the studies of freeman-1985 hold, and fail with a wrong number."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.framework import load_studies, run_study
from dyn_nodes.studies.freeman_1985 import agreement, loops, platforms
from dyn_nodes.studies.freeman_1985.chains import LinkMass
from dyn_nodes.studies.freeman_1985.machines import Mechanism, five_bar, three_leg

CLAIMS = {
    'coefficients': 21,
    'serial-dynamics': 12,
    'hand-coordinates': 6,
    'five-bar': 30,
    'slider-crank': 8,
    'bricard': 6,
    'three-leg': 6,
    'stewart': 6,
    'hybrid': 4,
    'redundant': 9,
    'over-actuated': 12,
    'linearization': 15,
    'state-space': 4,
    'transferred-state-space': 4,
    'frozen-matrices': 6,
    'adams': 11,
    'actuators': 7,
}


def failed(name: str, plot: bool = False) -> list[str]:
    result = run_study(load_studies()[f'freeman-1985/{name}'], plot=plot)
    assert len(result.claims) >= CLAIMS.get(name, 1)
    return [f'{claim.claim}: {claim.value} for {claim.expected}' for claim in result.claims if not claim.passed]


@pytest.mark.parametrize('name', CLAIMS)
def test_every_claim_of_the_study_holds(name):
    assert failed(name) == []


def test_formulations_agree_on_ten_machines_in_a_few_states_and_their_figure_can_be_drawn(monkeypatch):
    assert len(set(agreement.NAMES)) == 10
    assert agreement.STATES == 200  # of the study, and of the slow test below
    monkeypatch.setattr(agreement, 'STATES', 3)
    assert failed('formulations', plot=True) == []


@pytest.mark.slow
def test_formulations_agree_on_ten_machines_in_200_states():
    result = run_study(load_studies()['freeman-1985/formulations'])
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 36


def test_a_displaced_five_bar_fails_its_claims(monkeypatch):
    def bent() -> Mechanism:
        mechanism = five_bar()
        return Mechanism(
            mechanism.name,
            mechanism.tree,
            mechanism.q + np.radians([0, 0.5, 0, 0]),
            mechanism.constraints,
            mechanism.end,
        )

    monkeypatch.setattr(loops, 'five_bar', bent)
    assert len(failed('five-bar')) >= 6


def test_a_platform_with_mass_fails_the_claims_of_the_three_leg_device(monkeypatch):
    monkeypatch.setattr(platforms, 'three_leg', lambda: three_leg(LinkMass(0.1, inertia=(0, 0, 0.01))))
    assert len(failed('three-leg')) >= 2
