"""Round trips: planned motion, inverse dynamics of the engine's machine, simulation under these torques (E4, E11).

The source checks its equations by them. Here they check the engine: trees with rolling contacts in space.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.platform_path import LinesAndCurve, PlanarMotion, circle_path
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle
from dyn_nodes.studies.saha_1991.traced_vehicle import TracedPlan, TracedVehicle, driven, plan
from dyn_nodes.studies.saha_1991.wheeled_vehicles import axle_vehicle, caster_vehicle

TIMES = np.linspace(0.0, 60.0, 6001)
AHEAD, RADIUS = CasterVehicle().ahead, 5.0
"""Distance of the caster vehicle's mass centre ahead of its axle, and radius of the circle, m."""
STEADY_FORK = float(tabulated('saha-1991/6.3/fork')[0])
"""Fork angle on the circle, rad (specification, 6.3)."""


class Missed(NamedTuple):
    """Greatest deviations of a simulation from its plan: rates, rad/s; yaw, rad; position, m; joint angles, rad."""

    rate: float
    yaw: float
    position: float
    joint: float


def centre_on_circle(times: ArrayLike = TIMES) -> PlanarMotion:
    """Return the mass centre on the circle: the heading lags the tangent, so that the axle does not slip (spec G7)."""
    motion = circle_path(RADIUS)(times)
    return replace(motion, pose=motion.pose - [np.arcsin(AHEAD / RADIUS), 0.0, 0.0])


def axle_on_lines(times: ArrayLike = TIMES) -> PlanarMotion:
    """Return the motion of the mass centre with the axle's midpoint on lines and curve, heading along the tangent."""
    motion = LinesAndCurve(tangent=True)(times)
    yaw, rate, growth = motion.pose[:, 0], motion.velocity[:, 0], motion.acceleration[:, 0]
    i, j = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
    parts = (j, -rate * i, -growth * i - rate**2 * j)
    ahead = [AHEAD * np.vstack([0 * yaw, part]).T for part in parts]
    return PlanarMotion(
        motion.times, motion.pose + ahead[0], motion.velocity + ahead[1], motion.acceleration + ahead[2]
    )


def centre_on_lines(times: ArrayLike = TIMES) -> PlanarMotion:
    """Return the mass centre on lines and curve; the heading follows from the axle without slip (spec G7, option)."""
    path = LinesAndCurve(tangent=True)

    def turn(now: float, yaw: Array) -> list[float]:
        _, x, y = path([now]).velocity[0]
        return [-(x * np.cos(yaw[0]) + y * np.sin(yaw[0])) / AHEAD]

    yaw = solve_ivp(turn, (0.0, 60.0), [0.0], method='LSODA', t_eval=times, rtol=1e-11, atol=1e-12).y[0]
    motion = path(times)
    (vx, vy), (ax, ay) = motion.velocity[:, 1:].T, motion.acceleration[:, 1:].T
    c, s = np.cos(yaw), np.sin(yaw)
    rate = -(vx * c + vy * s) / AHEAD
    growth = -(ax * c + ay * s + rate * (vy * c - vx * s)) / AHEAD
    columns = ((yaw, motion.pose), (rate, motion.velocity), (growth, motion.acceleration))
    return PlanarMotion(motion.times, *(np.column_stack([heading, part[:, 1:]]) for heading, part in columns))


def comes_back(vehicle: TracedVehicle, course: TracedPlan, stride: int, tolerance: float) -> Missed:
    """Return the deviations of a simulation under the torques of a plan, in steps of `stride` samples or less."""
    times = course.times[::stride]
    names = vehicle.wheeled.blocks.tree.position_names
    joints = tuple(name for name in ('left', 'right', 'fork') if name in names)
    kept = ('yaw', 'x', 'y', *joints)
    q, rates = driven(
        vehicle, course, course.efforts, kept, times, tolerance, float(course.times[stride] - course.times[0])
    )
    missed = np.abs(q - course.q[::stride, [names.index(name) for name in kept]]).max(axis=0)
    rate = float(np.abs(rates - course.rates[::stride]).max())
    return Missed(rate, float(missed[0]), float(missed[1:3].max()), float(missed[3:5].max()))


@study('saha-1991/round-trips', 'Round trips of axle and caster vehicle under their planned torques (E4, E11)')
def round_trips(s: StudyRun) -> None:
    """Check the consistency of the plans, the work of the torques, and the simulated motion."""
    axle = TracedVehicle(axle_vehicle(), ('left', 'right'))
    caster = TracedVehicle(caster_vehicle(), ('left', 'right'))
    circle = plan(axle, circle_path(RADIUS)(TIMES))
    _claim(s, 'E4 axle on the circle', axle, circle, 60, 1e-3, Missed(1e-4, 1e-4, 1e-4, 1e-4))
    around = plan(caster, centre_on_circle(), {'fork': STEADY_FORK})
    _claim(s, 'E11 caster on the circle', caster, around, 30, 1e-3, Missed(3.8e-3, 5.3e-5, 1.9e-4, np.inf))
    along = plan(caster, axle_on_lines())
    _claim(s, 'E11 caster on lines and curve', caster, along, 30, 1e-5, Missed(1.5e-4, 1.3e-4, 4.7e-4, np.inf))
    for name, course in (('circle', around), ('lines', along)):
        wheels = {'left': course.efforts[:, 0], 'right': course.efforts[:, 1]}
        title = f'Torques of the caster vehicle, {name}, N m'
        s.figure(name, title, lambda wheels=wheels: drawing.histories(TIMES, {'torque, N m': wheels}))  # type: ignore[misc]


def _claim(
    s: StudyRun, name: str, vehicle: TracedVehicle, course: TracedPlan, stride: int, tolerance: float, most: Missed
) -> None:
    s.near(f'{name}: the plan against the constraints', 'spec F21', 0.0, course.missed, absolute=1e-9)
    work = course.work(30.0) - float(course.energy[3000])
    s.near(f'{name}: work less kinetic energy at 30 s, J', 'spec 6.2, 6.3', 0.0, work, absolute=1e-6)
    missed = comes_back(vehicle, course, stride, tolerance)
    for quantity, unit, value, bound in zip(('rates', 'yaw', 'position'), ('rad/s', 'rad', 'm'), missed, most):
        s.near(f'{name}: {quantity} of the simulation, {unit}', 'spec 3.1, 6.2, 6.3', 0.0, value, absolute=bound)
