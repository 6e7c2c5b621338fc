"""Order-n algorithms of a tree as compiled loops over arrays (yesiloglu-2007, C8 and C9).

All quantities are in world axes at the origin O_k of each link's frame, as in the source: the linear part of an
acceleration is the classical acceleration of O_k, so that the dynamics need no linear velocity. The z axis of a link
frame is the joint axis, which is therefore a column of the rotation in the world. `work` has one row per link with
the results of the sweeps, `constants` one row per link with constants. `chain.py` is the public interface.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from dyn_nodes.common.loops import kernels_of
from dyn_nodes.studies.formulations.array_loops.blocks import (
    FLAGS,
    Tuple,
    add,
    add3,
    add6,
    add9,
    cross,
    dot,
    get3,
    get6,
    get9,
    inlined,
    less_outer,
    matrix_less_outer,
    moved,
    plus_scaled,
    product,
    put3,
    put6,
    put9,
    rotated,
    rotation_of,
    scaled,
    subtract,
    symmetric_inverse,
    symmetric_times,
    times,
    transposed_times,
    turned,
)

kernel = kernels_of(__file__, fastmath=FLAGS)
REVOLUTE, PRISMATIC, FREE = 0, 1, 2

# columns of `constants`: placement in the parent, inertia about the origin, first moment of mass, mass; the joint's
# spring and lock
R0, P0, J0, MC, MASS, STIFFNESS, DAMPING, REST, LOCKED = 0, 9, 12, 18, 21, 22, 23, 24, 25
CONSTANTS = 26
# columns of `work`: pose, angular velocity, vector from the parent's origin, bias acceleration, articulated inertia (J,
# H, M), its bias force, column I h of the joint, 1/d, joint load, acceleration less gravity, Upsilon (vv, vw, ww)
ROTATION, OMEGA, ARM, BIAS, INERTIA, FORCE, COLUMN, INVERSE, LOAD, ACCELERATION = 0, 9, 12, 15, 21, 42, 48, 54, 55, 56
UPSILON = 62
WORK = 83

SINGULAR = 1e-14
"""Least ratio of the inertia moved by a joint to the trace of the inertia; smaller values are round-off."""
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ZERO = (0.0, 0.0, 0.0)


@inlined
def pose_link(k: int, p: int, kind: int, iq: int, iv: int, constants: Any, q: Any, v: Any, work: Any) -> None:
    """Write pose, angular velocity, arm and bias acceleration of one link (C2, C3)."""
    if kind == FREE:
        R = rotation_of(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6])
        put9(work, k, ROTATION, R)
        put3(work, k, OMEGA, times(R, vector3(v, iv)))
        put3(work, k, ARM, vector3(q, iq))
        put6(work, k, BIAS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        return
    Rp, wp = IDENTITY, ZERO
    if p >= 0:
        Rp, wp = get9(work, p, ROTATION), get3(work, p, OMEGA)
    R, arm, w = product(Rp, get9(constants, k, R0)), times(Rp, get3(constants, k, P0)), wp
    if kind == REVOLUTE:
        R = turned(R, sin(q[iq]), cos(q[iq]))
        spin = scaled((R[2], R[5], R[8]), v[iv])
        w = add(wp, spin)
        put3(work, k, BIAS, cross(wp, spin))
        put3(work, k, BIAS + 3, cross(wp, cross(wp, arm)))
    else:
        axis = (R[2], R[5], R[8])
        arm = plus_scaled(arm, q[iq], axis)
        put3(work, k, BIAS, ZERO)
        put3(work, k, BIAS + 3, cross(wp, plus_scaled(cross(wp, arm), 2.0 * v[iv], axis)))
    put9(work, k, ROTATION, R)
    put3(work, k, OMEGA, w)
    put3(work, k, ARM, arm)


@inlined
def vector3(vector: Any, at: int) -> Tuple:
    """Return three entries of a vector."""
    return (vector[at], vector[at + 1], vector[at + 2])


@inlined
def put_vector3(vector: Any, at: int, u: Tuple) -> None:
    """Write three entries of a vector."""
    vector[at], vector[at + 1], vector[at + 2] = u[0], u[1], u[2]


@inlined
def _rigid(k: int, constants: Any, work: Any) -> tuple[Tuple, Tuple, float, Tuple, Tuple]:
    """Return inertia about O_k, first moment and mass of one link in world axes, and the force b of rotation (C3)."""
    R, w = get9(work, k, ROTATION), get3(work, k, OMEGA)
    J, mc = rotated(R, get6(constants, k, J0)), times(R, get3(constants, k, MC))
    return J, mc, constants[k, MASS], cross(w, symmetric_times(J, w)), cross(w, cross(w, mc))


@inlined
def _spring(k: int, iq: int, iv: int, constants: Any, q: Any, v: Any) -> float:
    """Return the effort of a joint's spring and damper."""
    return -constants[k, STIFFNESS] * (q[iq] - constants[k, REST]) - constants[k, DAMPING] * v[iv]


@inlined
def axis_of(k: int, work: Any) -> Tuple:
    """Return the joint's axis in the world."""
    return (work[k, ROTATION + 2], work[k, ROTATION + 5], work[k, ROTATION + 8])


@inlined
def _at_parent(k: int, p: int, work: Any, root: Tuple) -> tuple[Tuple, Tuple]:
    """Return the acceleration less gravity of the parent at O_k; `root`: the world's acceleration less gravity."""
    if p < 0:
        return ZERO, root
    w = get3(work, p, ACCELERATION)
    return w, add(get3(work, p, ACCELERATION + 3), cross(w, get3(work, k, ARM)))


@inlined
def _solve_free(k: int, work: Any, n: Tuple, f: Tuple) -> tuple[Tuple, Tuple]:
    """Return the acceleration of a free body with the articulated inertia of row k under a force."""
    J, H = get6(work, k, INERTIA), get9(work, k, INERTIA + 6)
    inverse = symmetric_inverse(get6(work, k, INERTIA + 15))
    schur = less_rotated(J, H, inverse)
    w = symmetric_times(symmetric_inverse(schur), subtract(n, times(H, symmetric_times(inverse, f))))
    return w, symmetric_times(inverse, subtract(f, transposed_times(H, w)))


@inlined
def less_rotated(J: Tuple, H: Tuple, S: Tuple) -> Tuple:
    """Return J - H S H^T."""
    T = rotated(H, S)
    return (J[0] - T[0], J[1] - T[1], J[2] - T[2], J[3] - T[3], J[4] - T[4], J[5] - T[5])


@inlined
def _put_free(k: int, work: Any, v: Any, iv: int, w: Tuple, a: Tuple, out: Any) -> None:
    """Write the acceleration of a free body as in the traced form: in body axes, linear part less omega x v."""
    R = get9(work, k, ROTATION)
    angular, linear = transposed_times(R, w), transposed_times(R, a)
    linear = subtract(linear, cross(vector3(v, iv), vector3(v, iv + 3)))
    put_vector3(out, iv, angular)
    put_vector3(out, iv + 3, linear)


@kernel
def forward_dynamics(
    parent: Any,
    kind: Any,
    at_q: Any,
    at_v: Any,
    constants: Any,
    q: Any,
    v: Any,
    tau: Any,
    gravity: Any,
    external: Any,
    work: Any,
    out: Any,
    efforts: Any,
) -> int:
    """Write accelerations by articulated bodies (C9). Return the first link whose joint moves no inertia, or -1."""
    count = parent.shape[0]
    loaded = external.shape[0] > 0
    for k in range(count):
        p = parent[k]
        pose_link(k, p, kind[k], at_q[k], at_v[k], constants, q, v, work)
        J, mc, m, n, f = _rigid(k, constants, work)
        put6(work, k, INERTIA, J)
        put9(work, k, INERTIA + 6, (0.0, -mc[2], mc[1], mc[2], 0.0, -mc[0], -mc[1], mc[0], 0.0))
        put6(work, k, INERTIA + 15, (m, 0.0, 0.0, m, 0.0, m))
        if loaded:
            n, f = subtract(n, get3(external, k, 0)), subtract(f, get3(external, k, 3))
        put3(work, k, FORCE, n)
        put3(work, k, FORCE + 3, f)
    failed = -1
    for i in range(count):
        k = count - 1 - i
        p, iv = parent[k], at_v[k]
        if kind[k] == FREE:
            continue
        h = axis_of(k, work)
        J, H, M = get6(work, k, INERTIA), get9(work, k, INERTIA + 6), get6(work, k, INERTIA + 15)
        n, f = get3(work, k, FORCE), get3(work, k, FORCE + 3)
        effort = tau[iv] + _spring(k, at_q[k], iv, constants, q, v)
        efforts[iv] = effort
        if kind[k] == REVOLUTE:
            gn, gf = symmetric_times(J, h), transposed_times(H, h)
            d, load, most = dot(gn, h), effort - dot(n, h), J[0] + J[3] + J[5]
        else:
            gn, gf = times(H, h), symmetric_times(M, h)
            d, load, most = dot(gf, h), effort - dot(f, h), M[0] + M[3] + M[5]
        inverse = 0.0
        if constants[k, LOCKED] == 0.0:
            inverse = 1.0 / d
            if failed < 0 and not d > SINGULAR * most:
                failed = k
        put3(work, k, COLUMN, gn)
        put3(work, k, COLUMN + 3, gf)
        work[k, INVERSE], work[k, LOAD] = inverse, load
        if p < 0:
            continue
        dn, df = scaled(gn, inverse), scaled(gf, inverse)
        J, H, M = less_outer(J, dn, gn), matrix_less_outer(H, dn, gf), less_outer(M, df, gf)
        bw, bv, arm = get3(work, k, BIAS), get3(work, k, BIAS + 3), get3(work, k, ARM)
        n = add(plus_scaled(n, load, dn), add(symmetric_times(J, bw), times(H, bv)))
        f = add(plus_scaled(f, load, df), add(transposed_times(H, bw), symmetric_times(M, bv)))
        J, H = moved(J, H, M, arm)
        add6(work, p, INERTIA, J)
        add9(work, p, INERTIA + 6, H)
        add6(work, p, INERTIA + 15, M)
        add3(work, p, FORCE, add(n, cross(arm, f)))
        add3(work, p, FORCE + 3, f)
    lifted = (-gravity[0], -gravity[1], -gravity[2])
    for k in range(count):
        iv = at_v[k]
        if kind[k] == FREE:
            R = get9(work, k, ROTATION)
            n = subtract(times(R, vector3(tau, iv)), get3(work, k, FORCE))
            f = subtract(times(R, vector3(tau, iv + 3)), get3(work, k, FORCE + 3))
            w, a = _solve_free(k, work, n, f)
            _put_free(k, work, v, iv, w, subtract(a, lifted), out)
            for j in range(6):
                efforts[iv + j] = tau[iv + j]
        else:
            w, a = _at_parent(k, parent[k], work, lifted)
            w, a = add(w, get3(work, k, BIAS)), add(a, get3(work, k, BIAS + 3))
            pull = dot(get3(work, k, COLUMN), w) + dot(get3(work, k, COLUMN + 3), a)
            rate = work[k, INVERSE] * (work[k, LOAD] - pull)
            out[iv] = rate
            if constants[k, LOCKED] != 0.0:
                efforts[iv] += pull - work[k, LOAD]
            if kind[k] == REVOLUTE:
                w = plus_scaled(w, rate, axis_of(k, work))
            else:
                a = plus_scaled(a, rate, axis_of(k, work))
        put3(work, k, ACCELERATION, w)
        put3(work, k, ACCELERATION + 3, a)
    return failed


@kernel
def inverse_mass_times(parent: Any, kind: Any, at_v: Any, work: Any, b: Any, x: Any) -> None:
    """Write M^-1 b for each row of b, after `forward_dynamics` at the same position: (3.38) as two sweeps."""
    count = parent.shape[0]
    for row in range(b.shape[0]):
        for k in range(count):
            put6(work, k, FORCE, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        for i in range(count):
            k = count - 1 - i
            p, iv = parent[k], at_v[k]
            if kind[k] == FREE:
                continue
            h, n, f = axis_of(k, work), get3(work, k, FORCE), get3(work, k, FORCE + 3)
            load = b[row, iv] - (dot(n, h) if kind[k] == REVOLUTE else dot(f, h))
            work[k, LOAD] = load
            if p >= 0:
                step = load * work[k, INVERSE]
                n = plus_scaled(n, step, get3(work, k, COLUMN))
                f = plus_scaled(f, step, get3(work, k, COLUMN + 3))
                add3(work, p, FORCE, add(n, cross(get3(work, k, ARM), f)))
                add3(work, p, FORCE + 3, f)
        for k in range(count):
            iv = at_v[k]
            if kind[k] == FREE:
                R = get9(work, k, ROTATION)
                n = subtract(times(R, get3(b, row, iv)), get3(work, k, FORCE))
                f = subtract(times(R, get3(b, row, iv + 3)), get3(work, k, FORCE + 3))
                w, a = _solve_free(k, work, n, f)
                angular, linear = transposed_times(R, w), transposed_times(R, a)
                put3(x, row, iv, angular)
                put3(x, row, iv + 3, linear)
            else:
                w, a = _at_parent(k, parent[k], work, ZERO)
                pull = dot(get3(work, k, COLUMN), w) + dot(get3(work, k, COLUMN + 3), a)
                rate = work[k, INVERSE] * (work[k, LOAD] - pull)
                x[row, iv] = rate
                if kind[k] == REVOLUTE:
                    w = plus_scaled(w, rate, axis_of(k, work))
                else:
                    a = plus_scaled(a, rate, axis_of(k, work))
            put3(work, k, ACCELERATION, w)
            put3(work, k, ACCELERATION + 3, a)


@kernel
def inverse_dynamics(
    parent: Any,
    kind: Any,
    at_q: Any,
    at_v: Any,
    constants: Any,
    q: Any,
    v: Any,
    a: Any,
    gravity: Any,
    external: Any,
    work: Any,
    out: Any,
) -> None:
    """Write generalized forces for accelerations `a` (C3, C4), and acceleration and force of each link in its row."""
    count = parent.shape[0]
    lifted = (-gravity[0], -gravity[1], -gravity[2])
    for k in range(count):
        p, iv = parent[k], at_v[k]
        pose_link(k, p, kind[k], at_q[k], iv, constants, q, v, work)
        if kind[k] == FREE:
            R = get9(work, k, ROTATION)
            linear = add(vector3(a, iv + 3), cross(vector3(v, iv), vector3(v, iv + 3)))
            w, c = times(R, vector3(a, iv)), add(times(R, linear), lifted)
        else:
            w, c = _at_parent(k, p, work, lifted)
            w, c = add(w, get3(work, k, BIAS)), add(c, get3(work, k, BIAS + 3))
            if kind[k] == REVOLUTE:
                w = plus_scaled(w, a[iv], axis_of(k, work))
            else:
                c = plus_scaled(c, a[iv], axis_of(k, work))
        put3(work, k, ACCELERATION, w)
        put3(work, k, ACCELERATION + 3, c)
        J, mc, m, n, f = _rigid(k, constants, work)
        n = add(n, add(symmetric_times(J, w), cross(mc, c)))
        f = add(f, add(scaled(c, m), cross(w, mc)))
        if external.shape[0] > 0:
            n, f = subtract(n, get3(external, k, 0)), subtract(f, get3(external, k, 3))
        put3(work, k, FORCE, n)
        put3(work, k, FORCE + 3, f)
    for i in range(count):
        k = count - 1 - i
        p, iv = parent[k], at_v[k]
        n, f = get3(work, k, FORCE), get3(work, k, FORCE + 3)
        if kind[k] == FREE:
            R = get9(work, k, ROTATION)
            moment, force = transposed_times(R, n), transposed_times(R, f)
            put_vector3(out, iv, moment)
            put_vector3(out, iv + 3, force)
            continue
        out[iv] = dot(n, axis_of(k, work)) if kind[k] == REVOLUTE else dot(f, axis_of(k, work))
        if p >= 0:
            add3(work, p, FORCE, add(n, cross(get3(work, k, ARM), f)))
            add3(work, p, FORCE + 3, f)
