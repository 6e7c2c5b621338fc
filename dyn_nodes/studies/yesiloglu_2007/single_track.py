"""Linear models of a car that turns at constant speed, as an independent reference of the multibody car.

x ahead, y to the left, z up; `f` and `r` are the axles. Slip angles are small and tyre forces linear in them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.yesiloglu_2007 import car
from dyn_nodes.studies.yesiloglu_2007.driven_car import CREEP_ACROSS, LEAN, PIN_DISTANCE, ROD, STEERING_ARM, TREAD

Steer = Callable[[float], float]
ROD_AHEAD = 0.5 * car.WHEELBASE - STEERING_ARM * float(np.cos(LEAN))
UNSPRUNG, TREADS = 4 * car.UNSPRUNG + ROD, 4 * TREAD
MASS = car.SPRUNG + UNSPRUNG + TREADS
AHEAD = ROD * ROD_AHEAD / MASS
"""Distance of the centre of mass ahead of the middle of the wheelbase, m."""
AXLES = np.array([0.5 * car.WHEELBASE - AHEAD, -0.5 * car.WHEELBASE - AHEAD])
"""Distances of front and rear axle ahead of the centre of mass, m."""
CREEP = 2 * np.array([CREEP_ACROSS['front'], CREEP_ACROSS['rear']])
"""Cornering stiffness of the axles, N/rad."""
UNDERSTEER = MASS / car.WHEELBASE * float(-AXLES[1] / CREEP[0] - AXLES[0] / CREEP[1])
"""Understeer gradient, rad s2/m: steering angle = wheelbase / radius + gradient times lateral acceleration."""
ROD_LENGTH = PIN_DISTANCE - 2 * STEERING_ARM * float(np.sin(LEAN))
YAW_INERTIA = (
    car.YAW_INERTIA
    + 4 * car.DIAMETRAL
    + 4 * (car.UNSPRUNG + TREAD) * ((0.5 * car.TRACK) ** 2 + (0.5 * car.WHEELBASE) ** 2)
    + ROD * (ROD_AHEAD**2 + ROD_LENGTH**2 / 12)
)


def yaw_gain(speed: float) -> float:
    """Return the yaw rate per steering angle in a steady turn, 1/s, at a speed, m/s."""
    return speed / (car.WHEELBASE + UNDERSTEER * speed**2)


def bicycle(steer: Steer, speed: float, times: Array) -> dict[str, Array]:
    """Return yaw rate, rad/s, and lateral path, left positive, m, of the two-wheel model from straight driving.

    Args:
        steer: angle of the front wheels as a function of time, rad.
        speed: m/s.
        times: (t,) from 0, s.
    """

    def rate(t: float, x: Array) -> Array:
        drift, turn, heading, _ = x
        force = -CREEP * ((drift + AXLES * turn) / speed - [steer(t), 0.0])
        return np.array([force.sum() / MASS - speed * turn, AXLES @ force / YAW_INERTIA, turn, drift + speed * heading])

    states = _solved(rate, 4, times)
    return {'yaw rate': states[1], 'path': states[3]}


def with_roll(steer: Steer, speed: float, times: Array) -> dict[str, Array]:
    """Return the same with roll, rad (left positive), and tyres that yield sideways.

    The state is drift and yaw rate of the wheels' plane on the ground, roll, its rate, offset and rate of the treads
    against the wheels of each axle, heading, path. The returned path is of the body's centre of mass.
    """
    first = car.SPRUNG * car.COM_HEIGHT + UNSPRUNG * car.RADIUS
    roll_inertia = car.ROLL_INERTIA + 4 * car.DIAMETRAL + car.SPRUNG * car.COM_HEIGHT**2 + UNSPRUNG * car.RADIUS**2
    in_series = car.TYRE / (car.TYRE + car.SUSPENSION)
    lever = 4 * (0.5 * car.TRACK) ** 2
    stiffness = lever * car.SUSPENSION * in_series - first * car.GRAVITY
    damping = lever * car.SUSPENSION_DAMPING * in_series**2
    spin = 4 * car.AXIAL * speed / car.RADIUS
    carried = MASS * car.GRAVITY * AXLES[::-1] * [-1, 1] / car.WHEELBASE - 2 * TREAD * car.GRAVITY
    inertia = np.zeros((5, 5))
    inertia[0, 0], inertia[0, 2], inertia[2, 0], inertia[2, 2] = MASS - TREADS, first, first, roll_inertia
    inertia[1, 1] = YAW_INERTIA - 2 * TREAD * 2 * ((0.5 * car.TRACK) ** 2 + (0.5 * car.WHEELBASE) ** 2)
    for k in range(2):
        inertia[3 + k, [0, 1, 3 + k]] = 2 * TREAD * np.array([1.0, AXLES[k], 1.0])

    def rate(t: float, x: Array) -> Array:
        drift, turn, roll, roll_rate = x[:4]
        offset, offset_rate, heading = x[4:6], x[6:8], x[8]
        slip = drift + AXLES * turn - speed * np.array([steer(t), 0.0]) + offset_rate
        on_tread = -CREEP / speed * slip
        # a tread beside its leaning wheel lifts the wheel: the weight couples both
        on_car = 2 * car.LATERAL * offset + 2 * car.LATERAL_DAMPING * offset_rate + carried * roll
        forces = np.zeros(5)
        forces[0] = on_car.sum() - (MASS - TREADS) * speed * turn
        forces[1] = AXLES @ on_car + spin * roll_rate
        forces[2] = -damping * roll_rate - stiffness * roll - (first * speed + spin) * turn - carried @ offset
        forces[3:] = on_tread - on_car - 2 * TREAD * speed * turn
        a = np.linalg.solve(inertia, forces)
        return np.concatenate([a[:2], [roll_rate, a[2]], offset_rate, a[3:], [turn, drift + speed * heading]])

    states = _solved(rate, 10, times)
    return {'yaw rate': states[1], 'path': states[9] + car.COM_HEIGHT * states[2], 'roll': states[2]}


def _solved(rate: Callable[[float, Array], Array], size: int, times: Array) -> Array:
    limits = {'rtol': 1e-9, 'atol': 1e-12, 'max_step': 0.02}
    return np.asarray(solve_ivp(rate, (0.0, times[-1]), np.zeros(size), t_eval=times, **limits).y)
