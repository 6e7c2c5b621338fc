"""Generalized forces of a machine at rest and their derivatives, as array loops.

The machine is a tree of joints with one degree of freedom (`gear.Gear`): first the displacements of its base against
the ground, then the joints that give way. Joint j moves body j. All quantities are in axes of the ground: z along its
normal, x along the heading.
"""
# mypy: ignore-errors

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.stability.equilibrium._kernels import part

LINEAR, ANGULAR, DISTANCE = range(3)
"""Kinds of rows between two bodies."""
BODY = np.dtype(
    [
        ('rotation', 'f8', (3, 3)),
        ('origin', 'f8', (3,)),
        ('axis', 'f8', (3,)),
        ('mass', 'f8'),
        ('center', 'f8', (3,)),
        ('motion', 'f8', (3,)),
        ('slip', 'f8', (3,)),
    ],
    align=True,
)
"""Pose and mass of a body: axes and origin, m; axis of its joint; mass, kg, and centre of mass, m, including all bodies
beyond it; displacements of a support and of its friction point by a unit of its joint (scratch)."""
SINGULAR = 1e-12
"""Regularisation of the multiplier rows; redundant constraints share their multiplier."""


class ForceBalance(NamedTuple):
    """Generalized forces at one position.

    Attributes:
        bodies: (n,) `BODY`.
        force: (n,) derivative of the potential energy less the holding friction, N or N m.
        stiffness: (n, n) derivative of `force` by the position.
        compression: (c,) of the springs of the supports, m; negative: gap.
        gap: (m,) residuals of the constraint rows, m or rad.
        rows: (m, n) derivative of `gap` by the position.
        bend: (n, n) derivative of rows^T multipliers by the position.
        system: (n + m, n + m) scratch.
    """

    bodies: Any
    force: Any
    stiffness: Any
    compression: Any
    gap: Any
    rows: Any
    bend: Any
    system: Any


def new_balance(gear: Any) -> ForceBalance:
    """Return an empty balance of a machine."""
    n, c, m = len(gear.joints), len(gear.supports), len(gear.coupled) + len(gear.between)
    return ForceBalance(
        np.zeros(n, BODY),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros(c),
        np.zeros(m),
        np.zeros((m, n)),
        np.zeros((n, n)),
        np.zeros((n + m, n + m)),
    )


@part
def cross(a, b, out):
    """Write a x b, all (3,)."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@part
def dot(a, b):
    """Return a . b, both (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def rotated(rotation, local, out):
    """Write a vector (3,) of a body in axes of the ground."""
    for a in range(3):
        out[a] = rotation[a, 0] * local[0] + rotation[a, 1] * local[1] + rotation[a, 2] * local[2]


@part
def place_bodies(gear, q, payload, bodies):
    """Place the bodies at a position (n,) with a payload, kg."""
    joints, n, moved = gear.joints, q.shape[0], np.empty(3)
    for j in range(n):
        joint, body = joints[j], bodies[j]
        p = joint.parent
        if p < 0:
            for a in range(3):
                body.origin[a] = joint.offset[a]
                for b in range(3):
                    body.rotation[a, b] = joint.rotation[a, b]
        else:
            carrier = bodies[p].rotation
            rotated(carrier, joint.offset, moved)
            for a in range(3):
                body.origin[a] = bodies[p].origin[a] + moved[a]
                for b in range(3):
                    body.rotation[a, b] = (
                        carrier[a, 0] * joint.rotation[0, b]
                        + carrier[a, 1] * joint.rotation[1, b]
                        + carrier[a, 2] * joint.rotation[2, b]
                    )
        rotated(body.rotation, joint.axis, body.axis)
        if joint.sliding:
            for a in range(3):
                body.origin[a] += q[j] * body.axis[a]
        else:
            _turn(body.rotation, joint.axis, q[j])
        rotated(body.rotation, joint.moment, moved)
        body.mass = joint.mass
        for a in range(3):
            body.center[a] = joint.mass * body.origin[a] + moved[a]
    if payload != 0.0:
        body = bodies[gear.load[0].body]
        rotated(body.rotation, gear.load[0].point, moved)
        body.mass += payload
        for a in range(3):
            body.center[a] += payload * (body.origin[a] + moved[a])
    for j in range(n - 1, 0, -1):
        p = joints[j].parent
        bodies[p].mass += bodies[j].mass
        for a in range(3):
            bodies[p].center[a] += bodies[j].center[a]
    for j in range(n):
        body = bodies[j]
        for a in range(3):
            body.center[a] = body.center[a] / body.mass if body.mass > 0.0 else body.origin[a]


@part
def _turn(rotation, axis, angle):
    """Turn axes (3, 3) about one of their directions (3,) by an angle, rad (Rodrigues), in place."""
    s, c = np.sin(angle), np.cos(angle)
    x, y, z = axis[0], axis[1], axis[2]
    v = 1.0 - c
    r00, r01, r02 = c + x * x * v, x * y * v - z * s, x * z * v + y * s
    r10, r11, r12 = y * x * v + z * s, c + y * y * v, y * z * v - x * s
    r20, r21, r22 = z * x * v - y * s, z * y * v + x * s, c + z * z * v
    for i in range(3):
        a, b, d = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        rotation[i, 0] = a * r00 + b * r10 + d * r20
        rotation[i, 1] = a * r01 + b * r11 + d * r21
        rotation[i, 2] = a * r02 + b * r12 + d * r22


@part
def point_of(body, local, point):
    """Write the position (3,) of a point of a body."""
    rotated(body.rotation, local, point)
    for a in range(3):
        point[a] += body.origin[a]


@part
def motion_of(sliding, body, point, motion):
    """Write the displacement (3,) of a point by a unit of the joint of a body that carries it."""
    if sliding:
        motion[0], motion[1], motion[2] = body.axis[0], body.axis[1], body.axis[2]
        return
    x, y, z = point[0] - body.origin[0], point[1] - body.origin[1], point[2] - body.origin[2]
    a, b, c = body.axis[0], body.axis[1], body.axis[2]
    motion[0], motion[1], motion[2] = b * z - c * y, c * x - a * z, a * y - b * x


@part
def balance(gear, q, payload, gravity, multipliers, at):
    """Fill the balance at a position (n,) with a payload, kg, and gravity (3,), m/s2; return the weight, N.

    Ground friction at every support is in proportion to its normal force, so every reaction is parallel to gravity:
    the split with the least friction use, zero on level ground.
    """
    n = q.shape[0]
    place_bodies(gear, q, payload, at.bodies)
    for j in range(n):
        joint = gear.joints[j]
        at.force[j] = joint.spring * (q[j] - joint.rest)
        for i in range(n):
            at.stiffness[j, i] = 0.0
        at.stiffness[j, j] = joint.spring
        beyond = min(q[j] - joint.lower, 0.0) + max(q[j] - joint.upper, 0.0)
        if beyond != 0.0:
            at.force[j] += joint.stop * beyond
            at.stiffness[j, j] += joint.stop
    _add_weights(gear, gravity, at)
    _add_supports(gear, gravity, at)
    if at.gap.shape[0] > 0:
        _add_constraints(gear, q, payload, multipliers, at)
    return at.bodies[0].mass * np.sqrt(dot(gravity, gravity))


@part
def _add_weights(gear, gravity, at):
    """Add the weight of all bodies."""
    d, e = np.empty(3), np.empty(3)
    joints, bodies = gear.joints, at.bodies
    for j in range(bodies.shape[0]):
        mass = bodies[j].mass
        if mass == 0.0:
            continue
        motion_of(joints[j].sliding, bodies[j], bodies[j].center, d)
        at.force[j] -= mass * dot(gravity, d)
        i = j
        while i >= 0:  # i carries j, or is j
            if not joints[i].sliding and not (joints[j].sliding and i == j):
                cross(bodies[i].axis, d, e)
                value = mass * dot(gravity, e)
                at.stiffness[i, j] -= value
                if i != j:
                    at.stiffness[j, i] -= value
            i = joints[i].parent


@part
def _add_supports(gear, gravity, at):
    """Add the springs of the supports and the friction of the ground."""
    joints, bodies = gear.joints, at.bodies
    point, foot, d, e, f = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    lean_x, lean_y = gravity[0] / gravity[2], gravity[1] / gravity[2]
    inclined = lean_x != 0.0 or lean_y != 0.0
    for k in range(gear.supports.shape[0]):
        support = gear.supports[k]
        point_of(bodies[support.body], support.point, point)
        compression = support.free_length - point[2]
        at.compression[k] = compression
        if not compression > 0.0:
            continue
        normal = support.stiffness * compression
        foot[0], foot[1], foot[2] = point[0], point[1], (point[2] if support.at_attachment else 0.0)
        j = support.body
        while j >= 0:
            body = bodies[j]
            motion_of(joints[j].sliding, body, point, body.motion)
            motion_of(joints[j].sliding, body, foot, body.slip)
            at.force[j] -= normal * (body.motion[2] + lean_x * body.slip[0] + lean_y * body.slip[1])
            j = joints[j].parent
        j = support.body
        while j >= 0:
            lifted = bodies[j].motion[2] + lean_x * bodies[j].slip[0] + lean_y * bodies[j].slip[1]
            i = support.body
            while i >= 0:
                low, high = min(i, j), max(i, j)
                value = support.stiffness * lifted * bodies[i].motion[2]
                if not joints[low].sliding and not (joints[high].sliding and low == high):
                    cross(bodies[low].axis, bodies[high].motion, e)
                    value -= normal * e[2]
                if inclined:
                    _slip_change(gear, bodies, j, i, foot, support.at_attachment, d, e, f)
                    value -= normal * (lean_x * e[0] + lean_y * e[1])
                at.stiffness[j, i] += value
                i = joints[i].parent
            j = joints[j].parent


@part
def _slip_change(gear, bodies, j, i, foot, at_attachment, d, e, f):
    """Write the derivative e (3,) by joint i of the displacement of the friction point by joint j; both carry it.

    The friction point moves along the ground with the attachment, by `bodies[i].motion` for a unit of joint i.
    """
    e[0], e[1], e[2] = 0.0, 0.0, 0.0
    upper = i < j  # joint i carries joint j
    turning = upper and not gear.joints[i].sliding
    if gear.joints[j].sliding:
        if turning:
            cross(bodies[i].axis, bodies[j].axis, e)
        return
    moved = bodies[i].motion
    d[0], d[1], d[2] = moved[0], moved[1], (moved[2] if at_attachment else 0.0)
    if upper:
        motion_of(gear.joints[i].sliding, bodies[i], bodies[j].origin, f)
        for a in range(3):
            d[a] -= f[a]
    cross(bodies[j].axis, d, e)
    if turning:
        cross(bodies[i].axis, bodies[j].axis, f)
        for a in range(3):
            d[a] = foot[a] - bodies[j].origin[a]
        cross(f, d, d)
        for a in range(3):
            e[a] += d[a]


@part
def _add_constraints(gear, q, payload, multipliers, at):
    """Fill residuals, rows and the derivative of rows^T multipliers, the last by central differences."""
    n, m, steps = q.shape[0], at.gap.shape[0], 1e-5
    for i in range(n):
        for j in range(n):
            at.bend[i, j] = 0.0
    moved = q.copy()
    for trial in range(0 if gear.between.shape[0] > 0 else 2 * n, 2 * n + 1):  # the last trial is the position itself
        i, sign = trial // 2, 2.0 * (trial % 2) - 1.0
        if trial < 2 * n:
            moved[i] = q[i] + sign * steps
            place_bodies(gear, moved, payload, at.bodies)
        elif gear.between.shape[0] > 0:
            place_bodies(gear, q, payload, at.bodies)
        fill_rows(gear, q, at)
        if trial < 2 * n:
            moved[i] = q[i]
            for j in range(n):
                for r in range(m):
                    at.bend[j, i] += sign * at.rows[r, j] * multipliers[r] / (2.0 * steps)


@part
def fill_rows(gear, q, at):
    """Fill residuals (m,) and rows (m, n) of the constraints: couplings of joints, then rows between two bodies."""
    couplings = gear.coupling.shape[0]
    for r in range(couplings):
        at.gap[r] = -gear.coupled[r]
        for j in range(q.shape[0]):
            at.gap[r] += gear.coupling[r, j] * q[j]
            at.rows[r, j] = gear.coupling[r, j]
    for r in range(gear.between.shape[0]):
        at.gap[couplings + r] = _between(gear, at.bodies, gear.between[r], at.rows[couplings + r])


@part
def _between(gear, bodies, entry, row):
    """Fill the row (n,) of a constraint between two bodies and return its residual, m or 1."""
    one, two, gap = np.empty(3), np.empty(3), np.empty(3)
    u, v, d = np.empty(3), np.empty(3), np.empty(3)
    for j in range(row.shape[0]):
        row[j] = 0.0
    first, second = bodies[entry.first], bodies[entry.second]
    angular = entry.kind == ANGULAR
    if angular:
        rotated(first.rotation, entry.one, u)
        rotated(second.rotation, entry.two, v)
    else:
        point_of(first, entry.one, one)
        point_of(second, entry.two, two)
        for a in range(3):
            gap[a] = one[a] - two[a]
            u[a] = gap[a] / entry.length
        if entry.kind == LINEAR:
            rotated(second.rotation, entry.axis, u)
    for side in range(2):
        j = entry.second if side else entry.first
        while j >= 0:
            body, sliding = bodies[j], gear.joints[j].sliding
            if angular:
                if not sliding:
                    cross(body.axis, v if side else u, d)
                    row[j] += dot(d, u if side else v)
            else:
                motion_of(sliding, body, two if side else one, d)
                row[j] += -dot(d, u) if side else dot(d, u)
                if side == 1 and entry.kind == LINEAR and not sliding:
                    cross(body.axis, u, d)
                    row[j] += dot(gap, d)
            j = gear.joints[j].parent
    if angular:
        return dot(u, v)
    return (dot(gap, gap) - entry.length**2) / (2.0 * entry.length) if entry.kind == DISTANCE else dot(gap, u)
