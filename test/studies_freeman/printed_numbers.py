"""The one assertion of the tests that pin numbers of freeman-1985."""

from __future__ import annotations

import numpy as np


def matches(key, what, found, expected, tolerance):
    """Compare a quantity with its numbers; the tolerance is one, or one a number.

    A test of the table reads key, description and numbers off this call.
    """
    numbers, values = np.asarray(expected, float), np.asarray(found, float)
    assert values.shape == numbers.shape, f'{key}, {what}: shape {values.shape}'
    error = np.abs(values - numbers)
    said = f'{key}, {what}: off by {error.max():.3g}, expected {numbers.tolist()}, found {values.tolist()}'
    assert (error <= tolerance).all(), said


def upper(matrix):
    """Upper triangle of a matrix, row by row."""
    return np.asarray(matrix)[np.triu_indices(len(matrix))]


def symmetric(planes):
    """Symmetric part of every plane."""
    return 0.5 * (planes + np.swapaxes(planes, 1, 2))
