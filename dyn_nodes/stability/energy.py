"""Energy stability level: the work required to overturn the machine about an edge.

Gravity alone (Messuri and Klein) and extended with external forces and moments (Ghasempoor and Sepehri 1998;
abo-shanab-2003, section 2.2, eqs 2.1 to 2.3).

Rotating the machine about an edge by theta against loads of constant direction requires the work

    W(theta) = sum(-f . (r(theta) - r(0))) - n . e theta,      W'(theta) = P sin(psi - theta) - M,

with P sin(psi), P cos(psi) from the forces, and M the component of the couple along the edge. The general form in space
therefore has the source's planar closed form: P is m g R and psi the angle of R from the vertical plane through the
edge, for any inclination of the edge and any number of forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.stability._states import (
    GRAVITY,
    UP,
    Array,
    Flags,
    Parts,
    States,
    as_result,
    as_states,
    contiguous,
    kernel,
    least,
    pick,
)
from dyn_nodes.stability.polygon import check_polygon, edge_direction, polygon_states

BALANCED = 0  # an equilibrium plane exists: (2.1) has a solution, rule (i)
TIPPING = 1  # M >= m g R sin(psi): already tipping, or no equilibrium plane; level 0, rules (ii) and (iii)
RESTRAINED = 2  # M < -m g R: no equilibrium plane; plane of the least net moment, phi = -pi/2, rule (iv)


class EnergyLevel(NamedTuple):
    """Result of the energy measures; with a leading dimension (t,) for a batch.

    Attributes:
        value: () energy stability margin, the least level, J.
        edges: (n,) energy stability level of each edge, J; 0 for an edge over which the machine is tipping.
        valid: () the machine does not tip over any edge, and all numbers are finite.
        regime: (n,) BALANCED, TIPPING or RESTRAINED.
    """

    value: Array
    edges: Array
    valid: Flags
    regime: NDArray[np.int64]


class PlanarEnergyLevel(NamedTuple):
    """Result of :func:`planar_energy_level`: level (J), phi (rad, angle of the equilibrium plane), regime."""

    level: Array
    equilibrium: Array
    regime: NDArray[np.int64]


def energy_level(
    feet: ArrayLike, com: ArrayLike, mass: ArrayLike, up: ArrayLike = UP, gravity: float = GRAVITY
) -> EnergyLevel:
    """Return the energy stability level of every edge under gravity alone: m g h (abo-shanab-2003, definitions 1 to 3).

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        mass: kg, or (t,).
        up: (3,) unit vector against gravity, or (t, 3).
        gravity: m/s2.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, mass_, up_), single = as_states(
        feet=(feet, ('n', 3)), com=(com, (3,)), mass=(mass, ()), up=(up, (3,))
    )
    check_polygon(feet_, up_)
    force = (-gravity * mass_[:, np.newaxis] * up_)[:, np.newaxis]
    return _levels(feet_, com_[:, np.newaxis], force, np.zeros((1, 3)), single)


def extended_energy_level(
    feet: ArrayLike, com: ArrayLike, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0), up: ArrayLike = UP
) -> EnergyLevel:
    """Return the energy stability level of every edge under the net load of the machine.

    Force and moment keep direction and size during the overturn, and the dynamics of the machine is neglected; the
    source states these limits of the measure.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch. For a wheel off the
            ground: the ground point below it.
        com: (3,) centre of mass, m, or (t, 3).
        force: (3,) net force without the ground's: gravity, inertia, external, N, or (t, 3).
        moment: (3,) net moment about `com` without the ground's, N m, or (t, 3).
        up: (3,) unit vector against gravity, used to check the order of the feet.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, force_, moment_, _), single = polygon_states(feet, up, com=com, force=force, moment=moment)
    return _levels(feet_, com_[:, np.newaxis], force_[:, np.newaxis], moment_, single)


def energy_level_of_loads(
    feet: ArrayLike,
    points: ArrayLike,
    forces: ArrayLike,
    moment: ArrayLike = (0.0, 0.0, 0.0),
    up: ArrayLike = UP,
) -> EnergyLevel:
    """Return the energy stability level of every edge under any number of forces at points of the body.

    Use it if the vehicle body is the base alone and the manipulator enters through its loads: the weight at the base's
    centre of mass, the manipulator's force at its mount, its couple as `moment`.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        points: (k, 3) body points at which the forces act, m, or (t, k, 3).
        forces: (k, 3) forces of constant direction, N, or (t, k, 3).
        moment: (3,) sum of the couples, N m, or (t, 3).
        up: (3,) unit vector against gravity, used to check the order of the feet.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, points_, forces_, moment_, up_), single = as_states(
        feet=(feet, ('n', 3)),
        points=(points, ('k', 3)),
        forces=(forces, ('k', 3)),
        moment=(moment, (3,)),
        up=(up, (3,)),
    )
    check_polygon(feet_, up_)
    return _levels(feet_, points_, forces_, moment_, single)


def _levels(feet: Array, points: Array, forces: Array, moment: Array, single: bool) -> EnergyLevel:
    return as_result(EnergyLevel, energy_kernel(feet, points, forces, moment), single)


@kernel
def energy_kernel(feet, points, forces, moment):
    """Return the levels of a batch: value (t,), edges (t, n), valid (t,), regime (t, n). Leading dimensions 1 or t."""
    states = max(feet.shape[0], points.shape[0], forces.shape[0], moment.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    regime = np.empty((states, n), dtype=np.int64)
    for s in range(states):
        f, r = feet[pick(s, feet.shape[0])], points[pick(s, points.shape[0])]
        p, m = forces[pick(s, forces.shape[0])], moment[pick(s, moment.shape[0])]
        standing = True
        for i in range(n):
            sine, cosine, couple = _edge_load(f, i, r, p, m)
            edges[s, i], _, regime[s, i] = level_of_edge(sine, cosine, couple)
            standing = standing and regime[s, i] != TIPPING
        value[s], finite = least(edges[s])
        valid[s] = finite and standing
    return value, edges, valid, regime


@kernel
def _edge_load(feet, i, points, forces, moment):
    """Return P sin(psi), P cos(psi) and M of one edge (see the module docstring)."""
    ex, ey, ez = edge_direction(feet, i)
    sine, cosine = 0.0, 0.0
    for k in range(points.shape[0]):
        x, y, z = points[k, 0] - feet[i, 0], points[k, 1] - feet[i, 1], points[k, 2] - feet[i, 2]
        fx, fy, fz = forces[k, 0], forces[k, 1], forces[k, 2]
        sine -= ex * (y * fz - z * fy) + ey * (z * fx - x * fz) + ez * (x * fy - y * fx)
        along = (x * ex + y * ey + z * ez) * (fx * ex + fy * ey + fz * ez)
        cosine -= x * fx + y * fy + z * fz - along
    return sine, cosine, moment[0] * ex + moment[1] * ey + moment[2] * ez


@kernel
def level_of_edge(sine, cosine, couple):
    """Return level, angle of the equilibrium plane, and regime for P sin(psi), P cos(psi) and M."""
    if np.isnan(sine + cosine + couple):
        return np.nan, np.nan, TIPPING
    size = np.sqrt(sine * sine + cosine * cosine)
    if sine - couple <= 0.0:
        # rules (ii), (iii); (2.3) would be positive again here, because it is quadratic about phi = psi
        return 0.0, np.nan, TIPPING
    psi = np.arctan2(sine, cosine)
    if couple < -size:
        return -cosine - couple * (psi + 0.5 * np.pi), -0.5 * np.pi, RESTRAINED
    phi = np.arcsin(couple / size)
    return max(0.0, size * np.cos(phi) - cosine - couple * (psi - phi)), phi, BALANCED


def planar_energy_level(
    moment: ArrayLike, *, weight: float, distance: ArrayLike, angle: ArrayLike
) -> PlanarEnergyLevel:
    """Return the extended energy stability level of an edge of a planar machine, (2.1) to (2.3), rules (i) to (iv).

    Args:
        moment: M, external moment about the edge, positive if it overturns, N m; any shape.
        weight: m g of the vehicle body, N.
        distance: R, from the edge to the centre of mass, m.
        angle: psi, of that line from the vertical, rad, on the vehicle's side; contains the slope.

    Returns:
        Level (J), equilibrium angle phi (rad, NaN while tipping) and regime, in the broadcast shape.
    """
    external, radius, psi = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (moment, distance, angle))
    )
    size = weight * radius
    parts = (contiguous(part.ravel()) for part in (size * np.sin(psi), size * np.cos(psi), external))
    level, phi, regime = planar_energy_kernel(*parts)
    shape = external.shape
    return PlanarEnergyLevel(level.reshape(shape)[()], phi.reshape(shape)[()], regime.reshape(shape)[()])


@kernel
def planar_energy_kernel(sine, cosine, couple):
    """Return level, equilibrium angle and regime, each (t,), for P sin(psi), P cos(psi), M, each (t,)."""
    states = couple.shape[0]
    level, phi, regime = np.empty(states), np.empty(states), np.empty(states, dtype=np.int64)
    for s in range(states):
        level[s], phi[s], regime[s] = level_of_edge(sine[s], cosine[s], couple[s])
    return level, phi, regime


def energy_states(s: States) -> Parts:
    """Evaluate the measure `energy` for many states."""
    weight = -(s.gravity * s.mass)[:, np.newaxis] * s.up
    value, edges, valid, _ = energy_kernel(s.feet, s.com[:, np.newaxis], weight[:, np.newaxis], np.zeros((1, 3)))
    return value, edges, valid


def extended_energy_states(s: States) -> Parts:
    """Evaluate the measure `extended_energy` for many states."""
    value, edges, valid, _ = energy_kernel(s.feet, s.com[:, np.newaxis], s.force[:, np.newaxis], s.moment)
    return value, edges, valid
