"""Denavit-Hartenberg tables with fixed letter rows, rigid bodies as second-moment matrices, and chains of both.

This is the source's description of a machine (abo-shanab-2003, chapters 3 to 7), an independent formulation that must
agree with the trees of this package. The machines of its tables are in `dh_machines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # float64, or complex128 where a caller differentiates by a complex step
Variable = Literal['theta', 'd']


def dh_matrix(theta: Any, d: Any, a: float, alpha: float) -> Array:
    """Return the pose (4, 4) of frame i in frame i-1: theta about z, d along z, a along x, alpha about x.

    The matrix is corrected: the source prints -cos(alpha) cos(theta), sin(alpha) cos(theta) in its second row, which is
    not a rotation (section 3.2).
    """
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -ca * st, sa * st, a * ct],
            [st, ca * ct, -sa * ct, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def pseudo_inertia(inertia: ArrayLike) -> Array:
    """Return the second-moment matrix J = tr(I)/2 E - I (3, 3) of an inertia tensor I (3, 3), kg m2."""
    tensor = np.asarray(inertia, dtype=np.float64)
    return 0.5 * np.trace(tensor) * np.eye(3) - tensor


def ordinary_inertia(second_moment: ArrayLike) -> Array:
    """Return the inertia tensor I = tr(J) E - J (3, 3) of a second-moment matrix J (3, 3), kg m2."""
    matrix = np.asarray(second_moment, dtype=np.float64)
    return np.trace(matrix) * np.eye(3) - matrix


@dataclass(frozen=True)
class Row:
    """A row of a DH table.

    Attributes:
        label: as printed, `3a`.
        theta, alpha: rad.  d, a: m.  The variable adds to `theta` or `d`.
        variable: which parameter the joint moves, or None for a fixed row.
    """

    label: str
    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    variable: Variable | None = None

    def matrix(self, q: Any = 0.0) -> Array:
        """Return the pose (4, 4) of this row's frame in the previous row's at joint position `q` (rad or m)."""
        theta = self.theta + q if self.variable == 'theta' else self.theta
        d = self.d + q if self.variable == 'd' else self.d
        return dh_matrix(theta, d, self.a, self.alpha)


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body in the frame of its link.

    Attributes:
        mass: kg.
        com: (3,) centre of mass, m.
        second_moment: (3, 3) J, integral of (r - com)(r - com)^T dm, kg m2. *Not* the inertia tensor: the source
            calls it "inertial matrix" (3.3), (7.6), but its formulas hold for second moments only.
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    second_moment: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        for name, shape in (('com', (3,)), ('second_moment', (3, 3))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise ValueError(f'{name}: expected shape {shape}, found {array.shape}')
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_inertia(cls, mass: float, com: ArrayLike, inertia: ArrayLike) -> Body:
        """Return a body from its inertia tensor (3, 3) about its centre of mass, kg m2."""
        return cls(mass, np.asarray(com), pseudo_inertia(inertia))

    @classmethod
    def from_link_matrix(cls, matrix: Array) -> Body:
        """Return a body from its link matrix (4, 4); the inverse of :meth:`link_matrix`."""
        mass = float(matrix[3, 3])
        com = matrix[:3, 3] / mass if mass else np.zeros(3)
        return cls(mass, com, matrix[:3, :3] - mass * np.outer(com, com))

    @property
    def inertia(self) -> Array:
        """Ordinary inertia tensor (3, 3) about the centre of mass, kg m2."""
        return ordinary_inertia(self.second_moment)

    def link_matrix(self) -> Array:
        """Return the link matrix (4, 4): [[J + m r r^T, m r], [m r^T, m]] (7.6)."""
        weighted = self.mass * self.com
        matrix = np.empty((4, 4))
        matrix[:3, :3] = self.second_moment + np.outer(weighted, self.com)
        matrix[:3, 3] = matrix[3, :3] = weighted
        matrix[3, 3] = self.mass
        return matrix

    def __add__(self, other: Body) -> Body:
        return Body.from_link_matrix(self.link_matrix() + other.link_matrix())


@dataclass(frozen=True, eq=False)
class Chain:
    """A serial chain of n one-degree-of-freedom joints, including the massless virtual links of the table.

    A row with a variable starts a link; the fixed rows after it belong to the same link, whose frame is the frame of
    its last row. Fixed rows before the first variable place the chain in the world.

    Attributes:
        rows: the table.
        bodies: n bodies, `Body()` for a virtual link.
        gravity: (3,) acceleration of gravity in the reference frame, m/s2.

    Raises:
        ValueError: the numbers of bodies and variable rows differ.
    """

    rows: tuple[Row, ...]
    bodies: tuple[Body, ...]
    gravity: Array

    def __post_init__(self) -> None:
        variables = [row.label for row in self.rows if row.variable]
        if len(variables) != len(self.bodies):
            raise ValueError(
                f'bodies: expected one for each of the {len(variables)} variable rows ({", ".join(variables)}), '
                f'found {len(self.bodies)}'
            )
        object.__setattr__(self, 'gravity', np.array(self.gravity, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.bodies)

    @property
    def joint_rows(self) -> tuple[Row, ...]:
        """The n rows with a variable."""
        return tuple(row for row in self.rows if row.variable)

    @property
    def revolute(self) -> NDArray[np.bool_]:
        """(n,) lambda_i, True for a revolute joint."""
        return np.array([row.variable == 'theta' for row in self.joint_rows])

    @property
    def link_matrices(self) -> Array:
        """(n, 4, 4) link matrices."""
        return np.array([body.link_matrix() for body in self.bodies])

    @property
    def mass(self) -> float:
        """Mass of all bodies, kg."""
        return float(sum(body.mass for body in self.bodies))

    def vector(self, values: ArrayLike, name: str) -> Array:
        """Return `values` as an array of n numbers. Raises ValueError with the name otherwise."""
        array = np.asarray(values)
        if array.shape != (len(self),):
            raise ValueError(f'{name}: expected shape ({len(self)},), found {array.shape}')
        return array if np.iscomplexobj(array) else array.astype(np.float64)

    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of all frames.

        Args:
            q: (n,) joint positions, rad or m.

        Returns:
            (n + 1, 4, 4) poses T_0 ... T_n in the reference frame; joint i moves along or about z of T_(i-1).
        """
        positions = iter(self.vector(q, 'q'))
        pose, poses = np.eye(4), []
        for row in self.rows:
            if row.variable:
                poses.append(pose)
                pose = pose @ row.matrix(next(positions))
            else:
                pose = pose @ row.matrix()
        return np.array([*poses, pose])

    def com(self, q: ArrayLike) -> Array:
        """Return the centre of mass (3,) of all bodies in the reference frame, m."""
        first = np.einsum('pab,pb->a', self.frames(q)[1:], self.link_matrices[:, :, 3])
        return first[:3] / first[3]

    def with_payload(self, mass: float, position: ArrayLike = (0.0, 0.0, 0.0)) -> Chain:
        """Return the chain with a point mass added to its last link.

        Args:
            mass: kg.
            position: (3,) in the frame of the last link, m; its origin is the tip.
        """
        return replace(self, bodies=(*self.bodies[:-1], self.bodies[-1] + Body(mass, np.asarray(position))))


def chain_of(rows: Sequence[Row], bodies: dict[str, Body], gravity: ArrayLike) -> Chain:
    """Return a chain from bodies by the label of their variable row; all other links are virtual.

    Raises:
        KeyError: a label that is no variable row of the table.
    """
    labels = [row.label for row in rows if row.variable]
    for label in bodies:
        if label not in labels:
            raise KeyError(f'no variable row {label!r} in the table; known: {", ".join(labels)}')
    return Chain(tuple(rows), tuple(bodies.get(label, Body()) for label in labels), np.asarray(gravity))
