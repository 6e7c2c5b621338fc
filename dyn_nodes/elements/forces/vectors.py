"""Products of vectors of three scalars of any kind."""

from __future__ import annotations

from typing import Any

Scalar = Any  # a Python float, a casadi DM or an SX expression
Vector = Any  # anything that holds scalars and takes an index: list, array, DM or SX column


def dot(a: Vector, b: Vector) -> Scalar:
    """Return the scalar product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Return the vector product of two vectors (3,)."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
