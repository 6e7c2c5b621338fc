"""Links and joints of a URDF. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dyn_nodes.common.arrays import Array

JointType = Literal['revolute', 'continuous', 'prismatic', 'fixed']


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body.

    Attributes:
        name: unique name.
        mass: kg, 0 for a link without inertia.
        com: (3,) centre of mass in the link frame, m.
        inertia: (3, 3) ordinary inertia tensor about the centre of mass, axes of the link frame, kg m2.
    """

    name: str
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of one degree of freedom (or none) between a parent and a child link.

    Attributes:
        origin: (4, 4) pose of the joint frame (= child link frame at zero position) in the parent link frame.
        axis: (3,) unit axis in the joint frame.
        lower, upper: position limits, rad or m; infinite if there is none, as for `continuous`.
        velocity_limit, effort_limit: rad/s or m/s, N m or N; inf without a limit; effort 0: passive.
        damping: viscous, N m s/rad or N s/m.
        friction: dry (URDF `friction`), N m or N.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Array
    axis: Array
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0

    @property
    def movable(self) -> bool:
        """True if the joint has a degree of freedom."""
        return self.type != 'fixed'
