"""Derivatives by differences, a witness of exact ones."""

from __future__ import annotations

import numpy as np


def differences(function, at, sizes):
    """Derivatives (n, k) of a function of a vector by differences of fourth order, steps of 1e-5 of its sizes."""
    columns = []
    for k, size in enumerate(sizes):
        step = np.zeros(len(at))
        step[k] = 1e-5 * size
        near, far = function(at + step) - function(at - step), function(at + 2 * step) - function(at - 2 * step)
        columns.append((8 * near - far) / (12 * step[k]))
    return np.column_stack(columns)
