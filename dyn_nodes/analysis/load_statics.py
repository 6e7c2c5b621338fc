"""Loads of a machine on ground and oil, at rest or with accelerating arm and slew, exact and for many postures.

The base is level on the ground plane and does not move. Inverse dynamics of the free-floating machine then gives the
wrench of the ground and the efforts of the joints. Both are linear in the payload, so the greatest payload that an edge
of the support polygon or a cylinder can bear follows without iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.analysis.load_gear import LoadGear
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
class Demand:
    """Loads of N states; each is the value without payload plus the payload times the value per kilogram.

    Attributes:
        pressing, pressing_per_kg: (N, e) moment that holds the machine down about each edge, N m and N m/kg.
        effort, effort_per_kg: (N, j) effort of each joint of the chain, N m or N, and the same per kg.
        wrench, wrench_per_kg: (N, 6) moment about the base link's origin and force of the ground, N m and N.
    """

    pressing: Array
    pressing_per_kg: Array
    effort: Array
    effort_per_kg: Array
    wrench: Array
    wrench_per_kg: Array


class LoadStatics:
    """The chain from the base to the payload, its postures, and their forces.

    Attributes:
        chain: driven joints from the base to the payload, in order, without joints that move supports. Joints without a
            drive, such as of a hook, stay in their initial positions.
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

    Raises:
        LoadChartError: no payload, too few supports, or no equilibrium without payload.
    """

    def __init__(self, machine: Machine) -> None:
        if machine.payload is None:
            raise LoadChartError(f'{machine.name}: a load chart needs a payload: the key `payload` of the machine YAML')
        if len(machine.supports) < 2:
            count = len(machine.supports)
            raise LoadChartError(f'{machine.name}: a load chart needs supports such as wheels, found {count}')
        self.machine, self.payload = machine, machine.payload
        # a free base gives the wrench of the ground for a base of any kind
        free = replace(machine, base=Base(machine.base.link, 'free'))
        self.model = RigidBodyModel(free)
        self._path = _path(machine, self.payload.link)
        carrying = carrying_links(machine)
        driven = {joint.name for joint in machine.actuated_joints}
        arm = [joint for joint in self._path if joint.movable and joint.child not in carrying]
        self.chain = tuple(joint for joint in arm if joint.name in driven)
        self.held = tuple(joint.name for joint in self._path if joint.child in carrying and joint.name in driven)
        self._check_loops([joint.name for joint in arm])
        if not self.chain:
            raise LoadChartError(f'{machine.name}: no joint moves the payload link {self.payload.link!r}')
        self._rest = initial_positions(machine)
        poses = link_poses(machine.links, machine.joints, self._rest | {joint.name: 0.0 for joint in self.chain})
        self.swing = next((joint for joint in self.chain if _vertical(poses[joint.child], joint)), None)
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

    def _check_loops(self, arm: list[str]) -> None:
        """Reject an arm with constraints, whose joints cannot take any posture independently."""
        machine, moved = self.machine, set()
        for joint in machine.joints:  # ordered from the root
            if joint.parent in moved or joint.name in arm:
                moved.add(joint.child)
        for entry in machine.constraints:
            if {end.link for end in entry.ends} & moved or set(entry.coupled_joints) & set(arm):
                raise LoadChartError(
                    f'{machine.name}: a load chart expects an arm whose drives move its joints independently, found '
                    f'constraint {entry.name!r}'
                )

    @cached_property
    def _moved(self) -> set[str]:
        """Names of the links that the chain moves."""
        return moved_links(self.machine, self.chain[0])

    def mount(self, q: Array) -> Array:
        """Return the payload's mount (N, 3) in base axes, m, for positions of the chain (N, c)."""
        pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        column = 0
        for joint in self._path:
            pose = pose @ joint.origin
            if joint in self.chain:
                pose = pose @ _motion(joint, q[:, column])
                column += 1
            elif joint.movable:
                pose = pose @ _motion(joint, np.array([self._rest[joint.name]]))
        return np.asarray(pose[:, :3, :3] @ self.payload.position + pose[:, :3, 3])

    def mount_slopes(self, q: Array) -> tuple[Array, Array]:
        """Return the mount (N, 3) at positions (N, c), m, and its derivatives by the arm's joints (N, 3, a)."""
        pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        column, axes, points = 0, [], []
        for joint in self._path:
            pose = pose @ joint.origin
            if joint.movable and joint not in self.chain:
                pose = pose @ _motion(joint, np.array([self._rest[joint.name]]))
            elif joint.movable:
                axes.append(pose[:, :3, :3] @ joint.axis)
                points.append(pose[:, :3, 3])
                pose = pose @ _motion(joint, q[:, column])
                column += 1
        mount = pose[:, :3, :3] @ self.payload.position + pose[:, :3, 3]
        slopes = [
            axis if joint.type == 'prismatic' else np.cross(axis, mount - point)
            for joint, axis, point in zip(self.chain, axes, points)
            if joint is not self.swing
        ]
        return mount, np.stack(slopes, axis=2)

    @cached_property
    def arm_limits(self) -> tuple[Array, Array]:
        """Least and greatest positions (a,) of the arm's joints, rad or m; half a turn either way without limits."""
        lower = np.array([joint.lower if np.isfinite(joint.lower) else -np.pi for joint in self.arm])
        upper = np.array([joint.upper if np.isfinite(joint.upper) else np.pi for joint in self.arm])
        return lower, upper

    def arm_grid(self, count: int) -> Array:
        """Return postures (N, a) over the range of the arm, `count` positions per joint, the last joint fastest."""
        along = np.linspace(*self.arm_limits, count).T
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

    def demand(self, q: Array, gravity: Array, rate: Array | None = None, acceleration: Array | None = None) -> Demand:
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
        return Demand(*pressing, effort, effort_per_kg, wrench, wrench_per_kg)

    def forces(
        self, q: Array, gravity: Array, rate: Array | None, acceleration: Array | None, payload: float
    ) -> tuple[Array, Array]:
        """Return the wrench (N, 6) of the ground and the efforts (N, c) of the chain; see `demand`."""
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
        parameters = np.tile(self.model.parameters(payload, (gravity[0], gravity[1], gravity[2])), (count, 1))
        forces = np.empty((count, self.model.nv))
        self.model.kernels.inverse_dynamics_batch(state, v, a, parameters, forces)
        return forces[:, :6].copy(), forces[:, self._rate_indices]

    @cached_property
    def still_wrench(self) -> Array:
        """Wrench (6, 3) of the ground on links that the chain does not move, for gravity of 1 m/s2 along x, y and z."""
        links = [link for link in self.machine.links if link.name not in self._moved]
        mass, middle = center_of_mass(links, self._poses, None)
        return np.vstack([-mass * np.cross(middle, np.eye(3)).T, -mass * np.eye(3)])

    def capacities(self, q: Array, holding: bool) -> tuple[Array, Array]:
        """Return the least and the greatest effort (N, c) of the chain's joints, N m or N.

        A cylinder or motor lifts with the pump's relief pressure and holds with the line relief pressure, the other
        side at tank pressure. A joint without an actuator has the limit of its URDF.
        """
        low, high = np.empty_like(q), np.empty_like(q)
        actuators = {actuator.joint: actuator for actuator in self.machine.actuators}
        for k, joint in enumerate(self.chain):
            low[:, k], high[:, k] = -joint.effort_limit, joint.effort_limit
            if joint.name in actuators:
                source = self.machine.source_limit(actuators[joint.name].name)
                limits = actuator_element(actuators[joint.name]).capacity(ca.DM(q[:, k]), source, holding)
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
