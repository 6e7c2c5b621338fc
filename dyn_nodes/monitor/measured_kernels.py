"""Kernels of a stability monitor with an IMU: one call for each message.

A filter is passed as law and memory (`DerivativeFilter`). The mean rate of the base between two joint states is
computed by the trapezoidal rule from `rate` (7,): angle (3,) since the last ones, rad, last sample (3,), rad/s, and
time, s.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import call_code
from dyn_nodes.control.derivative_filter import SURPRISE, estimate_kernel, filter_kernel
from dyn_nodes.monitor._kernels import kernel, part
from dyn_nodes.monitor.ground_kernels import (
    copy_kernel,
    cross_kernel,
    dot_kernel,
    follow_kernel,
    rest_kernel,
    sum_kernel,
    unit_kernel,
)
from dyn_nodes.monitor.load_model import ATTACHMENTS, FORCE, MOMENT, POINT

QUIET, TURNING = 2e-3, 0.02
"""Speeds of the joints and of the base, rad/s, below which the mean of the gyroscope is taken for its bias."""


@kernel
def imu_kernel(
    time,
    step,
    measured,
    orientation,
    axes,
    up_time,
    turning_law,
    turning,
    accelerometer_law,
    accelerometer,
    bias,
    rate,
    up,
):
    """Process an IMU message; return the surprises of gyroscope and accelerometer.

    Args:
        time: s.
        step: time since the last message, s; 0 for the first message.
        measured: (2, 3) angular velocity and specific force, in the axes of the IMU, rad/s and m/s2.
        orientation: (4,) quaternion x, y, z, w of the IMU in a world whose z points up; NaN without an orientation.
        axes: (3, 3) of the IMU in axes of the base link.
        up_time: time constant with which the direction against gravity follows the specific force without an
            orientation, s.
        turning_law: of the filter of the gyroscope.
        turning: its memory.
        accelerometer_law: of the filter of the accelerometer.
        accelerometer: its memory.
        bias: (3,) of the gyroscope at least, rad/s.
        rate: (7,) changed.
        up: (3,) against gravity in the axes of the base link, NaN if unknown; changed.
    """
    rotated, rows, omega = np.empty((2, 3)), np.zeros(1, np.int64), np.empty(3)
    for k in range(2):
        _turned(axes, measured[k], rotated[k])
    filter_kernel(time, rows, rotated[:1], turning_law, turning)
    filter_kernel(time, rows, rotated[1:], accelerometer_law, accelerometer)
    if step == 0.0:
        _restart(rate)
    for i in range(3):
        rate[i] += 0.5 * step * (rate[3 + i] + rotated[0, i])
        rate[3 + i] = rotated[0, i]
        omega[i] = rotated[0, i] - bias[i]
    rate[6] += step
    if np.isnan(orientation[0]):
        _drawn_up(step, up_time, omega, estimate_kernel(accelerometer_law, accelerometer, 0, 3), up)
    else:
        shown = np.empty(3)
        up_kernel(orientation, shown)
        _turned(axes, shown, up)
    return turning[SURPRISE], accelerometer[SURPRISE]


@part
def _restart(rate):
    """Start a mean at the last sample."""
    for i in range(3):
        rate[i] = 0.0
    rate[6] = 0.0


@part
def _turned(axes, vector, result):
    """Fill the product (3,) of axes (3, 3) and a vector (3,)."""
    for i in range(3):
        result[i] = axes[i, 0] * vector[0] + axes[i, 1] * vector[1] + axes[i, 2] * vector[2]


@kernel
def up_kernel(quaternion, up):
    """Fill the world's z axis (3,) in the axes of a body with a quaternion x, y, z, w of any norm; NaN at zero."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    size = np.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / size, y / size, z / size, w / size
    up[0], up[1], up[2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@part
def _drawn_up(step, up_time, omega, specific_force, up):
    """Turn the direction against gravity with the base, and correct it towards the specific force (3,), in place."""
    direction, spin, size = np.empty(3), np.empty(3), max(np.sqrt(dot_kernel(specific_force, specific_force)), 1e-9)
    for i in range(3):
        direction[i] = specific_force[i] / size
    if np.isnan(up[0]) or step == 0.0:
        copy_kernel(direction, up)
        return
    cross_kernel(omega[0], omega[1], omega[2], up, spin)
    for i in range(3):
        turned = up[i] - step * spin[i]
        up[i] = turned + min(1.0, step / up_time) * (direction[i] - turned)
    unit_kernel(up)


@kernel
def joints_kernel(
    time,
    step,
    measured,
    count,
    joints_law,
    joints,
    turning_law,
    turning,
    accelerometer_law,
    accelerometer,
    arm,
    rate,
    load,
    payload,
    springs,
    settings,
    polygon,
    starts,
    memory,
    state,
    base,
    flat,
    results,
    touching,
):
    """Process joint states of a machine whose base is measured; return whether the load is `balanced` and `pressed`.

    Args:
        time: s.
        step: since the last joint states, s; 0 at first.
        measured: (2, n) positions and velocities of the joints.
        count: number of measured rows, 1 or 2.
        joints_law: of the filter of the joints.
        joints: its memory.
        turning_law: of the filter of the gyroscope.
        turning: its memory.
        accelerometer_law: of the filter of the accelerometer.
        accelerometer: its memory.
        arm: (3,) position of the IMU on the base link, m.
        rate: (7,) changed.
        load: address of the code of `LoadModel`.
        payload: (1,) kg.
        springs: of `follow_kernel`, like the following ones up to memory.
        settings: of the observer.
        polygon: of springs.
        starts: of contacts.
        memory: of the observer, changed.
        state: (3, n) estimates of the joints, written.
        base: (9,) angular velocity, its rate, and specific force at the base link's origin, written.
        flat: input of `LoadModel.load_of`, written.
        results: input of `GroundObserver.followed`, written.
        touching: (c,) whether each contact carries load, written.
    """
    rows = np.empty(count, np.int64)
    for k in range(count):
        rows[k] = k
    filter_kernel(time, rows, measured, joints_law, joints)
    for k in range(3):
        copy_kernel(estimate_kernel(joints_law, joints, k, state.shape[1]), state[k])
    bias, smooth = memory[:3], estimate_kernel(turning_law, turning, 0, 3)
    for i in range(3):
        base[i] = smooth[i] - bias[i]
    copy_kernel(estimate_kernel(turning_law, turning, 1, 3), base[3:6])
    copy_kernel(estimate_kernel(accelerometer_law, accelerometer, 0, 3), base[6:])
    if arm[0] != 0.0 or arm[1] != 0.0 or arm[2] != 0.0:
        _to_origin(base[:3], base[3:6], arm, base[6:])
    if call_code(load, state[0], state[1], state[2], base, payload, flat) != 0:
        raise ValueError('load: an argument of another length')
    mean, turned = np.empty(3), np.empty(3)
    for i in range(3):
        mean[i] = rate[i] / rate[6] if rate[6] > 0.0 else smooth[i]
        turned[i] = mean[i] - bias[i]
    _restart(rate)
    if step > 0.0 and _below(QUIET, state[1]) and _below(TURNING, turned):
        rest_kernel(mean, step, settings, memory)
    w = springs.shape[1]
    attachments = flat[ATTACHMENTS : ATTACHMENTS + 3 * w].reshape((w, 3))
    status = follow_kernel(
        attachments,
        flat[FORCE:MOMENT],
        flat[MOMENT:POINT],
        springs,
        settings,
        polygon,
        starts,
        memory,
        mean,
        smooth,
        step,
        results,
    )
    for c in range(touching.shape[0]):
        touching[c] = sum_kernel(results[:w], starts, c) > 0.0
    return status


@part
def _below(limit, speeds):
    """Return whether the magnitudes of speeds (n,) are all below a limit; False with a NaN."""
    slow = True
    for i in range(speeds.shape[0]):
        slow = slow and abs(speeds[i]) < limit
    return slow


@part
def _to_origin(omega, alpha, arm, specific_force):
    """Transform the specific force (3,) at the point `arm` (3,) of the base link to its origin, in place."""
    spun, once, twice = np.empty(3), np.empty(3), np.empty(3)
    cross_kernel(alpha[0], alpha[1], alpha[2], arm, spun)
    cross_kernel(omega[0], omega[1], omega[2], arm, once)
    cross_kernel(omega[0], omega[1], omega[2], once, twice)
    for i in range(3):
        specific_force[i] = specific_force[i] - spun[i] - twice[i]
