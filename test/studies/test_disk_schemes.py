"""Accuracy of the rolling disk's schemes against their cost: claims and chart of the study."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.framework import load_studies, run_study
from dyn_nodes.studies.saha_1991 import disk_schemes
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES


@pytest.fixture(scope='module')
def result():
    return run_study(load_studies()['saha-1991/disk-schemes'], plot=True)


def test_every_claim_holds(result):
    assert [claim.claim for claim in result.claims if not claim.passed] == []


def test_the_chart_has_a_line_for_every_scheme_and_motion(result):
    (figure,) = result.figures
    drawn = [
        sum(len(line.get_xdata()) == len(disk_schemes.STEPS) for line in axes.lines) for axes in figure.figure.axes
    ]
    assert drawn == [len(SCHEMES)] * 2


def test_the_table_names_every_scheme(result):
    assert all(f'{name} ' in result.notes[0] for name in SCHEMES)


def test_a_smaller_step_is_more_accurate_for_every_scheme():
    errors = disk_schemes._errors(disk_schemes.GENERAL)
    for name, scheme_errors in errors.items():
        assert np.all(np.diff(scheme_errors) < 0.0), name
