"""Order-n dynamics of trees given by arrays: chains and trees of ten to thousands of links (yesiloglu-2007, C8 and C9).

The traced form of `dynamics.py` becomes straight-line machine code, which is fastest for a machine but too large for a
chain of hundreds of links. Here loops over arrays compute the same in time proportional to the number of links,
without tracing or compiling anything for a specific tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.multibody.tree import Tree, reject_rotors
from dyn_nodes.studies.formulations.array_loops import sweeps, tips
from dyn_nodes.studies.formulations.array_loops.sweeps import FREE, PRISMATIC, REVOLUTE

Array = np.ndarray
KINDS = {'revolute': REVOLUTE, 'prismatic': PRISMATIC, 'free': FREE}
NO_GRAVITY = np.zeros(3)
NO_EXTERNAL = np.zeros((0, 6))
TOLERANCE = 1e-9
"""Tolerance of unit vectors, rotations and symmetric tensors."""


class LinkArrays:
    """A tree of links, ready for the array loops.

    Generalized coordinates are as in `Tree`: per link in order, one position and one velocity; for a `free` root, the
    positions x, y, z, qx, qy, qz, qw (quaternion of any norm but zero) and the velocity [angular; linear] of its origin
    in link axes. Generalized forces act along the velocities. SI units throughout.

    `set_springs` and `set_locks` change springs and locks of the joints between calls.
    An object contains working memory and must not be used by several threads at a time.

    Attributes:
        n, nq, nv: number of links, positions and velocities.
        names: (n,) of the links, for messages.
        parent: (n,) index of the carrying link, -1 for the world.
        at_q, at_v: (n,) first position and velocity of each link.
    """

    def __init__(
        self,
        parent: ArrayLike,
        kind: Sequence[str],
        axis: ArrayLike,
        R: ArrayLike,
        p: ArrayLike,
        mass: ArrayLike,
        com: ArrayLike,
        inertia: ArrayLike,
        names: Sequence[str] | None = None,
    ) -> None:
        """Take a tree as arrays.

        Args:
            parent: (n,) index of the carrying link, less than the link's own; -1 for the world.
            kind: (n,) of `revolute`, `prismatic` or, for a root only, `free`.
            axis: (n, 3) unit joint axes in the link frames; unused for `free`.
            R: (n, 3, 3) axes of the link frame in the parent's at joint position 0.
            p: (n, 3) origin of the link frame in the parent's at joint position 0, m.
            mass: (n,) kg; 0 for a link that only connects two joints.
            com: (n, 3) centre of mass in the link frame, m.
            inertia: (n, 3, 3) about the centre of mass in link axes, kg m2.
            names: (n,) for messages; default: `link 0`, `link 1`, ...

        Raises:
            ValueError: an array of another shape, or an invalid link; the message names it.
        """
        self.parent = np.ascontiguousarray(parent, dtype=np.int64)
        self.n = self.parent.shape[0] if self.parent.ndim == 1 else 0
        if self.n == 0:
            raise ValueError('parent: expected a vector with one entry for each link')
        self.names = tuple(names) if names is not None else tuple(f'link {k}' for k in range(self.n))
        self.kind = self._kinds(kind)
        free = self.kind == FREE
        self.at_q, self.at_v = _starts(np.where(free, 7, 1)), _starts(np.where(free, 6, 1))
        self.nq, self.nv = int(np.where(free, 7, 1).sum()), int(np.where(free, 6, 1).sum())
        axes = np.where(free[:, None], np.array([0.0, 0.0, 1.0]), self._array('axis', axis, (3,)))
        tensors = self._array('inertia', inertia, (3, 3))
        masses, coms = self._array('mass', mass, ()), self._array('com', com, (3,))
        rotations = self._array('R', R, (3, 3))
        self._check(axes, rotations, masses, tensors)
        self._to_link = np.array([_frame_along(u) if not f else np.eye(3) for u, f in zip(axes, free)])
        self._constants = np.zeros((self.n, sweeps.CONSTANTS))
        self._fill(rotations, self._array('p', p, (3,)), masses, coms, tensors)
        self._work = np.zeros((self.n, sweeps.WORK))
        self._efforts = np.zeros(self.nv)

    @classmethod
    def from_tree(cls, tree: Tree) -> LinkArrays:
        """Return the links of a `Tree` without its payload. Raises ValueError if rotors drive joints."""
        reject_rotors(tree)
        bodies = tree.bodies
        return cls(
            [body.parent for body in bodies],
            [body.kind for body in bodies],
            [body.axis for body in bodies],
            [body.R0 for body in bodies],
            [body.p0 for body in bodies],
            [body.mass for body in bodies],
            [body.com for body in bodies],
            [body.inertia for body in bodies],
            [body.name for body in bodies],
        )

    def set_springs(self, stiffness: ArrayLike = 0.0, damping: ArrayLike = 0.0, rest: ArrayLike = 0.0) -> None:
        """Give every joint a spring and a damper: effort -stiffness (q - rest) - damping v (4.3).

        Args:
            stiffness: (n,) or one number, N m/rad or N/m; ignored for a free root.
            damping: (n,) or one number, N m s/rad or N s/m.
            rest: (n,) or one number, unstressed position, rad or m.
        """
        for column, values in (('STIFFNESS', stiffness), ('DAMPING', damping), ('REST', rest)):
            index = getattr(sweeps, column)
            self._constants[:, index] = np.broadcast_to(np.asarray(values, dtype=float), (self.n,))

    def set_locks(self, locked: ArrayLike = False) -> None:
        """Lock joints: (n,) or one truth value. A locked joint does not accelerate; its velocity must be 0.

        Raises:
            ValueError: a free root cannot be locked.
        """
        chosen = np.broadcast_to(np.asarray(locked, dtype=bool), (self.n,))
        if (chosen & (self.kind == FREE)).any():
            raise ValueError(
                f'{self.names[int(np.argmax(chosen & (self.kind == FREE)))]}: a free link has no joint to lock'
            )
        self._constants[:, sweeps.LOCKED] = chosen

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        gravity: ArrayLike = NO_GRAVITY,
        external: ArrayLike | None = None,
        out: Array | None = None,
        efforts: Array | None = None,
    ) -> Array:
        """Return the generalized accelerations (nv,) by articulated bodies in a time proportional to n.

        Args:
            q: (nq,) positions.
            v: (nv,) velocities.
            tau: (nv,) generalized forces of the actuators, without lock reactions.
            gravity: (3,) in the world, m/s2.
            external: (n, 6) force [moment; force] on each link at its origin, in world axes.
            out: (nv,) array that takes the result.
            efforts: (nv,) array that takes the total generalized force at each joint: tau, spring, damper and lock.

        Raises:
            ValueError: an array of another size, or a joint that moves no inertia.
        """
        result = np.empty(self.nv) if out is None else out
        failed = sweeps.forward_dynamics(
            self.parent,
            self.kind,
            self.at_q,
            self.at_v,
            self._constants,
            _vector('q', q, self.nq),
            _vector('v', v, self.nv),
            _vector('tau', tau, self.nv),
            _vector('gravity', gravity, 3),
            self._external(external),
            self._work,
            _vector('out', result, self.nv),
            self._efforts if efforts is None else _vector('efforts', efforts, self.nv),
        )
        if failed >= 0:
            raise ValueError(f'{self.names[failed]}: its joint moves no inertia, so that the mass matrix is singular')
        return result

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        gravity: ArrayLike = NO_GRAVITY,
        external: ArrayLike | None = None,
    ) -> Array:
        """Return the generalized forces (nv,) that give the accelerations `a` (nv,): recursive Newton-Euler.

        They include springs and locks. Arguments as in `forward_dynamics`.
        """
        result = np.empty(self.nv)
        sweeps.inverse_dynamics(
            self.parent,
            self.kind,
            self.at_q,
            self.at_v,
            self._constants,
            _vector('q', q, self.nq),
            _vector('v', v, self.nv),
            _vector('a', a, self.nv),
            _vector('gravity', gravity, 3),
            self._external(external),
            self._work,
            result,
        )
        return result

    def mass_matrix_times(self, q: ArrayLike, x: ArrayLike) -> Array:
        """Return M(q) x (nv,) in a time proportional to n."""
        return self.inverse_dynamics(q, np.zeros(self.nv), x)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """Return the kinetic energy, J."""
        return float(0.5 * np.dot(v, self.mass_matrix_times(q, v)))

    def inverse_mass_matrix_times(self, q: ArrayLike, b: ArrayLike) -> Array:
        """Return M(q)^-1 b for b (nv,) or the columns of b (nv, m) by (3.38) without matrices larger than 6 x 6.

        Locked joints count as fixed: their rows and columns are zero.

        Raises:
            ValueError: an array of another size, or a joint that moves no inertia.
        """
        columns = np.asarray(b, dtype=float)
        if columns.ndim not in (1, 2) or columns.shape[0] != self.nv:
            raise ValueError(f'b: expected {self.nv} rows, found an array of shape {columns.shape}')
        self._factorize(q)
        rows = np.ascontiguousarray(columns.reshape(self.nv, -1).T)
        result = np.empty_like(rows)
        sweeps.inverse_mass_times(self.parent, self.kind, self.at_v, self._work, rows, result)
        return result.T.reshape(columns.shape).copy()

    def tip_inverse_inertia(self, q: ArrayLike, bodies: Sequence[int], points: ArrayLike) -> Array:
        """Return J M^-1 J^T (6 p, 6 p) of p tips by the recursion for Upsilon (C9), world axes.

        The time is proportional to the number of links between tips and roots, plus p squared. Rows and columns of a
        tip are [angular; linear] at its point.

        Args:
            q: (nq,) positions.
            bodies: (p,) index of the link that carries each tip.
            points: (p, 3) the tips in the axes of their links, m.

        Raises:
            ValueError: an invalid link index, an array of another size, or a joint that moves no inertia.
        """
        carriers, offsets = self._tips(bodies, points)
        self._factorize(q)
        tips.upsilon(self.parent, self.kind, self._work)
        rotations = self._work[carriers, :9].reshape(-1, 3, 3)
        arms = np.einsum('kij,klj,kl->ki', rotations, self._to_link[carriers], offsets)
        count = len(carriers)
        result = np.zeros((6 * count, 6 * count))
        tips.tip_blocks(
            self.parent,
            self.kind,
            self._work,
            carriers,
            np.ascontiguousarray(arms),
            self._meetings(carriers),
            np.zeros((6, 6)),
            np.zeros((6 * count * count, 6)),
            result,
        )
        return result

    def poses(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return rotations (n, 3, 3) and origins (n, 3) of the link frames in the world."""
        motions = self._motions(q, np.zeros(self.nv))
        return self._rotations(motions), motions[:, 9:12].copy()

    def tip_motion(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, bodies: Sequence[int], points: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Return positions (p, 3), velocities (p, 6) and accelerations (p, 6) of tips in the world.

        The acceleration is the classical one, [angular; linear] of the material point. With a = 0 it is dJ/dt v (2.43).
        Arguments as in `tip_inverse_inertia` and `inverse_dynamics`.
        """
        carriers, offsets = self._tips(bodies, points)
        motions = self._motions(q, v)[carriers]
        self.inverse_dynamics(q, v, a)  # leaves the accelerations of all links in the work rows
        at = sweeps.ACCELERATION
        angular, linear = self._work[carriers, at : at + 3], self._work[carriers, at + 3 : at + 6]
        rotations = motions[:, :9].reshape(-1, 3, 3)
        arms = np.einsum('kij,klj,kl->ki', rotations, self._to_link[carriers], offsets)
        w = motions[:, 12:15]
        velocity = np.hstack([w, motions[:, 15:18] + np.cross(w, arms)])
        point_acceleration = linear + np.cross(angular, arms) + np.cross(w, np.cross(w, arms))
        return motions[:, 9:12] + arms, velocity, np.hstack([angular, point_acceleration])

    def _factorize(self, q: ArrayLike) -> None:
        rest = np.zeros(self.nv)
        self.forward_dynamics(q, rest, rest)

    def _motions(self, q: ArrayLike, v: ArrayLike) -> Array:
        out = np.zeros((self.n, 18))
        vectors = _vector('q', q, self.nq), _vector('v', v, self.nv)
        tips.poses(self.parent, self.kind, self.at_q, self.at_v, self._constants, *vectors, self._work, out)
        return out

    def _rotations(self, motions: Array) -> Array:
        return np.einsum('kij,klj->kil', motions[:, :9].reshape(-1, 3, 3), self._to_link)

    def _tips(self, bodies: Sequence[int], points: ArrayLike) -> tuple[Array, Array]:
        carriers = np.ascontiguousarray(bodies, dtype=np.int64)
        offsets = np.ascontiguousarray(points, dtype=float)
        if carriers.ndim != 1 or offsets.shape != (len(carriers), 3):
            raise ValueError(f'points: expected three numbers for each of {carriers.size} tips, found {offsets.shape}')
        if ((carriers < 0) | (carriers >= self.n)).any():
            raise ValueError(f'bodies: expected indices from 0 to {self.n - 1}, found {carriers.tolist()}')
        return carriers, offsets

    def _meetings(self, carriers: Array) -> Array:
        """Return the outermost link (p, p) that carries both tips of each pair, or -1."""
        result = np.full((len(carriers), len(carriers)), -1, dtype=np.int64)
        for i, first in enumerate(carriers):
            carrying = np.zeros(self.n + 1, dtype=bool)
            k = int(first)
            while k >= 0:
                carrying[k] = True
                k = int(self.parent[k])
            for j, second in enumerate(carriers):
                k = int(second)
                while k >= 0 and not carrying[k]:
                    k = int(self.parent[k])
                result[i, j] = k
        return result

    def _external(self, external: ArrayLike | None) -> Array:
        if external is None:
            return NO_EXTERNAL
        array = np.ascontiguousarray(external, dtype=float)
        if array.shape != (self.n, 6):
            raise ValueError(f'external: expected shape {(self.n, 6)}, found {array.shape}')
        return array

    def _array(self, name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
        array = np.array(values, dtype=float)
        if array.shape != (self.n, *shape):
            raise ValueError(f'{name}: expected shape {(self.n, *shape)}, found {array.shape}')
        if not np.isfinite(array).all():
            raise ValueError(f'{name}: expected finite numbers')
        return array

    def _kinds(self, kind: Sequence[str]) -> Array:
        if len(kind) != self.n or len(self.names) != self.n:
            raise ValueError(f'kind, names: expected {self.n} entries, found {len(kind)} and {len(self.names)}')
        for k, (name, joint_kind) in enumerate(zip(self.names, kind)):
            if joint_kind not in KINDS:
                raise ValueError(f'{name}: expected a joint of {", ".join(KINDS)}, found {joint_kind!r}')
            if not -1 <= self.parent[k] < k:
                raise ValueError(f'{name}: expected a parent from -1 to {k - 1}, found {self.parent[k]}')
            if joint_kind == 'free' and self.parent[k] >= 0:
                raise ValueError(f'{name}: a free link is a root; expected parent -1, found {self.parent[k]}')
        return np.array([KINDS[joint_kind] for joint_kind in kind], dtype=np.int64)

    def _check(self, axes: Array, rotations: Array, masses: Array, tensors: Array) -> None:
        scale = np.maximum(np.abs(tensors).max(axis=(1, 2)), 1e-300)
        faults = (
            (np.abs(np.linalg.norm(axes, axis=1) - 1) > TOLERANCE, 'axis is no unit vector'),
            (
                (np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > TOLERANCE)
                | (np.linalg.det(rotations) < 0),
                'R is no rotation',
            ),
            (masses < 0, 'mass is negative'),
            (
                np.abs(tensors - tensors.transpose(0, 2, 1)).max(axis=(1, 2)) > TOLERANCE * scale,
                'inertia is not symmetric',
            ),
        )
        for wrong, fault in faults:
            if wrong.any():
                raise ValueError(f'{self.names[int(np.argmax(wrong))]}: {fault}')

    def _fill(self, R: Array, p: Array, masses: Array, coms: Array, tensors: Array) -> None:
        """Write the constants of the loops, in frames whose z is the axis of the joint (`_to_link`)."""
        to_link = self._to_link
        carrier = np.where((self.parent >= 0)[:, None, None], to_link[self.parent], np.eye(3))
        rows = self._constants
        free = (self.kind == FREE)[:, None]
        rows[:, sweeps.R0 : sweeps.P0] = (carrier.transpose(0, 2, 1) @ R @ to_link).reshape(-1, 9)
        rows[:, sweeps.P0 : sweeps.J0] = np.where(free, 0.0, np.einsum('kji,kj->ki', carrier, p))
        squares = np.einsum('ki,ki->k', coms, coms)[:, None, None] * np.eye(3) - coms[:, :, None] * coms[:, None, :]
        about = to_link.transpose(0, 2, 1) @ (tensors + masses[:, None, None] * squares) @ to_link
        upper = np.triu_indices(3)
        rows[:, sweeps.J0 : sweeps.MC] = 0.5 * (about + about.transpose(0, 2, 1))[:, upper[0], upper[1]]
        rows[:, sweeps.MC : sweeps.MASS] = np.einsum('kji,kj->ki', to_link, masses[:, None] * coms)
        rows[:, sweeps.MASS] = masses


def _starts(sizes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _frame_along(axis: Array) -> Array:
    """Return a rotation (3, 3) whose third column is the unit vector."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _vector(name: str, values: Any, size: int) -> Array:
    array = np.ascontiguousarray(values, dtype=float)
    if array.shape != (size,):
        raise ValueError(f'{name}: expected {size} numbers, found an array of shape {array.shape}')
    return array
