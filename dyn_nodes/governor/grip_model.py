"""Ground reactions of a vehicle as functions of its planar motion: the split of least norm, for many motions at once.

    model = GripModel(machine, WheelBase.of(machine))
    model.set_state(q, v, a, angles, payload, gravity)
    forces = model.reactions(twists, accelerations)

The base remains parallel to the ground. Load and reactions are then quadratic in the twist and affine in its rates, for
any posture and motion of an arm: thirteen evaluations of the load give the coefficients, and a motion costs a product.
The split is the one of `stability.admissible_reactions`, with additional information of the vehicle's controller:
wheels without a drive receive the traction that turns them, casters no lateral force, and springs share the load by
their stiffness: of all normal forces in balance with the load the ones with least energy are chosen.
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
FIRST, SECOND = (list(components) for components in zip(*PAIRS))
FEATURES = 13
FULL = 6
RANK = 1e-6
COMING = 8
"""Number of postures of the arm's trajectory, up to its end, in which a motion of the base must be permitted, too."""
ASTRAY = 0.2
"""Deviation from its reference at which a joint of the arm no longer follows it, rad or m."""


class GripModelError(UserError, ValueError):
    """Ground reactions of a machine cannot be determined from its planar motion; the message gives the reason."""


class _Contact(NamedTuple):
    """A contact: index among the springs or -1, wheel of the vehicle or None, point (2,) by constraint, friction."""

    name: str
    spring: int
    unit: WheelUnit | None
    point: Array
    friction: float


def features(twists: Array, accelerations: Array) -> Array:
    """Return the features (t, 13) of twists and their rates (t, 3): 1, rates, twist, products of the twist."""
    columns = np.empty((len(twists), FEATURES))
    columns[:, 0], columns[:, 1:4], columns[:, 4:7] = 1.0, accelerations, twists
    np.multiply(twists[:, FIRST], twists[:, SECOND], out=columns[:, 7:])
    return columns


def is_astray(
    positions: Array, indices: Sequence[int] | NDArray[np.intp], references: Sequence[JointReference]
) -> bool:
    """Return whether the arm joints at `indices` of positions (n,) deviate from the first of the references."""
    return any(bool((np.abs(reference.position - positions[indices]) > ASTRAY).any()) for reference in references[:1])


def joint_states(
    positions: Array,
    velocities: Array,
    indices: Sequence[int] | NDArray[np.intp],
    references: Sequence[JointReference],
) -> tuple[Array, Array, Array]:
    """Return q, v and a (p, n) for `GripModel.set_state`: the arm at references, all else at rest at positions (n,).

    If the arm `is_astray`, its present state has the measured velocities (n,).
    """
    count = max(1, len(references))
    q, v, a = np.tile(positions, (count, 1)), np.zeros((count, len(positions))), np.zeros((count, len(positions)))
    for k, reference in enumerate(references):
        v[k, indices], a[k, indices] = reference.velocity, reference.acceleration
        if k > 0:
            q[k, indices] = reference.position
    if is_astray(positions, indices, references):
        v[0, indices] = velocities[indices]
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
        base: wheels of the machine.
        friction: static coefficient of wheels by constraint without a coefficient; inf: they never slide.

    Attributes:
        names: of the w contacts.
        friction: (w,) static coefficients; 0 of contacts that take no horizontal force.
        joints: names of all movable joints, in the order of `place`.

    Raises:
        GripModelError: tracks; fixed tyres that drag in a turn; fewer than three contacts, or all on a line; no contact
            with friction; a suspension joint without a spring.
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
        self.names = tuple(contact.name for contact in self._contacts)
        self.friction = np.array([contact.friction for contact in self._contacts])
        if len(self.names) < 3:
            raise GripModelError(f'{machine.name}: expected three contacts or more, found {len(self.names)}')
        if not self.friction.any():
            raise GripModelError(f'{machine.name}: expected wheels with friction, found none')
        self._normals = self._normal_directions(compliance)
        self._wheels = np.array([self.joints.index(wheel.drive) for wheel in base.wheels], dtype=np.intp)
        loops = machine.linkages
        self._swivels = {wheel.name for wheel in base.wheels if wheel.steering and not wheel.steered and not loops}
        self._twists, self._rates, self._inverse = _samples()
        self._coefficients = np.zeros((1, FEATURES, 3 * len(self.names)))
        self._contact_points = np.zeros((len(self.names), 3))

    def set_state(self, q: Array, v: Array, a: Array, angles: Array, payload: float, gravity: Array) -> None:
        """Set posture and motion of the joints, now and in coming postures.

        Args:
            q: (p, n) positions of all movable joints.
            v: (p, n) velocities; 0 for wheels.
            a: (p, n) accelerations; 0 for wheels.
            angles: (m,) steering angles of the wheels of the base.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.

        Raises:
            GripModelError: the contacts are on a line, or wheels at these angles cannot produce every planar motion.
        """
        count = len(q)
        joints = [np.repeat(part, FEATURES, axis=0) for part in (q, v, a)]
        twists, rates = np.tile(self._twists, (count, 1)), np.tile(self._rates, (count, 1))
        samples, self._contact_points = self.evaluate(
            joints[0], joints[1], joints[2], twists, rates, angles, payload, gravity
        )
        self._coefficients = self._inverse @ samples.reshape(count, FEATURES, -1)

    def lose(self) -> None:
        """Invalidate the reactions, for a posture without any. The governor then permits only braking."""
        self._coefficients = np.full_like(self._coefficients, np.nan)

    def reactions(self, twists: Array, accelerations: Array) -> Array:
        """Return the ground's forces (p, t, w, 3), x, y and z in axes of the base, N, in all postures.

        Args:
            twists: (t, 3) of the base.
            accelerations: (t, 3) rates of the components of the twists.
        """
        forces = features(twists, accelerations) @ self._coefficients
        return np.asarray(forces.reshape(len(forces), len(twists), -1, 3))

    def planar(self, twist: Array, acceleration: Array) -> Array:
        """Return the planar wrench (3,) of the ground in the present posture.

        fx, fy, N, and mz about the base's origin, N m.

        Args:
            twist: (3,) of the base.
            acceleration: (3,) rates of the components of the twist.
        """
        forces = (features(twist[None], acceleration[None])[0] @ self._coefficients[0]).reshape(-1, 3)
        x, y = self._contact_points[:, 0], self._contact_points[:, 1]
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
        """Return the ground's forces (t, w, 3), N, of t states of joints and base, and the contact points (w, 3), m.

        Both in axes of the base. For the arguments see `place` and `reactions`.
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
        columns, directions, inertias = self._columns(points, angles)
        tractions = -(accelerations @ (inertias[:, None] * rows).T)
        held = self._held(tractions, angles)
        wrench = -np.hstack([load.force, load.moment]) - _wrench(points, held)
        forces = held + np.einsum('tc,cwi->twi', wrench @ _pseudo_inverse(columns, self.machine.name), directions)
        return np.asarray(forces), points

    # -- columns -------------------------------------------------------------------------------------------------------

    def _points(self, attachments: Array, angles: Array) -> Array:
        """Return the points (w, 3) where the contacts touch the ground, in axes of the base."""
        points = np.empty((len(self._contacts), 3))
        points[:, 2] = -self.base.height
        for k, contact in enumerate(self._contacts):
            if contact.spring >= 0:
                points[k, :2] = attachments[contact.spring, :2]
            elif contact.unit is None:
                points[k, :2] = contact.point
            else:
                c, s = np.cos(angles[self._wheel_index(contact.unit)]), np.sin(angles[self._wheel_index(contact.unit)])
                x, y = contact.unit.offset
                points[k, :2] = contact.unit.pivot + np.array([c * x - s * y, s * x + c * y])
        return points

    def _wheel_index(self, unit: WheelUnit) -> int:
        return self.base.wheels.index(unit)

    def _normal_directions(self, compliance: Array) -> Array:
        """Return w sets of normal forces (w, w, 3) whose combination of least norm has the least energy in the springs.

        Wheels by constraint, which have no springs, are treated as springs of the mean compliance.
        """
        count, springs = len(self._contacts), len(compliance)
        relative = np.eye(count)
        relative[:springs, :springs] = compliance / max(float(np.trace(compliance)) / max(springs, 1), 1e-300)
        directions = np.zeros((count, count, 3))
        directions[..., 2] = np.linalg.inv(np.linalg.cholesky(relative))
        return directions

    def _columns(self, points: Array, angles: Array) -> tuple[Array, Array, Array]:
        """Return wrenches (c, 6) and forces (c, w, 3) of the free components, and inertias over reach (m,).

        The inertias give the tractions that turn wheels without a drive; they are 0 for other wheels.
        """
        base, count = self.base, len(self._contacts)
        forces, inertias = list(self._normals), np.zeros(len(base.wheels))
        for k, contact in enumerate(self._contacts):
            if contact.unit is None or contact.friction == 0.0:
                continue
            index = self._wheel_index(contact.unit)
            along = contact.unit.heading + angles[index] + (contact.unit.roller_angle or 0.0)
            if contact.unit.driven:
                forces.append(_unit(count, k, np.array([np.cos(along), np.sin(along), 0.0])))
            else:
                inertias[index] = contact.unit.axial_inertia / base.reach[index]
            if contact.unit.is_tyre and contact.name not in self._swivels:
                forces.append(_unit(count, k, np.array([-np.sin(along), np.cos(along), 0.0])))
        directions = np.array(forces)
        return _wrench(points, directions), directions, inertias

    def _held(self, tractions: Array, angles: Array) -> Array:
        """Return the forces (t, w, 3) of tractions (t, m) along the grips of the wheels."""
        held = np.zeros((len(tractions), len(self._contacts), 3))
        for k, contact in enumerate(self._contacts):
            if contact.unit is None or contact.unit.driven or contact.friction == 0.0:
                continue
            index = self._wheel_index(contact.unit)
            along = contact.unit.heading + angles[index] + (contact.unit.roller_angle or 0.0)
            held[:, k, 0], held[:, k, 1] = tractions[:, index] * np.cos(along), tractions[:, index] * np.sin(along)
        return held


def _contacts(machine: Machine, base: WheelBase, friction: float) -> tuple[_Contact, ...]:
    """Return wheels and feet on springs, then wheels by constraint, including those without friction."""
    units = {sprung.name: sprung for sprung in base.wheels}
    grip = grip_of(machine).friction
    contacts = []
    for k, sprung in enumerate(machine.wheels):
        unit = units.get(sprung.name)
        contacts.append(_Contact(sprung.name, k, unit, np.zeros(2), 0.0 if unit is None else float(grip[k])))
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    for wheel in machine.rigid_wheels:
        pose = poses[wheel.first.link]
        point = (pose[:3, :3] @ wheel.first.position + pose[:3, 3])[:2]
        unit = units.get(wheel.name)
        contacts.append(_Contact(wheel.name, -1, unit, point, 0.0 if unit is None else wheel.friction or friction))
    return tuple(contacts)


def _unit(count: int, index: int, direction: Array) -> Array:
    result = np.zeros((count, 3))
    result[index] = direction
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
