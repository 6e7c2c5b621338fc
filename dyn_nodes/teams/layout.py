"""Names and slices of the vectors of a team: positions, velocities, states of elements, time, work, heat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.teams.object_model import SCALES, ObjectModel
from dyn_nodes.teams.robot_model import RobotModel

XYZ = ('x', 'y', 'z')
GRAVITY = ('gravity_x', 'gravity_y', 'gravity_z')
TEAM_STATES = ('time', 'work', 'heat')


@dataclass(frozen=True, eq=False)
class Holding:
    """An object, and the hands that hold its nodes.

    Attributes:
        name: of the object.
        model: its equations.
        node_names: of the nodes.
        hands: indices of robot and hand of each node; None: free.
        free_start: (f, 3) initial positions of the free nodes, m.
        grasps: names of the grasps with their nodes: one node for a ball grasp, three for a fixed grasp.
            None: every node is a ball grasp.
    """

    name: str
    model: ObjectModel
    node_names: tuple[str, ...]
    hands: tuple[tuple[int, int] | None, ...]
    free_start: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    grasps: tuple[tuple[str, tuple[int, ...]], ...] | None = None

    @property
    def held(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Grasps that are held, with their nodes."""
        grasps = [(name, (k,)) for k, name in enumerate(self.node_names)] if self.grasps is None else self.grasps
        return tuple((name, nodes) for name, nodes in grasps if self.hands[nodes[0]] is not None)

    @property
    def free_nodes(self) -> tuple[int, ...]:
        """Nodes that no hand holds."""
        return tuple(k for k, hand in enumerate(self.hands) if hand is None)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the free coordinates: free nodes, then vibrations."""
        free = [f'{self.name}/{self.node_names[k]}_{axis}' for k in self.free_nodes for axis in XYZ]
        return (*free, *(f'{self.name}/vibration_{k + 1}' for k in range(self.model.vibrations)))


class TeamLayout:
    """Names of states, inputs and parameters, and the slices of robots and objects in them."""

    def __init__(self, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> None:
        self._names: list[str] = []
        self.q = [self._add(robot.name, robot.blocks.tree.position_names) for robot in robots]
        self.object_q = [self._add('', holding.coordinates) for holding in holdings]
        self.nq = len(self._names)
        self.v = [
            self._add(one.name, [f'{velocity}_rate' for velocity in one.blocks.tree.velocity_names]) for one in robots
        ]
        self.object_v = [self._add('', [f'{name}_rate' for name in holding.coordinates]) for holding in holdings]
        self.nv = len(self._names) - self.nq
        self.elements = [self._add(robot.name, list(robot.blocks.parameters.states)) for robot in robots]
        self.inner = [self._add(holding.name, holding.model.inner) for holding in holdings]
        self.time = self._add('', TEAM_STATES).start
        self.states = tuple(self._names)
        self._names = []
        self.u = [self._add(robot.name, robot.input_names) for robot in robots]
        self.inputs = tuple(self._names)
        self._names = list(GRAVITY)
        self.p = [self._add(robot.name, robot.parameter_names) for robot in robots]
        self.scales = [self._add(holding.name, SCALES) for holding in holdings]
        self.parameters = tuple(self._names)

    def _add(self, owner: str, names: Sequence[str]) -> slice:
        start = len(self._names)
        self._names.extend(f'{owner}/{name}' if owner else name for name in names)
        return slice(start, len(self._names))
