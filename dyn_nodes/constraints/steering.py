"""Steering that follows the heading of its vehicle: phi = offset + ratio theta (tanner-1998, 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody import Frame, Parameters, Tree, TreeState


@dataclass(frozen=True, eq=False)
class HeadingSteering:
    """A vertical joint whose angle follows the heading of a level vehicle.

    The heading is the angle of the frame's x axis about the world's z axis. The residual is taken modulo full turns, so
    that a vehicle may turn without limit. The multiplier is the effort on the joint, N m.

    Parameters: `<name>/ratio`, `<name>/offset`, rad.

    Attributes:
        name: name of the constraint.
        joint: steering joint.
        vehicle: frame that defines the heading.
        ratio: d phi / d theta; -1 keeps the direction of the wheel in the world.
        offset: phi at heading 0, rad.
    """

    joint_effort: ClassVar[str] = 'transmitted'

    name: str
    joint: str
    vehicle: Frame
    ratio: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.ratio == 0.0 or not np.isfinite(self.ratio):
            raise ValueError(f'{self.name}: expected a finite ratio other than 0, found {self.ratio:g}; lock the joint')

    @classmethod
    def on(cls, tree: Tree, name: str, joint: str, ratio: float, offset: float = 0.0) -> HeadingSteering:
        """Return the steering of a joint by the heading of its carrying body. Raises KeyError for an unknown joint."""
        carrier = tree.bodies[tree.body(joint)].parent
        return cls(name, joint, Frame(carrier, np.eye(3), np.zeros(3)), ratio, offset)

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return one row. Raises KeyError for an unknown joint."""
        ratio = parameters.add(f'{self.name}/ratio', self.ratio)
        offset = parameters.add(f'{self.name}/offset', self.offset)
        body = state.tree.bodies[state.tree.body(self.joint)]
        row = -ratio * state.jacobian(self.vehicle)[2, :]
        row[0, body.v] += 1.0
        gamma = ratio * state.jacobian_rate_times_velocity(self.vehicle)[2]
        ahead = state.frame_pose(self.vehicle).R[:, 0]
        open_by = state.q[body.q] - offset - ratio * ca.atan2(ahead[1], ahead[0])
        turn = 2.0 * np.pi * ratio
        residual = open_by - turn * ca.floor(open_by / turn + 0.5)
        return Rows.still([f'{self.name}/steering'], row, ca.densify(gamma), ca.densify(residual))
