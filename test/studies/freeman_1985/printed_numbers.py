"""The one assertion of the tests that pin numbers of freeman-1985."""

from __future__ import annotations

import numpy as np


def matches(key, what, found, expected, tolerance):
    """Compare a quantity with its numbers; the tolerance is one, one a number, or a function of the numbers.

    A test of the table reads key, description and numbers off this call.
    """
    numbers, values = np.asarray(expected, float), np.asarray(found, float)
    assert values.shape == numbers.shape, f'{key}, {what}: shape {values.shape}'
    error = np.abs(values - numbers)
    said = f'{key}, {what}: off by {error.max():.3g}, expected {numbers.tolist()}, found {values.tolist()}'
    assert (error <= (tolerance(numbers) if callable(tolerance) else tolerance)).all(), said


def upper(matrix):
    """Upper triangle of a symmetric matrix, row by row; the lower one is checked to be its image."""
    found = np.asarray(matrix)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-12 * np.abs(found).max())
    return found[np.triu_indices(len(found))]


def symmetric(planes):
    """Symmetric part of every plane."""
    return 0.5 * (planes + np.swapaxes(planes, 1, 2))
