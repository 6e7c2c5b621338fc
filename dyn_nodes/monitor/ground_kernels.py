"""Kernels of the ground observer, and points of the ground: small vectors, compiled. Axes of the base link."""

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import call_code
from dyn_nodes.monitor._kernels import fused, kernel, part
from dyn_nodes.monitor.load_model import ATTACHMENTS, FORCE, MOMENT, POINT
from dyn_nodes.stability.wheel_loads import loads_on_plane_kernel, start_kernel, wheel_loads_kernel
from dyn_nodes.stability.zmp import degree_kernel

DIRECTION, BALANCING, AGE, APART, RESTED, STOOD, RESETS, MEMORY = 3, 6, 10, 11, 12, 13, 14, 15
"""Indices in an observer's memory, whose length is the last. They follow the bias (3,) of the gyroscope, rad/s:
estimated normal (3,) of the ground, plane (4,) at which the springs last balanced the load, NaN if unknown; four times,
s; number of disagreements of the two sources."""
REST_TIME = 2
"""Index of this time in the settings of `GroundObserver.law`."""


@fused
def _along(point, normal):
    """Return the component of a vector (3,) along a normal."""
    return point[0] * normal[0] + point[1] * normal[1] + point[2] * normal[2]


@kernel
def contact_frames(axles, rolling):
    """Return the contact frames (w, 3, 3) of wheels in axes with x along the heading and z along the ground's normal.

    Args:
        axles: (w, 3) unit axles to the left.
        rolling: (w,) which wheels roll; the frames of the others are the axes themselves.

    Returns:
        Columns: rolling direction of the wheel, its left on the ground, and the normal.
    """
    frames = np.zeros((axles.shape[0], 3, 3))
    for i in range(axles.shape[0]):
        x, y = 0.0, 1.0
        if rolling[i]:
            size = max(np.sqrt(axles[i, 0] * axles[i, 0] + axles[i, 1] * axles[i, 1]), 1e-9)
            x, y = axles[i, 0] / size, axles[i, 1] / size
        frames[i, 0, 0], frames[i, 1, 0] = y, -x
        frames[i, 0, 1], frames[i, 1, 1], frames[i, 2, 2] = x, y, 1.0
    return frames


@kernel
def squared_arms(points, center):
    """Return the squared horizontal distances (s,) of points (s, 3) from a centre (3,)."""
    squares = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        x, y = points[i, 0] - center[0], points[i, 1] - center[1]
        squares[i] = x * x + y * y
    return squares


@kernel
def fill_forces(share, points, center, along, aside, twist, normal, forces):
    """Fill forces (s, 3) of springs that balance a horizontal force and turn about a centre, shared by (s,)."""
    for i in range(points.shape[0]):
        forces[i, 0] = share[i] * (-along - twist * (points[i, 1] - center[1]))
        forces[i, 1] = share[i] * (-aside + twist * (points[i, 0] - center[0]))
        forces[i, 2] = normal[i]


@kernel
def in_frames(frames, vectors):
    """Return vectors (w, 3) in frames (w, 3, 3) whose columns are the axes."""
    result = np.empty((frames.shape[0], 3))
    for i in range(frames.shape[0]):
        for j in range(3):
            result[i, j] = (
                frames[i, 0, j] * vectors[i, 0] + frames[i, 1, j] * vectors[i, 1] + frames[i, 2, j] * vectors[i, 2]
            )
    return result


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
def present_kernel(load, size, q, specific_force, payload, plane, order):
    """Return the stability degree at rest on a plane (4,), at positions (n,) of the joints.

    Args:
        load: address of the code of `LoadModel`.
        size: of the result of that code.
        q: (n,) rad or m.
        specific_force: (3,) at rest, m/s2.
        payload: kg.
        plane: (4,) of the ground.
        order: (c,) of the springs at the corners of the support polygon.
    """
    still, base, mass, flat = np.zeros(q.shape[0]), np.zeros(9), np.empty(1), np.empty(size)
    mass[0] = payload
    copy_kernel(specific_force, base[6:])
    if call_code(load, q, still, still, base, mass, flat) != 0:
        raise ValueError('load: an argument of another length')
    w = (size - ATTACHMENTS) // 6
    points = flat[ATTACHMENTS : ATTACHMENTS + 3 * w].reshape((1, w, 3))
    corners = np.empty((1, order.shape[0], 3))
    corners_kernel(points, order, plane, corners)
    return degree_kernel(corners[0], flat[FORCE:MOMENT], flat[MOMENT:POINT], plane[:3])


@part
def follow_kernel(attachments, force, moment, springs, settings, polygon, starts, memory, omega, smooth, step, results):
    """Advance by a step, from load and gyroscope; return whether the load is `balanced` and `pressed` (`WheelLoads`).

    Args:
        attachments: (s, 3) of the springs, m.
        force: (3,) of the load, N.
        moment: (3,) of the load, N m.
        springs: (3, s) stiffness, N/m, damping, N s/m, and free length, m.
        settings: of `GroundObserver.law`.
        polygon: (n,) springs at the corners of the support polygon.
        starts: (c,) first spring of each contact.
        memory: `GroundObserver.memory`, changed.
        omega: (3,) mean angular velocity of the base over the step, as measured, rad/s.
        smooth: (3,) present angular velocity, filtered, rad/s.
        step: s.
        results: (4 s + 7,) loads (s,), plane (4,), moment (3,) that these balance, and feet (s, 3), written.
    """
    stiffness, damping, rest = springs[0], springs[1], springs[2]
    time_constant, bias_time, _, timeout, lifted, standing, renewal, disagreement, trust, lag = settings
    bias, direction, balancing_plane = memory[:DIRECTION], memory[DIRECTION:BALANCING], memory[BALANCING:AGE]
    w = attachments.shape[0]
    loads, plane, held, feet = results[:w], results[w : w + 4], results[w + 4 : w + 7], results[w + 7 :].reshape((w, 3))
    balancing, center = np.empty(w), np.empty(3)
    if np.isnan(balancing_plane[0]):
        start_kernel(attachments, rest, plane)
    else:
        copy_kernel(balancing_plane, plane)
    status = wheel_loads_kernel(attachments, stiffness, rest, polygon, force, moment, plane, balancing, feet, center)
    copy_kernel(balancing, loads)
    copy_kernel(moment, held)
    if status == 0:
        copy_kernel(plane, balancing_plane)
    if status == 2:
        _without_load(direction, omega, smooth, bias, step, timeout, memory)
        return False, False
    target, gyroscope, rate, shift, error = np.empty(3), np.empty(4), np.empty(3), np.empty(3), np.empty(3)
    copy_kernel(plane[:3], target)
    if np.isnan(direction[0]):
        copy_kernel(target, direction)
        memory[AGE] = 0.0
    normal, pushes = gyroscope[:3], np.empty(w)
    turn_kernel(direction, omega, smooth, bias, step, normal, rate)
    normal_force = -dot_kernel(force, target)
    gyroscope[3] = loads_on_plane_kernel(attachments, stiffness, damping, rest, normal, rate, normal_force, pushes)
    below = np.empty((w, 3))
    feet_kernel(attachments, gyroscope, below)
    # the dampers hold a part of the load's moment: compare with the direction at which they and the springs balance
    moved, wrong, damped_square, least, least_supported = compare_kernel(
        normal,
        target,
        _carried(pushes, below),
        normal_force,
        center,
        rate,
        lag,
        pushes,
        balancing,
        starts,
        shift,
        error,
    )
    memory[APART] = memory[APART] + step if moved > disagreement else 0.0
    if memory[APART] > timeout:
        memory[RESETS] += 1.0
        memory[APART], memory[AGE] = 0.0, 0.0
        copy_kernel(target, direction)
        return status == 0, True
    memory[STOOD] = memory[STOOD] + step if least_supported >= lifted * normal_force else 0.0
    part, gain, slow = 0.0, 0.0, 0.0
    if least <= 0.0 and memory[STOOD] < standing:
        memory[AGE] = min(memory[AGE], renewal)
    else:
        # the load has little weight if the machine rocks hard or in a shock
        likely = trust * normal_force
        part = min(1.0, likely / max(wrong, 1e-12))
        step /= 1.0 + damped_square / likely**2
        # at first a mean over all samples, later with the time constant
        memory[AGE] += step
        gain = step / min(max(memory[AGE], 1e-6), time_constant)
        slow = step / (time_constant * bias_time)
    learnt = np.empty(3)
    draw_kernel(normal, error, part, gain, slow, bias, normal_force, shift, moment, direction, learnt, held)
    copy_kernel(learnt, bias)
    copy_kernel(pushes, loads)
    copy_kernel(gyroscope, plane)
    copy_kernel(below.reshape(3 * w), results[w + 7 :])
    return status == 0 or least > 0.0, True


@part
def _without_load(direction, omega, smooth, bias, step, timeout, memory):
    """Turn the direction by the gyroscope alone while there is no load on the ground.

    An accelerometer shows this for an instant when a joint meets its limit. If it lasts longer than `timeout` the
    machine has left the ground, and the direction is discarded.
    """
    memory[STOOD] = 0.0
    memory[APART] += step
    if np.isnan(direction[0]):
        return
    if memory[APART] > timeout:
        memory[APART], direction[0] = 0.0, np.nan
        return
    normal, rate = np.empty(3), np.empty(3)
    turn_kernel(direction, omega, smooth, bias, step, normal, rate)
    copy_kernel(normal, direction)


@part
def copy_kernel(source, target):
    """Copy a vector (n,) to another."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@part
def _carried(pushes, feet):
    """Return the sum (3,) of feet (s, 3) times pushes (s,)."""
    result = np.empty(3)
    for j in range(3):
        result[j] = 0.0
        for i in range(feet.shape[0]):
            result[j] += pushes[i] * feet[i, j]
    return result


@part
def rest_kernel(omega, step, settings, memory):
    """Update the gyroscope's bias from its mean (3,) over a step at rest, rad/s and s."""
    memory[RESTED] += step
    part = step / max(min(memory[RESTED], settings[REST_TIME]), step)
    for i in range(3):
        memory[i] += part * (omega[i] - memory[i])


@kernel
def turn_kernel(before, omega, smooth, bias, step, normal, rate):
    """Turn the ground's normal by a gyroscope.

    Args:
        before: (3,) normal before the step.
        omega: (3,) mean angular velocity of the base over the step, rad/s.
        smooth: (3,) present angular velocity, filtered, rad/s.
        bias: (3,) of both, rad/s.
        step: s.
        normal: (3,) unit, written.
        rate: (3,) of the normal, 1/s, written.
    """
    cross_kernel(omega[0] - bias[0], omega[1] - bias[1], omega[2] - bias[2], before, normal)
    for i in range(3):
        normal[i] = before[i] - step * normal[i]
    unit_kernel(normal)
    cross_kernel(smooth[0] - bias[0], smooth[1] - bias[1], smooth[2] - bias[2], normal, rate)
    for i in range(3):
        rate[i] = -rate[i]


@kernel
def compare_kernel(normal, target, carried, normal_force, center, rate, lag, loads, balancing, starts, shift, error):
    """Compare the loads of the gyroscope's direction with those that balance the load.

    Args:
        normal: (3,) of the gyroscope.
        target: (3,) normal at which the springs balance the load.
        carried: (3,) sum of the feet times `loads`, N m.
        normal_force: sum of `loads`, N.
        center: (3,) centre of pressure of the load, m.
        rate: (3,) of the normal, 1/s.
        lag: of the springs with their dampers, s: the direction that these balance together differs by `rate` times it.
        loads: (s,) of the springs, N.
        balancing: (s,) those that balance the load, N.
        starts: (c,) first spring of each contact.
        shift: (3,) from one centre to the other along the ground, m, written.
        error: (3,) of the direction, written.

    Returns:
        Length of the shift, m; length of the error; square of the part of the direction that the dampers hold; least
            load
        of a contact by `loads` and by `balancing`, N.
    """
    held = 0.0
    for i in range(3):
        damped = lag * rate[i]
        shift[i] = carried[i] / normal_force - center[i]
        error[i] = target[i] - (normal[i] + damped)
        held += damped * damped
    above = dot_kernel(shift, normal)
    for i in range(3):
        shift[i] -= above * normal[i]
    lengths = np.sqrt(dot_kernel(shift, shift)), np.sqrt(dot_kernel(error, error))
    return lengths[0], lengths[1], held, _least_sum(loads, starts), _least_sum(balancing, starts)


@kernel
def draw_kernel(normal, error, part, gain, slow, bias, normal_force, shift, moment, drawn, learnt, held):
    """Correct the direction and the gyroscope's bias towards the load, and compute the moment that the loads balance.

    Args:
        normal: (3,), corrected in place; not normalised.
        error: (3,) of the direction.
        part: fraction of the error that is used.
        gain: fraction of that part by which the direction is corrected.
        slow: gain of the bias, 1/s.
        bias: (3,) rad/s.
        normal_force: N.
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
    cross_kernel(normal[0], normal[1], normal[2], drawn, learnt)
    for i in range(3):
        learnt[i] = bias[i] + slow * learnt[i]
        drawn[i] = -normal_force * normal[i]
    cross_kernel(shift[0], shift[1], shift[2], drawn, held)
    for i in range(3):
        held[i] += moment[i]
        drawn[i] = normal[i]
    unit_kernel(drawn)


@part
def cross_kernel(x, y, z, other, result):
    """Fill the cross product of (x, y, z) and a vector (3,)."""
    result[0] = y * other[2] - z * other[1]
    result[1] = z * other[0] - x * other[2]
    result[2] = x * other[1] - y * other[0]


@kernel
def dot_kernel(a, b):
    """Return the scalar product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def unit_kernel(vector):
    """Scale a vector (3,) to length 1."""
    size = np.sqrt(dot_kernel(vector, vector))
    for i in range(3):
        vector[i] /= size


@part
def _least_sum(values, starts):
    """Return the least sum over the springs of a contact."""
    least = np.inf
    for c in range(len(starts)):
        least = min(least, sum_kernel(values, starts, c))
    return least


@part
def sum_kernel(values, starts, c):
    """Return the sum of values (s,) over the springs of contact c; starts (c,) are the first ones."""
    total, stop = 0.0, starts[c + 1] if c + 1 < len(starts) else len(values)
    for i in range(starts[c], stop):
        total += values[i]
    return total
