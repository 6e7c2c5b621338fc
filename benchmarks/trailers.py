"""A truck with three trailers as a closed-loop tree: 166 joints, 48 independent (yesiloglu-2007, C20 and p. 81).

The source gives only the two counts. The tractor here is its nine-arm car (C16): 54 joints, 30 rows. A trailer is a
body on the ball hitch of the vehicle before it and one axle below it. Between body and axle: two suspensions of six
joints, one rod of five joints that holds all of the axle, and a second rod, with six joints in the last trailer; two
tyres of six joints from the ground to the axle. Rigid closures have six rows, the second rods of the first two trailers
end in a hinge, five rows: 37, 37 and 38 joints, 29, 29 and 30 rows. Axes are turned a little, as in the specification
of the car, so that no motion is idle by accident.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.constraints import ConstraintBlocks, Loop
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.multibody.tree import Frame, Tree

Array = np.ndarray
X, Y, Z = np.eye(3)
TYRE = (('revolute', X), ('revolute', Y), ('revolute', Z), ('prismatic', X), ('prismatic', Y), ('prismatic', Z))
SUSPENSION = (('revolute', X), ('revolute', Y), ('revolute', X), ('prismatic', Z), ('revolute', Z), ('prismatic', Y))
BALLS = (('revolute', X), ('revolute', Y), ('revolute', Z))
CARDAN = (('revolute', X), ('revolute', Z))
TURN = 0.05
"""Random turn of the axes, rad."""


@dataclass
class Vehicles:
    """Arms between nodes, collected in a tree; poses of bodies are for joints at zero."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    builder: TreeBuilder = field(default_factory=TreeBuilder)
    positions: list[Array] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)

    def at(self, body: int) -> Array:
        """Return the position of the frame of a body in the world, m."""
        return self.positions[body] if body >= 0 else np.zeros(3)

    def arm(self, name: str, start: int, joints: tuple, first: Array, last: Array) -> int:
        """Add an arm from position `first` on a body to `last`; its joints lie between. Return its last body."""
        body = start
        for k, (kind, axis) in enumerate(joints):
            turned = axis + TURN * self.rng.normal(size=3)
            turned /= np.linalg.norm(turned)
            position = first + (last - first) * k / len(joints) + 0.05 * self.rng.normal(size=3) * (k > 0)
            inertia = {'mass': 5.0, 'com': [0.0, 0.0, 0.05], 'inertia': 0.05 * np.eye(3)}
            body = self.builder.add_joint(f'{name}_{k + 1}', body, kind, turned, p=position - self.at(body), **inertia)
            self.positions.append(position)
        return body

    def close(self, name: str, arm: int, target: int, position: Array, hinge: bool = False) -> None:
        """Fix the end of an arm to a body at a position: rigidly, or with a hinge about y."""
        ends = [Frame(body, np.eye(3), position - self.at(body)) for body in (arm, target)]
        self.loops.append(Loop.hinge(name, *ends, axis=Y) if hinge else Loop.frame(name, *ends))

    def tractor(self) -> int:
        """Add the nine arms of the car; return its body. Nodes: wheel carriers c and d, body e, rear axle f."""
        left, right, rear = np.array([1.3, 0.75, 0.3]), np.array([1.3, -0.75, 0.3]), np.array([-1.3, 0.0, 0.3])
        side, middle, ground = np.array([0.0, 0.75, 0.0]), np.array([0.0, 0.0, 0.55]), np.array([1.0, 1.0, 0.0])
        c = self.arm('tyre_front_left', -1, TYRE, left * ground, left)
        d = self.arm('tyre_front_right', -1, TYRE, right * ground, right)
        f = self.arm('tyre_rear_left', -1, TYRE, (rear + side) * ground, rear + side)
        tyre = self.arm('tyre_rear_right', -1, TYRE, (rear - side) * ground, rear - side)
        self.close('tyre_rear_right', tyre, f, rear - side)
        self.close('tie_rod', self.arm('tie_rod', c, BALLS + BALLS, left, right), d, right)
        e = self.arm('suspension_front_left', c, SUSPENSION, left, middle + side)
        for name, node, offset in (
            ('suspension_front_right', d, right),
            ('suspension_rear_left', f, rear + side),
            ('suspension_rear_right', f, rear - side),
        ):
            end = middle + offset * [0.5, 1.0, 0.0]
            self.close(name, self.arm(name, node, SUSPENSION, offset, end), e, end)
        return e

    def trailer(self, name: str, carrier: int, length: float, last: bool) -> int:
        """Add a trailer behind a body; return its body."""
        hitch = self.at(carrier) - [length / 2, 0.0, 0.0]
        middle = hitch - [length / 2, 0.0, -0.2]
        axle, side = middle * [1.0, 1.0, 0.0] + [-1.0, 0.0, 0.4], np.array([0.0, 0.9, 0.0])
        body = self.arm(f'{name}_hitch', carrier, BALLS, hitch, middle)
        beam = self.arm(f'{name}_suspension_left', body, SUSPENSION, middle + side, axle + side)
        rods: tuple[tuple[str, tuple, bool], ...] = (
            ('suspension_right', SUSPENSION, False),
            ('rod_lower', CARDAN + BALLS, False),
            ('rod_upper', BALLS + BALLS if last else CARDAN + BALLS, not last),
        )
        for k, (part, joints, hinge) in enumerate(rods):
            start, end = middle + np.array([0.3 * k, -0.9, 0.0]), axle + np.array([0.2 * k, -0.9, 0.1 * k])
            self.close(f'{name}_{part}', self.arm(f'{name}_{part}', body, joints, start, end), beam, end, hinge)
        for part, sign in (('left', 1.0), ('right', -1.0)):
            wheel = axle + sign * side
            arm = self.arm(f'{name}_tyre_{part}', -1, TYRE, wheel * [1.0, 1.0, 0.0], wheel)
            self.close(f'{name}_tyre_{part}', arm, beam, wheel)
        return body


def truck_with_trailers(trailers: int = 3) -> tuple[Tree, list[Loop]]:
    """Return the tree and the closures of a truck with trailers, closed at zero joint positions."""
    vehicles = Vehicles()
    body = vehicles.tractor()
    for k in range(trailers):
        body = vehicles.trailer(f'trailer_{k + 1}', body, 8.0, last=k == trailers - 1)
    return vehicles.builder.build(), vehicles.loops


def truck_system(trailers: int = 3) -> ConstraintBlocks:
    """Return the constrained system of `truck_with_trailers` under gravity."""
    return ConstraintBlocks(*truck_with_trailers(trailers), gravity=(0.0, 0.0, -9.81))
