"""Nests of cross products for batches of states (freeman-1985, tables 2-3 to 2-5).

Joints of one degree of freedom: joint k turns about (kind 0) or slides along (kind 1) the axis s_k through the origin
of body k. `path[b, :count[b]]` are the joints from the root to body b, ascending.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from dyn_nodes.common.loops import kernels_of

kernel = kernels_of(__file__)
REVOLUTE = 0


@kernel
def crossed(f: float, g: float, h: float, p: float, q: float, r: float) -> Any:
    """Return (f, g, h) x (p, q, r)."""
    return g * r - h * q, h * p - f * r, f * q - g * p


@kernel
def place_bodies(parent: Any, kind: Any, axis: Any, R0: Any, p0: Any, q: Any, turn: Any, origin: Any, s: Any) -> None:
    """Write rotation (N, n, 3, 3), origin (N, n, 3), joint axis (N, n, 3) of every body in the world at q (N, n)."""
    for e in range(q.shape[0]):
        for k in range(parent.shape[0]):
            x, y, z = axis[k, 0], axis[k, 1], axis[k, 2]
            a, b, c, d = q[e, k], 1.0, 0.0, 0.0
            if kind[k] == REVOLUTE:
                b, c = cos(q[e, k]), sin(q[e, k])
                d, a = 1.0 - b, 0.0
            local = (
                (b + d * x * x, d * x * y - c * z, d * x * z + c * y),
                (d * x * y + c * z, b + d * y * y, d * y * z - c * x),
                (d * x * z - c * y, d * y * z + c * x, b + d * z * z),
            )
            p = parent[k]
            for i in range(3):
                # row i of the parent's rotation times the constant pose
                f, g, h, o = R0[k, i, 0], R0[k, i, 1], R0[k, i, 2], p0[k, i]
                if p >= 0:
                    u, v, w = turn[e, p, i, 0], turn[e, p, i, 1], turn[e, p, i, 2]
                    f = u * R0[k, 0, 0] + v * R0[k, 1, 0] + w * R0[k, 2, 0]
                    g = u * R0[k, 0, 1] + v * R0[k, 1, 1] + w * R0[k, 2, 1]
                    h = u * R0[k, 0, 2] + v * R0[k, 1, 2] + w * R0[k, 2, 2]
                    o = origin[e, p, i] + u * p0[k, 0] + v * p0[k, 1] + w * p0[k, 2]
                s[e, k, i] = f * x + g * y + h * z
                origin[e, k, i] = o + a * s[e, k, i]
                for j in range(3):
                    turn[e, k, i, j] = f * local[0][j] + g * local[1][j] + h * local[2][j]


@kernel
def points(
    kind: Any, path: Any, count: Any, turn: Any, origin: Any, s: Any, body: Any, local: Any,
    order: int, where: Any, G: Any, H: Any, D: Any,
) -> None:  # fmt: skip
    """Write position (N, P, 3) and G, H, D (N, P, 3, n ...) of points `local` (P, 3) of bodies `body` (P,).

    Arrays are zero on entry; H and D are unchanged below order 2 and 3.
    """
    for e in range(turn.shape[0]):
        for c in range(body.shape[0]):
            b = body[c]
            for i in range(3):
                where[e, c, i] = origin[e, b, i]
                for j in range(3):
                    where[e, c, i] += turn[e, b, i, j] * local[c, j]
            for at in range(count[b]):
                k = path[b, at]
                x, y, z = s[e, k, 0], s[e, k, 1], s[e, k, 2]
                if kind[k] == REVOLUTE:
                    u = where[e, c, 0] - origin[e, k, 0]
                    v = where[e, c, 1] - origin[e, k, 1]
                    w = where[e, c, 2] - origin[e, k, 2]
                    x, y, z = crossed(x, y, z, u, v, w)
                G[e, c, 0, k], G[e, c, 1, k], G[e, c, 2, k] = x, y, z
                if order < 2:
                    continue
                # h_jk = s_j x g_k for j up to k, if joint j is revolute
                for before in range(at + 1):
                    j = path[b, before]
                    if kind[j] != REVOLUTE:
                        continue
                    p, q, r = crossed(s[e, j, 0], s[e, j, 1], s[e, j, 2], x, y, z)
                    H[e, c, 0, j, k], H[e, c, 1, j, k], H[e, c, 2, j, k] = p, q, r
                    H[e, c, 0, k, j], H[e, c, 1, k, j], H[e, c, 2, k, j] = p, q, r
                    if order < 3:
                        continue
                    # d_ijk = s_i x h_jk for i up to j, symmetric in all indices
                    for first in range(before + 1):
                        i = path[b, first]
                        if kind[i] != REVOLUTE:
                            continue
                        for axis, value in enumerate(crossed(s[e, i, 0], s[e, i, 1], s[e, i, 2], p, q, r)):
                            D[e, c, axis, i, j, k] = value
                            D[e, c, axis, i, k, j] = value
                            D[e, c, axis, j, i, k] = value
                            D[e, c, axis, j, k, i] = value
                            D[e, c, axis, k, i, j] = value
                            D[e, c, axis, k, j, i] = value


@kernel
def rotations(kind: Any, path: Any, count: Any, s: Any, body: Any, order: int, G: Any, H: Any, D: Any) -> None:
    """Write G, H, D (N, P, 3, n ...) of the rotation of bodies `body` (P,); arrays are zero on entry.

    h_mn = s_m x s_n for m < n only; d_lmn = s_i x (s_j x s_n) with i, j = l, m in ascending order, for l, m < n only.
    """
    for e in range(s.shape[0]):
        for c in range(body.shape[0]):
            b = body[c]
            for at in range(count[b]):
                k = path[b, at]
                if kind[k] != REVOLUTE:
                    continue
                x, y, z = s[e, k, 0], s[e, k, 1], s[e, k, 2]
                G[e, c, 0, k], G[e, c, 1, k], G[e, c, 2, k] = x, y, z
                if order < 2:
                    continue
                for before in range(at):
                    j = path[b, before]
                    if kind[j] != REVOLUTE:
                        continue
                    p, q, r = crossed(s[e, j, 0], s[e, j, 1], s[e, j, 2], x, y, z)
                    H[e, c, 0, j, k], H[e, c, 1, j, k], H[e, c, 2, j, k] = p, q, r
                    if order < 3:
                        continue
                    for first in range(before + 1):
                        i = path[b, first]
                        if kind[i] != REVOLUTE:
                            continue
                        for axis, value in enumerate(crossed(s[e, i, 0], s[e, i, 1], s[e, i, 2], p, q, r)):
                            D[e, c, axis, i, j, k] = value
                            D[e, c, axis, j, i, k] = value
