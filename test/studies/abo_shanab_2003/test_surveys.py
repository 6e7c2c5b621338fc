"""Counting trends over random manoeuvres (spec 6.11)."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.abo_shanab_2003.surveys import (
    Numbers,
    Share,
    contact_survey,
    friction_level_survey,
    friction_survey,
    main,
    random_reaches,
)


def test_a_share_that_is_the_same_is_alike_and_one_far_off_is_not():
    assert Share('x', 97, 100, 0.97, 252).alike
    assert not Share('x', 80, 100, 0.97, 252).alike
    assert not Share('x', 100, 100, 0.5, 252).alike
    assert Share('x', 100, 100, 0.5, 252).not_rarer


def test_the_chance_is_that_of_the_hypergeometric_distribution():
    """1 of 10 against 5 of 10: the sum of all tables of at most this probability, from binomial coefficients."""
    share = Share('x', 1, 10, 0.5, 10)
    assert share.chance('less') == pytest.approx((10 * 252 + 210) / 38760)
    assert share.chance() == pytest.approx(2 * (10 * 252 + 210) / 38760)


def test_the_least_count_is_the_first_that_is_not_rarer():
    share = Share('x', 0, 47, 1.0, 252)
    assert not Share('x', share.least - 1, 47, 1.0, 252).not_rarer
    assert Share('x', share.least, 47, 1.0, 252).not_rarer
    assert share.least == 45


def test_nothing_is_alike_without_manoeuvres():
    assert not Share('x', 0, 0, 0.5, 44).alike
    assert np.isnan(Share('x', 0, 0, 0.5, 44).value)


def made(peaks):
    """Return a mapper whose first call draws manoeuvres and whose second returns peaks (variants, manoeuvres)."""

    def run(function, cases, label):
        if label == 'manoeuvres':
            return [Numbers(10.0, 0.0, 0.0, k < 2) for k in range(len(cases))]
        flat = np.array(peaks, dtype=float).reshape(-1)
        assert len(flat) == len(cases)
        return [Numbers(peak, peak, -peak, True) for peak in flat]

    return run


def test_trends_are_counted_over_the_kept_manoeuvres():
    survey = contact_survey(made([[9, 11], [8, 8], [7, 9], [9, 9], [9.5, 8]]), 5)
    assert (survey.drawn, survey.kept) == (5, 2)
    assert {name: share.holding for name, share in survey.shares.items()} == {
        'rigid': 1,
        'stiffness': 1,
        'damping': 1,
        'damping_4': 2,
    }
    assert survey.medians['k × 4'] == pytest.approx(-0.2)


def test_both_friction_models_are_compared_manoeuvre_by_manoeuvre():
    survey = friction_survey(made([[12, 9], [11, 13]]), 3)
    assert [share.holding for share in survey.shares.values()] == [1, 1, 2, 1, 1]


def test_extremes_of_a_sweep_are_those_of_inner_levels():
    levels = [[10, 10], [10, 10], [10, 10], [9, 11], [10, 10], [10, 10], [10, 10]]
    survey = friction_level_survey(made(levels), 2)
    assert [share.holding for share in survey.shares.values()] == [1, 1, 1, 1]


def test_a_draw_can_be_repeated():
    assert random_reaches(3) == random_reaches(3)
    assert random_reaches(3) != random_reaches(3, seed=1)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['contact', '0'], 'expected 1 or more, found 0'),
        (['planar', '5'], "invalid choice: 'planar'"),
        ([], 'survey'),
    ],
)
def test_a_wrong_call_is_reported(words, message, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err
