"""Loads of a machine on ground and oil, at rest or with accelerating arm and slew, exact and for many postures.

The base is level on the ground plane and does not move. Inverse dynamics of the free-floating machine then gives the
wrench of the ground and the efforts of the joints. Both are linear in the payload, so the greatest payload that an edge
of the support polygon or a cylinder can bear follows without iteration. Closed loops of the arm (`load_linkage`) do not
change the wrench; the effort of a drive follows from the efforts of the open joints by virtual work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.analysis.load_gear import LoadGear
from dyn_nodes.analysis.load_linkage import Linkage, LinkageError, linkages_of
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.machine import Base, Joint, Machine
from dyn_nodes.model.posture import carrying_links, center_of_mass, initial_positions, link_poses, moved_links
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.stability.equilibrium.gear import GearError

UPRIGHT = 1e-6  # sine of the angle to the vertical below which a joint axis is vertical
UNIT_LOAD = 1000.0  # kg; payload for differences


class LoadChartError(UserError, ValueError):
    """The machine has no load chart; the message has the reason."""


@dataclass(frozen=True)
class EffortDemand:
    """Loads of N states; each is the value without payload plus the payload times the value per kilogram.

    Attributes:
        pressing, pressing_per_kg: (N, e) moment that holds the machine down about each edge, N m and N m/kg.
        effort, effort_per_kg: (N, j) effort of the drive of each joint of the chain, N m or N, and the same per kg.
        wrench, wrench_per_kg: (N, 6) moment about the base link's origin and force of the ground, N m and N.
    """

    pressing: Array
    pressing_per_kg: Array
    effort: Array
    effort_per_kg: Array
    wrench: Array
    wrench_per_kg: Array


class _Moving(NamedTuple):
    """Positions (N or 1,) of a joint, and its rates (N,) by the joint of the chain in a column; -1: none."""

    position: Array
    rate: Array
    column: int


class LoadStatics:
    """The chain from the base to the payload, its postures, and their forces.

    Attributes:
        chain: joints from the base to the payload that have a drive, or one in their closed loop, in order, without
            joints that move supports. Joints without a drive, such as of a hook, stay in their initial positions.
        linkages: closed loops of the arm.
        drives: names of the joints that drive the chain, in its order.
        swing: the joint of `chain` that turns the arm about the vertical, or None.
        arm: the other joints of `chain`.
        feet: (n, 3) corners of the support polygon in base axes, m, counter-clockwise.
        slew_origin, slew_axis: (3,) a point, m, and the direction of the swing joint's axis in base axes; of the
            first arm joint without a swing joint.
        ground: height of the ground plane in the base frame, m.
        edge_rows, still_rows: (e, 6) and (e, 3) of `LoadGear`.
        gear: running gear of the machine.
        held: names of the driven joints between base and payload that move supports; they stay in their initial
            positions.

    Args:
        machine: machine with a payload and supports. Only joints of the chain move; all others stay at their initial
            positions.
        like: statics of a machine with the same links, joints and constraints, whose linkages and compiled model are
            used again. The payload may be mounted elsewhere; then only `forces` without payload are valid.

    Raises:
        LoadChartError: no payload, too few supports, closed loops without one drive each, or no equilibrium without
            payload.
    """

    def __init__(self, machine: Machine, like: LoadStatics | None = None) -> None:
        if machine.payload is None:
            raise LoadChartError(f'{machine.name}: a load chart needs a payload: the key `payload` of the machine YAML')
        if len(machine.supports) < 2:
            count = len(machine.supports)
            raise LoadChartError(f'{machine.name}: a load chart needs supports such as wheels, found {count}')
        self.machine, self.payload = machine, machine.payload
        # a free base gives the wrench of the ground for a base of any kind
        free = replace(machine, base=Base(machine.base.link, 'free'))
        self.model: RigidBodyModel = RigidBodyModel(free) if like is None else like.model
        self._path = _path(machine, self.payload.link)
        carrying = carrying_links(machine)
        driven = {joint.name for joint in machine.actuated_joints}
        arm = [joint for joint in self._path if joint.movable and joint.child not in carrying]
        try:
            self.linkages: tuple[Linkage, ...] = linkages_of(machine, arm, carrying) if like is None else like.linkages
        except LinkageError as error:
            raise LoadChartError(str(error)) from None
        dependent = {name for linkage in self.linkages for name in linkage.joints}
        self._linkage = {linkage.coordinate: linkage for linkage in self.linkages}
        self.chain = tuple(joint for joint in arm if joint.name in self._linkage or joint.name in driven - dependent)
        self.drives = tuple(
            self._linkage[joint.name].drive if joint.name in self._linkage else joint.name for joint in self.chain
        )
        self.held = tuple(joint.name for joint in self._path if joint.child in carrying and joint.name in driven)
        if not self.chain:
            raise LoadChartError(f'{machine.name}: no joint moves the payload link {self.payload.link!r}')
        self._rest = initial_positions(machine)
        poses = link_poses(machine.links, machine.joints, self._rest | {joint.name: 0.0 for joint in self.chain})
        self.swing = next((joint for joint in self.chain if _vertical(poses[joint.child], joint)), None)
        self._check_swing()
        self.arm = tuple(joint for joint in self.chain if joint is not self.swing)
        if not self.arm:
            raise LoadChartError(f'{machine.name}: no joint moves the payload {self.payload.link!r} out or in')
        turned = self.swing or self.arm[0]
        self.slew_origin, self.slew_axis = poses[turned.child][:3, 3].copy(), poses[turned.child][:3, :3] @ turned.axis
        self.axis = self.slew_origin[:2]
        self._poses = link_poses(machine.links, machine.joints, self._rest)
        moved = [link.name for link in machine.links if link.name in self._moved]
        try:
            self.gear = LoadGear(machine, self._rest, moved, self.chain[0].parent)
        except GearError as error:
            raise LoadChartError(str(error)) from None
        self.feet, self.ground, self.edge_rows = self.gear.feet, self.gear.ground, self.gear.edge_rows
        self.still_rows = self.gear.still_rows(self.still_wrench)
        self._position_indices = [self.model.position_names.index(joint.name) for joint in self.chain]
        self._rate_indices = [self.model.velocity_names.index(joint.name) for joint in self.chain]

    def _check_swing(self) -> None:
        """Reject a slew joint in a closed loop: the arm would not turn as a whole."""
        if self.swing is not None and self.swing.name in self._linkage:
            names = ', '.join(repr(name) for name in self._linkage[self.swing.name].constraints)
            raise LoadChartError(
                f'{self.machine.name}: a load chart expects a slew joint outside of closed loops, found '
                f'{self.swing.name!r} with {names}'
            )

    @cached_property
    def _moved(self) -> set[str]:
        """Names of the links that the chain moves."""
        moved = moved_links(self.machine, self.chain[0])
        for linkage in self.linkages:
            for name in (linkage.coordinate, *linkage.joints):
                moved |= moved_links(self.machine, self.machine.joint(name))
        return moved

    def _positions(self, q: Array) -> dict[str, _Moving]:
        """Return the movable joints of the path and of linkages by name, at positions (N, c) of the chain."""
        still = {joint.name: np.array([self._rest[joint.name]]) for joint in self._path if joint.movable}
        result = {name: _Moving(position, np.zeros(len(q)), -1) for name, position in still.items()}
        result |= {joint.name: _Moving(q[:, k], np.ones(len(q)), k) for k, joint in enumerate(self.chain)}
        for linkage in self.linkages:
            column = result[linkage.coordinate].column
            x = q[:, column]
            for name, position, rate in zip(linkage.joints, linkage.positions(x).T, linkage.rates(x).T):
                result[name] = _Moving(position, rate, column)
        return result

    def posture(self, q: Array) -> dict[str, float]:
        """Return the positions of the joints between base and payload and in closed loops, by name.

        Args:
            q: (c,) position of the chain, rad or m.
        """
        return {name: float(moving.position[0]) for name, moving in self._positions(q[np.newaxis]).items()}

    def mount(self, q: Array) -> Array:
        """Return the payload's mount (N, 3) in base axes, m, for positions of the chain (N, c)."""
        return self.mount_slopes(q)[0]

    def mount_slopes(self, q: Array) -> tuple[Array, Array]:
        """Return the mount (N, 3) at positions (N, c), m, and its derivatives by the arm's joints (N, 3, a)."""
        pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        at, moves = self._positions(q), []
        for joint in self._path:
            pose = pose @ joint.origin
            if joint.movable:
                moves.append((joint, pose[:, :3, :3] @ joint.axis, pose[:, :3, 3]))
                pose = pose @ _motion(joint, at[joint.name].position)
        mount = pose[:, :3, :3] @ self.payload.position + pose[:, :3, 3]
        slopes = np.zeros((len(q), 3, len(self.chain)))
        for joint, axis, point in moves:
            moving = at[joint.name]
            if moving.column >= 0:
                moved = axis if joint.type == 'prismatic' else np.cross(axis, mount - point)
                slopes[:, :, moving.column] += moving.rate[:, np.newaxis] * moved
        return mount, slopes[:, :, [k for k, joint in enumerate(self.chain) if joint is not self.swing]]

    @cached_property
    def arm_limits(self) -> tuple[Array, Array]:
        """Least and greatest positions (a,) of the arm's joints, rad or m; half a turn either way without limits.

        Within these positions loops are closed and their joints within the limits.
        """
        ranges = [self._linkage.get(joint.name, joint) for joint in self.arm]
        lower = np.array([each.lower if np.isfinite(each.lower) else -np.pi for each in ranges])
        upper = np.array([each.upper if np.isfinite(each.upper) else np.pi for each in ranges])
        return lower, upper

    def arm_grid(self, count: int) -> Array:
        """Return postures (N, a) over the range of the arm, `count` positions per joint, the last joint fastest.

        A joint that keeps its position has one.
        """
        along = [np.linspace(low, high, count if high > low else 1) for low, high in zip(*self.arm_limits)]
        return np.stack(np.meshgrid(*along, indexing='ij'), axis=-1).reshape(-1, len(self.arm))

    def arm_positions(self, arm: Array, swing: Array | float = 0.0) -> Array:
        """Return positions of the chain (N, c) from positions of the arm (N, a) and of the swing joint (N,)."""
        q = np.zeros((len(arm), len(self.chain)))
        q[:, [k for k, joint in enumerate(self.chain) if joint is not self.swing]] = arm
        if self.swing is not None:
            q[:, self.chain.index(self.swing)] = swing
        return q

    def reach(self, q: Array) -> Array:
        """Return the horizontal distance (N,) of the mount from the swing axis (or from the first arm joint), m."""
        away = self.mount(q)[:, :2] - self.axis
        return np.asarray(away[:, 0] if self.swing is None else np.hypot(away[:, 0], away[:, 1]))

    def height(self, q: Array) -> Array:
        """Return the height (N,) of the mount above the ground, m."""
        return np.asarray(self.mount(q)[:, 2] - self.ground)

    def demand(
        self, q: Array, gravity: Array, rate: Array | None = None, acceleration: Array | None = None
    ) -> EffortDemand:
        """Return the loads of N states.

        Args:
            q: (N, c) positions of the chain.
            gravity: (3,) in base axes, m/s2.
            rate: (N, c) of the chain, rad/s or m/s; None for zero.
            acceleration: (N, c) of the chain, rad/s2 or m/s2; None for zero.
        """
        wrench, effort = self.forces(q, gravity, rate, acceleration, 0.0)
        loaded_wrench, loaded_effort = self.forces(q, gravity, rate, acceleration, UNIT_LOAD)
        wrench_per_kg, effort_per_kg = (loaded_wrench - wrench) / UNIT_LOAD, (loaded_effort - effort) / UNIT_LOAD
        arm = wrench - self.still_wrench @ gravity
        pressing = arm @ self.edge_rows.T + self.still_rows @ gravity, wrench_per_kg @ self.edge_rows.T
        return EffortDemand(*pressing, effort, effort_per_kg, wrench, wrench_per_kg)

    def forces(
        self, q: Array, gravity: Array, rate: Array | None, acceleration: Array | None, payload: float
    ) -> tuple[Array, Array]:
        """Return the wrench (N, 6) of the ground and the efforts (N, c) of the drives; see `demand`."""
        count = len(q)
        neutral = self.model.neutral()
        for name, position in self._rest.items():
            neutral[self.model.position_names.index(name)] = position
        state, v, a = np.tile(neutral, (count, 1)), np.zeros((count, self.model.nv)), np.zeros((count, self.model.nv))
        state[:, self._position_indices] = q
        if rate is not None:
            v[:, self._rate_indices] = rate
        if acceleration is not None:
            a[:, self._rate_indices] = acceleration
        loops = [self._close(linkage, state, v, a) for linkage in self.linkages]
        parameters = np.tile(self.model.parameters(payload, (gravity[0], gravity[1], gravity[2])), (count, 1))
        forces = np.empty((count, self.model.nv))
        self.model.kernels.inverse_dynamics_batch(state, v, a, parameters, forces)
        efforts = forces[:, self._rate_indices]
        for column, indices, rates, drive in loops:
            efforts[:, column] += (rates * forces[:, indices]).sum(axis=1)
            efforts[:, column] /= drive
        return forces[:, :6].copy(), efforts

    def drive_rates(self, q: Array) -> Array:
        """Return the derivatives (N, c) of the drives' positions by the joints of the chain, at positions (N, c)."""
        rates = np.ones_like(q)
        for k, joint in enumerate(self.chain):
            if joint.name in self._linkage:
                rates[:, k] = self._linkage[joint.name].drive_rate(q[:, k])
        return rates

    def _close(self, linkage: Linkage, state: Array, v: Array, a: Array) -> tuple[int, list[int], Array, Array]:
        """Write positions, rates and accelerations of a linkage's joints.

        Return its column of the chain, the indices of its d joints' rates, their rates (N, d) and the drive's rate (N,)
        by the coordinate.
        """
        names = [joint.name for joint in self.chain]
        column = names.index(linkage.coordinate)
        x, rate = state[:, self._position_indices[column]], v[:, self._rate_indices[column], np.newaxis]
        slopes, indices = linkage.rates(x), [self.model.velocity_names.index(name) for name in linkage.joints]
        state[:, [self.model.position_names.index(name) for name in linkage.joints]] = linkage.positions(x)
        a[:, indices] = slopes * a[:, self._rate_indices[column], np.newaxis] + linkage.curvatures(x) * rate**2
        v[:, indices] = slopes * rate
        return column, indices, slopes, linkage.drive_rate(x)

    @cached_property
    def still_wrench(self) -> Array:
        """Wrench (6, 3) of the ground on links that the chain does not move, for gravity of 1 m/s2 along x, y and z."""
        links = [link for link in self.machine.links if link.name not in self._moved]
        mass, middle = center_of_mass(links, self._poses, None)
        return np.vstack([-mass * np.cross(middle, np.eye(3)).T, -mass * np.eye(3)])

    def capacities(self, q: Array, holding: bool) -> tuple[Array, Array]:
        """Return the least and the greatest effort (N, c) of the chain's drives, N m or N.

        A cylinder or motor lifts with the pump's relief pressure and holds with the line relief pressure, the other
        side at tank pressure. A joint without an actuator has the limit of its URDF.
        """
        low, high = np.empty_like(q), np.empty_like(q)
        actuators = {actuator.joint: actuator for actuator in self.machine.actuators}
        for k, (joint, name) in enumerate(zip(self.chain, self.drives)):
            most = self.machine.joint(name).effort_limit
            low[:, k], high[:, k] = -most, most
            if name in actuators:
                source = self.machine.source_limit(actuators[name].name)
                linkage = self._linkage.get(joint.name)
                at = q[:, k] if linkage is None else linkage.drive_position(q[:, k])
                limits = actuator_element(actuators[name]).capacity(ca.DM(at), source, holding)
                low[:, k], high[:, k] = (np.asarray(limit).ravel() for limit in limits)
        return low, high


def _path(machine: Machine, link: str) -> tuple[Joint, ...]:
    """Return the joints from the root link to a link, root first."""
    by_child = {joint.child: joint for joint in machine.joints}
    joints: list[Joint] = []
    while link in by_child:
        joints.append(by_child[link])
        link = by_child[link].parent
    return tuple(reversed(joints))


def _vertical(pose: Array, joint: Joint) -> bool:
    axis = pose[:3, :3] @ joint.axis
    return joint.type in ('revolute', 'continuous') and bool(np.hypot(axis[0], axis[1]) < UPRIGHT)


def _motion(joint: Joint, positions: Array) -> Array:
    """Return the poses (N, 4, 4) of a joint's child in its frame."""
    motion = np.tile(np.eye(4), (len(positions), 1, 1))
    if joint.type == 'prismatic':
        motion[:, :3, 3] = positions[:, np.newaxis] * joint.axis
        return motion
    x, y, z = joint.axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, versine = np.sin(positions)[:, None, None], (1.0 - np.cos(positions))[:, None, None]
    motion[:, :3, :3] += sine * cross + versine * (cross @ cross)
    return motion
