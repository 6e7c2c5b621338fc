"""Designs: distributions, bounds and reproducibility of the drawn values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from dyn_nodes.analysis.sweeps.design import Design, Levels, Normal, Span

FINITE = st.floats(-1e6, 1e6)
SPANS = st.tuples(FINITE, st.floats(1e-3, 1e6)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
LOGARITHMIC = st.tuples(st.floats(1e-6, 1e3), st.floats(1.1, 1e6)).map(
    lambda pair: Span(pair[0], pair[0] * pair[1], True)
)
LEVELS = st.lists(FINITE, min_size=1, max_size=5, unique=True).map(lambda values: Levels(tuple(values)))
DRAWN = ('latin_hypercube', 'sobol', 'monte_carlo')


@given(
    st.sampled_from(DRAWN),
    st.integers(1, 300),
    st.integers(0, 2**32 - 1),
    st.lists(st.one_of(SPANS, LOGARITHMIC, LEVELS), min_size=1, max_size=4),
)
def test_values_keep_their_bounds_and_are_reproduced_by_the_seed(kind, runs, seed, factors):
    values = Design(kind, runs, seed).values(tuple(factors))
    assert values.shape == (runs, len(factors))
    for column, factor in zip(values.T, factors):
        if isinstance(factor, Levels):
            assert set(column) <= set(factor.values)
        else:
            assert factor.least <= column.min()
            assert column.max() <= factor.most
    np.testing.assert_array_equal(values, Design(kind, runs, seed).values(tuple(factors)))


@given(st.lists(LEVELS, min_size=1, max_size=4))
def test_a_grid_has_every_combination_once_the_last_factor_fastest(factors):
    values = Design('grid', 0).values(tuple(factors))
    assert len(np.unique(values, axis=0)) == len(values) == np.prod([len(factor.values) for factor in factors])
    assert tuple(values[: len(factors[-1].values), -1]) == factors[-1].values


@given(st.integers(1, 500), st.integers(0, 1000))
def test_a_latin_hypercube_has_one_run_in_every_stratum_of_every_factor(runs, seed):
    values = Design('latin_hypercube', runs, seed).values((Span(0.0, 1.0), Span(0.0, 1.0)))
    for column in values.T:
        assert sorted((column * runs).astype(int)) == list(range(runs))


@pytest.mark.parametrize('kind', DRAWN)
def test_distributions_are_the_requested_ones(kind):
    values = Design(kind, 4096, 3).values((Span(1.0, 100.0, True), Normal(5.0, 2.0), Normal(0.0, 1.0, -1.0, 0.5)))
    assert kstest(np.log10(values[:, 0]) / 2.0, 'uniform').pvalue > 1e-3
    assert kstest(values[:, 1], norm(5.0, 2.0).cdf).pvalue > 1e-3
    inside = (norm.cdf(values[:, 2]) - norm.cdf(-1.0)) / (norm.cdf(0.5) - norm.cdf(-1.0))
    assert kstest(inside, 'uniform').pvalue > 1e-3


def test_the_first_points_of_sobol_equal_a_longer_sequence_of_the_same_power():
    factors = (Span(0.0, 1.0), Span(0.0, 1.0))
    np.testing.assert_array_equal(Design('sobol', 70, 4).values(factors), Design('sobol', 128, 4).values(factors)[:70])


def test_a_grid_rejects_a_factor_without_levels():
    with pytest.raises(ValueError, match='levels'):
        Design('grid', 0).values((Span(0.0, 1.0),))
