"""Every claim of the planar studies holds."""

from __future__ import annotations

import pytest

from dyn_nodes.studies.framework import load_studies, run_study


def failed(name: str) -> list[str]:
    result = run_study(load_studies()[f'abo-shanab-2003/{name}'])
    assert result.claims
    return [f'{claim.claim}: {claim.expected} against {claim.value}' for claim in result.claims if not claim.passed]


@pytest.mark.parametrize('name', ['e1', 'e3', 'e4', 'e15'])
def test_claims_hold(name):
    assert failed(name) == []


@pytest.mark.slow
@pytest.mark.parametrize('name', ['e2', 'e5', 'e6', 'e7'])
def test_claims_of_the_sweeps_hold(name):
    assert failed(name) == []


def test_every_figure_of_a_study_can_be_drawn():
    result = run_study(load_studies()['abo-shanab-2003/e3'], plot=True)
    assert [figure.name for figure in result.figures] == [
        'voltages', 'postures', 'joints', 'rotation', 'energy_level', 'pressures',
    ]  # fmt: skip
    assert all(len(figure.figure.axes) > 0 for figure in result.figures)
