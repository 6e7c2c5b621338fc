"""The mechanisms of the source and of sections 7.6 to 7.14 of its spec: trees, legs, and the loops that close them.

Transfer of coordinates, leg by leg, and the constraint engine use the same tree. Dimensions and masses that the source
shows only in figures are taken from the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Constraint, ConstraintBlocks, Loop, assemble, world_frame
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.multibody import Frame, Tree, TreeBuilder
from dyn_nodes.multibody.influence import TreeCoefficients, TreePosition
from dyn_nodes.studies.formulations.transfer import Leg, ParallelMachine
from dyn_nodes.studies.formulations.transfer.parallel import PLANE, SPACE
from dyn_nodes.studies.freeman_1985.chains import LinkMass, SerialChain, planar_chain, rod

QUARTER = np.pi / 2
TRIANGLE = np.radians([210.0, 330.0, 90.0])


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism at its reference position.

    Attributes:
        name: of the mechanism.
        tree: with its loops open.
        q: (n,) positions at which all loops are closed.
        constraints: that close the loops.
        end: frame of the free end of the chain, or of the platform on the first leg.
        legs: of a parallel machine; empty for a single loop.
        directions: of the platform's motion.
        actuated: joints that the source takes as inputs.
        gravity: (3,) world axes.
        length: unit of its lengths.
    """

    name: str
    tree: Tree
    q: Array
    constraints: tuple[Constraint, ...]
    end: Frame
    legs: tuple[Leg, ...] = ()
    directions: tuple[str, ...] = SPACE
    actuated: tuple[str, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    length: str = 'm'

    @cached_property
    def coefficients(self) -> TreeCoefficients:
        """Influence coefficients of the tree."""
        return TreeCoefficients(self.tree)

    @cached_property
    def position(self) -> TreePosition:
        """The tree at its reference position, two orders."""
        return self.coefficients.at(self.q, order=2)

    def parallel(self, q: ArrayLike | None = None) -> ParallelMachine:
        """Return the machine from its legs, at joint positions q (n,)."""
        position = self.position if q is None else self.coefficients.at(q, order=2)
        return ParallelMachine(position, self.legs, self.directions, self.gravity)

    def blocks(self, gravity: Sequence[float] | None = None) -> ConstraintBlocks:
        """Return the constrained system of the engine."""
        return ConstraintBlocks(self.tree, self.constraints, (), self.gravity if gravity is None else gravity)


def _closed(legs: Sequence[Leg], keep: Sequence[str] = ('rx', 'ry', 'rz', 'x', 'y', 'z')) -> tuple[Constraint, ...]:
    """Return loops that connect the end of every leg to the end of the first leg."""
    return tuple(Loop(f'loop_{r + 2}', leg.end, legs[0].end, tuple(keep)) for r, leg in enumerate(legs[1:]))


def five_bar() -> Mechanism:
    """Return the planar five-bar of Example C as an open chain with its end H pinned (inch, lbf, s)."""
    mass = 2 / 386.4
    coupler = LinkMass(mass, (12.0, 0.0, 0.0), (0.0, 0.0, 12 * mass))
    builder = TreeBuilder()
    bodies = planar_chain((12.0, 24.0, 24.0, 12.0), {2: coupler}).add_to(builder)
    end = builder.add_frame('H', bodies[-1], p=(12.0, 0.0, 0.0))
    tree = builder.build()
    q = np.radians([70.0, -35.0, -100.0, -25.0])
    pin = world_frame(TreeCoefficients(tree).at(q).pose(end)[1])
    return Mechanism('five-bar', tree, q, (Loop('pin', end, pin, ('x', 'y')),), end, (), PLANE, ('joint_1', 'joint_2'),
                     length='in')  # fmt: skip


def slider_crank() -> Mechanism:
    """Return the spatial slider-crank of Fig. D-1 with an idle spin of its coupler (spec 7.6)."""
    masses = {
        1: LinkMass(0.0, inertia=(0.0, 0.0, 0.5)),
        4: LinkMass(2.0, (0.0, -1.5, 0.0), (1.5, 0.02, 1.5)),
        7: LinkMass(1.0),
    }
    chain = SerialChain('R' * 7, (1.0, *(0.0,) * 6), (QUARTER,) * 7, (0.0,) * 4 + (3.0, 0.0, 0.0), (), masses)
    builder = TreeBuilder()
    end = builder.add_frame('slider', chain.add_to(builder)[-1])
    tree = builder.build()
    q = np.array([0.8, 0.6, 0.9, -0.4, 0.5, 1.0, 0.3])
    R, p = TreeCoefficients(tree).at(q).pose(end)
    guide = Loop('guide', end_turned(tree, end, R), world_frame(p), ('rx', 'ry', 'rz', 'x', 'y'))
    return Mechanism('slider-crank', tree, q, (guide,), end, (), SPACE, ('joint_1', 'joint_5'))


def end_turned(tree: Tree, end: Frame, R: Array) -> Frame:
    """Return a frame at the same point with world axes when the original frame has rotation R."""
    return Frame(end.body, end.R @ R.T, end.p)


def bricard() -> Mechanism:
    """Return the Bricard linkage of Fig. D-2, movable though its loop has six rows for six joints (spec 7.7)."""
    twists = tuple((-1) ** j * QUARTER for j in range(6))
    link = LinkMass(1.0, (0.5, 0.0, 0.0), (0.0, 1 / 12, 1 / 12))
    chain = SerialChain('R' * 6, (1.0,) * 6, twists, (0.0,) * 6, (), dict.fromkeys(range(1, 7), link))
    builder = TreeBuilder()
    turn = Rotation.from_rotvec([twists[-1], 0.0, 0.0]).as_matrix()
    end = builder.add_frame('closing', chain.add_to(builder)[-1], turn, (1.0, 0.0, 0.0))
    A, B = np.pi / 3, np.arccos(-1 / 3)
    q = np.array([A, B, A, B, A, B])
    return Mechanism('Bricard', builder.build(), q, (Loop.frame('closing', end, world_frame()),), end, (), SPACE,
                     ('joint_6',))  # fmt: skip


def elbow(start: Array, goal: Array, first: float, second: float, sign: float = 1.0) -> tuple[float, float]:
    """Return the angles of two planar links from start to goal; `sign`: side of the chord of the first link.

    Raises:
        ValueError: the links do not reach.
    """
    chord = goal - start
    length = float(np.hypot(*chord))
    cosine = (first**2 + length**2 - second**2) / (2 * first * length)
    if abs(cosine) > 1:
        raise ValueError(f'links of {first:g} and {second:g} do not reach over {length:.6g}')
    one = np.arctan2(chord[1], chord[0]) + sign * np.arccos(cosine)
    rest = chord - first * np.array([np.cos(one), np.sin(one)])
    return float(one), float(np.arctan2(rest[1], rest[0]))


@dataclass(frozen=True, eq=False)
class _PlanarLeg:
    """Base point (2,), vertex (2,) in platform axes, links, and angles of the joints before the elbow."""

    base: Array
    vertex: Array
    links: tuple[float, ...]
    masses: dict[int, LinkMass]
    before: tuple[float, ...] = ()
    sign: float = 1.0

    @property
    def direction(self) -> float:
        """Angle of the last link, from vertex to centre, in the axes of the platform."""
        return float(np.arctan2(-self.vertex[1], -self.vertex[0])) if self.vertex.any() else 0.0

    def positions(self, pose: Sequence[float]) -> list[float]:
        """Return the joint positions at a pose x, y, angle of the platform."""
        c, s = np.cos(pose[2]), np.sin(pose[2])
        goal = np.array(pose[:2]) + np.array([[c, -s], [s, c]]) @ self.vertex
        start, angle, turns = self.base.astype(float), 0.0, []
        for turn, length in zip(self.before, self.links):
            angle += turn
            start = start + length * np.array([np.cos(angle), np.sin(angle)])
            turns.append(turn)
        last = self.links[len(self.before) :]
        one, two = elbow(start, goal, last[0], last[1], self.sign)
        rest = np.array([one - angle, two - one, pose[2] + self.direction - two])
        return [*turns, *(np.remainder(rest + np.pi, 2 * np.pi) - np.pi)]


def _planar(
    name: str,
    legs: Sequence[_PlanarLeg],
    pose: Sequence[float],
    platform: LinkMass | None,
    actuated: Sequence[str],
    kept: int = 0,
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Mechanism:
    """Return a planar parallel machine; the mass of the platform, at its centre, belongs to the first leg."""
    builder, parts, q = TreeBuilder(), [], []
    for r, leg in enumerate(legs):
        prefix, reach = f'leg_{r + 1}_', float(np.hypot(*leg.vertex))
        chain = planar_chain((*leg.links, reach), leg.masses, (*leg.base, 0.0))
        bodies = chain.add_to(builder, prefix)
        if platform is not None and r == 0:
            builder.add_mass(bodies[-1], platform.mass, (reach, 0.0, 0.0), platform.tensor)
        turn = Rotation.from_rotvec([0.0, 0.0, -leg.direction]).as_matrix()
        end = builder.add_frame(f'platform_{r + 1}', bodies[-1], turn, (reach, 0.0, 0.0))
        joints = tuple(prefix + joint for joint in chain.names)
        parts.append(Leg(joints, end, joints[:kept]))
        q.extend(leg.positions(pose))
    return Mechanism(name, builder.build(), np.array(q), _closed(parts, ('rz', 'x', 'y')), parts[0].end, tuple(parts),
                     PLANE, tuple(actuated), gravity)  # fmt: skip


def _around(radius: float, angles: ArrayLike) -> Array:
    turns = np.asarray(angles, float)
    return radius * np.column_stack([np.cos(turns), np.sin(turns)])


def three_leg(platform: LinkMass | None = None) -> Mechanism:
    """Return the planar three-leg device of Example E with exact closed geometry (inch, lbf, s)."""
    bases, vertices = _around(np.sqrt(6) + 0.5, TRIANGLE), _around(1.0, TRIANGLE)
    legs = [
        _PlanarLeg(bases[r], vertices[r], (1.5, 1.5), {1: LinkMass(0.0, inertia=(0.0, 0.0, r + 1.0))}) for r in range(3)
    ]
    device = _planar('three-leg', legs, (0.0, 0.0, 0.0), platform, [f'leg_{r}_1' for r in (1, 2, 3)])
    return replace(device, length='in')


def redundant_device() -> Mechanism:
    """Return the planar device of Fig. 4-4: six freedoms, three redundant inputs (spec 7.12)."""
    links = (1.2, 1.0, 0.9)
    masses = {k + 1: rod(mass, length) for k, (mass, length) in enumerate(zip((2.0, 1.5, 1.0), links))}
    bases, vertices = _around(2.5, TRIANGLE), _around(0.8, TRIANGLE)
    first = np.radians([75.0, 190.0, 310.0])
    legs = [_PlanarLeg(bases[r], vertices[r], links, masses, (first[r],)) for r in range(3)]
    actuated = [f'leg_{r}_{k}' for k in (1, 2) for r in (1, 2, 3)]
    return _planar('redundant device', legs, (0.1, 0.2, 0.15), LinkMass(3.0, inertia=(0.0, 0.0, 1.2)), actuated, 1)


def two_finger_hand() -> Mechanism:
    """Return the two-finger hand of Fig. 4-5b: three freedoms, four inputs (spec 7.13)."""
    masses = {1: rod(0.8, 1.5), 2: rod(0.6, 1.2)}
    legs = [
        _PlanarLeg(np.array([side, 0.0]), np.array([0.4 * side, 0.0]), (1.5, 1.2), masses, (), -side)
        for side in (-1, 1)
    ]
    actuated = ['leg_1_1', 'leg_1_2', 'leg_2_1', 'leg_2_2']
    return _planar('two-finger hand', legs, (0.1, 2.1, 0.2), LinkMass(1.0, inertia=(0.0, 0.0, 0.15)), actuated)


def walker() -> Mechanism:
    """Return the walking machine of Fig. 4-5a: three freedoms, six inputs (spec 7.14)."""
    masses = {1: rod(0.5, 0.6), 2: rod(0.8, 0.7)}
    feet, hips = (-0.8, 0.1, 1.0), (-0.5, 0.0, 0.5)
    legs = [_PlanarLeg(np.array([x, 0.0]), np.array([hip, 0.0]), (0.6, 0.7), masses) for x, hip in zip(feet, hips)]
    actuated = [f'leg_{r}_{k}' for r in (1, 2, 3) for k in (2, 3)]
    body = LinkMass(10.0, inertia=(0.0, 0.0, 0.8))
    return _planar('walker', legs, (0.1, 1.0, 0.05), body, actuated, gravity=(0.0, -9.81, 0.0))


def hybrid_device() -> Mechanism:
    """Return the device of Fig. 4-3: three planar legs carry a serial part, repeated in every branch (spec 7.11)."""
    pose = (0.1, 0.2, 0.15)
    serial = (0.6, -0.5, 0.8)
    bases, vertices = _around(2.5, TRIANGLE), _around(0.8, TRIANGLE)
    c, s = np.cos(pose[2]), np.sin(pose[2])
    builder, parts, q = TreeBuilder(), [], []
    for r, (base, vertex) in enumerate(zip(bases, vertices)):
        masses = {k + 1: _thick_rod(mass, length) for k, (mass, length) in enumerate([(1.0, 1.2), (0.8, 1.3)])}
        if r == 0:
            masses |= {
                3: LinkMass(2.0, (-vertex[0], -vertex[1], 0.0), (0.3, 0.3, 0.6)),
                4: LinkMass(0.7, (0.25, 0.0, 0.0), (0.01, 0.03, 0.03)),
                5: LinkMass(0.5, (0.2, 0.0, 0.0), (0.01, 0.02, 0.02)),
                6: LinkMass(0.3, (0.0, 0.0, 0.05), (0.004, 0.005, 0.006)),
            }
        lengths = (1.2, 1.3, -vertex[0], 0.5, 0.4, 0.0)
        offsets = (0.0, 0.0, 0.0, vertex[1], 0.0, 0.1)
        twists = (0.0, 0.0, QUARTER, QUARTER, QUARTER, 0.0)
        chain = SerialChain('R' * 6, lengths, twists, offsets, (), masses, base=(*base, 0.0))
        end = builder.add_frame(f'tool_{r + 1}', chain.add_to(builder, f'leg_{r + 1}_')[-1], p=(0.05, 0.02, 0.15))
        parts.append(Leg(tuple(f'leg_{r + 1}_{name}' for name in chain.names), end))
        goal = np.array(pose[:2]) + np.array([[c, -s], [s, c]]) @ vertex
        one, two = elbow(base, goal, 1.2, 1.3)
        q.extend([one, two - one, pose[2] - two, *serial])
    actuated = (*(f'leg_{r}_1' for r in (1, 2, 3)), *(f'leg_1_{k}' for k in (4, 5, 6)))
    return Mechanism('hybrid device', builder.build(), np.array(q), _closed(parts), parts[0].end, tuple(parts), SPACE,
                     actuated)  # fmt: skip


def _thick_rod(mass: float, length: float) -> LinkMass:
    moment = mass * length**2 / 12
    return LinkMass(mass, (length / 2, 0.0, 0.0), (0.01, moment, moment))


STEWART_POSE = (np.array([0.1, 0.05, 1.8]), np.array([0.1, -0.15, 0.2]))
STEWART_INERTIA = np.array([[0.4, 0.02, 0.01], [0.02, 0.5, -0.03], [0.01, -0.03, 0.8]])
STEWART_BASE = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
STEWART_PLATFORM = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])


def stewart(parallel_axes: bool = False) -> Mechanism:
    """Return the generalized Stewart platform of Fig. 4-2, six legs RRPRRR (spec 7.10).

    Args:
        parallel_axes: make all base axes parallel, so that the base joints do not determine the motion.
    """
    p, turn = STEWART_POSE
    R = Rotation.from_rotvec(turn).as_matrix()
    masses = {
        2: LinkMass(1.0, (0.0, -0.5, 0.0), (0.08, 0.005, 0.08)),
        3: LinkMass(0.5, (0.0, 0.0, -0.4), (0.03, 0.03, 0.002)),
    }
    twists = (QUARTER, QUARTER, 0.0, QUARTER, QUARTER, 0.0)
    builder, ends, q = TreeBuilder(), [], []
    for r in range(6):
        base = np.array([2 * np.cos(STEWART_BASE[r]), 2 * np.sin(STEWART_BASE[r]), 0.0])
        vertex = np.array([np.cos(STEWART_PLATFORM[r]), np.sin(STEWART_PLATFORM[r]), -0.1])
        about = 0.0 if parallel_axes else STEWART_BASE[r] + QUARTER
        T0 = Rotation.from_rotvec([0.0, 0.0, about]).as_matrix() @ np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])
        chain = SerialChain('RRPRRR', (0.0,) * 6, twists, (0.0,) * 6, (), masses, T0, base)
        bodies = chain.add_to(builder, f'leg_{r + 1}_')
        n = T0.T @ (p + R @ vertex - base)
        length = float(np.linalg.norm(n))
        q.extend([np.arctan2(n[1], n[0]), np.arccos(-n[2] / length), length, 0.0, QUARTER, 0.0])
        ends.append((bodies[-1], vertex))
    here = TreeCoefficients(builder.build()).at(np.array(q), 2)
    parts = []
    for r, (body, vertex) in enumerate(ends):
        rotation = here.pose(Frame(body, np.eye(3), np.zeros(3)))[0].T @ R
        end = builder.add_frame(f'platform_{r + 1}', body, rotation, rotation @ -vertex)
        parts.append(Leg(tuple(f'leg_{r + 1}_{k}' for k in range(1, 7)), end))
    first, point = parts[0].end, parts[0].end.p
    builder.add_mass(first.body, 5.0, (0.0, 0.0, 0.0), STEWART_INERTIA, first.R, point)
    legs = tuple(parts)
    return Mechanism('Stewart platform', builder.build(), np.array(q), _closed(legs), legs[0].end, legs, SPACE,
                     tuple(f'leg_{r}_3' for r in range(1, 7)))  # fmt: skip


MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    'five-bar': five_bar,
    'slider-crank': slider_crank,
    'Bricard': bricard,
    'three-leg': three_leg,
    'Stewart platform': stewart,
    'hybrid device': hybrid_device,
    'redundant device': redundant_device,
    'two-finger hand': two_finger_hand,
    'walker': walker,
}
"""Mechanisms with loops by name."""


def random_state(
    mechanism: Mechanism, system: ConstraintBlocks, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return q near the reference position with all loops closed, v that meets them, and efforts of all joints."""
    guess = mechanism.q + rng.uniform(-0.15, 0.15, mechanism.q.shape)
    q = assemble(system, guess)
    N = Subspaces(system.at(q).J).motions
    v = N @ rng.normal(size=N.shape[1])
    return q, v, rng.normal(size=mechanism.q.shape)
