"""Piston position and lever arm of a cylinder as functions of the joint position."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.machine import Linkage, PinTriangle, SlidingRod

Scalar = Any  # a Python float, a casadi DM or an SX expression

_SHORTEST_SQUARED = 1e-12  # m2; keeps the root differentiable where both pins coincide


class LinkageTerms(NamedTuple):
    """Geometry of a cylinder at one joint position.

    Attributes:
        piston: X, m.  lever: dX/dq, m/rad, or 1 or -1 on a prismatic joint.  lever_rate: d2X/dq2, m/rad2.
    """

    piston: Scalar
    lever: Scalar
    lever_rate: Scalar


def linkage(geometry: Linkage, q: Scalar) -> LinkageTerms:
    """Return X(q) and its first two derivatives.

    Args:
        geometry: pins about a revolute joint, or the rod along a prismatic joint; `direction` is +1 or -1.
        q: joint position, rad or m.
    """
    if isinstance(geometry, SlidingRod):
        return LinkageTerms(geometry.direction * (q - geometry.retracted_position), geometry.direction, 0.0)
    return _triangle(geometry, q)


def _triangle(triangle: PinTriangle, q: Scalar) -> LinkageTerms:
    """Return the terms of two pins about a joint (abo-shanab-2003, section 2.14 of the spec, G2).

    The angle sum is expanded to share sin q and cos q with the machine's kinematics.
    """
    cos_offset, sin_offset = ca.cos(triangle.angle), ca.sin(triangle.angle)
    cos_q, sin_q = ca.cos(q), triangle.direction * ca.sin(q)
    product = triangle.a * triangle.b
    cosine = (product * cos_offset) * cos_q - (product * sin_offset) * sin_q
    sine = (product * sin_offset) * cos_q + (product * cos_offset) * sin_q
    squares = triangle.a * triangle.a + triangle.b * triangle.b
    length = ca.sqrt(ca.fmax(squares - 2.0 * cosine, _SHORTEST_SQUARED))
    inverse = 1.0 / length
    lever = triangle.direction * (sine * inverse)
    return LinkageTerms(length - triangle.retracted_length, lever, (cosine - lever * lever) * inverse)


def piston(geometry: Linkage, q: Scalar) -> Scalar:
    """Return the piston position X at joint position `q`, m."""
    return linkage(geometry, q).piston


def lever(geometry: Linkage, q: Scalar) -> Scalar:
    """Return the lever arm dX/dq at joint position `q`, m/rad or 1; negative where extension decreases q."""
    return linkage(geometry, q).lever


def lever_rate(geometry: Linkage, q: Scalar) -> Scalar:
    """Return d2X/dq2 at joint position `q`, m/rad2."""
    return linkage(geometry, q).lever_rate
