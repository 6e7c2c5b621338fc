"""Geometry of the wheels or tracks of a vehicle: wheel speeds from its motion, and back.

    base = WheelBase.of(machine)
    speeds = base.wheel_speeds(twist, angles, rates)

A twist is (vx, vy, wz) of the base link: its origin's velocity in its axes, x ahead, y left, m/s, and yaw rate, rad/s.
Wheel speeds are about the axles, positive ahead, rad/s; steering angles and rates are about the upward normal, rad and
rad/s: `WheelUnit.turn` and `WheelUnit.up` convert them to joint values. The base is taken as level; joints of a
suspension are at their initial positions.

A wheel of radius r at p, with rolling direction f, measures r w = f . v(p). An omnidirectional wheel measures this only
along the axis u of the roller on the ground: r w cos(roller angle) = u . v(p) (saha-1991, eq. 4.70, with angles
counted from the rolling direction). A tyre also has v(p) . (up x f) = 0. A wheel that rolls by constraint is a tyre.

A crawler track without slip is a fixed tyre in its middle with the radius of its sprocket. On tracks alone, `moved` and
`rolling_twist` convert between the twist without slip and the real twist of the vehicle, by `TrackSlip`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.track_slip import TrackSlip
from dyn_nodes.control.track_unit import slip_of, track_units
from dyn_nodes.control.wheel_unit import (
    NoVehicleError,
    WheelUnit,
    base_height,
    rolling_wheels,
    straight_poses,
    units_of,
)
from dyn_nodes.model.machine import Machine

STIFF = 1e-2
"""Singular value of unit rows above which headings constrain a motion; it corresponds to half a degree of heading."""
KEPT = 12
"""Greatest number of cached results."""
ALIKE = 1e-6
"""Singular value of unit rows, lengths in m, up to which it counts as round-off of the files."""


class WheelBase:
    """The wheels of a vehicle, as arrays.

    Attributes:
        wheels: n: wheels on springs, then wheels by constraint, then tracks, each in the machine's order.
        driven, steered, tyres: (n,) of bool.
        inertia: (3, 3) of the rigid vehicle in its first posture, for the twist, without the spin of the wheels.
        height: of the base link above the ground at rest, m.
        constraint: (3,) row that vanishes on every motion that fixed tyres allow, or None without fixed tyres. Tyres on
            different axles drag sideways in a turn: the row is then the mean.
        drags: fixed tyres drag sideways in a turn.
        slip: of a vehicle on tracks alone; else None.
    """

    def __init__(
        self, wheels: tuple[WheelUnit, ...], inertia: Array, height: float = 0.0, slip: TrackSlip | None = None
    ) -> None:
        if not wheels:
            raise NoVehicleError(
                'the machine has no rolling wheels: expected `rolling` under some of `wheels`, constraints of '
                'kind wheel, or tracks under `contacts`'
            )
        self.wheels, self.inertia, self.height, self.slip = wheels, inertia, height, slip
        self.names = tuple(wheel.name for wheel in wheels)
        self.driven = np.array([wheel.driven for wheel in wheels])
        self.steered = np.array([wheel.steered for wheel in wheels])
        self.tyres = np.array([wheel.is_tyre for wheel in wheels])
        self.turn = np.array([wheel.turn for wheel in wheels])
        self.up = np.array([wheel.up for wheel in wheels])
        self._pivot = np.array([wheel.pivot for wheel in wheels])
        self._offset = np.array([wheel.offset for wheel in wheels])
        self._heading = np.array([wheel.heading for wheel in wheels])
        roller = np.array([wheel.roller_angle or 0.0 for wheel in wheels])
        self._gripping = self._heading + roller
        self.reach = np.array([wheel.radius for wheel in wheels]) * np.cos(roller)
        self._kept: dict[tuple[str, bytes], Any] = {}
        self.drags = False
        self.constraint = self._fixed_row()
        self._check_drives()

    @classmethod
    def of(cls, machine: Machine) -> WheelBase:
        """Return the wheels and tracks of a machine.

        Raises:
            NoVehicleError: no rolling wheel, a track that is not on the base link, an upright axle, two steering joints
                in a row, wheels that oppose each other or leave a motion free.
        """
        wheels = rolling_wheels(machine)
        poses = straight_poses(machine, wheels)
        height = base_height(machine, poses)
        units = units_of(machine, wheels, poses, height) + track_units(machine, poses)
        return cls(units, rigid_inertia(machine, poses), height, None if wheels else slip_of(machine))

    # -- slip of tracks ----------------------------------------------------------------------------------------------

    def moved(self, rolling: Array) -> Array:
        """Return the twist (3,) of the vehicle at the wheel or belt speeds of a twist `rolling` without slip."""
        return rolling if self.slip is None else self.slip.motion(rolling)

    def rolling_twist(self, twist: Array) -> Array:
        """Return the twist (3,) without slip whose wheel speeds give the vehicle a twist."""
        return twist if self.slip is None else self.slip.rolling(twist)

    def turning_torques(self, rolling: Array) -> Array:
        """Return the torques (n,) about the axles for a steady turn against ground shear, N m; 0 on wheels."""
        return np.zeros(len(self.wheels)) if self.slip is None else self.reach * self.slip.pulls(rolling)

    # -- rows --------------------------------------------------------------------------------------------------------

    def rolling_rows(self, angles: Array) -> tuple[Array, Array]:
        """Return rows R (n, 3) and s (n,): reach * w = R twist + s * (steering rate), for steering angles (n,)."""
        return self._keep('rolling', angles, lambda: self._rows(self._gripping + angles, angles))

    def lateral_rows(self, angles: Array) -> tuple[Array, Array]:
        """Return rows R (n, 3) and s (n,): 0 = R twist + s * (steering rate), for tyres only."""
        return self._keep('lateral', angles, lambda: self._rows(self._heading + angles + 0.5 * np.pi, angles))

    def _keep(self, kind: str, angles: Array, make: Callable[[], Any]) -> Any:
        """Return the cached result of `make` for these angles."""
        key = (kind, angles.tobytes())
        if key not in self._kept:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[key] = make()
        return self._kept[key]

    def _rows(self, direction: Array, angles: Array) -> tuple[Array, Array]:
        """Return velocities of the centres along directions (n,), per twist and per rate about the steering axes."""
        c, s = np.cos(direction), np.sin(direction)
        arm = _turned(self._offset, angles)
        centre = self._pivot.T + arm
        return np.array([c, s, centre[0] * s - centre[1] * c]).T, arm[0] * s - arm[1] * c

    def wheel_speeds(self, twist: Array, angles: Array, rates: Array) -> Array:
        """Return the speeds (n,) about the axles for rolling without slip along the grip."""
        rows, swing = self.rolling_rows(angles)
        return np.asarray((rows @ twist + swing * rates) / self.reach)

    def steering_choices(self, wheel: int, twist: Array) -> tuple[float, float] | None:
        """Return the two steering angles at which a wheel rolls with a twist; None at rest or if there are none."""
        unit = self.wheels[wheel]
        x, y = float(twist[0]) - float(twist[2]) * unit.pivot[1], float(twist[1]) + float(twist[2]) * unit.pivot[0]
        speed = math.hypot(x, y)
        trail = unit.offset[0] * math.cos(unit.heading) + unit.offset[1] * math.sin(unit.heading)
        across = float(twist[2]) * trail
        if speed <= abs(across) or speed == 0.0:
            return None
        along, lead = math.atan2(y, x) - unit.heading, math.asin(across / speed)
        return along + lead, along + math.pi - lead

    def pivot_speeds(self, twist: Array) -> Array:
        """Return the speeds (n,) of the pivots, m/s."""
        x, y = twist[0] - twist[2] * self._pivot[:, 1], twist[1] + twist[2] * self._pivot[:, 0]
        return np.asarray(np.hypot(x, y))

    # -- free motions ------------------------------------------------------------------------------------------------

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the unsteered tyres."""
        return tuple(wheel.name for wheel in self.wheels if wheel.is_fixed)

    def _fixed_row(self) -> Array | None:
        fixed = np.array([wheel.is_fixed for wheel in self.wheels])
        if not fixed.any():
            return None
        rows = self.lateral_rows(np.zeros(len(self.wheels)))[0][fixed]
        rows *= np.sign(rows[:, :2] @ rows[0, :2])[:, None]
        if np.abs(rows[:, :2] - rows[0, :2]).max() > ALIKE:
            raise NoVehicleError(f'expected axles that are parallel for the wheels {", ".join(self.fixed)}')
        self.drags = bool(np.ptp(rows[:, 2]) > ALIKE)
        return np.asarray(rows.mean(axis=0))

    def held_rows(self, angles: Array) -> Array:
        """Return the rows (k, 3) that vanish on motions allowed by fixed and steered tyres at steering angles."""
        rows = self.lateral_rows(angles)[0][self.tyres & self.steered]
        return rows if self.constraint is None else np.vstack([self.constraint, rows])

    def free_motions(self, angles: Array) -> Array:
        """Return the twists (3, q) of length one that the headings of the wheels allow, q >= 1; lengths in m.

        If steered wheels disagree, no motion is free of slip: the result is the motion with the least slip.
        """

        def make() -> Array:
            rows = self.held_rows(angles)
            if not len(rows):
                return np.eye(3)
            _, sizes, basis = np.linalg.svd(rows)
            held = min(int(np.count_nonzero(sizes > STIFF)), 2)
            return np.asarray(basis[held:].T)

        return np.asarray(self._keep('free', angles, make))

    def _check_drives(self) -> None:
        zero = np.zeros(len(self.wheels))
        rows = [self.rolling_rows(zero)[0][self.driven], self.held_rows(zero)]
        rank = int(np.linalg.matrix_rank(np.vstack(rows), tol=ALIKE)) if self.driven.any() else 0
        if rank < 3:
            driven = ', '.join(name for name, is_driven in zip(self.names, self.driven) if is_driven) or 'none'
            raise NoVehicleError(
                f'expected driven wheels that move the base in all directions that the others allow, found: {driven}'
            )


def rigid_inertia(machine: Machine, poses: Mapping[str, Array]) -> Array:
    """Return the (3, 3) inertia for twists (vx, vy, wz) of the base link's origin, all joints held."""
    mass, first, second = 0.0, np.zeros(2), 0.0
    bodies = [(link.mass, link.com, link.inertia, poses[link.name]) for link in machine.links]
    if machine.payload is not None:
        payload = machine.payload
        bodies.append((payload.mass, payload.position, np.zeros((3, 3)), poses[payload.link]))
    for body_mass, com, inertia, pose in bodies:
        centre = (pose[:3, :3] @ com + pose[:3, 3])[:2]
        mass += body_mass
        first += body_mass * centre
        second += body_mass * float(centre @ centre) + float(pose[2, :3] @ inertia @ pose[2, :3])
    return np.array([[mass, 0.0, -first[1]], [0.0, mass, first[0]], [-first[1], first[0], second]])


def _turned(vectors: Array, angles: Array) -> Array:
    c, s = np.cos(angles), np.sin(angles)
    x, y = vectors.T
    return np.array([c * x - s * y, s * x + c * y])
