"""Right-hand sides of the rolling disk's twelve schemes, and their integrator, as machine code.

Equation numbers refer to saha-1991; signs as corrected in its specification (F28, F29, F30, F33).
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.multibody._kernels import kernel

EULER, QUATERNION, MATRIX = 0, 1, 2
GEOMETRY, INTEGRATED = 0, 1
# Verner's 6(5) pair (spec 2.27): nodes are not needed, the motion does not depend on time
STAGES = np.zeros((8, 7))
STAGES[1, :1] = 1 / 6
STAGES[2, :2] = 4 / 75, 16 / 75
STAGES[3, :3] = 5 / 6, -8 / 3, 5 / 2
STAGES[4, :4] = -165 / 64, 55 / 6, -425 / 64, 85 / 96
STAGES[5, :5] = 12 / 5, -8, 4015 / 612, -11 / 36, 88 / 255
STAGES[6, :6] = -8263 / 15000, 124 / 75, -643 / 680, -81 / 250, 2484 / 10625, 0
STAGES[7, :7] = 3501 / 1720, -300 / 43, 297275 / 52632, -319 / 2322, 24068 / 84065, 0, 3850 / 26703
WEIGHTS = np.array([3 / 40, 0, 875 / 2244, 23 / 72, 264 / 1955, 0, 125 / 11592, 43 / 616])


@kernel
def cross3(a, b):
    """Return a x b."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@kernel
def dot3(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def rotation(kind, state, Q):
    """Write the attitude (3, 3) of a state with a quaternion (eq. 6.11) or matrix."""
    if kind == MATRIX:
        for i in range(3):
            for j in range(3):
                Q[i, j] = state[3 + 3 * i + j]
        return
    x, y, z, w = state[3], state[4], state[5], state[6]
    d = 2 * w * w - 1
    Q[0, 0], Q[0, 1], Q[0, 2] = d + 2 * x * x, 2 * x * y - 2 * w * z, 2 * x * z + 2 * w * y
    Q[1, 0], Q[1, 1], Q[1, 2] = 2 * x * y + 2 * w * z, d + 2 * y * y, 2 * y * z - 2 * w * x
    Q[2, 0], Q[2, 1], Q[2, 2] = 2 * x * z - 2 * w * y, 2 * y * z + 2 * w * x, d + 2 * z * z


@kernel
def attitude_rate(kind, moving, state, Q, sigma, rate):
    """Write the rate of the attitude: sigma in moving axes (eq. 6.10, 6.14) or in fixed ones (eq. 6.9, 6.13)."""
    if kind == MATRIX:
        for i in range(3):
            if moving:
                a, b, c = Q[i, 0], Q[i, 1], Q[i, 2]
                rate[3 + 3 * i] = b * sigma[2] - c * sigma[1]
                rate[4 + 3 * i] = c * sigma[0] - a * sigma[2]
                rate[5 + 3 * i] = a * sigma[1] - b * sigma[0]
            else:
                column = cross3(sigma, Q[:, i])
                for j in range(3):
                    rate[3 + 3 * j + i] = column[j]
        return
    s, w = state[3:6], state[6]
    turn = cross3(s, sigma)
    sign = 1.0 if moving else -1.0
    for i in range(3):
        rate[3 + i] = 0.5 * (w * sigma[i] + sign * turn[i])
    rate[6] = -0.5 * dot3(s, sigma)


@kernel
def euler_rate(numbers, state, rate):
    """Write the rates of equation 6.21 in scalar form."""
    theta, dt, dp, ds = state[0], state[3], state[4], state[5]
    s, c = np.sin(theta), np.cos(theta)
    g = numbers[2] / numbers[0]
    rate[0], rate[1], rate[2] = dt, dp, ds
    rate[3] = dp * dp * s * c + 1.2 * dp * ds * c + 0.8 * g * s
    rate[4] = -2 * dt * ds / c
    rate[5] = -5.0 / 3.0 * dt * dp * c - rate[4] * s
    speed, sink = -numbers[0] * (ds + dp * s), numbers[0] * dt
    cp, sp = np.cos(state[1]), np.sin(state[1])
    # along f1 and across it
    rate[6] = speed * cp - sink * c * sp
    rate[7] = speed * sp + sink * c * cp


@kernel
def following_rate(code, numbers, state, rate):
    """Write the rates of the schemes in frame F (eq. 6.4 to 6.8, 6.26 to 6.28)."""
    r, m, g = numbers
    Q = np.empty((3, 3))
    rotation(code[1], state, Q)
    w = state[:3]
    at = 7 if code[1] == QUATERNION else 12
    tangent = Q[2, 2] / Q[2, 1] if code[2] == GEOMETRY else np.tan(state[at])
    sigma = np.array([w[0], w[1], w[1] * tangent])
    unit = m * r * r / 4
    momentum = np.array([unit * w[0], unit * w[1], 2 * unit * w[2]])
    gyro = cross3(sigma, momentum)
    # gamma = m r f2 x g, f2 = (0, 1, 0)
    right = np.array(
        [
            -gyro[0] - 4 * unit * w[1] * w[2] - m * r * g * Q[2, 2],
            -gyro[1],
            -gyro[2] + 4 * unit * w[1] * w[0] + m * r * g * Q[2, 0],
        ]
    )
    rate[0], rate[1], rate[2] = right[0] / (5 * unit), right[1] / unit, right[2] / (6 * unit)
    attitude_rate(code[1], True, state, Q, sigma, rate)
    if code[2] == INTEGRATED:
        rate[at] = -w[0]
    n = state.shape[0]
    for i in range(2):
        rate[n - 2 + i] = r * (-Q[i, 0] * w[2] + Q[i, 2] * w[0])


@kernel
def solve_spun(unit, f2, right):
    """Return the solution of (I_C + m r^2 (1 - f2 f2')) x = right for a thin disk with axis 3 perpendicular to f2."""
    along = dot3(f2, right)
    return np.array(
        [
            (right[0] - along * f2[0]) / (5 * unit) + along * f2[0] / unit,
            (right[1] - along * f2[1]) / (5 * unit) + along * f2[1] / unit,
            right[2] / (6 * unit),
        ]
    )


@kernel
def fixed_rate(code, numbers, state, rate):
    """Write the rates of the schemes in frame D (eq. B.4 to B.13)."""
    r, m, g = numbers
    Q = np.empty((3, 3))
    rotation(code[1], state, Q)
    w = state[:3]
    at = 7 if code[1] == QUATERNION else 12
    if code[2] == GEOMETRY:
        # k x v and its length (eq. B.11, B.12)
        a, b = -Q[1, 2], Q[0, 2]
        c = np.sqrt(a * a + b * b)
        sp, cp = -(a * Q[0, 1] + b * Q[1, 1]) / c, (a * Q[0, 0] + b * Q[1, 0]) / c
        # k . (v x (k x v)) over its length is c / |v|, and |v| is not 1 within a step
        tangent = Q[2, 2] * np.sqrt(c * c + Q[2, 2] * Q[2, 2]) / c
    else:
        sp, cp, tangent = np.sin(state[at + 1]), np.cos(state[at + 1]), np.tan(state[at])
    f2 = np.array([sp, cp, 0.0])
    spin = w[2] - tangent * (sp * w[0] + cp * w[1])
    unit = m * r * r / 4
    momentum = np.array([unit * w[0], unit * w[1], 2 * unit * w[2]])
    gyro, roll = cross3(w, momentum), cross3(f2, w)
    along = dot3(f2, w)
    weight = cross3(f2, np.array([-g * Q[2, 0], -g * Q[2, 1], -g * Q[2, 2]]))
    across = np.array([-cp, sp, 0.0])  # v x f2
    right = -gyro - 4 * unit * along * (spin * across + roll) + m * r * weight
    x = solve_spun(unit, f2, right)
    for i in range(3):
        rate[i] = x[i]
    attitude_rate(code[1], True, state, Q, w, rate)
    if code[2] == INTEGRATED:
        rate[at], rate[at + 1] = -(cp * w[0] - sp * w[1]), spin
    velocity = cross3(w, f2)
    n = state.shape[0]
    for i in range(2):
        rate[n - 2 + i] = r * dot3(Q[i], velocity)


@kernel
def solve_symmetric3(A, b):
    """Return the solution of A x = b by the adjugate; not finite, without an exception, if A is singular."""
    first = cross3(A[1], A[2])
    return (first * b[0] + cross3(A[2], A[0]) * b[1] + cross3(A[0], A[1]) * b[2]) / dot3(A[0], first)


@kernel
def inertial_rate(code, numbers, state, rate):
    """Write the rates of the schemes in the fixed frame (eq. B.14 to B.21)."""
    r, m, g = numbers
    Q = np.empty((3, 3))
    rotation(code[1], state, Q)
    w = state[:3].copy()
    v = Q[:, 2].copy()
    s = v[2]
    c2 = 1 - s * s
    c = np.sqrt(c2)
    f2 = np.array([-s * v[0] / c, -s * v[1] / c, (1 - s * s) / c])
    v_rate = cross3(w, v)
    turn = v_rate[2]
    f2_rate = -(turn * v + s * v_rate) / c + f2 * (s * turn / c2)
    unit = m * r * r / 4
    inertia = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            inertia[i, j] = unit * (Q[i, 0] * Q[j, 0] + Q[i, 1] * Q[j, 1] + 2 * Q[i, 2] * Q[j, 2])
    momentum = inertia @ w
    for i in range(3):
        inertia[i, i] += 4 * unit
        for j in range(3):
            inertia[i, j] -= 4 * unit * f2[i] * f2[j]
    weight = np.array([-f2[1] * g, f2[0] * g, 0.0])
    right = -cross3(w, momentum) + 4 * unit * dot3(f2, w) * f2_rate + m * r * weight
    x = solve_symmetric3(inertia, right)
    for i in range(3):
        rate[i] = x[i]
    attitude_rate(code[1], False, state, Q, w, rate)
    velocity = cross3(w, f2)
    n = state.shape[0]
    rate[n - 2], rate[n - 1] = r * velocity[0], r * velocity[1]


@kernel
def disk_rate(code, numbers, state, rate):
    """Write d(state)/dt of a scheme."""
    if code[1] == EULER:
        euler_rate(numbers, state, rate)
    elif code[0] == 0:
        following_rate(code, numbers, state, rate)
    elif code[0] == 1:
        fixed_rate(code, numbers, state, rate)
    else:
        inertial_rate(code, numbers, state, rate)


@kernel
def run_disk(code, numbers, step, states):
    """Write the rows of `states` after the first; stop at the first state that is not finite."""
    n = states.shape[1]
    k = np.empty((8, n))
    y = np.empty(n)
    for row in range(states.shape[0] - 1):
        x = states[row]
        for stage in range(8):
            for i in range(n):
                total = 0.0
                for before in range(stage):
                    total += STAGES[stage, before] * k[before, i]
                y[i] = x[i] + step * total
            disk_rate(code, numbers, y, k[stage])
        sound = True
        for i in range(n):
            total = 0.0
            for stage in range(8):
                total += WEIGHTS[stage] * k[stage, i]
            y[i] = x[i] + step * total
            sound = sound and np.isfinite(y[i])
        if not sound:
            return
        for i in range(n):
            states[row + 1, i] = y[i]


@kernel
def disk_tilt(code, state):
    """Return the tilt from upright, rad."""
    if code[1] == EULER:
        return state[0]
    if code[2] == INTEGRATED:
        return state[7 if code[1] == QUATERNION else 12]
    Q = np.empty((3, 3))
    rotation(code[1], state, Q)
    return np.arctan2(Q[2, 2], np.sqrt(Q[2, 0] ** 2 + Q[2, 1] ** 2))


@kernel
def disk_energy(code, numbers, state):
    """Return kinetic and potential energy, J; the potential is zero at the floor."""
    r, m, g = numbers
    unit = m * r * r / 4
    if code[1] == EULER:
        s, c = np.sin(state[0]), np.cos(state[0])
        w1, w2, w3 = -state[3], state[4] * c, state[5] + state[4] * s
        return 0.5 * unit * (5 * w1 * w1 + w2 * w2 + 6 * w3 * w3) + m * g * r * c
    w = state[:3].copy()
    Q = np.empty((3, 3))
    rotation(code[1], state, Q)
    if code[0] == 2:
        w = Q.T @ w
    if code[0] == 0:
        return 0.5 * unit * (5 * w[0] * w[0] + w[1] * w[1] + 6 * w[2] * w[2]) + m * g * r * Q[2, 1]
    # in disk axes: all components except the one along f2 also move the centre
    c = np.sqrt(Q[2, 0] * Q[2, 0] + Q[2, 1] * Q[2, 1])
    along = (Q[2, 0] * w[0] + Q[2, 1] * w[1]) / c
    flat = w[0] * w[0] + w[1] * w[1]
    return 0.5 * unit * (5 * flat - 4 * along * along + 6 * w[2] * w[2]) + m * g * r * c
