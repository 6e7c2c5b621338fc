"""Cylinder between two pins: piston position and lever arm as functions of the joint angle."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.machine import PinTriangle

Scalar = Any  # a Python float, a casadi DM or an SX expression

_SHORTEST_SQUARED = 1e-12  # m2; keeps the root differentiable where both pins coincide


class LinkageTerms(NamedTuple):
    """Geometry of a pin triangle at one joint angle.

    Attributes:
        piston: X, m.  lever: dX/dq, m/rad.  lever_rate: d2X/dq2, m/rad2.
    """

    piston: Scalar
    lever: Scalar
    lever_rate: Scalar


def linkage(triangle: PinTriangle, q: Scalar) -> LinkageTerms:
    """Return X(q) and its first two derivatives (abo-shanab-2003, section 2.14 of the spec, G2).

    The angle sum is expanded, so that sin q and cos q are shared with the machine's kinematics.

    Args:
        triangle: pin distances, angle and direction; `direction` is +1 or -1.
        q: joint angle, rad.
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


def piston(triangle: PinTriangle, q: Scalar) -> Scalar:
    """Return the piston position X at joint angle `q`, m."""
    return linkage(triangle, q).piston


def lever(triangle: PinTriangle, q: Scalar) -> Scalar:
    """Return the lever arm dX/dq at joint angle `q`, m/rad; negative where extension decreases q."""
    return linkage(triangle, q).lever


def lever_rate(triangle: PinTriangle, q: Scalar) -> Scalar:
    """Return d2X/dq2 at joint angle `q`, m/rad2."""
    return linkage(triangle, q).lever_rate
