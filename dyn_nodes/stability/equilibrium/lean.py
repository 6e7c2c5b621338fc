"""Tipping load of a machine that stands as one body, by its edges: an array loop for charts with many states.

At the first loss of equilibrium the load is on the supports of one edge of the support polygon, and the last other
support is at lift-off. Its free length and the compressions of the edge determine the plane of the ground, the plane
determines the payload with zero moment about the edge, and the payload the compressions: a fixed-point iteration. The
result is used only if the general balance confirms it; otherwise the path is followed (`search.follow`).
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.stability.equilibrium._kernels import inlined, part
from dyn_nodes.stability.equilibrium.balance import balance, cross, dot, motion_of, point_of
from dyn_nodes.stability.equilibrium.search import SOLVED, is_positive, settle, tangent

ROUNDS, SETTLED = 40, 1e-10
"""Greatest number of iterations, and change of the payload at convergence, of the mass of the machine."""
NEAR = 1.3
"""Edges are evaluated up to this ratio of their payload without lean to the least one."""
STRAIGHT = 0.04
"""Tilt up to which the equilibrium is unique, rad; softer machines may have another leaning equilibrium."""
JUST_BELOW, SAME = 1e-3, 2e-3
"""Relative distance below a tipping load, and difference of equilibria that count as equal, m or rad."""
CONFIRMED = 1e-6
"""Greatest residual of the balance of a tipping load, of the weight."""
UNKNOWN = -1.0


@part
def plane_axes(n, ex, ey):
    """Write two unit vectors in the plane across n (3,), the first along the heading, in axes of the base."""
    ex[0], ex[1], ex[2] = 1.0 - n[0] * n[0], -n[0] * n[1], -n[0] * n[2]
    size = np.sqrt(dot(ex, ex))
    for a in range(3):
        ex[a] /= size
    cross(n, ex, ey)


@part
def plane_through(p, r, n):
    """Write the unit normal n (3,) with n . (p_i - p_0) = r_i - r_0 of points p (3, 3); return whether it exists."""
    u, v, w = np.empty(3), np.empty(3), np.empty(3)
    for a in range(3):
        u[a], v[a] = p[1, a] - p[0, a], p[2, a] - p[0, a]
    cross(u, v, w)
    size = dot(w, w)
    if not size > 0.0:
        return False
    s, t = r[1] - r[0], r[2] - r[0]
    b, c = np.empty(3), np.empty(3)
    cross(v, w, b)
    cross(w, u, c)
    for a in range(3):
        n[a] = (s * b[a] + t * c[a]) / size
    left = 1.0 - dot(n, n)
    if not left > 0.0:
        return False
    share = np.sqrt(left / size)
    share = share if w[2] > 0.0 else -share
    for a in range(3):
        n[a] += share * w[a]
    return n[2] > 0.0


@part
def edge_payload(gear, mass, moment, mount, gravity, j, k, n, p, r, w):
    """Move the plane n (3,) and the payload to the loss of equilibrium over the edge from support j to k.

    Returns:
        Payload, kg; inf if no payload tips over this edge, UNKNOWN if the iteration does not converge.
    """
    ex, ey, g, d, e, u = w[0], w[1], w[2], w[3], w[4], w[5]
    supports, payload, third = gear.supports, np.inf, -1
    for a in range(3):
        p[0, a], p[1, a] = supports[j].point[a], supports[k].point[a]
    r[0], r[1] = supports[j].free_length, supports[k].free_length
    for _ in range(ROUNDS):
        plane_axes(n, ex, ey)
        for a in range(3):
            g[a] = gravity[0] * ex[a] + gravity[1] * ey[a] + gravity[2] * n[a]
            e[a] = (p[1, a] - r[1] * n[a]) - (p[0, a] - r[0] * n[a])
        length = np.sqrt(dot(e, e))
        for a in range(3):
            e[a] /= length
            d[a] = moment[a] - mass * (p[0, a] - r[0] * n[a])
        cross(d, g, u)
        empty, across = -dot(e, u), np.empty(3)
        cross(e, n, across)
        inward = dot(across, u)
        for a in range(3):
            d[a] = mount[a] - (p[0, a] - r[0] * n[a])
        cross(d, g, u)
        each = -dot(e, u)
        if not each < 0.0:
            return np.inf
        before, payload = payload, -empty / each
        if not payload >= 0.0:
            return UNKNOWN
        normal_force = -(mass + payload) * dot(g, n)
        second = -(inward + payload * dot(across, u)) / length
        outside = second < 0.0 or second > normal_force
        second = min(max(second, 0.0), normal_force)
        r[0] = supports[j].free_length - (normal_force - second) / supports[j].stiffness
        r[1] = supports[k].free_length - second / supports[k].stiffness
        if abs(payload - before) < SETTLED * mass:
            return np.inf if outside else payload
        third = _last_to_lift(supports, j, k, third, p, r, n)
        if third < 0:
            return UNKNOWN
    return UNKNOWN


@part
def _last_to_lift(supports, j, k, third, p, r, n):
    """Turn the plane about an edge until the last other support touches it; return that support, or -1."""
    best = third
    for _ in range(supports.shape[0]):
        if best >= 0:
            for a in range(3):
                p[2, a] = supports[best].point[a]
            r[2] = supports[best].free_length
            if not plane_through(p, r, n):
                return -1
        offset = n[0] * p[0, 0] + n[1] * p[0, 1] + n[2] * p[0, 2] - r[0]
        deepest, most = best, 1e-12 if best >= 0 else -np.inf
        for m in range(supports.shape[0]):
            if m != j and m != k and m != best:
                compression = supports[m].free_length + offset - dot(n, supports[m].point)
                if compression > most:
                    deepest, most = m, compression
        if deepest == best:
            return best
        best = deepest
    return -1


@inlined
def lean_payload(gear, start, gravity, edges, q, at):
    """Return the tipping load of a state, kg; UNKNOWN if the edges do not determine it.

    Args:
        gear: with its arm, standing as one body.
        start: (3,) position from which it is set down.
        gravity: (3,) in axes of the ground, m/s2.
        edges: (e, 2) supports at the ends of the edges of the support polygon.
        q: (3,) position; filled.
        at: scratch.
    """
    joint, n, p, r, w = gear.joints[gear.base], np.empty(3), np.empty((3, 3)), np.empty(3), np.empty((6, 3))
    best, plane, payload_of = np.inf, np.empty(3), np.empty(edges.shape[0])
    for edge in range(edges.shape[0]):
        payload_of[edge] = _upright_payload(gear, joint, gravity, edges[edge, 0], edges[edge, 1])
    least = np.inf
    for edge in range(edges.shape[0]):
        least = min(least, payload_of[edge])
    if not least > 0.0:
        return UNKNOWN
    for edge in range(edges.shape[0]):
        if not payload_of[edge] <= NEAR * least + 0.1 * joint.mass:
            continue
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
        payload = edge_payload(
            gear, joint.mass, joint.moment, gear.load[0].point, gravity, edges[edge, 0], edges[edge, 1], n, p, r, w
        )
        if payload == UNKNOWN:
            return UNKNOWN
        if payload < best:
            best = payload
            for a in range(3):
                plane[a] = n[a]
            q[0] = r[0] - dot(n, p[0])
    if best == np.inf:
        return UNKNOWN
    # the normal is the third row of the axes of the base: (-sin pitch, cos pitch sin roll, cos pitch cos roll)
    q[1], q[2] = -np.arcsin(plane[0]), np.arctan2(plane[1], plane[2])
    if not _confirmed(gear, best, gravity, q, at):
        return UNKNOWN
    if plane[2] > np.cos(STRAIGHT):
        return best
    leaning = start.copy()  # the machine set down with almost this load must reach the same position
    if settle(gear, leaning, (1.0 - JUST_BELOW) * best, gravity, np.empty(0), at) != SOLVED:
        return UNKNOWN
    for a in range(3):
        if not abs(leaning[a] - q[a]) < SAME:
            return UNKNOWN
    return best


@part
def _upright_payload(gear, joint, gravity, j, k):
    """Return the payload at which an edge of the upright machine is relieved, kg; inf if none does."""
    one, two, load = gear.supports[j], gear.supports[k], gear.load[0].point
    x, y, low = one.point[0], one.point[1], one.point[2] - one.free_length
    ex, ey = two.point[0] - x, two.point[1] - y
    lx, ly = gravity[0] / gravity[2], gravity[1] / gravity[2]
    along = joint.moment[1] - joint.mass * y - ly * (joint.moment[2] - joint.mass * low)
    across = joint.moment[0] - joint.mass * x - lx * (joint.moment[2] - joint.mass * low)
    stable = ex * along - ey * across
    each = ex * (load[1] - y - ly * (load[2] - low)) - ey * (load[0] - x - lx * (load[2] - low))
    return -stable / each if each < 0.0 else np.inf


@inlined
def _confirmed(gear, payload, gravity, q, at):
    """Return whether a position is an equilibrium, stable as long as the supports at lift-off carry load."""
    weight = balance(gear, q, payload, gravity, np.empty(0), at)
    for a in range(3):
        if not abs(at.force[a]) < CONFIRMED * weight:
            return False
    K, point, motion, rates = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
    tangent(at, 0.0, K)
    touching = 0
    for k in range(gear.supports.shape[0]):
        support = gear.supports[k]
        if at.compression[k] > 1e-9:
            touching += 1
        elif at.compression[k] > -1e-9:
            point_of(at.bodies[gear.base], support.point, point)
            for j in range(3):
                motion_of(gear.joints[j].sliding, at.bodies[j], point, motion)
                rates[j] = motion[2]
            for i in range(3):
                for j in range(3):
                    K[i, j] += support.stiffness * rates[i] * rates[j]
    return touching >= 2 and is_positive(K)
