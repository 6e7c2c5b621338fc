"""Numbers of `GroundObserver.follow`, and points of the ground: small vectors, compiled. Axes of the base link."""

from __future__ import annotations

import numpy as np

from dyn_nodes.loops import kernels_of

kernel = kernels_of(__file__)
fused = kernels_of(__file__, fastmath={'contract'})
"""The decorator of sums of products that are rounded as in NumPy's products of matrices."""


@fused
def _along(point, normal):
    """Part of a vector (3,) along a normal."""
    return point[0] * normal[0] + point[1] * normal[1] + point[2] * normal[2]


@kernel
def feet_kernel(points, plane, feet):
    """Fill the points (s, 3) of a plane (4,) below points (s, 3)."""
    for i in range(points.shape[0]):
        height = _along(points[i], plane) - plane[3]
        for j in range(3):
            feet[i, j] = points[i, j] - height * plane[j]


@kernel
def corners_kernel(points, order, plane, corners):
    """Fill the corners (t, n, 3) of a polygon on a plane (4,): below the points (t, s, 3) of its order (n,)."""
    for k in range(points.shape[0]):
        for i in range(order.shape[0]):
            feet_kernel(points[k, order[i] : order[i] + 1], plane, corners[k, i : i + 1])


@kernel
def turn_kernel(before, omega, smooth, bias, step, normal, rate):
    """Turn the ground's normal by a gyroscope.

    Args:
        before: (3,) normal a step ago.
        omega: (3,) mean angular velocity of the base over the step, rad/s.
        smooth: (3,) the same now, filtered, rad/s.
        bias: (3,) of both, rad/s.
        step: s.
        normal: (3,) unit, written.
        rate: (3,) of the normal, 1/s, written.
    """
    _cross(omega[0] - bias[0], omega[1] - bias[1], omega[2] - bias[2], before, normal)
    for i in range(3):
        normal[i] = before[i] - step * normal[i]
    _to_unit(normal)
    _cross(smooth[0] - bias[0], smooth[1] - bias[1], smooth[2] - bias[2], normal, rate)
    for i in range(3):
        rate[i] = -rate[i]


@kernel
def compare_kernel(normal, target, carried, press, center, rate, lag, loads, balancing, starts, shift, error):
    """Compare the loads of the gyroscope's direction with those that balance the load.

    Args:
        normal: (3,) of the gyroscope.
        target: (3,) normal at which the springs balance the load.
        carried: (3,) sum of the feet times `loads`, N m.
        press: sum of `loads`, N.
        center: (3,) centre of pressure of the load, m.
        rate: (3,) of the normal, 1/s.
        lag: of the springs with their dampers, s: the direction that these hold together differs by `rate` times it.
        loads: (s,) of the springs, N.
        balancing: (s,) those that balance the load, N.
        starts: (c,) first spring of each contact.
        shift: (3,) from one centre to the other along the ground, m, written.
        error: (3,) of the direction, written.

    Returns:
        Length of the shift, m; length of the error; square of the part of the direction that the dampers hold; least
        load of a contact by `loads` and by `balancing`, N.
    """
    held = 0.0
    for i in range(3):
        damped = lag * rate[i]
        shift[i] = carried[i] / press - center[i]
        error[i] = target[i] - (normal[i] + damped)
        held += damped * damped
    above = dot_kernel(shift, normal)
    for i in range(3):
        shift[i] -= above * normal[i]
    lengths = np.sqrt(dot_kernel(shift, shift)), np.sqrt(dot_kernel(error, error))
    return lengths[0], lengths[1], held, _least_sum(loads, starts), _least_sum(balancing, starts)


@kernel
def draw_kernel(normal, error, part, gain, slow, bias, press, shift, moment, drawn, learnt, held):
    """Draw the direction and the gyroscope's bias towards the load, and find the moment that the loads balance.

    Args:
        normal: (3,), drawn in place; its length is not kept.
        error: (3,) of the direction.
        part: of the error that counts.
        gain: share of that part that the direction takes.
        slow: the same of the bias, 1/s.
        bias: (3,) rad/s.
        press: N.
        shift: (3,) of the centre of pressure, m.
        moment: (3,) of the load, N m.
        drawn: (3,) unit normal, written.
        learnt: (3,) bias, rad/s, written.
        held: (3,) moment, N m, written.
    """
    for i in range(3):
        drawn[i] = error[i] * part
    for i in range(3):
        normal[i] += gain * drawn[i]
    _cross(normal[0], normal[1], normal[2], drawn, learnt)
    for i in range(3):
        learnt[i] = bias[i] + slow * learnt[i]
        drawn[i] = -press * normal[i]
    _cross(shift[0], shift[1], shift[2], drawn, held)
    for i in range(3):
        held[i] += moment[i]
        drawn[i] = normal[i]
    _to_unit(drawn)


@kernel
def _cross(x, y, z, other, result):
    """Fill the cross product of (x, y, z) and a vector (3,)."""
    result[0] = y * other[2] - z * other[1]
    result[1] = z * other[0] - x * other[2]
    result[2] = x * other[1] - y * other[0]


@kernel
def dot_kernel(a, b):
    """Product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _to_unit(vector):
    """Scale a vector (3,) to length 1."""
    size = np.sqrt(dot_kernel(vector, vector))
    for i in range(3):
        vector[i] /= size


@kernel
def _least_sum(values, starts):
    """Least sum over the springs of a contact."""
    least = np.inf
    for c in range(len(starts)):
        stop = starts[c + 1] if c + 1 < len(starts) else len(values)
        least = min(least, values[starts[c] : stop].sum())
    return least
