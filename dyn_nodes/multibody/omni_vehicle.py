"""Platforms on omnidirectional wheels in the plane: rates, accelerations and dynamics (saha-1991, 4.4 and 5.5).

A wheel has rollers on its rim whose axes make the angle `roller` with the hub axis; one roller touches the floor and
rolls without slip, like the hub. With twist t = [yaw rate, vx, vy] of the platform's reference point, in platform
axes, hub and roller rates are rows of L t and L' t (eq. 4.70 to 4.74; the last entry as corrected, spec F18).

Accelerations have two forms, which must not be mixed (spec F22): the rates dt/dt of the twist's components, and the
components of the inertial acceleration. They differ by the rotation of the axes; the docstrings state the form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


@dataclass(frozen=True)
class OmniWheel:
    """A wheel with rollers.

    Attributes:
        roller: alpha, angle from the hub axis to the axis of the roller on the floor, rad; not 0 or pi.
        hub: beta, angle from the platform's x axis to the hub axis, rad.
        direction, distance: delta, rad, and d, m: polar coordinates of the wheel's centre.
        radius, roller_radius: height of the centre above the floor, and radius of a roller, m.
        mass: kg, rollers included.
        axial_inertia, diametral_inertia: about the hub axis, and about a diameter, kg m2.
        driven: a motor turns the hub.
    """

    roller: float
    hub: float
    direction: float
    distance: float
    radius: float
    roller_radius: float
    mass: float = 0.0
    axial_inertia: float = 0.0
    diametral_inertia: float = 0.0
    driven: bool = True


class OmniVehicle:
    """A rigid platform on omnidirectional wheels.

    Args:
        wheels: three or more.
        mass: of the platform without wheels, kg; its centre of mass is the reference point.
        yaw_inertia: of the platform without wheels, about the vertical, kg m2.

    Attributes:
        L: (wheels, 3) hub rates per twist.  L_rollers: (wheels, 3) rates of the rollers on the floor per twist.
        L_driven: (driven wheels, 3).

    Raises:
        ValueError: a wheel whose rollers are parallel to its hub, which cannot slide; sizes that are not positive.
    """

    def __init__(self, wheels: Sequence[OmniWheel], mass: float = 0.0, yaw_inertia: float = 0.0) -> None:
        self.wheels, self.mass, self.yaw_inertia = tuple(wheels), float(mass), float(yaw_inertia)
        for number, wheel in enumerate(self.wheels, 1):
            _check(number, wheel)
        self.L = np.array([_hub_row(wheel) for wheel in self.wheels])
        self.L_rollers = np.array([_roller_row(wheel) for wheel in self.wheels])
        self.driven = np.array([wheel.driven for wheel in self.wheels])
        self.L_driven = np.ascontiguousarray(self.L[self.driven])

    @cached_property
    def total_mass(self) -> float:
        """Mass of platform and wheels, kg."""
        return self.mass + sum(wheel.mass for wheel in self.wheels)

    @cached_property
    def first_moment(self) -> Array:
        """(2,) sum of mass times position of the wheels, kg m; zero for balanced wheels."""
        mass = np.array([wheel.mass * wheel.distance for wheel in self.wheels])
        angle = np.array([wheel.direction for wheel in self.wheels])
        return np.array([mass @ np.cos(angle), mass @ np.sin(angle)])

    @cached_property
    def inertia(self) -> Array:
        """(3, 3) effective inertia of the twist: rigid body plus spin of the wheels (I_C of the specification)."""
        rigid = np.diag([self.yaw_inertia, self.total_mass, self.total_mass])
        for wheel in self.wheels:
            rigid[0, 0] += wheel.diametral_inertia + wheel.mass * wheel.distance**2
        rigid[0, 1:] = rigid[1:, 0] = -self.first_moment[1], self.first_moment[0]
        spin = np.array([wheel.axial_inertia for wheel in self.wheels])
        return np.asarray(rigid + self.L.T @ (spin[:, None] * self.L))

    def bias(self, twist: ArrayLike) -> Array:
        """Return the wrench (3,) of the rotating axes: inertia @ dt/dt + bias = wrench."""
        yaw, vx, vy = np.asarray(twist, dtype=float)
        first = self.first_moment
        velocity = self.total_mass * np.array([vx, vy]) + yaw * np.array([-first[1], first[0]])
        # the momentum turns with the axes; about the moving reference point it also contributes a moment
        return np.array([vx * velocity[1] - vy * velocity[0], -yaw * velocity[1], yaw * velocity[0]])

    def twist_rate(self, twist: ArrayLike, torques: ArrayLike) -> Array:
        """Return dt/dt (3,), rates of the components, for the torques of the driven wheels (driven,), N m."""
        return np.linalg.solve(self.inertia, self.L_driven.T @ np.asarray(torques) - self.bias(twist))

    def wrench(self, twist: ArrayLike, twist_rate: ArrayLike) -> Array:
        """Return the wrench [Mz, Fx, Fy] of the drives for dt/dt (rates of the components)."""
        return np.asarray(self.inertia @ np.asarray(twist_rate, dtype=float) + self.bias(twist))

    def twist_of(self, driven_rates: ArrayLike) -> Array:
        """Return the twist (3,) from the rates of the driven hubs, by least squares."""
        return np.linalg.lstsq(self.L_driven, np.asarray(driven_rates, dtype=float), rcond=None)[0]

    def slip(self, driven_rates: ArrayLike) -> Array:
        """Return the part (driven,) of the driven rates that no rolling motion explains, rad/s: zero without slip."""
        rates = np.asarray(driven_rates, dtype=float)
        return np.asarray(rates - self.L_driven @ self.twist_of(rates))


def component_rate(twist: Array, acceleration: Array) -> Array:
    """Return dt/dt (3,) from the components [yaw, x, y] of the inertial acceleration, in platform axes."""
    yaw, vx, vy = twist
    return acceleration - np.array([0.0, -yaw * vy, yaw * vx])


def acceleration_components(twist: Array, rate: Array) -> Array:
    """Return the components [yaw, x, y] of the inertial acceleration from dt/dt, in platform axes."""
    yaw, vx, vy = twist
    return rate + np.array([0.0, -yaw * vy, yaw * vx])


def _check(number: int, wheel: OmniWheel) -> None:
    if abs(np.sin(wheel.roller)) < 1e-9:
        raise ValueError(
            f'wheel {number}: rollers parallel to the hub (roller angle {wheel.roller:g} rad) make it a conventional '
            'wheel; expected an angle other than 0 and pi'
        )
    for name in ('radius', 'roller_radius'):
        if not getattr(wheel, name) > 0.0:
            raise ValueError(f'wheel {number}: expected {name} > 0, found {getattr(wheel, name):g} m')
    for name in ('mass', 'axial_inertia', 'diametral_inertia', 'distance'):
        if not getattr(wheel, name) >= 0.0:
            raise ValueError(f'wheel {number}: expected {name} >= 0, found {getattr(wheel, name):g}')


def _row(wheel: OmniWheel, angle: float, scale: float) -> Array:
    lever = wheel.distance * np.sin(angle - wheel.direction)
    return np.array([lever, np.cos(angle), np.sin(angle)]) * scale


def _hub_row(wheel: OmniWheel) -> Array:
    return _row(wheel, wheel.roller + wheel.hub, -1.0 / (wheel.radius * np.sin(wheel.roller)))


def _roller_row(wheel: OmniWheel) -> Array:
    return _row(wheel, wheel.hub, 1.0 / (wheel.roller_radius * np.sin(wheel.roller)))
