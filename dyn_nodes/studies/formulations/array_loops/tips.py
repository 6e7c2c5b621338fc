"""Motion of the tips of a tree, and their operational-space inverse inertia J M^-1 J^T by recursion.

yesiloglu-2007, C9: since Phi H (I - K Psi H) = Psi H, J M^-1 J^T = Phi_t Psi H D^-1 H^T Psi^T Phi_t^T, whose blocks
follow from the inverse inertia Upsilon of each link at its origin.
"""

from __future__ import annotations

from typing import Any

from dyn_nodes.common.loops import kernels_of
from dyn_nodes.studies.formulations.array_loops.blocks import (
    FLAGS,
    Tuple,
    add,
    cross,
    dot,
    get3,
    get6,
    get9,
    inlined,
    matrix_less_outer,
    moved,
    plus_scaled,
    product,
    put3,
    put6,
    put9,
    rotated,
    scaled,
    symmetric_add,
    symmetric_inverse,
    symmetric_times,
    times,
    transposed_times,
)
from dyn_nodes.studies.formulations.array_loops.sweeps import (
    ARM,
    COLUMN,
    FREE,
    INERTIA,
    INVERSE,
    OMEGA,
    REVOLUTE,
    ROTATION,
    UPSILON,
    axis_of,
    less_rotated,
    pose_link,
)

kernel = kernels_of(__file__, fastmath=FLAGS)


@kernel
def poses(parent: Any, kind: Any, at_q: Any, at_v: Any, constants: Any, q: Any, v: Any, work: Any, out: Any) -> None:
    """Write rotation (9), origin (3) and velocity [angular; linear] (6) of each link in the world."""
    for k in range(parent.shape[0]):
        p, iv = parent[k], at_v[k]
        pose_link(k, p, kind[k], at_q[k], iv, constants, q, v, work)
        R, origin, w = get9(work, k, ROTATION), get3(work, k, ARM), get3(work, k, OMEGA)
        linear = (0.0, 0.0, 0.0)
        if kind[k] == FREE:
            linear = times(R, (v[iv + 3], v[iv + 4], v[iv + 5]))
        elif p >= 0:
            linear = add(get3(out, p, 15), cross(get3(work, p, OMEGA), origin))
            origin = add(origin, get3(out, p, 9))
        if kind[k] != FREE and kind[k] != REVOLUTE:
            linear = plus_scaled(linear, v[iv], axis_of(k, work))
        put9(out, k, 0, R)
        put3(out, k, 9, origin)
        put3(out, k, 12, w)
        put3(out, k, 15, linear)


@kernel
def upsilon(parent: Any, kind: Any, work: Any) -> None:
    """Write the inverse inertia of each link at its origin (C9), after `forward_dynamics`: blocks vv, vw, ww."""
    for k in range(parent.shape[0]):
        p = parent[k]
        if kind[k] == FREE:
            vv, vw, ww = _inverse(
                get6(work, k, INERTIA), get9(work, k, INERTIA + 6), symmetric_inverse(get6(work, k, INERTIA + 15))
            )
        else:
            vv, vw, ww = (0.0,) * 6, (0.0,) * 9, (0.0,) * 6
            if p >= 0:
                vv, vw, ww = get6(work, p, UPSILON), get9(work, p, UPSILON + 6), get6(work, p, UPSILON + 15)
                vv, vw = moved(vv, vw, ww, scaled(get3(work, k, ARM), -1.0))
            gn, gf, d = get3(work, k, COLUMN), get3(work, k, COLUMN + 3), work[k, INVERSE]
            tw = scaled(add(symmetric_times(ww, gn), transposed_times(vw, gf)), d)
            tv = scaled(add(times(vw, gn), symmetric_times(vv, gf)), d)
            total = d * (1.0 + dot(gn, tw) + dot(gf, tv))
            h = axis_of(k, work)
            if kind[k] == REVOLUTE:
                vw = matrix_less_outer(vw, tv, h)
                ww = _projected(ww, h, tw, total)
            else:
                vw = matrix_less_outer(vw, h, tw)
                vv = _projected(vv, h, tv, total)
        put6(work, k, UPSILON, vv)
        put9(work, k, UPSILON + 6, vw)
        put6(work, k, UPSILON + 15, ww)


@inlined
def _projected(S: Tuple, h: Tuple, t: Tuple, d: float) -> Tuple:
    """Return S - h t^T - t h^T + d h h^T."""
    u = plus_scaled(scaled(t, -1.0), 0.5 * d, h)
    return symmetric_add(
        S,
        (
            2.0 * h[0] * u[0],
            h[0] * u[1] + u[0] * h[1],
            h[0] * u[2] + u[0] * h[2],
            2.0 * h[1] * u[1],
            h[1] * u[2] + u[1] * h[2],
            2.0 * h[2] * u[2],
        ),
    )


@inlined
def _inverse(J: Tuple, H: Tuple, inverse: Tuple) -> tuple[Tuple, Tuple, Tuple]:
    """Return the inverse of an articulated inertia as blocks vv, vw, ww; `inverse`: inverse of its M."""
    ww = symmetric_inverse(less_rotated(J, H, inverse))
    # HM = H M^-1 by rows; vw = -HM^T ww; vv = M^-1 + HM^T ww HM
    x = symmetric_times(inverse, (H[0], H[1], H[2]))
    y = symmetric_times(inverse, (H[3], H[4], H[5]))
    z = symmetric_times(inverse, (H[6], H[7], H[8]))
    transposed = (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    full = (ww[0], ww[1], ww[2], ww[1], ww[3], ww[4], ww[2], ww[4], ww[5])
    vw = product(transposed, full)
    return (
        symmetric_add(inverse, rotated(transposed, ww)),
        (-vw[0], -vw[1], -vw[2], -vw[3], -vw[4], -vw[5], -vw[6], -vw[7], -vw[8]),
        ww,
    )


@kernel
def tip_blocks(
    parent: Any, kind: Any, work: Any, body: Any, arms: Any, meeting: Any, moving: Any, carried: Any, out: Any
) -> None:
    """Write J M^-1 J^T (6 p, 6 p) of several tips, after `upsilon`.

    `body` (p,) carries each tip, `arms` (p, 3) run from its origin to the tip in world axes, `meeting` (p, p) is the
    outermost link that carries both tips (-1: none). `moving` (6, 6) and `carried` (p p 6, 6) are filled: with the
    motion of a tip per motion of a link on its inward path, and of tip i per motion of the link where i and j meet.
    """
    count = body.shape[0]
    for i in range(count):
        x, y, z = arms[i, 0], arms[i, 1], arms[i, 2]
        for r in range(6):
            for c in range(6):
                moving[r, c] = 1.0 if r == c else 0.0
        # Phi_t = [1 0; -L 1]
        moving[3, 1], moving[3, 2], moving[4, 0] = z, -y, -z
        moving[4, 2], moving[5, 0], moving[5, 1] = x, y, -x
        k = body[i]
        while k >= 0:
            for j in range(count):
                if meeting[i, j] == k:
                    for r in range(6):
                        put6(carried, 6 * (i * count + j) + r, 0, get6(moving, r, 0))
            if kind[k] != FREE:
                _inward(k, kind[k], work, moving)
            k = parent[k]
    for i in range(count):
        for j in range(i, count):
            if meeting[i, j] >= 0:
                _sandwich(carried, 6 * (i * count + j), 6 * (j * count + i), work, meeting[i, j], out, 6 * i, 6 * j)


@inlined
def _inward(k: int, kind: int, work: Any, moving: Any) -> None:
    """Replace T by T Psi_k: the motion of the tip per motion of the parent of link k (3.2)."""
    h, arm = axis_of(k, work), get3(work, k, ARM)
    gn, gf, d = get3(work, k, COLUMN), get3(work, k, COLUMN + 3), work[k, INVERSE]
    for r in range(6):
        w, v = get3(moving, r, 0), get3(moving, r, 3)
        share = -d * (dot(w, h) if kind == REVOLUTE else dot(v, h))
        w, v = plus_scaled(w, share, gn), plus_scaled(v, share, gf)
        # a row (w, v) of T Phi is (w - v^T L, v), and -v^T L = (arm x v)^T
        put3(moving, r, 0, add(w, cross(arm, v)))
        put3(moving, r, 3, v)


@inlined
def _sandwich(carried: Any, left: int, right: int, work: Any, k: int, out: Any, row: int, column: int) -> None:
    """Write left Upsilon_k right^T and its transpose into `out`."""
    vv, vw, ww = get6(work, k, UPSILON), get9(work, k, UPSILON + 6), get6(work, k, UPSILON + 15)
    for c in range(6):
        w, v = get3(carried, right + c, 0), get3(carried, right + c, 3)
        angular = add(symmetric_times(ww, w), transposed_times(vw, v))
        linear = add(times(vw, w), symmetric_times(vv, v))
        for r in range(6):
            entry = dot(get3(carried, left + r, 0), angular) + dot(get3(carried, left + r, 3), linear)
            out[row + r, column + c] = entry
            out[column + c, row + r] = entry
