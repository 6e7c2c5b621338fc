"""Wheel speeds and steering angles for a wanted twist, within the limits of the vehicle.

    drive = WheelDrive(base, DriveLimits())
    reference = drive.step(twist, dt, steering_angles)

Twists, wheel speeds and steering angles are defined in `WheelBase`. Impossible parts of a twist are removed and named
in `DriveReference.rejected`: sideways motion across fixed tyres, turns beyond the steering stops, too fast wheels. A
steered wheel takes the nearer of the two angles at which it rolls, forwards or backwards, so that a wheel without
stops turns by 90 degrees at most; the vehicle waits while wheels turn. On tracks the reference is the twist of the
belts without slip, `WheelBase.rolling_twist` of the wanted twist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.wheel_base import WheelBase

LEAST_SPEED = 0.01
"""Speed of a steering pivot below which it has no direction, m/s."""
HALVINGS = 30
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class DriveLimits:
    """Limits of a vehicle, in addition to the limits of its joints.

    Attributes:
        linear_speed, angular_speed: m/s, rad/s.
        linear_acceleration, angular_acceleration: m/s2, rad/s2; braking too.
        steering_acceleration: rad/s2.
        aligned, waiting: error of a steering angle up to which the vehicle drives as fast as commanded, and from which
            on it waits at rest, rad.

    Raises:
        ValueError: aligned is not below waiting.
    """

    linear_speed: float = 1.0
    angular_speed: float = 1.5
    linear_acceleration: float = 1.0
    angular_acceleration: float = 2.0
    steering_acceleration: float = 20.0
    aligned: float = 0.1
    waiting: float = 0.35

    def __post_init__(self) -> None:
        if not 0.0 < self.aligned < self.waiting:
            raise ValueError(f'limits: expected 0 < aligned < waiting, found {self.aligned:g} and {self.waiting:g} rad')


@dataclass(frozen=True, eq=False)
class DriveReference:
    """Reference of the wheels one step from now, and its rates.

    Attributes:
        twist, acceleration: (3,) of the base, and the rates of its components.
        wheel_speeds, wheel_accelerations: (n,) rad/s, rad/s2.
        steering_angles, steering_rates, steering_accelerations: (n,) rad, ...; measured angles of unsteered wheels.
        rejected: texts that name the rejected parts of the wanted twist.
    """

    twist: Array
    acceleration: Array
    wheel_speeds: Array
    wheel_accelerations: Array
    steering_angles: Array
    steering_rates: Array
    steering_accelerations: Array
    rejected: tuple[str, ...]


class TwistGovernor(Protocol):
    """Further limits of twists, such as by the ground's grip."""

    def reachable(self, wanted: Array) -> Array:
        """Return the goal (3,) that replaces a wanted twist."""

    def step(self, before: Array, ahead: Array, stop: Array, goal: Array, dt: float) -> Array:
        """Return the twist of the next step from the present twist and the next ones towards the goal and to rest."""


class WheelDrive:
    """Moves a vehicle from its present twist to the wanted one.

    Args:
        base: its wheels.
        limits: see there.

    Attributes:
        twist: (3,) reference of the last step.
        limits: may be replaced at any time.
        governor: further limits of the twists; None: no further limits.
    """

    def __init__(self, base: WheelBase, limits: DriveLimits | None = None) -> None:
        self.governor: TwistGovernor | None = None
        self.base, self.limits = base, limits or DriveLimits()
        self._steered = [k for k, wheel in enumerate(base.wheels) if wheel.steered]
        self._low = [wheel.steering_limits[0] for wheel in base.wheels]
        self._high = [wheel.steering_limits[1] for wheel in base.wheels]
        self._fastest = np.array([wheel.drive_limits[0] if wheel.driven else np.inf for wheel in base.wheels])
        self._steering_speed = np.array([wheel.steering_speed for wheel in base.wheels])
        self.reset(np.zeros(len(base.wheels)))

    def reset(self, angles: Array, twist: Array | None = None) -> None:
        """Start from steering angles (n,) and a twist (3,), or from rest."""
        self.twist = np.zeros(3) if twist is None else np.array(twist, dtype=np.float64)
        self._before = self.twist.copy()
        self._angles = np.array(angles, dtype=np.float64)
        self._rates = np.zeros(len(angles))
        self._targets = self._angles.copy()

    def step(self, wanted: Array, dt: float, angles: Array) -> DriveReference:
        """Advance the reference.

        Args:
            wanted: (3,) twist, finite.
            dt: since the last step, s.
            angles: (n,) measured steering angles.
        """
        rejected: list[str] = []
        goal = self._possible(np.asarray(wanted, dtype=np.float64), rejected)
        if self.governor is not None:
            goal = self.governor.reachable(goal)
        self._aim(self._towards(goal, dt), goal)
        accelerations = self._turn_wheels(dt, angles)
        self._before = self.twist
        self.twist = self._next(goal * self._readiness(angles), dt)
        return self._reference(dt, angles, accelerations, tuple(rejected))

    def _next(self, goal: Array, dt: float) -> Array:
        """Return the twist of the next step."""
        ahead = self._towards(goal, dt)
        if self.governor is None:
            return ahead
        return self.governor.step(self.twist, ahead, self._towards(np.zeros(3), dt), goal, dt)

    def withdraw(self, reference: DriveReference, fraction: float, dt: float, angles: Array) -> DriveReference:
        """Reduce the last step's acceleration to the fraction that the drives can give: 0 <= fraction < 1."""
        self.twist = self._before + fraction * (self.twist - self._before)
        return self._reference(dt, angles, reference.steering_accelerations, reference.rejected)

    def _reference(self, dt: float, angles: Array, accelerations: Array, rejected: tuple[str, ...]) -> DriveReference:
        acceleration = (self.twist - self._before) / dt if dt > 0.0 else np.zeros(3)
        rows, swing = self.base.rolling_rows(angles)
        return DriveReference(
            self.twist,
            acceleration,
            (rows @ self.twist + swing * self._rates) / self.base.reach,
            (rows @ acceleration + swing * accelerations) / self.base.reach,
            self._angles.copy(),
            self._rates.copy(),
            accelerations,
            rejected,
        )

    # -- possible twists -----------------------------------------------------------------------------------------------

    def _possible(self, wanted: Array, rejected: list[str]) -> Array:
        """Return the twist nearest to the wanted one within wheels and limits; append rejected parts."""
        twist = self.base.rolling_twist(self.without_drag(wanted, rejected))
        twist = self._within_stops(twist, rejected)
        return self._within_speeds(twist, rejected)

    def without_drag(self, wanted: Array, rejected: list[str]) -> Array:
        """Return a wanted twist (3,) without sideways motion across fixed tyres; append it to `rejected`."""
        row = self.base.constraint
        if row is None:
            return wanted.copy()
        side = row[:2]
        asked, allowed = float(side @ wanted[:2]), -float(row[2] * wanted[2])
        if abs(asked) > 1e-9 and abs(asked - allowed) > 1e-6:
            rejected.append(f'sideways at {abs(asked):.3g} m/s: {", ".join(self.base.fixed)} do not steer')
        twist = wanted.copy()
        twist[:2] += side * (allowed - asked)
        return twist

    def _within_stops(self, twist: Array, rejected: list[str]) -> Array:
        """Reduce the turn of a twist until every steered wheel can follow; motion straight ahead is always possible."""
        if not len(self._steered) or self._reaches(twist):
            return twist
        row = self.base.constraint
        ahead = np.array([1.0, 0.0]) if row is None else np.array([row[1], -row[0]])
        straight = np.append(ahead * float(ahead @ twist[:2]), 0.0)
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._reaches(straight + middle * (twist - straight)) else (low, middle)
        rejected.append(f'{100 * (1 - low):.0f} % of the turn: the steering joints end before it')
        return np.asarray(straight + low * (twist - straight))

    def _reaches(self, twist: Array) -> bool:
        speeds = self.base.pivot_speeds(twist)
        return all(self._nearest(wheel, twist) is not None for wheel in self._steered if speeds[wheel] > 1e-9)

    def _within_speeds(self, twist: Array, rejected: list[str]) -> Array:
        limits = self.limits
        angles = self._targets.copy()
        for wheel in self._steered:
            nearest = self._nearest(wheel, twist)
            angles[wheel] = angles[wheel] if nearest is None else nearest
        needed = np.abs(self.base.wheel_speeds(twist, angles, np.zeros(len(angles))))
        moved = self.base.moved(twist)
        over = {
            f'{np.hypot(*moved[:2]):.3g} m/s': np.hypot(*moved[:2]) / limits.linear_speed,
            f'{abs(moved[2]):.3g} rad/s': abs(moved[2]) / limits.angular_speed,
        }
        fast = int(np.argmax(needed / self._fastest))
        over[f'{needed[fast]:.3g} rad/s of {self.base.names[fast]}'] = needed[fast] / self._fastest[fast]
        worst = max(over, key=lambda name: over[name])
        if over[worst] <= 1.0 + 1e-9:
            return twist
        rejected.append(f'{worst}: {100 / over[worst]:.0f} % is allowed')
        return np.asarray(twist / over[worst])

    def _towards(self, goal: Array, dt: float) -> Array:
        """Return the next twist on the straight line to a goal, within the accelerations and the steering stops."""
        change = goal - self.twist
        linear, angular = float(np.hypot(*change[:2])), abs(float(change[2]))
        most = max(linear / self.limits.linear_acceleration, angular / self.limits.angular_acceleration)
        if most <= dt:
            return goal.copy()
        return self._within_stops(self.twist + change * (dt / most), [])

    # -- steering ------------------------------------------------------------------------------------------------------

    def _nearest(self, wheel: int, twist: Array) -> float | None:
        """Return the angle nearest to the present one at which a wheel rolls with a twist, within its stops."""
        choices = self.base.steering_choices(wheel, twist)
        if choices is None:
            return None
        now, low, high = float(self._angles[wheel]), self._low[wheel], self._high[wheel]
        best = None
        for choice in choices:
            near = choice + TURN * round((now - choice) / TURN)
            for angle in (near - TURN, near, near + TURN):
                if low <= angle <= high and (best is None or abs(angle - now) < abs(best - now)):
                    best = angle
        return best

    def _aim(self, coming: Array, goal: Array) -> None:
        """Set the target angles of the wheels: for the coming twist, or at rest for the goal."""
        for twist in (goal, coming):
            speeds = self.base.pivot_speeds(twist)
            for wheel in self._steered:
                angle = self._nearest(wheel, twist) if speeds[wheel] > LEAST_SPEED else None
                if angle is not None:
                    self._targets[wheel] = angle

    def _turn_wheels(self, dt: float, angles: Array) -> Array:
        """Move the steering reference to its targets, no faster than the joints; return its accelerations (n,)."""
        most = self.limits.steering_acceleration
        error = self._targets - self._angles
        # the speed from which the distance left after this step suffices to brake
        braking = most * (np.sqrt(dt**2 + 2.0 * np.abs(error) / most) - dt)
        speed = np.minimum(self._steering_speed, braking)
        before = self._rates
        self._rates = before + np.clip(np.sign(error) * speed - before, -most * dt, most * dt)
        self._angles = self._angles + self._rates * dt
        idle = ~self.base.steered
        self._angles[idle], self._targets[idle], self._rates[idle] = angles[idle], angles[idle], 0.0
        return (self._rates - before) / dt if dt > 0.0 else np.zeros(len(angles))

    def _readiness(self, angles: Array) -> float:
        """Return the part of the goal that the vehicle may drive while its wheels turn, 0 to 1."""
        if not len(self._steered):
            return 1.0
        error = float(np.abs(self._targets - angles)[self._steered].max())
        return float(np.clip((self.limits.waiting - error) / (self.limits.waiting - self.limits.aligned), 0.0, 1.0))
