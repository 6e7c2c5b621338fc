"""Spatial algebra over expressions: three-dimensional blocks of Featherstone's six-dimensional vectors.

A motion vector is a pair (angular, linear), a force vector a pair (moment, force), both taken at the origin of a frame
and written in its axes: `[angular; linear]` as in yesiloglu-2007. Everything accepts CasADi SX or DM; structural zeros
fold away, so that a massless or axis-aligned link costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

Expression = ca.SX
SNAP = 1e-14
"""Entries of constant rotations within this distance of 0, 1 or -1 are rounded to that number."""


def entries(column: Expression, indices: Sequence[int] | slice) -> Expression:
    """Return the entries (n, 1) of a column at n indices, (0, 1) for none.

    CasADi interprets `x[[]]` of a column with one row as a row without columns, (1, 0), which adds a row when stacked.
    """
    chosen = column[indices, 0]
    assert chosen.shape[1] == 1, f'expected a column, found shape {chosen.shape}'
    return chosen


def skew(u: Expression) -> Expression:
    """Return the (3, 3) matrix of the cross product u x."""
    return ca.vertcat(
        ca.horzcat(0, -u[2], u[1]),
        ca.horzcat(u[2], 0, -u[0]),
        ca.horzcat(-u[1], u[0], 0),
    )


def cross(a: Expression, b: Expression) -> Expression:
    """Return a x b of two 3-vectors, by CasADi in a tenth of the time of a Python formula."""
    return ca.cross(a, b)


def dot(a: Expression, b: Expression) -> Expression:
    """Return a . b of two 3-vectors, by CasADi in a tenth of the time of a Python formula."""
    return ca.dot(a, b)


def snapped(matrix: np.ndarray) -> np.ndarray:
    """Return a constant array with entries near 0 and +-1 rounded, so zeros fold."""
    result = np.array(matrix, dtype=float)
    for exact in (-1.0, 0.0, 1.0):
        result[np.abs(result - exact) < SNAP] = exact
    return result


def rotation_about(axis: np.ndarray, angle: Expression) -> Expression:
    """Return the (3, 3) rotation by `angle` (rad) about a constant unit axis (Rodrigues)."""
    k = ca.SX(snapped(axis))
    s, c = ca.sin(angle), ca.cos(angle)
    return c * ca.SX.eye(3) + s * skew(k) + (1 - c) * ca.mtimes(k, k.T)


def rotation_of_quaternion(quaternion: Expression) -> Expression:
    """Return the (3, 3) rotation body -> world of a quaternion (x, y, z, w) of any nonzero norm.

    The form is homogeneous of degree zero, so drift of the norm during integration has no effect.
    """
    x, y, z, w = (quaternion[k] for k in range(4))
    s = 2 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = s * x, s * y, s * z
    return ca.vertcat(
        ca.horzcat(1 - (sy * y + sz * z), sx * y - sz * w, sx * z + sy * w),
        ca.horzcat(sx * y + sz * w, 1 - (sx * x + sz * z), sy * z - sx * w),
        ca.horzcat(sx * z - sy * w, sy * z + sx * w, 1 - (sx * x + sy * y)),
    )


def quaternion_rate(quaternion: Expression, omega: Expression) -> Expression:
    """Return the (4,) rate of a quaternion (x, y, z, w) under the body-fixed angular velocity `omega` (rad/s)."""
    x, y, z, w = (quaternion[k] for k in range(4))
    a, b, c = (0.5 * omega[k] for k in range(3))
    return ca.vertcat(
        w * a + y * c - z * b,
        w * b + z * a - x * c,
        w * c + x * b - y * a,
        -(x * a + y * b + z * c),
    )


@dataclass(frozen=True)
class Turn:
    """A rotation about one coordinate axis by an angle of sine `s` and cosine `c`.

    `i`, `j` are the two other axes, in the order in which a positive angle turns i towards j; `k` is the axis.
    """

    i: int
    j: int
    k: int
    s: Expression
    c: Expression

    @classmethod
    def about(cls, axis: np.ndarray, angle: Expression) -> Turn | None:
        """Return the turn about a constant unit axis, or None if it is not a coordinate axis."""
        for k in range(3):
            if abs(axis[k]) == 1.0:
                return cls((k + 1) % 3, (k + 2) % 3, k, axis[k] * ca.sin(angle), ca.cos(angle))
        return None

    def vector(self, u: Expression) -> Expression:
        """Return R u."""
        r = [u[0], u[1], u[2]]
        r[self.i], r[self.j] = self.c * u[self.i] - self.s * u[self.j], self.s * u[self.i] + self.c * u[self.j]
        return ca.vertcat(*r)

    def back(self, u: Expression) -> Expression:
        """Return R^T u."""
        r = [u[0], u[1], u[2]]
        r[self.i], r[self.j] = self.c * u[self.i] + self.s * u[self.j], self.c * u[self.j] - self.s * u[self.i]
        return ca.vertcat(*r)

    def tensor(self, A: Expression) -> Expression:
        """Return R A R^T of any (3, 3) matrix.

        The block of the two turning axes is split into an antisymmetric part, which is invariant, and a symmetric part
        [a b; b d], for which one product w = s (a - d) + 2 b c yields a - s w, d + s w and c w - b.
        """
        i, j, k, s, c = self.i, self.j, self.k, self.s, self.c
        upper, lower = A[i, j], A[j, i]
        same = ca.is_equal(upper, lower, 8)
        b, skew_part = (upper, ca.SX(0)) if same else (0.5 * (upper + lower), 0.5 * (upper - lower))
        w = s * (A[i, i] - A[j, j]) + 2 * b * c
        mixed = c * w - b
        rows = [[ca.SX(0)] * 3 for _ in range(3)]
        rows[i][i], rows[j][j], rows[k][k] = A[i, i] - s * w, A[j, j] + s * w, A[k, k]
        rows[i][j], rows[j][i] = mixed + skew_part, mixed - skew_part
        rows[i][k], rows[j][k] = c * A[i, k] - s * A[j, k], s * A[i, k] + c * A[j, k]
        rows[k][i], rows[k][j] = c * A[k, i] - s * A[k, j], s * A[k, i] + c * A[k, j]
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))


@dataclass(frozen=True)
class Pose:
    """Pose of a child frame in a parent frame: `R` (3, 3) child axes, `p` (3,) child origin, both in the parent.

    `turn` is `R` in a form that is cheaper to apply, for a rotation about one coordinate axis.
    """

    R: Expression
    p: Expression
    turn: Turn | None = None

    def rotate(self, u: Expression) -> Expression:
        """Return R u (3,): a child's vector in the parent's axes."""
        return self.turn.vector(u) if self.turn else ca.mtimes(self.R, u)

    def unrotate(self, u: Expression) -> Expression:
        """Return R^T u (3,): a parent's vector in the child's axes."""
        return self.turn.back(u) if self.turn else ca.mtimes(self.R.T, u)

    def rotate_tensor(self, A: Expression) -> Expression:
        """Return R A R^T (3, 3)."""
        return self.turn.tensor(A) if self.turn else ca.mtimes([self.R, A, self.R.T])

    def __matmul__(self, other: Pose) -> Pose:
        """Return the composition (A <- B) @ (B <- C) = A <- C."""
        return Pose(ca.mtimes(self.R, other.R), self.p + ca.mtimes(self.R, other.p))

    def point(self, r: Expression) -> Expression:
        """Return a point of the child frame in the parent frame."""
        return self.p + ca.mtimes(self.R, r)


@dataclass(frozen=True)
class Motion:
    """Motion vector (velocity or acceleration): `w` angular, `v` linear part, (3,) each."""

    w: Expression
    v: Expression

    def __add__(self, other: Motion) -> Motion:
        return Motion(self.w + other.w, self.v + other.v)

    def scaled(self, factor: Expression) -> Motion:
        """Return the vector times a scalar."""
        return Motion(self.w * factor, self.v * factor)

    def to_child(self, pose: Pose) -> Motion:
        """Return the motion at the child frame of `pose`."""
        return Motion(pose.unrotate(self.w), pose.unrotate(self.v + cross(self.w, pose.p)))

    def cross_motion(self, other: Motion) -> Motion:
        """Return self x other, the rate of a motion vector carried along."""
        return Motion(cross(self.w, other.w), cross(self.w, other.v) + cross(self.v, other.w))

    def cross_force(self, force: Force) -> Force:
        """Return self x* force, the rate of a force vector carried along."""
        return Force(cross(self.w, force.n) + cross(self.v, force.f), cross(self.w, force.f))

    def stacked(self) -> Expression:
        """Return the (6,) column [angular; linear]."""
        return ca.vertcat(self.w, self.v)


@dataclass(frozen=True)
class Force:
    """Force vector (or momentum): `n` moment at the frame's origin, `f` force, (3,) each."""

    n: Expression
    f: Expression

    def __add__(self, other: Force) -> Force:
        return Force(self.n + other.n, self.f + other.f)

    def __sub__(self, other: Force) -> Force:
        return Force(self.n - other.n, self.f - other.f)

    def scaled(self, factor: Expression) -> Force:
        """Return the vector times a scalar."""
        return Force(self.n * factor, self.f * factor)

    def to_parent(self, pose: Pose) -> Force:
        """Return the force at the parent frame of `pose`."""
        f = pose.rotate(self.f)
        return Force(pose.rotate(self.n) + cross(pose.p, f), f)

    def power(self, motion: Motion) -> Expression:
        """Return the scalar product with a motion vector of the same frame."""
        return dot(self.n, motion.w) + dot(self.f, motion.v)

    def stacked(self) -> Expression:
        """Return the (6,) column [moment; force]."""
        return ca.vertcat(self.n, self.f)


@dataclass(frozen=True)
class Inertia:
    """Articulated (or rigid) inertia in blocks: moment = J w + H v, force = H^T w + M v; J, M symmetric (3, 3)."""

    J: Expression
    H: Expression
    M: Expression

    @classmethod
    def rigid(cls, mass: Expression, com: Expression, central: Expression) -> Inertia:
        """Return the inertia of a rigid body: mass kg, com (3,) m, central (3, 3) tensor about the com, kg m2."""
        c = skew(com)
        return cls(central - mass * ca.mtimes(c, c), mass * c, mass * ca.SX.eye(3))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.J + other.J, self.H + other.H, self.M + other.M)

    def __matmul__(self, motion: Motion) -> Force:
        """Return the force (or momentum) of a motion."""
        return Force(
            ca.mtimes(self.J, motion.w) + ca.mtimes(self.H, motion.v),
            ca.mtimes(self.H.T, motion.w) + ca.mtimes(self.M, motion.v),
        )

    def to_parent(self, pose: Pose) -> Inertia:
        """Return the inertia at the parent frame of `pose`."""
        p = skew(pose.p)
        H0 = pose.rotate_tensor(self.H)
        M = symmetric(pose.rotate_tensor(self.M))
        H = H0 + ca.mtimes(p, M)
        J = pose.rotate_tensor(self.J) - ca.mtimes(H0, p) + ca.mtimes(p, H.T)
        return Inertia(symmetric(J), H, M)

    def without(self, motion: Motion, U: Force, inverse_d: Expression, annihilates: bool = True) -> Inertia:
        """Return this inertia less U U^T / d: the inertia across a joint free along `motion` (Featherstone, eq. 7.23).

        U = I motion, d = motion . U. The result annihilates `motion`, unless a rotor adds to d. Along a coordinate axis
        its row and column are then set to structural zeros, which saves later operations.
        """
        n, f = U.n * inverse_d, U.f * inverse_d
        J = symmetric(self.J - ca.mtimes(n, U.n.T))
        H = self.H - ca.mtimes(n, U.f.T)
        M = symmetric(self.M - ca.mtimes(f, U.f.T))
        for k in range(3) if annihilates else ():
            if is_unit(motion.w, k):
                J[k, :], J[:, k], H[k, :] = 0, 0, 0
            elif is_unit(motion.v, k):
                M[k, :], M[:, k], H[:, k] = 0, 0, 0
        return Inertia(J, H, M)

    def matrix(self) -> Expression:
        """Return the (6, 6) matrix."""
        return ca.vertcat(ca.horzcat(self.J, self.H), ca.horzcat(self.H.T, self.M))


def is_unit(u: Expression, k: int) -> bool:
    """Return whether a constant vector (3,) is plus or minus the k-th coordinate axis."""
    return bool(u.is_constant() and np.array_equal(np.abs(np.array(ca.DM(u)).ravel()), np.eye(3)[k]))


def symmetric(matrix: Expression) -> Expression:
    """Return the matrix with its upper triangle mirrored; equal entries are one expression."""
    return ca.triu2symm(ca.triu(matrix))


def inverse_symmetric3(A: Expression) -> Expression:
    """Return the inverse of a symmetric (3, 3) matrix by cofactors: one division."""
    c00, c01, c02 = (
        A[1, 1] * A[2, 2] - A[1, 2] * A[1, 2],
        A[0, 2] * A[1, 2] - A[0, 1] * A[2, 2],
        A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1],
    )
    c11, c12 = A[0, 0] * A[2, 2] - A[0, 2] * A[0, 2], A[0, 1] * A[0, 2] - A[0, 0] * A[1, 2]
    c22 = A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1]
    inverse = 1 / (A[0, 0] * c00 + A[0, 1] * c01 + A[0, 2] * c02)
    c00, c01, c02, c11, c12, c22 = (c * inverse for c in (c00, c01, c02, c11, c12, c22))
    return ca.vertcat(ca.horzcat(c00, c01, c02), ca.horzcat(c01, c11, c12), ca.horzcat(c02, c12, c22))


def solve_inertia(inertia: Inertia, force: Force) -> Motion:
    """Return the motion of a free body under a force, with a block-wise inverse of the inertia: two divisions in all.

    A six by six factorization has six sequential divisions; here the second division depends on the first only.
    """
    inverse_M = inverse_symmetric3(inertia.M)
    HM = ca.mtimes(inertia.H, inverse_M)
    schur = symmetric(inertia.J - ca.mtimes(HM, inertia.H.T))
    w = ca.mtimes(inverse_symmetric3(schur), force.n - ca.mtimes(HM, force.f))
    v = ca.mtimes(inverse_M, force.f - ca.mtimes(inertia.H.T, w))
    return Motion(w, v)


def solve_symmetric(A: Expression, b: Expression, pivots: list[Expression] | None = None) -> Expression:
    """Solve A x = b for a symmetric positive definite matrix by L D L^T, unrolled. A (n, n), b (n, m).

    The pivots D are appended to a list.
    """
    n = A.shape[0]
    L = [[ca.SX(0)] * n for _ in range(n)]
    LD = [[ca.SX(0)] * n for _ in range(n)]
    inverse: list[Expression] = []
    for j in range(n):
        d = A[j, j] - sum((L[j][k] * LD[j][k] for k in range(j)), ca.SX(0))
        inverse.append(1 / d)
        if pivots is not None:
            pivots.append(d)
        for i in range(j + 1, n):
            LD[i][j] = A[i, j] - sum((L[j][k] * LD[i][k] for k in range(j)), ca.SX(0))
            L[i][j] = LD[i][j] * inverse[j]
    columns = []
    for column in range(b.shape[1]):
        y: list[Expression] = []
        for i in range(n):
            y.append(b[i, column] - sum((L[i][k] * y[k] for k in range(i)), ca.SX(0)))
        x = [y[i] * inverse[i] for i in range(n)]
        for i in reversed(range(n)):
            x[i] = x[i] - sum((L[k][i] * x[k] for k in range(i + 1, n)), ca.SX(0))
        columns.append(ca.vertcat(*x))
    return ca.horzcat(*columns)
