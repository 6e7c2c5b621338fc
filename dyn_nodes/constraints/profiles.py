"""Prescribed motions of a machine YAML as exactly differentiable expressions of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from dyn_nodes.model.constraint import Profile
from dyn_nodes.multibody.spatial import Expression

Motion = Callable[[Expression], Expression]
AT_REST = [(1, 0.0), (2, 0.0)]


def motion_of(profile: Profile) -> Motion:
    """Return the motion as a function of time, s; its second derivative is continuous."""
    if profile.kind == 'sine':
        turn = 2 * np.pi * profile.frequency
        return lambda t: profile.offset + profile.amplitude * ca.sin(turn * t + profile.phase)
    if profile.kind == 'polynomial':
        return lambda t: _polynomial(profile.coefficients, t)
    return _bump(profile) if profile.kind == 'bump' else _through_points(profile)


def _bump(profile: Profile) -> Motion:
    def motion(t: Expression) -> Expression:
        s = (t - profile.start) / profile.duration
        height = profile.height * ca.sin(ca.pi * s) ** 4
        return ca.if_else(ca.logic_and(s > 0, s < 1), height, 0)

    return motion


def _through_points(profile: Profile) -> Motion:
    """Return a spline of degree five whose first and second derivatives vanish at both ends."""
    spline = make_interp_spline(profile.times, profile.values, k=5, bc_type=(AT_REST, AT_REST))
    pieces = PPoly.from_spline(spline)
    # the end knots of a spline are repeated: pieces without length
    kept = np.flatnonzero(np.diff(pieces.x) > 0)
    starts, coefficients = pieces.x[kept], pieces.c[::-1, kept]

    def motion(t: Expression) -> Expression:
        s = ca.fmin(ca.fmax(t, profile.times[0]), profile.times[-1])
        height = _polynomial(coefficients[:, -1], s - starts[-1])
        for k in reversed(range(len(starts) - 1)):
            height = ca.if_else(s < starts[k + 1], _polynomial(coefficients[:, k], s - starts[k]), height)
        return height

    return motion


def _polynomial(coefficients: Iterable[float], t: Expression) -> Expression:
    """Return the sum of coefficients[k] t^k."""
    value: Any = 0.0
    for coefficient in reversed([float(part) for part in coefficients]):
        value = value * t + coefficient
    return value
