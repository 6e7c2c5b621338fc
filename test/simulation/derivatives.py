"""Derivatives by differences, an independent check of exact derivatives."""

from __future__ import annotations

import numpy as np


def differences(function, at, sizes):
    """Return derivatives (n, k) of a function of a vector by fourth-order differences, steps of 1e-5 of its sizes."""
    columns = []
    for k, size in enumerate(sizes):
        step = np.zeros(len(at))
        step[k] = 1e-5 * size
        near, far = function(at + step) - function(at - step), function(at + 2 * step) - function(at - 2 * step)
        columns.append((8 * near - far) / (12 * step[k]))
    return np.column_stack(columns)
