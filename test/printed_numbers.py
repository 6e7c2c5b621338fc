"""Comparison of quantities with the reference numbers of the sources."""

from __future__ import annotations

import numpy as np

from dyn_nodes.studies.reference import row, tabulated


def matches(key, computed, tolerance):
    """Compare a quantity with the numbers of a row; `tolerance`: for all, for each, or a function of the numbers."""
    numbers, values = np.asarray(tabulated(key), float), np.asarray(computed, float)
    assert values.shape == numbers.shape, f'{key}, {row(key)[0]}: shape {values.shape}'
    error = np.abs(values - numbers)
    message = f'{key}, {row(key)[0]}: off by {error.max():.3g}, expected {numbers.tolist()}, found {values.tolist()}'
    assert (error <= (tolerance(numbers) if callable(tolerance) else tolerance)).all(), message


def upper(matrix):
    """Return the upper triangle of a matrix, row by row; check its symmetry."""
    array = np.asarray(matrix)
    np.testing.assert_allclose(array, array.T, rtol=1e-12, atol=1e-12 * np.abs(array).max())
    return array[np.triu_indices(len(array))]


def symmetric(planes):
    """Return the symmetric part of every plane."""
    return 0.5 * (planes + np.swapaxes(planes, 1, 2))
