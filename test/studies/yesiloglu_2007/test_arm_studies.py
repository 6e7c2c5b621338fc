"""All claims of the studies of arms, mechanisms and wheeled vehicles hold, and fail with a wrong machine."""

from __future__ import annotations

import pytest

from dyn_nodes.studies.framework import load_studies, run_study
from dyn_nodes.studies.yesiloglu_2007 import mechanisms, models

QUICK = ('four-bar', 'slider-crank', 'deficient-arm')
LONG = ('planar-arms', 'spatial-arms', 'cart', 'platform-4x4x4', 'car', 'rolling-disc')


def failed(result):
    return [f'{claim.claim}: {claim.value} for {claim.expected}' for claim in result.claims if not claim.passed]


@pytest.mark.parametrize('name', [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_every_claim_of_the_study_holds(name):
    result = run_study(load_studies()[f'yesiloglu-2007/{name}'])
    assert failed(result) == []
    assert len(result.claims) >= 5


@pytest.mark.slow
@pytest.mark.parametrize('name', [*QUICK, *LONG])
def test_every_figure_is_drawn(name):
    result = run_study(load_studies()[f'yesiloglu-2007/{name}'], plot=True)
    assert result.figures
    for figure in result.figures:
        drawn = [line for axes in figure.figure.axes for line in axes.get_lines() if len(line.get_xdata()) > 1]
        assert drawn, figure.name


def test_another_machine_fails_its_claims(monkeypatch):
    """The claims depend on the machine: they fail with a crank that is 1 % longer."""
    monkeypatch.setattr(models, 'BAR_CRANK', 0.505)
    result = run_study(load_studies()['yesiloglu-2007/four-bar'])
    assert len(failed(result)) > 5


def test_the_closed_equation_of_the_slider_crank_has_its_derivative():
    """The slopes of I and U against central differences of I, and the work of the weights."""
    angle, h = 0.9, 1e-6
    inertia, slope, _ = mechanisms.slider_terms(angle)
    above, below = mechanisms.slider_terms(angle + h)[0], mechanisms.slider_terms(angle - h)[0]
    assert inertia > 0
    assert slope == pytest.approx((above - below) / (2 * h), rel=1e-7)
