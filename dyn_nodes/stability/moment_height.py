"""Moment-height stability (MHS): the net moment about each edge, weighted by inertia and height.

Moosavian and Alipour, "Moment-height tip-over measure for stability analysis of mobile robotic systems", IROS 2006,
and "On the dynamic tip-over stability of wheeled mobile manipulators", Int. J. Robotics and Automation 22(4), 2007.

The sign of the moment about an edge decides whether tipping starts; its size alone does not determine the speed of
tipping. A large moment of inertia about the edge slows tipping in either direction, a high centre of mass speeds it up.
The moment is therefore multiplied by I / h while it stabilizes and divided by it while it overturns: more inertia and
less height are safer in both cases,

    alpha_i = M_i (I_i / I_0)^s (h_0 / h)^s,    s = +1 if M_i > 0, else -1.

The idea is from the papers, which were not available; the exponents are derived here. The height has the exponent of
the inertia, because with h^-1 in both cases a higher machine would get a safer value while it tips. With the references
I_0 = 1 kg m2 and h_0 = 1 m the numbers are M I / h in N kg m2, not moments. Other references allow comparison of
machines and give N m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, as_states, kernel, least, pick
from dyn_nodes.stability.polygon import check_polygon, edge_direction, edge_moment, plane_normal


class MomentHeight(NamedTuple):
    """Result of :func:`moment_height`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `edges`.
        edges: (n,) alpha_i, N m by the references; positive while the machine is stable, 0 at the onset of tipping.
        valid: () the centre of mass is above the plane through the feet, all numbers are finite.
        inertias: (n,) moment of inertia of the machine about each edge, kg m2.
        height: () of the centre of mass above the plane through the feet, m.
    """

    value: Array
    edges: Array
    valid: Flags
    inertias: Array
    height: Array


def moment_height(
    feet: ArrayLike,
    com: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike = (0.0, 0.0, 0.0),
    *,
    mass: ArrayLike,
    inertia: ArrayLike | None = None,
    up: ArrayLike = UP,
    reference_inertia: float = 1.0,
    reference_height: float = 1.0,
) -> MomentHeight:
    """Return the moment-height stability of every edge (Moosavian and Alipour 2006).

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch. For a wheel off the
            ground: the ground point below it.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        force: (3,) net force without the ground's: gravity, inertia, external, N, or (t, 3).
        moment: (3,) net moment about `com` without the ground's, N m, or (t, 3).
        mass: kg, or (t,).
        inertia: (3, 3) inertia tensor of the whole machine about `com` in the axes of `feet`, kg m2, or (t, 3, 3).
            None: a point mass; the inertia is then too small and the value less safe.
        up: (3,) unit vector against gravity, used to check the order of the feet.
        reference_inertia: I_0, kg m2.
        reference_height: h_0, m.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    tensor = np.zeros((3, 3)) if inertia is None else inertia
    (feet_, com_, force_, moment_, mass_, inertia_, up_), single = as_states(
        feet=(feet, ('n', 3)),
        com=(com, (3,)),
        force=(force, (3,)),
        moment=(moment, (3,)),
        mass=(mass, ()),
        inertia=(tensor, (3, 3)),
        up=(up, (3,)),
    )
    check_polygon(feet_, up_)
    result = moment_height_kernel(
        feet_, com_, force_, moment_, mass_, inertia_, float(reference_inertia), float(reference_height)
    )
    return as_result(MomentHeight, result, single)


@kernel
def moment_height_kernel(feet, com, force, moment, mass, inertia, reference_inertia, reference_height):
    """Return the MHS of a batch: value (t,), edges (t, n), valid (t,), inertias (t, n), height (t,)."""
    states = max(feet.shape[0], com.shape[0], force.shape[0], moment.shape[0], mass.shape[0], inertia.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    inertias, height = np.empty((states, n)), np.empty(states)
    normal, origin = np.empty(3), np.empty(3)
    for s in range(states):
        f, c = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])]
        p, m = force[pick(s, force.shape[0])], moment[pick(s, moment.shape[0])]
        weight, tensor = mass[pick(s, mass.shape[0])], inertia[pick(s, inertia.shape[0])]
        if s == 0 or feet.shape[0] > 1:
            plane_normal(f, normal)
            for k in range(3):
                origin[k] = f[:, k].sum() / n
        above = 0.0
        for k in range(3):
            above += normal[k] * (c[k] - origin[k])
        height[s] = above
        for i in range(n):
            about = _inertia_about_edge(f, i, c, weight, tensor)
            stabilizing = -edge_moment(f, i, c, p, m)
            ratio = (about / reference_inertia) * (reference_height / above) if above > 0.0 else np.nan
            inertias[s, i] = about
            edges[s, i] = stabilizing * ratio if stabilizing > 0.0 else stabilizing / ratio
        value[s], valid[s] = least(edges[s])
    return value, edges, valid, inertias, height


@kernel
def _inertia_about_edge(feet, i, com, mass, tensor):
    """Return the moment of inertia about the line of edge i, kg m2 (Steiner)."""
    ex, ey, ez = edge_direction(feet, i)
    x, y, z = com[0] - feet[i, 0], com[1] - feet[i, 1], com[2] - feet[i, 2]
    along = x * ex + y * ey + z * ez
    central = (
        ex * (tensor[0, 0] * ex + tensor[0, 1] * ey + tensor[0, 2] * ez)
        + ey * (tensor[1, 0] * ex + tensor[1, 1] * ey + tensor[1, 2] * ez)
        + ez * (tensor[2, 0] * ex + tensor[2, 1] * ey + tensor[2, 2] * ez)
    )
    return central + mass * (x * x + y * y + z * z - along * along)


def moment_height_states(s: States) -> Parts:
    """Evaluate the measure `moment_height` for many states."""
    value, edges, valid, _, _ = moment_height_kernel(s.feet, s.com, s.force, s.moment, s.mass, s.inertia, 1.0, 1.0)
    return value, edges, valid
