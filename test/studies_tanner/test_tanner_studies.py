"""The studies of tanner-1998 that concern ground reactions: every claim holds, and every figure is drawn."""

from __future__ import annotations

import pytest

from dyn_nodes.studies.framework import load_studies, run_study


@pytest.mark.pins('tanner-1998/6.6/zmp')
@pytest.mark.parametrize(('name', 'claims'), [('e6', 14), ('e7', 12), ('e8', 14), ('e12', 20)])
def test_the_claims_of_a_study_hold(name, claims):
    result = run_study(load_studies()[f'tanner-1998/{name}'], plot=True)
    assert result.error == ''
    assert [claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) >= claims
    assert len(result.figures) == 1
