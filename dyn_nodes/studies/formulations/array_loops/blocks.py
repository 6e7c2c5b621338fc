"""Three-dimensional algebra on tuples of floats, for the array loops: no arrays, everything inlined.

A vector is (x, y, z), a matrix its nine entries by rows, a symmetric matrix (xx, xy, xz, yy, yz, zz). `FLAGS` lets the
compiler fuse a product and a sum into one rounding, and nothing else: sums keep their order.
"""

from __future__ import annotations

from typing import Any

from numba import njit

FLAGS = {'contract', 'nsz'}
Tuple = tuple[float, ...]
inlined: Any = njit(forceinline=True, fastmath=FLAGS, error_model='numpy')


@inlined
def cross(a: Tuple, b: Tuple) -> Tuple:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def dot(a: Tuple, b: Tuple) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def add(a: Tuple, b: Tuple) -> Tuple:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def subtract(a: Tuple, b: Tuple) -> Tuple:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scaled(a: Tuple, s: float) -> Tuple:
    """Return s a."""
    return (a[0] * s, a[1] * s, a[2] * s)


@inlined
def plus_scaled(a: Tuple, s: float, b: Tuple) -> Tuple:
    """Return a + s b."""
    return (a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2])


@inlined
def times(A: Tuple, u: Tuple) -> Tuple:
    """Return A u."""
    return (
        A[0] * u[0] + A[1] * u[1] + A[2] * u[2],
        A[3] * u[0] + A[4] * u[1] + A[5] * u[2],
        A[6] * u[0] + A[7] * u[1] + A[8] * u[2],
    )


@inlined
def transposed_times(A: Tuple, u: Tuple) -> Tuple:
    """Return A^T u."""
    return (
        A[0] * u[0] + A[3] * u[1] + A[6] * u[2],
        A[1] * u[0] + A[4] * u[1] + A[7] * u[2],
        A[2] * u[0] + A[5] * u[1] + A[8] * u[2],
    )


@inlined
def product(A: Tuple, B: Tuple) -> Tuple:
    """Return A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inlined
def turned(R: Tuple, s: float, c: float) -> Tuple:
    """Return R times the rotation about z with sine `s` and cosine `c`."""
    return (
        R[0] * c + R[1] * s,
        R[1] * c - R[0] * s,
        R[2],
        R[3] * c + R[4] * s,
        R[4] * c - R[3] * s,
        R[5],
        R[6] * c + R[7] * s,
        R[7] * c - R[6] * s,
        R[8],
    )


@inlined
def rotation_of(x: float, y: float, z: float, w: float) -> Tuple:
    """Return the rotation of a quaternion of any norm but zero."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - s * (y * y + z * z),
        s * (x * y - z * w),
        s * (x * z + y * w),
        s * (x * y + z * w),
        1.0 - s * (x * x + z * z),
        s * (y * z - x * w),
        s * (x * z - y * w),
        s * (y * z + x * w),
        1.0 - s * (x * x + y * y),
    )


@inlined
def symmetric_times(S: Tuple, u: Tuple) -> Tuple:
    """Return S u of a symmetric matrix."""
    return (
        S[0] * u[0] + S[1] * u[1] + S[2] * u[2],
        S[1] * u[0] + S[3] * u[1] + S[4] * u[2],
        S[2] * u[0] + S[4] * u[1] + S[5] * u[2],
    )


@inlined
def symmetric_add(A: Tuple, B: Tuple) -> Tuple:
    """Return A + B of symmetric matrices."""
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@inlined
def rotated(R: Tuple, S: Tuple) -> Tuple:
    """Return R S R^T of a symmetric matrix."""
    x, y, z = (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8])
    sx, sy, sz = symmetric_times(S, x), symmetric_times(S, y), symmetric_times(S, z)
    return (dot(sx, x), dot(sx, y), dot(sx, z), dot(sy, y), dot(sy, z), dot(sz, z))


@inlined
def less_outer(S: Tuple, a: Tuple, b: Tuple) -> Tuple:
    """Return S - a b^T where a and b are parallel, so that the result is symmetric."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[0] * b[1],
        S[2] - a[0] * b[2],
        S[3] - a[1] * b[1],
        S[4] - a[1] * b[2],
        S[5] - a[2] * b[2],
    )


@inlined
def matrix_less_outer(A: Tuple, a: Tuple, b: Tuple) -> Tuple:
    """Return A - a b^T."""
    return (
        A[0] - a[0] * b[0],
        A[1] - a[0] * b[1],
        A[2] - a[0] * b[2],
        A[3] - a[1] * b[0],
        A[4] - a[1] * b[1],
        A[5] - a[1] * b[2],
        A[6] - a[2] * b[0],
        A[7] - a[2] * b[1],
        A[8] - a[2] * b[2],
    )


@inlined
def symmetric_inverse(S: Tuple) -> Tuple:
    """Return the inverse of a symmetric matrix by cofactors: one division."""
    c0, c1, c2 = S[3] * S[5] - S[4] * S[4], S[2] * S[4] - S[1] * S[5], S[1] * S[4] - S[2] * S[3]
    d = 1.0 / (S[0] * c0 + S[1] * c1 + S[2] * c2)
    return (
        c0 * d,
        c1 * d,
        c2 * d,
        (S[0] * S[5] - S[2] * S[2]) * d,
        (S[1] * S[2] - S[0] * S[4]) * d,
        (S[0] * S[3] - S[1] * S[1]) * d,
    )


@inlined
def moved(J: Tuple, H: Tuple, M: Tuple, arm: Tuple) -> tuple[Tuple, Tuple]:
    """Return J and H of an articulated inertia taken at another point; M stays.

    moment = J w + H v, force = H^T w + M v. `arm` runs from the new point to the old one:
    H' = H + arm x M, J' = J - H (arm x) + (arm x) H'^T.
    """
    m0, m1, m2 = cross(arm, (M[0], M[1], M[2])), cross(arm, (M[1], M[3], M[4])), cross(arm, (M[2], M[4], M[5]))
    r0, r1, r2 = cross(arm, (H[0], H[1], H[2])), cross(arm, (H[3], H[4], H[5])), cross(arm, (H[6], H[7], H[8]))
    K = (
        H[0] + m0[0],
        H[1] + m1[0],
        H[2] + m2[0],
        H[3] + m0[1],
        H[4] + m1[1],
        H[5] + m2[1],
        H[6] + m0[2],
        H[7] + m1[2],
        H[8] + m2[2],
    )
    d0, d1, d2 = cross(arm, (K[0], K[1], K[2])), cross(arm, (K[3], K[4], K[5])), cross(arm, (K[6], K[7], K[8]))
    return (
        J[0] + r0[0] + d0[0],
        J[1] + r0[1] + d1[0],
        J[2] + r0[2] + d2[0],
        J[3] + r1[1] + d1[1],
        J[4] + r1[2] + d2[1],
        J[5] + r2[2] + d2[2],
    ), K


@inlined
def get3(rows: Any, k: int, at: int) -> Tuple:
    """Return three entries of row k."""
    return (rows[k, at], rows[k, at + 1], rows[k, at + 2])


@inlined
def get6(rows: Any, k: int, at: int) -> Tuple:
    """Return six entries of row k."""
    return (rows[k, at], rows[k, at + 1], rows[k, at + 2], rows[k, at + 3], rows[k, at + 4], rows[k, at + 5])


@inlined
def get9(rows: Any, k: int, at: int) -> Tuple:
    """Return nine entries of row k."""
    return (
        rows[k, at],
        rows[k, at + 1],
        rows[k, at + 2],
        rows[k, at + 3],
        rows[k, at + 4],
        rows[k, at + 5],
        rows[k, at + 6],
        rows[k, at + 7],
        rows[k, at + 8],
    )


@inlined
def put3(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Write three entries of row k."""
    rows[k, at], rows[k, at + 1], rows[k, at + 2] = u[0], u[1], u[2]


@inlined
def put6(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Write six entries of row k."""
    rows[k, at], rows[k, at + 1], rows[k, at + 2] = u[0], u[1], u[2]
    rows[k, at + 3], rows[k, at + 4], rows[k, at + 5] = u[3], u[4], u[5]


@inlined
def put9(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Write nine entries of row k."""
    rows[k, at], rows[k, at + 1], rows[k, at + 2] = u[0], u[1], u[2]
    rows[k, at + 3], rows[k, at + 4], rows[k, at + 5] = u[3], u[4], u[5]
    rows[k, at + 6], rows[k, at + 7], rows[k, at + 8] = u[6], u[7], u[8]


@inlined
def add3(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Add to three entries of row k."""
    rows[k, at] += u[0]
    rows[k, at + 1] += u[1]
    rows[k, at + 2] += u[2]


@inlined
def add6(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Add to six entries of row k."""
    rows[k, at] += u[0]
    rows[k, at + 1] += u[1]
    rows[k, at + 2] += u[2]
    rows[k, at + 3] += u[3]
    rows[k, at + 4] += u[4]
    rows[k, at + 5] += u[5]


@inlined
def add9(rows: Any, k: int, at: int, u: Tuple) -> None:
    """Add to nine entries of row k."""
    add6(rows, k, at, (u[0], u[1], u[2], u[3], u[4], u[5]))
    add3(rows, k, at + 6, (u[6], u[7], u[8]))
