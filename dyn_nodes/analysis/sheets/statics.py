"""Tipping load of a rigid machine on firm level ground, for many postures at once.

A machine of mass M with static moment S (kg m, horizontal) stands on a convex support polygon. The edge with outward
normal n at distance d from the origin carries a load P at p until

    P (n . p - d) = M d - n . S.

The tipping load is the least P of the edges that the load lies outside (ISO 10567, ISO 8813 on locked axles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array

NEVER = 1e12
"""Tipping load of a machine that its load can't tip, kg."""


@dataclass(frozen=True, eq=False)
class Statics:
    """Machine without load and its load point, for n postures; vectors on the ground, in its axes.

    Attributes:
        mass: (n,) kg.  moment: (n, 2) sum of mass times horizontal position, kg m.
        load_point: (n, 2) m.
    """

    mass: Array
    moment: Array
    load_point: Array


def convex_hull(points: Array) -> Array:
    """Return the corners (k, 2) of the convex hull of points (n, 2), counter-clockwise."""
    ordered = sorted({(float(x), float(y)) for x, y in points})

    def chain(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        corners: list[tuple[float, float]] = []
        for point in sequence:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0.0:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]) -> float:
    return (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (third[0] - first[0])


def tipping_loads(statics: Statics, supports: Array) -> Array:
    """Return the tipping loads (n,), kg; `NEVER` if no edge tips.

    Args:
        statics: of n postures.
        supports: (k, 2) contact points, m.
    """
    corners = convex_hull(supports)
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack((edges[:, 1], -edges[:, 0]), axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    distances = np.sum(normals * corners, axis=1)
    levers = statics.load_point @ normals.T - distances
    moments = statics.mass[:, None] * distances - statics.moment @ normals.T
    outside = levers > 1e-6
    return np.asarray(np.where(outside, moments / np.where(outside, levers, 1.0), NEVER).min(axis=1))
