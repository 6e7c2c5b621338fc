"""Ground reactions of a vehicle as functions of its planar motion: the split of least norm, for many motions at once.

    model = GripModel(machine, WheelBase.of(machine))
    model.place(q, v, a, angles, payload, gravity)
    forces = model.reactions(twists, accelerations)

The base keeps parallel to the ground. Load and reactions are then quadratic in the twist and affine in its rates, for
any posture and motion of an arm: thirteen evaluations of the load give the coefficients, and a motion costs a product.
The split is that of `stability.admissible_reactions`, with what the controller of the vehicle knows besides: wheels
without a drive take the traction that turns them, casters none sideways, and springs share the load by their stiffness:
of all normal forces that hold it they take those of least energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_unit import WheelUnit
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.monitor.ground_compliance import ground_compliance
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.stability.equilibrium.standing import on_standing_wheels
from dyn_nodes.stability.grip import grip_of

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Products of the components of a twist."""
FIRST, SECOND = (list(places) for places in zip(*PAIRS))
FEATURES = 13
FULL = 6
RANK = 1e-6
COMING = 8
"""Postures of a trajectory of the arm, up to its end, in which a motion of the base has to hold, too."""
ASTRAY = 0.2
"""Way from its reference at which a joint of the arm no longer follows it, rad or m."""


class GripModelError(UserError, ValueError):
    """A machine whose ground reactions are not known from its planar motion; the message says why."""


class _Contact(NamedTuple):
    """A contact: place among the springs or -1, wheel of the vehicle or None, point (2,) by constraint, friction."""

    name: str
    spring: int
    unit: WheelUnit | None
    point: Array
    friction: float


def features(twists: Array, accelerations: Array) -> Array:
    """Return 1, rates, twist and its products (t, 13) of twists and their rates (t, 3)."""
    found = np.empty((len(twists), FEATURES))
    found[:, 0], found[:, 1:4], found[:, 4:7] = 1.0, accelerations, twists
    np.multiply(twists[:, FIRST], twists[:, SECOND], out=found[:, 7:])
    return found


def is_astray(positions: Array, places: Sequence[int] | NDArray[np.intp], references: Sequence[JointReference]) -> bool:
    """Return whether an arm at places in positions (n,) is off the first of its references."""
    return any(bool((np.abs(own.position - positions[places]) > ASTRAY).any()) for own in references[:1])


def joint_states(
    positions: Array,
    velocities: Array,
    places: Sequence[int] | NDArray[np.intp],
    references: Sequence[JointReference],
) -> tuple[Array, Array, Array]:
    """Return q, v and a (p, n) of `GripModel.place`: an arm at references, all else at its positions (n,) and still.

    An arm that `is_astray` moves now as measured, at velocities (n,).
    """
    count = max(1, len(references))
    q, v, a = np.tile(positions, (count, 1)), np.zeros((count, len(positions))), np.zeros((count, len(positions)))
    for k, own in enumerate(references):
        v[k, places], a[k, places] = own.velocity, own.acceleration
        if k > 0:
            q[k, places] = own.position
    if is_astray(positions, places, references):
        v[0, places] = velocities[places]
    return q, v, a


def _samples() -> tuple[Array, Array, Array]:
    """Return twists and rates (13, 3) that determine the coefficients, and the inverse of their features."""
    axes, none = np.eye(3), np.zeros((3, 3))
    crossed = np.array([axes[i] + axes[j] for i, j in PAIRS[3:]])
    twists = np.vstack([np.zeros((1, 3)), none, axes, -axes, crossed])
    rates = np.vstack([np.zeros((1, 3)), axes, none, none, none])
    return twists, rates, np.asarray(np.linalg.inv(features(twists, rates)))


class GripModel:
    """The ground reactions of a vehicle in planar motion.

    Args:
        machine: on wheels that roll on springs or by constraint, on skids and casters.
        base: its wheels.
        friction: static coefficient of wheels by constraint, which have none themselves; inf: they never slide.

    Attributes:
        names: of the w contacts.
        friction: (w,) static coefficients; 0 of contacts that take no horizontal force.
        joints: names of all movable joints, in the order of `place`.

    Raises:
        GripModelError: tracks, fixed tyres that drag in a turn, fewer than three contacts or all on a line, nothing
            with friction, a joint without a spring in a suspension.
    """

    def __init__(self, machine: Machine, base: WheelBase, friction: float = np.inf) -> None:
        if machine.contacts:
            raise GripModelError(f'{machine.name}: expected wheels, found {machine.contacts[0].name!r}, a track')
        if base.drags:
            fixed = ', '.join(base.fixed)
            raise GripModelError(
                f'{machine.name}: expected fixed tyres on one axle, found {fixed}: they slide in a turn'
            )
        machine = on_standing_wheels(machine)
        try:
            self.load, compliance = LoadModel(machine), ground_compliance(machine)
        except ValueError as error:
            raise GripModelError(str(error)) from None
        self.machine, self.base = machine, base
        self.joints = self.load.joints
        self._contacts = _contacts(machine, base, friction)
        self.names = tuple(own.name for own in self._contacts)
        self.friction = np.array([own.friction for own in self._contacts])
        if len(self.names) < 3:
            raise GripModelError(f'{machine.name}: expected three contacts or more, found {len(self.names)}')
        if not self.friction.any():
            raise GripModelError(f'{machine.name}: expected wheels with friction, found none')
        self._normals = self._normal_directions(compliance)
        self._wheels = np.array([self.joints.index(wheel.drive) for wheel in base.wheels], dtype=np.intp)
        loops = machine.linkages
        self._swivels = {own.name for own in base.wheels if own.steering and not own.steered and not loops}
        self._twists, self._rates, self._inverse = _samples()
        self._coefficients = np.zeros((1, FEATURES, 3 * len(self.names)))
        self._places = np.zeros((len(self.names), 3))

    def place(self, q: Array, v: Array, a: Array, angles: Array, payload: float, gravity: Array) -> None:
        """Take over posture and motion of the joints, now and as they are coming.

        Args:
            q: (p, n) positions of all movable joints.
            v: (p, n) velocities of those that are no wheels, else 0.
            a: (p, n) accelerations of the same.
            angles: (m,) steering angles of the wheels of the base.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.

        Raises:
            GripModelError: contacts on a line, or wheels that cannot give every planar motion as they are turned.
        """
        count = len(q)
        joints = [np.repeat(part, FEATURES, axis=0) for part in (q, v, a)]
        twists, rates = np.tile(self._twists, (count, 1)), np.tile(self._rates, (count, 1))
        samples, self._places = self.evaluate(joints[0], joints[1], joints[2], twists, rates, angles, payload, gravity)
        self._coefficients = self._inverse @ samples.reshape(count, FEATURES, -1)

    def lose(self) -> None:
        """Know no reactions: where a posture has none. Then nothing is allowed but to brake."""
        self._coefficients = np.full_like(self._coefficients, np.nan)

    def reactions(self, twists: Array, accelerations: Array) -> Array:
        """Return the ground's forces (p, t, w, 3), x, y and z in axes of the base, N, in all postures.

        Args:
            twists: (t, 3) of the base.
            accelerations: (t, 3) rates of their components.
        """
        forces = features(twists, accelerations) @ self._coefficients
        return np.asarray(forces.reshape(len(forces), len(twists), -1, 3))

    def planar(self, twist: Array, acceleration: Array) -> Array:
        """Return fx, fy (N) and mz about the base's origin (N m) of the ground (3,), in the present posture.

        Args:
            twist: (3,) of the base.
            acceleration: (3,) rates of its components.
        """
        forces = (features(twist[None], acceleration[None])[0] @ self._coefficients[0]).reshape(-1, 3)
        x, y = self._places[:, 0], self._places[:, 1]
        return np.array([forces[:, 0].sum(), forces[:, 1].sum(), float(x @ forces[:, 1] - y @ forces[:, 0])])

    def evaluate(
        self,
        q: Array,
        v: Array,
        a: Array,
        twists: Array,
        accelerations: Array,
        angles: Array,
        payload: float,
        gravity: Array,
    ) -> tuple[Array, Array]:
        """Return the ground's forces (t, w, 3), N, of t states of joints (t, n) and base (t, 3); see `place`.

        Also where the contacts touch the ground (w, 3), m, in axes of the base.
        """
        count = len(q)
        rows = self.base.rolling_rows(angles)[0] / self.base.reach[:, None]
        v, a = v.copy(), a.copy()
        v[:, self._wheels] = (twists @ rows.T) * self.base.turn
        a[:, self._wheels] = (accelerations @ rows.T) * self.base.turn
        motion = np.zeros((count, 9))
        motion[:, 2], motion[:, 5] = twists[:, 2], accelerations[:, 2]
        motion[:, 6] = accelerations[:, 0] - twists[:, 2] * twists[:, 1]
        motion[:, 7] = accelerations[:, 1] + twists[:, 2] * twists[:, 0]
        motion[:, 6:] -= gravity
        load = self.load.evaluate_batch(np.ascontiguousarray(q), v, a, motion, np.full(count, float(payload)))
        points = self._points(load.attachments[0], angles)
        columns, directions, known = self._columns(points, angles)
        tractions = -(accelerations @ (known[:, None] * rows).T)
        held = self._held(tractions, angles)
        wrench = -np.hstack([load.force, load.moment]) - _wrench(points, held)
        forces = held + np.einsum('tc,cwi->twi', wrench @ _pseudo_inverse(columns, self.machine.name), directions)
        return np.asarray(forces), points

    # -- columns -------------------------------------------------------------------------------------------------------

    def _points(self, attachments: Array, angles: Array) -> Array:
        """Return where the contacts touch the ground (w, 3) in axes of the base."""
        points = np.empty((len(self._contacts), 3))
        points[:, 2] = -self.base.height
        for k, own in enumerate(self._contacts):
            if own.spring >= 0:
                points[k, :2] = attachments[own.spring, :2]
            elif own.unit is None:
                points[k, :2] = own.point
            else:
                c, s = np.cos(angles[self._place(own.unit)]), np.sin(angles[self._place(own.unit)])
                x, y = own.unit.offset
                points[k, :2] = own.unit.pivot + np.array([c * x - s * y, s * x + c * y])
        return points

    def _place(self, unit: WheelUnit) -> int:
        return self.base.wheels.index(unit)

    def _normal_directions(self, compliance: Array) -> Array:
        """Return w sets of normal forces (w, w, 3) whose combination of least norm has the least energy in the springs.

        Wheels by constraint, which have no springs, count as springs of the mean compliance.
        """
        count, own = len(self._contacts), len(compliance)
        relative = np.eye(count)
        relative[:own, :own] = compliance / max(float(np.trace(compliance)) / max(own, 1), 1e-300)
        directions = np.zeros((count, count, 3))
        directions[..., 2] = np.linalg.inv(np.linalg.cholesky(relative))
        return directions

    def _columns(self, points: Array, angles: Array) -> tuple[Array, Array, Array]:
        """Return wrenches (c, 6) and forces (c, w, 3) of the components that are free, and inertias over reach (m,).

        The inertias, of wheels without a drive alone, give the tractions that turn them.
        """
        base, count = self.base, len(self._contacts)
        forces, known = list(self._normals), np.zeros(len(base.wheels))
        for k, own in enumerate(self._contacts):
            if own.unit is None or own.friction == 0.0:
                continue
            place = self._place(own.unit)
            along = own.unit.heading + angles[place] + (own.unit.roller_angle or 0.0)
            if own.unit.driven:
                forces.append(_unit(count, k, np.array([np.cos(along), np.sin(along), 0.0])))
            else:
                known[place] = own.unit.axial_inertia / base.reach[place]
            if own.unit.is_tyre and own.name not in self._swivels:
                forces.append(_unit(count, k, np.array([-np.sin(along), np.cos(along), 0.0])))
        directions = np.array(forces)
        return _wrench(points, directions), directions, known

    def _held(self, tractions: Array, angles: Array) -> Array:
        """Return the forces (t, w, 3) of tractions (t, m) along the grips of the wheels."""
        held = np.zeros((len(tractions), len(self._contacts), 3))
        for k, own in enumerate(self._contacts):
            if own.unit is None or own.unit.driven or own.friction == 0.0:
                continue
            place = self._place(own.unit)
            along = own.unit.heading + angles[place] + (own.unit.roller_angle or 0.0)
            held[:, k, 0], held[:, k, 1] = tractions[:, place] * np.cos(along), tractions[:, place] * np.sin(along)
        return held


def _contacts(machine: Machine, base: WheelBase, friction: float) -> tuple[_Contact, ...]:
    """Return wheels and feet on springs, then wheels by constraint, those without friction, too."""
    units = {own.name: own for own in base.wheels}
    grip = grip_of(machine).friction
    found = []
    for k, own in enumerate(machine.wheels):
        unit = units.get(own.name)
        found.append(_Contact(own.name, k, unit, np.zeros(2), 0.0 if unit is None else float(grip[k])))
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    for wheel in machine.rigid_wheels:
        pose = poses[wheel.first.link]
        point = (pose[:3, :3] @ wheel.first.position + pose[:3, 3])[:2]
        unit = units.get(wheel.name)
        found.append(_Contact(wheel.name, -1, unit, point, 0.0 if unit is None else wheel.friction or friction))
    return tuple(found)


def _unit(count: int, place: int, direction: Array) -> Array:
    result = np.zeros((count, 3))
    result[place] = direction
    return result


def _wrench(points: Array, forces: Array) -> Array:
    """Return force and moment about the origin (c, 6) of forces (c, w, 3) at points (w, 3)."""
    return np.hstack([forces.sum(axis=1), np.cross(points, forces).sum(axis=1)])


def _pseudo_inverse(columns: Array, machine: str) -> Array:
    """Return P (6, c) with x = wrench @ P of least norm and x @ columns = wrench."""
    left, sizes, right = np.linalg.svd(columns, full_matrices=False)
    if len(sizes) < FULL or sizes[-1] <= RANK * sizes[0]:
        raise GripModelError(f'{machine}: expected contacts that can balance every load, found them on a line')
    return np.asarray((right.T / sizes) @ left.T)
