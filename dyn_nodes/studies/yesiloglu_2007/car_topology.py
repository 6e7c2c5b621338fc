"""The full car as a graph of nine arms between five bodies (yesiloglu-2007, section 5.4, C16 as decoded by its spec).

Arms 1 to 4 are tyres from the ground to the rear axle body f (at points 1, 2) and to the front wheels' centres c and d;
5 is the tie rod from c to d; 6 and 7 are the front suspensions from c and d to the car body e; 8 and 9 the rear ones
from f. Each has six joints: tyre RRR-PPP, tie rod RRR-RRR, suspension RRR-P-R-P.

The graph is modelled twice: by the generic constraint layer (four free bodies, 54 joints, nine closed loops), and by
the source's operators at a position (eq. 5.24 to 5.59). Both must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, null_space

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks, Lock, Loop, Prescribed
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.multibody.tree import JointKind

Z = (0.0, 0.0, 1.0)
BODIES = ('c', 'd', 'e', 'f')
POINTS = {
    'c': np.array([-0.75, 1.3, 0.3]),
    'd': np.array([0.75, 1.3, 0.3]),
    'e': np.array([0.0, 0.0, 0.55]),
    'f': np.array([0.0, -1.3, 0.3]),
    '1': np.array([-0.75, -1.3, 0.3]),
    '2': np.array([0.75, -1.3, 0.3]),
}
ON_GROUND = np.array([1.0, 1.0, 0.0])
ARMS = (
    ('tyre_1', 'ground', '1', 'f', '1'),
    ('tyre_2', 'ground', '2', 'f', '2'),
    ('tyre_3', 'ground', 'c', 'c', 'c'),
    ('tyre_4', 'ground', 'd', 'd', 'd'),
    ('tie_rod', 'c', 'c', 'd', 'd'),
    ('suspension_6', 'c', 'c', 'e', 'e'),
    ('suspension_7', 'd', 'd', 'e', 'e'),
    ('suspension_8', 'f', '1', 'e', 'e'),
    ('suspension_9', 'f', '2', 'e', 'e'),
)
"""Name, base body, base point, tip body, tip point."""
JOINTS = {'tyre': 'RRRPPP', 'tie': 'RRRRRR', 'suspension': 'RRRPRP'}
AXES = {'tyre': 'zyxxyz', 'tie': 'zyxzyx', 'suspension': 'xyzzxy'}


def cross_matrix(vector: ArrayLike) -> Array:
    """Return the (3, 3) matrix of a cross product from the left."""
    x, y, z = np.asarray(vector, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def shift(arm: ArrayLike) -> Array:
    """Return phi (6, 6), which maps the velocity [angular; linear] at the start of an arm to its end (eq. 2.5)."""
    result = np.eye(6)
    result[3:, :3] = -cross_matrix(arm)
    return result


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of an arm: unit axis and point in the world, revolute or prismatic."""

    kind: str
    axis: Array
    point: Array


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm with six joints.

    Attributes:
        base, tip: connected bodies; `ground` is the world.
        start, end: (3,) connection points in the world, m.
        joints: from base to tip.
    """

    name: str
    base: str
    tip: str
    start: Array
    end: Array
    joints: tuple[Joint, ...]

    @property
    def jacobian(self) -> Array:
        """(6, 6) velocity of the tip per joint rate, the base at rest."""
        columns = []
        for joint in self.joints:
            zero = np.zeros(3)
            if joint.kind == 'R':
                columns.append(np.r_[joint.axis, np.cross(joint.axis, self.end - joint.point)])
            else:
                columns.append(np.r_[zero, joint.axis])
        return np.array(columns).T


def arms(perturbation: float = 0.05, seed: int = 1) -> tuple[Arm, ...]:
    """Return the nine arms.

    Args:
        perturbation: greatest change of the components of an axis; 0: exactly aligned axes, which add an idle mobility,
            such as the spin of a tie rod between two ball joints.
        seed: of the perturbation.
    """
    random = np.random.default_rng(seed)
    result = []
    for name, base, start, tip, end in ARMS:
        kind = name.split('_')[0]
        first = POINTS[start] * ON_GROUND if base == 'ground' else POINTS[start]
        joints = []
        for position, (joint, letter) in enumerate(zip(JOINTS[kind], AXES[kind])):
            axis = np.eye(3)['xyz'.index(letter)] + perturbation * random.uniform(-1, 1, 3)
            # three joints at the base and three at the tip: two ball joints, or sliders between them
            point = first if position < 3 else POINTS[end]
            joints.append(Joint(joint, axis / np.linalg.norm(axis), point))
        result.append(Arm(name, base, tip, first, POINTS[end], tuple(joints)))
    return tuple(result)


class CarOperators:
    """The source's operators of the car at a position, all velocities zero (eq. 5.25 to 5.31).

    Args:
        parts: the arms.

    Attributes:
        A_tc: (54, 24) tip velocities per velocity of the bodies c, d, e, f.
        A_0bc: (54, 24) base velocities per velocity of the bodies; zero for tyres.
        A_bs0: (54, 4) base velocities per vertical speed of the ground.
        J: (54, 54) of all arms.
    """

    def __init__(self, parts: tuple[Arm, ...]) -> None:
        self.arms = parts
        self.J = block_diag(*(arm.jacobian for arm in parts))
        self.phi_tb = block_diag(*(shift(arm.end - arm.start) for arm in parts))
        self.A_tc, self.A_0bc = np.zeros((54, 24)), np.zeros((54, 24))
        self.A_bs0 = np.zeros((54, 4))
        for k, arm in enumerate(parts):
            rows = slice(6 * k, 6 * k + 6)
            at = 6 * BODIES.index(arm.tip)
            self.A_tc[rows, at : at + 6] = shift(arm.end - POINTS[arm.tip])
            if arm.base == 'ground':
                self.A_bs0[6 * k + 5, k] = 1.0
            else:
                at = 6 * BODIES.index(arm.base)
                self.A_0bc[rows, at : at + 6] = shift(arm.start - POINTS[arm.base])

    @cached_property
    def inverse(self) -> Array:
        """A_tc^+ (24, 54)."""
        return np.asarray(np.linalg.pinv(self.A_tc), dtype=np.float64)

    @cached_property
    def annihilator(self) -> Array:
        """(30, 54) with annihilator @ A_tc = 0, rows orthonormal."""
        return np.asarray(null_space(self.A_tc.T).T, dtype=np.float64)

    @cached_property
    def L_t(self) -> Array:
        """(54, 54) of eq. 5.31: tip velocities per tip velocity of the isolated arms."""
        return np.asarray(np.linalg.inv(np.eye(54) - self.phi_tb @ self.A_0bc @ self.inverse), dtype=np.float64)

    @cached_property
    def L_s(self) -> Array:
        """(54, 4) tip velocities per speed of the ground."""
        return self.L_t @ self.phi_tb @ self.A_bs0

    @property
    def independent(self) -> int:
        """Number of independent joints: 54 less the rank of annihilator L_t J (eq. 5.39)."""
        return 54 - int(np.linalg.matrix_rank(self.annihilator @ self.L_t @ self.J, tol=1e-9))

    @property
    def L_a(self) -> Array:
        """(54, 54) base velocities of the arms per tip velocity of the isolated arms (eq. 5.38)."""
        return self.A_0bc @ self.inverse @ self.L_t

    def joint_motions(self) -> Array:
        """Return joint rates (54, k) that keep all loops closed with the ground at rest."""
        return np.asarray(null_space(self.annihilator @ self.L_t @ self.J, rcond=1e-9), dtype=np.float64)

    def body_velocities(self, rates: ArrayLike) -> Array:
        """Return the velocities (24,) of c, d, e, f, [angular; linear] at their points, for feasible joint rates."""
        return self.inverse @ self.L_t @ self.J @ np.asarray(rates, dtype=float)


def graph(parts: tuple[Arm, ...], mass: float = 1.0) -> ConstraintBlocks:
    """Return the same graph for the generic constraint layer.

    Four free bodies, 54 joints, nine loops of six rows, and the ground under four tyres.

    Args:
        parts: the arms.
        mass: of every link at its joint, kg; its inertia is 0.1 m2 times it. Mass and inertia, kg m2, of the bodies c
            to f are 100 times `mass`. The ground under tyre k moves by `ground_<k>/acceleration`.
    """
    tree = TreeBuilder()
    index = {name: tree.add_free(name, 100 * mass, inertia=100 * mass * np.eye(3)) for name in BODIES}
    loops: list[str] = []
    grounds: list[str] = []
    for arm in parts:
        if arm.base == 'ground':
            grounds.append(f'ground_{len(grounds) + 1}')
            carrier, origin = tree.add_joint(grounds[-1], -1, 'prismatic', Z), np.zeros(3)
        else:
            carrier, origin = index[arm.base], POINTS[arm.base]
        for k, joint in enumerate(arm.joints):
            kind: JointKind = 'revolute' if joint.kind == 'R' else 'prismatic'
            carrier = tree.add_joint(
                f'{arm.name}_{k + 1}', carrier, kind, joint.axis, p=joint.point - origin,
                mass=mass, inertia=0.1 * mass * np.eye(3),
            )  # fmt: skip
            origin = joint.point
        tree.add_frame(f'{arm.name}_tip', carrier, p=arm.end - origin)
        tree.add_frame(f'{arm.name}_end', index[arm.tip], p=arm.end - POINTS[arm.tip])
        loops.append(arm.name)
    built = tree.build()
    closures = [Loop.frame(name, built.frame(f'{name}_tip'), built.frame(f'{name}_end')) for name in loops]
    return ConstraintBlocks(built, [*closures, *(Prescribed(Lock(name, name)) for name in grounds)])


def start(system: ConstraintBlocks) -> Array:
    """Return the position (nq,) at which the graph is built."""
    q = system.tree.neutral
    for name in BODIES:
        body = system.tree.bodies[system.tree.body(name)]
        q[body.q : body.q + 3] = POINTS[name]
    return q
