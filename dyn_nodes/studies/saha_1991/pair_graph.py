"""Bodies and kinematic pairs as a graph: its loops, and the resulting tree and constraints (saha-1991, 3.4).

    graph = PairGraph()
    graph.body('platform', mass=20.0, inertia=..., p=(0, 0, 0.05))
    graph.body('left', mass=2.0, inertia=..., p=(-0.2, 0, 0.05))
    graph.revolute('axle_left', 'platform', 'left', point=(-0.2, 0, 0.05), axis=(1, 0, 0))
    graph.rolling('left_ground', 'left', axle=(1, 0, 0), radius=0.05)
    blocks = graph.system(gravity=(0, 0, -9.81))
    graph.loops()

The mechanism is described at one position, in world axes. A spanning tree is chosen from the ground outwards; the
remaining pairs close loops. Bodies without a pair to the ground, such as a vehicle that only rolls on it, become free
bodies. `system_loops` returns the loops of any system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.loops import Loop
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.multibody import Frame, Tree, TreeBuilder
from dyn_nodes.studies.saha_1991.classification import fundamental_loops
from dyn_nodes.studies.saha_1991.rollers import RollerWheel

PairKind = Literal['revolute', 'prismatic', 'rolling', 'roller']
GROUND = 'ground'
ZERO = (0.0, 0.0, 0.0)
NO_INERTIA = np.zeros((3, 3))


@dataclass(frozen=True, eq=False)
class GraphBody:
    """A body: kg; (3, 3) kg m2 about the mass centre, (3,) m the mass centre, both in world axes."""

    name: str
    mass: float
    inertia: Array
    centre: Array


@dataclass(frozen=True, eq=False)
class Pair:
    """A pair of bodies: point (3,) m and axis (3,) in the world; radius, m, and roller, rad, of a wheel.

    The rate of a hinge or slider is the rate of the second body relative to the first.
    """

    name: str
    kind: PairKind
    first: str
    second: str
    point: Array
    axis: Array
    radius: float = 0.0
    roller: float = 0.0


class PairGraph:
    """Bodies and the pairs between them, in one position."""

    def __init__(self) -> None:
        self.bodies: dict[str, GraphBody] = {}
        self.pairs: list[Pair] = []

    def body(self, name: str, mass: float = 0.0, inertia: ArrayLike = NO_INERTIA, p: ArrayLike = ZERO) -> None:
        """Add a body; arguments as in `GraphBody`. Raises ValueError if the name is already used."""
        if name in self.bodies or name == GROUND:
            raise ValueError(f'{name}: there is a body of this name already')
        self.bodies[name] = GraphBody(name, float(mass), np.asarray(inertia, float), np.asarray(p, float))

    def revolute(self, name: str, first: str, second: str, point: ArrayLike, axis: ArrayLike) -> None:
        """Add a hinge between two bodies (or `ground`) through a point (3,), about a unit axis (3,)."""
        self._add(Pair(name, 'revolute', first, second, np.asarray(point, float), np.asarray(axis, float)))

    def prismatic(self, name: str, first: str, second: str, axis: ArrayLike, point: ArrayLike = ZERO) -> None:
        """Add a slider between two bodies along a unit axis (3,)."""
        self._add(Pair(name, 'prismatic', first, second, np.asarray(point, float), np.asarray(axis, float)))

    def rolling(self, name: str, wheel: str, axle: ArrayLike, radius: float) -> None:
        """Add a disc that rolls on the ground; its centre is its mass centre. See `RollingWheel`."""
        self._add_wheel(name, 'rolling', wheel, axle, radius, 0.0)

    def roller(self, name: str, wheel: str, axle: ArrayLike, radius: float, roller: float) -> None:
        """Add a wheel with rollers that rolls on the ground; its centre is its mass centre. See `RollerWheel`."""
        self._add_wheel(name, 'roller', wheel, axle, radius, roller)

    def _add_wheel(self, name: str, kind: PairKind, wheel: str, axle: ArrayLike, radius: float, roller: float) -> None:
        self._check_body(name, wheel)
        centre = self.bodies[wheel].centre
        self._add(Pair(name, kind, GROUND, wheel, centre, np.asarray(axle, float), radius, roller))

    def _check_body(self, name: str, body: str) -> None:
        if body != GROUND and body not in self.bodies:
            raise ValueError(f'{name}: unknown body {body!r}; known: {", ".join((GROUND, *self.bodies))}')

    def _add(self, pair: Pair) -> None:
        for body in (pair.first, pair.second):
            self._check_body(pair.name, body)
        if pair.first == pair.second:
            raise ValueError(f'{pair.name}: expected two bodies, found {pair.first} twice')
        if any(pair.name == other.name for other in self.pairs):
            raise ValueError(f'{pair.name}: there is a pair of this name already')
        if abs(float(np.linalg.norm(pair.axis)) - 1) > 1e-9:
            raise ValueError(f'{pair.name}: expected a unit axis, found {pair.axis.tolist()}')
        self.pairs.append(pair)

    def loops(self) -> list[list[str]]:
        """Return the independent loops, each as the names of its bodies in order (3.42).

        Their number is edges - points + 1 for a connected graph; the ground is a point if a pair touches it.
        """
        return _loops([(pair.first, pair.second) for pair in self.pairs])

    def spanning_tree(self) -> tuple[dict[str, tuple[Pair, str] | None], list[Pair]]:
        """Return the carrying pair and body of each body (None: free), carriers first, and the chords.

        Rolling contacts never carry a body, because they allow three or more motions.
        """
        carried: dict[str, tuple[Pair, str] | None] = {}
        used: set[str] = set()
        roots = [GROUND, *self.bodies]
        for root in roots:
            if root in carried:
                continue
            if root != GROUND:
                carried[root] = None
            queue = deque([root])
            while queue:
                here = queue.popleft()
                for pair in self.pairs:
                    if pair.kind in ('rolling', 'roller') or here not in (pair.first, pair.second):
                        continue
                    there = pair.second if here == pair.first else pair.first
                    if there != GROUND and there not in carried:
                        carried[there] = (pair, here)
                        used.add(pair.name)
                        queue.append(there)
        return carried, [pair for pair in self.pairs if pair.name not in used]

    def system(self, gravity: Sequence[float] = ZERO) -> ConstraintBlocks:
        """Return the system; joints and loops have the names of their pairs, free bodies the names of their bodies.

        Joint positions of zero correspond to the described position; a free body is then at its mass centre with world
        axes, see `start`.
        """
        carried, chords = self.spanning_tree()
        builder = TreeBuilder()
        index: dict[str, int] = {GROUND: -1}
        origin: dict[str, Array] = {GROUND: np.zeros(3)}
        for name, carrier in carried.items():
            body = self.bodies[name]
            if carrier is None:
                origin[name] = body.centre
                index[name] = builder.add_free(name, body.mass, ZERO, body.inertia)
                continue
            pair, below = carrier
            # the joint moves the outer body; with the bodies exchanged, its sign would change
            sign = 1.0 if pair.first == below else -1.0
            origin[name] = pair.point if pair.kind == 'revolute' else body.centre
            index[name] = builder.add_joint(
                pair.name, index[below], _joint(pair), sign * pair.axis, p=origin[name] - origin[below],
                mass=body.mass, com=body.centre - origin[name], inertia=body.inertia,
            )  # fmt: skip

        def frame(body: str, point: Array) -> Frame:
            return Frame(index[body], np.eye(3), point - origin[body])

        closing = [_closing(pair, frame) for pair in chords]
        return ConstraintBlocks(builder.build(), closing, gravity=gravity)

    def start(self, tree: Tree) -> Array:
        """Return the position (nq,) of the tree of `system` at which the mechanism was described."""
        q = tree.neutral
        for body in tree.bodies:
            if body.kind == 'free':
                q[body.q : body.q + 3] = self.bodies[body.name].centre
        return q


def _joint(pair: Pair) -> Literal['revolute', 'prismatic']:
    return 'revolute' if pair.kind == 'revolute' else 'prismatic'


def _closing(pair: Pair, frame: Callable[[str, Array], Frame]) -> Constraint:
    if pair.kind == 'rolling':
        return RollingWheel(pair.name, frame(pair.second, pair.point), pair.axis, pair.radius)
    if pair.kind == 'roller':
        return RollerWheel(pair.name, frame(pair.second, pair.point), pair.axis, pair.radius, pair.roller)
    close = Loop.hinge if pair.kind == 'revolute' else Loop.slider
    return close(pair.name, frame(pair.second, pair.point), frame(pair.first, pair.point), pair.axis)


def _loops(edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the independent cycles of a graph that may have several parts."""
    parts: list[set[str]] = []
    for edge in edges:
        touched = [part for part in parts if part & set(edge)]
        parts = [part for part in parts if not part & set(edge)] + [set(edge).union(*touched)]
    return [loop for part in parts for loop in fundamental_loops([edge for edge in edges if edge[0] in part])]


def system_loops(system: ConstraintBlocks) -> list[list[str]]:
    """Return the independent loops of a system, each as the names of its bodies in order.

    Joints of one degree of freedom and constraints between two bodies are the edges; a free body is connected by its
    constraints only. Locks and couplings hold joints and close no loop.
    """
    names = [body.name for body in system.tree.bodies]

    def point(body: int) -> str:
        return GROUND if body < 0 else names[body]

    edges = [(point(body.parent), body.name) for body in system.tree.bodies if body.kind != 'free']
    for constraint in system.constraints:
        part = getattr(constraint, 'of', constraint)
        first, second = getattr(part, 'first', None), getattr(part, 'second', None)
        wheel = getattr(part, 'centre', None) or getattr(part, 'tip', None)
        if first is not None and second is not None:
            edges.append((point(first.body), point(second.body)))
        elif wheel is not None:
            edges.append((GROUND, point(wheel.body)))
    return _loops(edges)
