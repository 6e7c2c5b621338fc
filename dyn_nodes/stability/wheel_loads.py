"""Ground reactions at every wheel from the total load on the wheels.

With more than three wheels the reactions are statically indeterminate. The suspension determines them: the machine's
body is rigid, the ground a plane, and a wheel pushes with its stiffness times its compression, or not at all
(abo-shanab-2003, eqs 7.8 to 7.11). Dampers in proportion to the stiffnesses share a load in the same way, so the result
also holds in motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.stability._states import Array, contiguous, kernel

STEPS = 40
SETTLED = 1e-10
"""Change of the plane at convergence, m per m."""
INSET = 1e-5
"""A centre of pressure outside the polygon is moved this part of the polygon's size inside its edge."""


class WheelLoads(NamedTuple):
    """Result of :func:`wheel_loads`, in the frame of the input.

    Attributes:
        normal: (w,) normal forces of the ground on the wheels, N.
        plane: (4,) of the ground: unit normal (3,) and distance d, n . x = d, m.
        feet: (w, 3) ground points below the wheels, m.
        center_of_pressure: (3,) zero moment point of the load on the ground, m, inside or outside of the polygon.
        balanced: the centre of pressure is inside the polygon of the feet; otherwise the machine is tipping, and the
            loads belong to the nearest point of its border.
        pressed: the load presses the machine on the ground; otherwise the loads are zero and the plane is the guess.
    """

    normal: Array
    plane: Array
    feet: Array
    center_of_pressure: Array
    balanced: bool
    pressed: bool


def wheel_loads(
    attachments: ArrayLike,
    stiffness: ArrayLike,
    free_length: ArrayLike,
    polygon: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike,
    guess: ArrayLike | None = None,
) -> WheelLoads:
    """Return the load of every wheel, distributed by the stiffnesses of the suspension.

    The unknown is the plane of the ground below the body. Its compressions l_o - h at the wheels have to balance the
    load's normal force and its moment about the two axes in the plane; friction acts in the plane and does not
    contribute. Newton steps include the wheels that touch.

    Args:
        attachments: (w, 3) of the wheels, w >= 3, m.
        stiffness: (w,) N/m.
        free_length: (w,) height of the attachment at which a wheel leaves the ground, m.
        polygon: (n,) indices of the wheels on the support polygon, counter-clockwise seen from above.
        force: (3,) load on the machine without the ground's, N.
        moment: (3,) its moment about the origin, N m.
        guess: (4,) initial plane, from the previous state; None: a level plane.
    """
    points, k, rest = contiguous(attachments), contiguous(stiffness), contiguous(free_length)
    order = np.ascontiguousarray(polygon, dtype=np.int64)
    if points.ndim != 2 or points.shape[1:] != (3,) or points.shape[0] < 3:
        raise ValueError(f'attachments: expected shape (w, 3) with w >= 3, found {points.shape}')
    for name, values in (('stiffness', k), ('free_length', rest)):
        if values.shape != points.shape[:1]:
            raise ValueError(f'{name}: expected shape {points.shape[:1]}, found {values.shape}')
    start = None if guess is None else contiguous(guess)
    return balance_loads(points, k, rest, order, contiguous(force), contiguous(moment), start)


def balance_loads(
    attachments: Array,
    stiffness: Array,
    free_length: Array,
    polygon: NDArray[np.int64],
    force: Array,
    moment: Array,
    guess: Array | None,
) -> WheelLoads:
    """Return `wheel_loads` of contiguous arrays; shapes are not checked."""
    plane = np.empty(4)
    if guess is None:
        start_kernel(attachments, free_length, plane)
    else:
        plane[:] = guess
    normal, feet, center = np.empty(len(attachments)), np.empty_like(attachments), np.empty(3)
    status = wheel_loads_kernel(
        attachments, stiffness, free_length, polygon, force, moment, plane, normal, feet, center
    )
    return WheelLoads(normal, plane, feet, center, status == 0, status < 2)


@kernel
def start_kernel(points, rest, plane):
    """Fill a level plane (4,) that wheels at points (w, 3) touch in the mean."""
    plane[0], plane[1], plane[2], plane[3] = 0.0, 0.0, 1.0, 0.0
    for i in range(rest.shape[0]):
        plane[3] += (points[i, 2] - rest[i]) / rest.shape[0]


@kernel
def wheel_loads_kernel(points, stiffness, rest, polygon, force, moment, plane, normal, feet, center):
    """Fill plane, loads, feet and centre of pressure; 0 balanced, 1 tipping, 2 not pressed on the ground."""
    count = points.shape[0]
    compression, x, y = np.empty(count), np.empty(count), np.empty(count)
    ex, ey, target = np.empty(3), np.empty(3), np.empty(3)
    guess = plane.copy()
    status = 0
    normal[:] = 0.0
    _feet(points, plane, feet)
    center[:] = np.nan
    for _step in range(STEPS):
        normal_force = -(force[0] * plane[0] + force[1] * plane[1] + force[2] * plane[2])
        if not normal_force > 0.0:
            normal[:] = 0.0
            plane[:] = guess
            _feet(points, plane, feet)
            center[:] = np.nan
            return 2
        _pressure_point(force, moment, plane, normal_force, center)
        status = _into_polygon(feet, polygon, plane, center, target)
        _axes(plane, ex, ey)
        for i in range(count):
            x[i] = 0.0
            y[i] = 0.0
            compression[i] = rest[i] + plane[3]
            for j in range(3):
                x[i] += (points[i, j] - target[j]) * ex[j]
                y[i] += (points[i, j] - target[j]) * ey[j]
                compression[i] -= plane[j] * points[i, j]
        turn_x, turn_y, rise = _tilt(compression, stiffness, x, y, normal_force)
        before = plane.copy()
        # the plane turned about the target, then moved
        for j in range(3):
            plane[j] += turn_x * ex[j] + turn_y * ey[j]
        length = np.sqrt(plane[0] ** 2 + plane[1] ** 2 + plane[2] ** 2)
        for j in range(3):
            plane[j] /= length
        through = target[0] * plane[0] + target[1] * plane[1] + target[2] * plane[2]
        plane[3] = (
            through + rise + (before[3] - (target[0] * before[0] + target[1] * before[1] + target[2] * before[2]))
        )
        _feet(points, plane, feet)
        if max(abs(turn_x), abs(turn_y), abs(rise)) < SETTLED:
            break
    total = 0.0
    for i in range(count):
        normal[i] = stiffness[i] * max(0.0, compression[i] - turn_x * x[i] - turn_y * y[i] + rise)
        total += normal[i]
    if total > 0.0:
        normal *= normal_force / total
    return status


@kernel
def _tilt(compression, stiffness, x, y, normal_force):
    """Return turns (2) and rise of the plane that balance the load: an inner iteration over the wheels that touch."""
    count = compression.shape[0]
    tx, ty, rise = 0.0, 0.0, 0.0
    matrix, right = np.empty((3, 3)), np.empty(3)
    for _step in range(STEPS):
        matrix[:] = 0.0
        right[0], right[1], right[2] = normal_force, 0.0, 0.0
        scale, size = 0.0, 0.0
        for i in range(count):
            c = compression[i] - tx * x[i] - ty * y[i] + rise
            scale += stiffness[i]
            size = max(size, abs(x[i]), abs(y[i]))
            if c <= 0.0:
                continue
            basis = (1.0, -x[i], -y[i])
            for a in range(3):
                right[a] -= stiffness[i] * basis[a] * c
                for b in range(3):
                    matrix[a, b] += stiffness[i] * basis[a] * basis[b]
        # with two wheels or fewer an axis has no stiffness
        matrix[0, 0] += 1e-9 * scale
        matrix[1, 1] += 1e-9 * scale * size * size
        matrix[2, 2] += 1e-9 * scale * size * size
        step_rise, step_x, step_y = _solve3(matrix, right)
        # at most 0.02 rad and 5 cm a step: changes of contact must not make the iteration diverge
        shrink = min(1.0, 0.02 / max(abs(step_x), abs(step_y), abs(step_rise) / 2.5, 1e-12))
        rise += shrink * step_rise
        tx += shrink * step_x
        ty += shrink * step_y
        if max(abs(step_x), abs(step_y), abs(step_rise)) < 0.1 * SETTLED:
            break
    return tx, ty, rise


@kernel
def _solve3(m, r):
    """Return the solution of a symmetric positive definite system of three."""
    l00 = np.sqrt(m[0, 0])
    l10, l20 = m[1, 0] / l00, m[2, 0] / l00
    l11 = np.sqrt(m[1, 1] - l10 * l10)
    l21 = (m[2, 1] - l20 * l10) / l11
    l22 = np.sqrt(m[2, 2] - l20 * l20 - l21 * l21)
    a = r[0] / l00
    b = (r[1] - l10 * a) / l11
    c = (r[2] - l20 * a - l21 * b) / l22
    z = c / l22
    y = (b - l21 * z) / l11
    return (a - l10 * y - l20 * z) / l00, y, z


@kernel
def _feet(points, plane, feet):
    """Fill the points of the plane below the wheels."""
    for i in range(points.shape[0]):
        height = points[i, 0] * plane[0] + points[i, 1] * plane[1] + points[i, 2] * plane[2] - plane[3]
        for j in range(3):
            feet[i, j] = points[i, j] - height * plane[j]


@kernel
def _axes(plane, ex, ey):
    """Fill two unit vectors that span the plane, right-handed with its normal; `ex` is as close to x as possible."""
    along = plane[0]
    ex[0], ex[1], ex[2] = 1.0 - along * plane[0], -along * plane[1], -along * plane[2]
    length = np.sqrt(ex[0] ** 2 + ex[1] ** 2 + ex[2] ** 2)
    if length < 1e-6:
        ex[0], ex[1], ex[2] = -plane[0] * plane[1], 1.0 - plane[1] * plane[1], -plane[2] * plane[1]
        length = np.sqrt(ex[0] ** 2 + ex[1] ** 2 + ex[2] ** 2)
    ex /= length
    ey[0] = plane[1] * ex[2] - plane[2] * ex[1]
    ey[1] = plane[2] * ex[0] - plane[0] * ex[2]
    ey[2] = plane[0] * ex[1] - plane[1] * ex[0]


@kernel
def _pressure_point(force, moment, plane, normal_force, center):
    """Fill the point of the plane about which the load has no moment along it (abo-shanab-2003, section 2.9)."""
    ox, oy, oz = plane[3] * plane[0], plane[3] * plane[1], plane[3] * plane[2]
    mx = moment[0] - (oy * force[2] - oz * force[1])
    my = moment[1] - (oz * force[0] - ox * force[2])
    mz = moment[2] - (ox * force[1] - oy * force[0])
    center[0] = ox - (plane[1] * mz - plane[2] * my) / normal_force
    center[1] = oy - (plane[2] * mx - plane[0] * mz) / normal_force
    center[2] = oz - (plane[0] * my - plane[1] * mx) / normal_force


@kernel
def _into_polygon(feet, polygon, plane, center, target):
    """Write the centre of pressure, moved into the polygon, into `target`; return 1 if it was outside."""
    count = polygon.shape[0]
    target[:] = center
    outside = 0
    for _turn in range(4):
        moved = False
        for i in range(count):
            a, b = polygon[i], polygon[(i + 1) % count]
            dx, dy, dz = feet[b, 0] - feet[a, 0], feet[b, 1] - feet[a, 1], feet[b, 2] - feet[a, 2]
            size = np.sqrt(dx * dx + dy * dy + dz * dz)
            # inward: normal x edge
            nx = (plane[1] * dz - plane[2] * dy) / size
            ny = (plane[2] * dx - plane[0] * dz) / size
            nz = (plane[0] * dy - plane[1] * dx) / size
            distance = nx * (target[0] - feet[a, 0]) + ny * (target[1] - feet[a, 1]) + nz * (target[2] - feet[a, 2])
            if distance < INSET * size:
                if distance < 0.0:
                    outside = 1
                shift = INSET * size - distance
                target[0] += shift * nx
                target[1] += shift * ny
                target[2] += shift * nz
                moved = True
        if not moved:
            break
    return outside


def loads_on_plane(
    attachments: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    free_length: ArrayLike,
    ground_normal: ArrayLike,
    normal_rate: ArrayLike,
    normal_force: float,
) -> tuple[Array, float]:
    """Return the loads of wheels on a plane of measured direction, for a total normal force.

    The complement of :func:`wheel_loads`: there the plane follows from the load's moments, here the direction of the
    plane is measured by a gyroscope and the moments follow from the loads. The height follows from the total.

    Args:
        attachments: (w, 3) m.
        stiffness: (w,) N/m.
        damping: (w,) N s/m.
        free_length: (w,) m.
        ground_normal: (3,) of the plane.
        normal_rate: (3,) rate of the normal in the frame of the body, 1/s.
        normal_force: sum of the loads, N.

    Returns:
        (w,) loads, N, and the distance d of the plane n . x = d, m.
    """
    points = contiguous(attachments)
    normal = np.empty(len(points))
    distance = loads_on_plane_kernel(
        points,
        contiguous(stiffness),
        contiguous(damping),
        contiguous(free_length),
        contiguous(ground_normal),
        contiguous(normal_rate),
        float(normal_force),
        normal,
    )
    return normal, float(distance)


@kernel
def loads_on_plane_kernel(points, stiffness, damping, rest, plane, rate, force, normal):
    """Fill the loads; return d by bisection: the loads rise with d."""
    count = points.shape[0]
    compression, speed = np.empty(count), np.empty(count)
    total_stiffness = 0.0
    for i in range(count):
        compression[i] = rest[i] - (points[i, 0] * plane[0] + points[i, 1] * plane[1] + points[i, 2] * plane[2])
        speed[i] = points[i, 0] * rate[0] + points[i, 1] * rate[1] + points[i, 2] * rate[2]
        total_stiffness += stiffness[i]
    # in the mean the loaded wheels do not move up or down: the rates determine only their relative motion
    mean = 0.0
    for _turn in range(2):
        low = -compression.max()
        high = (
            -compression.min() + force / stiffness.min() + np.abs(speed - mean).max() * damping.max() / stiffness.min()
        )
        d = 0.0
        for _step in range(60):
            d = 0.5 * (low + high)
            total = 0.0
            for i in range(count):
                normal[i] = 0.0
                if compression[i] + d > 0.0:
                    push = stiffness[i] * (compression[i] + d) - damping[i] * (speed[i] - mean)
                    normal[i] = max(push, 0.0)
                total += normal[i]
            if total > force:
                high = d
            else:
                low = d
        total, moved = 0.0, 0.0
        for i in range(count):
            total += normal[i]
            moved += normal[i] * speed[i]
        if not total > 0.0:
            break
        mean = moved / total
    if total > 0.0:
        normal *= force / total
    return d
