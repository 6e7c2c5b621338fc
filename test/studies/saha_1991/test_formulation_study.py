"""The study of formulations: its claims hold and its figures can be drawn, here with few states."""

from __future__ import annotations

import pytest

from dyn_nodes.studies.framework import load_studies, run_study
from dyn_nodes.studies.saha_1991 import formulations


@pytest.fixture
def few_states(monkeypatch):
    """Two vehicles in a few states, in this process: all of them are tested in test/constraints."""
    monkeypatch.setattr(formulations, 'STATES', 6)
    chosen = {name: formulations.SPATIAL[name] for name in ('driven axle', 'disk')}
    monkeypatch.setattr(formulations, 'SPATIAL', chosen)


def test_claims_hold_and_figures_can_be_drawn(few_states):
    result = run_study(load_studies()['saha-1991/formulations'], plot=True)
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 2 * 6 + 1
    assert [figure.name for figure in result.figures] == ['agreement', 'cost']
    notes = ' '.join(result.notes)
    assert 'chaplygin does not apply to disk' in notes
    assert 'relative to svd' in notes


@pytest.mark.slow
def test_claims_hold_for_every_vehicle_in_200_states():
    result = run_study(load_studies()['saha-1991/formulations'])
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 8 * 6 + 1
