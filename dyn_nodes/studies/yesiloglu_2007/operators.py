"""Dense spatial operators of a tree: the stacked matrices of yesiloglu-2007, chapters 2 and 3, at one state.

They serve as a readable reference: every operator is a full NumPy matrix with its symbol in the docstring. `chain.py`
implements the same algebra without matrices larger than 6 x 6.

Conventions are the source's (specification, section 0): all vectors in world axes, [angular; linear], linear parts at
the origin O_k of a link's frame, classical accelerations (inertial rates of these velocities). A free base has the
velocity [omega; v] in world axes. A tip wrench acts from the tip on the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dyn_nodes.multibody.tree import Tree, reject_rotors

Array = np.ndarray
AxisKind = Literal['revolute', 'prismatic']
NO_GRAVITY = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link and the joint that carries it, of any number of degrees of freedom.

    Attributes:
        name: for messages.
        parent: index of the carrying link, less than the link's index; -1 for the world.
        axes: (kind, (3,) unit vector) of each degree of freedom from the parent outwards, each in the frame moved by
            the previous ones, all through the origin of that frame. Empty: a rigid connection.
        R, p: (3, 3), (3,) placement of the link frame in the parent's with the joint at zero.
        mass, com, inertia: kg; (3,) m; (3, 3) about the centre of mass, kg m2; in link axes.
        free: a root with six degrees of freedom instead of `axes`.
    """

    name: str
    parent: int
    axes: tuple[tuple[AxisKind, Array], ...]
    R: Array
    p: Array
    mass: float
    com: Array
    inertia: Array
    free: bool = False

    @property
    def positions(self) -> int:
        """Number of positions: x, y, z, qx, qy, qz, qw of a free link."""
        return 7 if self.free else len(self.axes)

    @property
    def velocities(self) -> int:
        """Number of velocities, m_k."""
        return 6 if self.free else len(self.axes)


@dataclass(frozen=True, eq=False)
class Tip:
    """A point fixed in a link: index of the link, (3,) m in link axes."""

    link: int
    point: Array


def links_of_tree(tree: Tree) -> tuple[Link, ...]:
    """Return the links of a `Tree` without its payload. Raises ValueError if rotors drive joints."""
    reject_rotors(tree)
    return tuple(
        Link(
            body.name,
            body.parent,
            () if body.kind == 'free' else ((body.kind, body.axis),),
            body.R0,
            body.p0,
            body.mass,
            body.com,
            body.inertia,
            body.kind == 'free',
        )
        for body in tree.bodies
    )


def skew(u: Array) -> Array:
    """Return the (3, 3) matrix of the cross product u x."""
    return np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])


def shift(arm: Array) -> Array:
    """Return Phi (6, 6), which maps the velocity of a body at one point to the point offset by `arm` (3,) (2.5)."""
    result = np.eye(6)
    result[3:, :3] = -skew(arm)
    return result


def rotation(axis: Array, angle: float) -> Array:
    """Return the (3, 3) rotation about a unit vector, rad."""
    k = skew(axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def rotation_of_quaternion(quaternion: Array) -> Array:
    """Return the (3, 3) rotation of a quaternion (x, y, z, w) of any norm but zero."""
    unit = quaternion / np.linalg.norm(quaternion)
    k = skew(unit[:3])
    return np.eye(3) + 2 * unit[3] * k + 2 * k @ k


class Operators:
    """The operators of links at a state. Row k of a stacked quantity is six rows, 6 k to 6 k + 5.

    Attributes:
        n, nv: number of links and of velocities.
        columns: of each link, its slice of the generalized velocities.
        rotations: (n, 3, 3) of the link frames.
        origins: (n, 3) O_k, m.
        arms: (n, 3) from the origin of the parent (of the world) to O_k, m.
        velocities: (n, 6) of the links at O_k.
        joint_map: H (6 n, nv), block diagonal (2.6), (2.7).
        bias_acceleration: a (6 n,), (2.16) with the terms of prismatic and of several axes; without gravity.
    """

    def __init__(self, links: Sequence[Link], q: Array, v: Array, tips: Sequence[Tip] = ()) -> None:
        """Compute the kinematics of the links.

        Args:
            links: parents before children.
            q: positions, link by link.
            v: velocities, link by link; of a free link [omega; v] in world axes.
            tips: points with motion and wrenches.

        Raises:
            ValueError: vectors of another size, a parent after its child, a free link that is not a root.
        """
        self.links, self.tips = tuple(links), tuple(tips)
        self.n, self.nv = len(self.links), sum(link.velocities for link in self.links)
        count = sum(link.positions for link in self.links)
        self.v = np.asarray(v, dtype=float)
        q = np.asarray(q, dtype=float)
        if q.shape != (count,) or self.v.shape != (self.nv,):
            shapes = f'{q.shape} and {self.v.shape}'
            raise ValueError(f'expected {count} positions and {self.nv} velocities, found arrays of shape {shapes}')
        self.rotations, self.origins, self.arms = np.zeros((self.n, 3, 3)), np.zeros((self.n, 3)), np.zeros((self.n, 3))
        self.velocities = np.zeros((self.n, 6))
        self.joint_map = np.zeros((6 * self.n, self.nv))
        self.bias_acceleration = np.zeros(6 * self.n)
        self.columns: list[slice] = []
        at_q = at_v = 0
        for k, link in enumerate(self.links):
            if not -1 <= link.parent < k or (link.free and link.parent >= 0):
                raise ValueError(f'{link.name}: expected a parent before it, and none of a free link')
            self.columns.append(slice(at_v, at_v + link.velocities))
            self._pose_link(k, link, q[at_q : at_q + link.positions])
            at_q, at_v = at_q + link.positions, at_v + link.velocities

    def _pose_link(self, k: int, link: Link, q: Array) -> None:
        rows = slice(6 * k, 6 * k + 6)
        rates = self.v[self.columns[k]]
        if link.free:
            self.rotations[k], self.origins[k], self.arms[k] = rotation_of_quaternion(q[3:]), q[:3], q[:3]
            self.joint_map[rows, self.columns[k]] = np.eye(6)
            self.velocities[k] = rates
            return
        root = link.parent < 0
        R, origin = (np.eye(3), np.zeros(3)) if root else (self.rotations[link.parent], self.origins[link.parent])
        above = np.zeros(6) if root else self.velocities[link.parent]
        arm, R, omega = R @ link.p, R @ link.R, above[:3].copy()
        H, bias = np.zeros((6, len(link.axes))), np.zeros(6)
        bias[3:] = np.cross(omega, np.cross(omega, arm))
        for j, ((kind, axis), position, rate) in enumerate(zip(link.axes, q, rates)):
            h = R @ axis
            if kind == 'revolute':
                R = R @ rotation(axis, position)
                H[:3, j] = h
                bias[:3] += np.cross(omega, h * rate)
                omega = omega + h * rate
            else:
                step = h * position
                H[3:, j] = h
                H[3:, :j] += np.cross(H[:3, :j], step, axis=0)
                bias[3:] += np.cross(bias[:3], step) + np.cross(omega, np.cross(omega, step) + 2 * h * rate)
                arm = arm + step
        self.rotations[k], self.origins[k], self.arms[k] = R, origin + arm, arm
        self.joint_map[rows, self.columns[k]] = H
        self.velocities[k] = shift(arm) @ above + H @ rates
        self.bias_acceleration[rows] = bias

    def _block(self, k: int) -> slice:
        return slice(6 * k, 6 * k + 6)

    @cached_property
    def adjacent(self) -> Array:
        """E_phi (6 n, 6 n): Phi_{k, parent} between each link and its parent (3.8), (3.9)."""
        result = np.zeros((6 * self.n, 6 * self.n))
        for k, link in enumerate(self.links):
            if link.parent >= 0:
                result[self._block(k), self._block(link.parent)] = shift(self.arms[k])
        return result

    @cached_property
    def propagation(self) -> Array:
        """Phi (6 n, 6 n): Phi_{k, j} wherever link j carries link k (2.11), (2.28), block by block."""
        result = np.zeros((6 * self.n, 6 * self.n))
        for k in range(self.n):
            j = k
            while j >= 0:
                result[self._block(k), self._block(j)] = shift(self.origins[k] - self.origins[j])
                j = self.links[j].parent
        return result

    @cached_property
    def spatial_inertia(self) -> Array:
        """M (6 n, 6 n), block diagonal: M_k about O_k in world axes (2.20)."""
        result = np.zeros((6 * self.n, 6 * self.n))
        for k, link in enumerate(self.links):
            R, c = self.rotations[k], skew(self.rotations[k] @ link.com)
            block = np.zeros((6, 6))
            block[:3, :3] = R @ link.inertia @ R.T - link.mass * c @ c
            block[:3, 3:], block[3:, :3] = link.mass * c, -link.mass * c
            block[3:, 3:] = link.mass * np.eye(3)
            result[self._block(k), self._block(k)] = block
        return result

    @cached_property
    def bias_force(self) -> Array:
        """Stacked b (6 n,): rotational bias force of each link (2.20)."""
        result = np.zeros(6 * self.n)
        for k, link in enumerate(self.links):
            omega, block = self.velocities[k, :3], self._block(k)
            about = self.spatial_inertia[block, block][:3, :3]
            arm = link.mass * self.rotations[k] @ link.com
            result[block] = np.concatenate([np.cross(omega, about @ omega), np.cross(omega, np.cross(omega, arm))])
        return result

    def lift(self, gravity: Array) -> Array:
        """Return a_g (6 n,): upward acceleration [0; -g] of every root (C4), for `bias` and link forces only."""
        result = np.zeros(6 * self.n)
        for k, link in enumerate(self.links):
            if link.parent < 0:
                result[6 * k + 3 : 6 * k + 6] = -np.asarray(gravity, dtype=float)
        return result

    @cached_property
    def tip_map(self) -> Array:
        """Phi_t (6 p, 6 n): velocities of the tips per velocity of the links (2.12)."""
        result = np.zeros((6 * len(self.tips), 6 * self.n))
        for i, tip in enumerate(self.tips):
            result[6 * i : 6 * i + 6, self._block(tip.link)] = shift(self.tip_arm(i))
        return result

    def tip_arm(self, i: int) -> Array:
        """Return l_{n,t} (3,): from the origin of its link to tip i, m."""
        tip = self.tips[i]
        return self.rotations[tip.link] @ np.asarray(tip.point, dtype=float)

    @cached_property
    def jacobian(self) -> Array:
        """J (6 p, nv) = Phi_t Phi H (2.37)."""
        return self.tip_map @ self.propagation @ self.joint_map

    @cached_property
    def jacobian_rate_times_velocity(self) -> Array:
        """(6 p,) dJ/dt times the velocities = Phi_t Phi a + a_t (2.43), without differentiation and gravity."""
        tip_bias = []
        for i, tip in enumerate(self.tips):
            omega = self.velocities[tip.link, :3]
            tip_bias.append(np.concatenate([np.zeros(3), np.cross(omega, np.cross(omega, self.tip_arm(i)))]))
        return self.tip_map @ self.propagation @ self.bias_acceleration + np.concatenate([np.zeros(0), *tip_bias])

    @cached_property
    def mass_matrix(self) -> Array:
        """(nv, nv) generalized mass matrix H^T Phi^T M Phi H (2.33)."""
        reached = self.propagation @ self.joint_map
        return reached.T @ self.spatial_inertia @ reached

    def bias(self, gravity: Array = NO_GRAVITY) -> Array:
        """Return C (nv,) = H^T Phi^T (M Phi (a + a_g) + b), gravity (3,) in the world, m/s2 (2.36, C4)."""
        carried = self.propagation @ (self.bias_acceleration + self.lift(gravity))
        return self.joint_map.T @ self.propagation.T @ (self.spatial_inertia @ carried + self.bias_force)

    @cached_property
    def articulated_inertia(self) -> Array:
        """Articulated inertia (6 n, 6 n), block diagonal, from the tips inward (3.1); the base block as in C8."""
        result = self.spatial_inertia.copy()
        for k in reversed(range(self.n)):
            parent, block = self.links[k].parent, self._block(k)
            if parent >= 0:
                carried = self._passed(k, result[block, block]) @ shift(self.arms[k])
                block = carried.T @ result[block, block] @ carried
                result[self._block(parent), self._block(parent)] += 0.5 * (block + block.T)
        return result

    def _passed(self, k: int, inertia: Array) -> Array:
        """Return I - H (H^T I H)^-1 H^T I, which maps a parent motion through the joint to link k (3.2)."""
        H = self.joint_map[self._block(k), self.columns[k]]
        return np.eye(6) - H @ np.linalg.solve(H.T @ inertia @ H, H.T @ inertia)

    @cached_property
    def articulated_adjacent(self) -> Array:
        """E_psi (6 n, 6 n) = (I - H D^-1 H^T I_AB) E_phi (3.18)."""
        gain = self.joint_map @ np.linalg.solve(self.joint_inertia, self.joint_map.T @ self.articulated_inertia)
        return (np.eye(6 * self.n) - gain) @ self.adjacent

    @cached_property
    def articulated_propagation(self) -> Array:
        """Psi (6 n, 6 n) = (I - E_psi)^-1 (3.21)."""
        return np.linalg.inv(np.eye(6 * self.n) - self.articulated_adjacent)

    @cached_property
    def joint_inertia(self) -> Array:
        """D (nv, nv) = H^T I_AB H, block diagonal: articulated inertia of each joint (3.14)."""
        return self.joint_map.T @ self.articulated_inertia @ self.joint_map

    @cached_property
    def gain(self) -> Array:
        """K (nv, 6 n) = D^-1 H^T I_AB E_phi (3.16)."""
        return np.linalg.solve(self.joint_inertia, self.joint_map.T @ self.articulated_inertia @ self.adjacent)

    @cached_property
    def factor(self) -> Array:
        """I + K Phi H (nv, nv), unit lower triangular by blocks: mass matrix = factor^T D factor (3.34)."""
        return np.eye(self.nv) + self.gain @ self.propagation @ self.joint_map

    @cached_property
    def inverse_factor(self) -> Array:
        """I - K Psi H (nv, nv), the inverse of `factor` (lemma 6)."""
        return np.eye(self.nv) - self.gain @ self.articulated_propagation @ self.joint_map

    @cached_property
    def inverse_mass_matrix(self) -> Array:
        """(nv, nv) = (I - K Psi H) D^-1 (I - K Psi H)^T (3.38)."""
        return self.inverse_factor @ np.linalg.solve(self.joint_inertia, self.inverse_factor.T)

    @cached_property
    def tip_inverse_inertia(self) -> Array:
        """J M^-1 J^T (6 p, 6 p) = Phi_t Psi H D^-1 H^T Psi^T Phi_t^T (C9)."""
        reached = self.tip_map @ self.articulated_propagation @ self.joint_map
        return reached @ np.linalg.solve(self.joint_inertia, reached.T)

    def accelerations(self, tau: Array, gravity: Array = NO_GRAVITY, tip_wrenches: Array | None = None) -> Array:
        """Return the generalized accelerations (nv,) by (2.38) with (3.38).

        Args:
            tau: (nv,) generalized forces; of a free link [moment; force] at its origin in world axes.
            gravity: (3,) in the world, m/s2.
            tip_wrenches: (6 p,) F_t of the tips on the environment, or None.
        """
        load = np.asarray(tau, dtype=float) - self.bias(gravity)
        if tip_wrenches is not None:
            load = load - self.jacobian.T @ tip_wrenches
        return self.inverse_mass_matrix @ load

    def link_forces(
        self, accelerations: Array, gravity: Array = NO_GRAVITY, tip_wrenches: Array | None = None
    ) -> Array:
        """Return F (n, 6): wrench of each link's parent on the link at O_k (2.30), for accelerations (nv,)."""
        motion = self.propagation @ (self.joint_map @ accelerations + self.bias_acceleration + self.lift(gravity))
        load = self.spatial_inertia @ motion + self.bias_force
        if tip_wrenches is not None:
            load = load + self.tip_map.T @ tip_wrenches
        return (self.propagation.T @ load).reshape(self.n, 6)

    @cached_property
    def momentum(self) -> Array:
        """(6,) momentum of all links about the world's origin: [angular; linear], kg m2/s and kg m/s."""
        total = np.zeros(6)
        for k in range(self.n):
            block = self._block(k)
            total += shift(self.origins[k]).T @ self.spatial_inertia[block, block] @ self.velocities[k]
        return total

    @cached_property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J."""
        return float(0.5 * self.v @ self.mass_matrix @ self.v)

    @cached_property
    def from_tree_velocities(self) -> Array:
        """(nv, nv) matrix from the velocities of a `Tree`, which has free bodies in body axes, to these velocities."""
        result = np.eye(self.nv)
        for k, link in enumerate(self.links):
            if link.free:
                result[self.columns[k], self.columns[k]] = np.kron(np.eye(2), self.rotations[k])
        return result

    @cached_property
    def from_tree_accelerations(self) -> Array:
        """(nv,) term added to `from_tree_velocities` times the accelerations of a `Tree`: omega x v of free links."""
        result = np.zeros(self.nv)
        for k, link in enumerate(self.links):
            if link.free:
                omega, linear = np.split(self.v[self.columns[k]], 2)
                result[self.columns[k]][3:] = np.cross(omega, linear)
        return result


def tree_operators(tree: Tree, q: Array, v: Array, tips: Sequence[Tip] = ()) -> Operators:
    """Return the operators of a `Tree` at its positions (nq,) and velocities (nv,)."""
    links = links_of_tree(tree)
    world = np.array(v, dtype=float)
    for body in tree.bodies:
        if body.kind == 'free':
            R = rotation_of_quaternion(np.asarray(q, dtype=float)[body.q + 3 : body.q + 7])
            world[body.v : body.v + 6] = np.kron(np.eye(2), R) @ world[body.v : body.v + 6]
    return Operators(links, q, world, tips)
