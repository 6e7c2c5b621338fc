"""Wheels with rollers on their rim (Mecanum, omnidirectional) on the ground (saha-1991, 4.56 to 4.63)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody import Frame, Parameters, TreeState


@dataclass(frozen=True, eq=False)
class RollerWheel:
    """A wheel whose roller on the ground turns freely: its lowest point can move only across the roller axis.

    Two rows. `roller`: the velocity of the hub's lowest point along the axis of the roller on the ground is zero; this
    axis is rotated about the vertical by the angle `roller` from the hub's axle; nonholonomic. `normal`: the wheel
    stays on the plane z = 0. The rollers are part of the hub (as in the source, 4.4.2). The multipliers are the forces
    of the ground on the wheel, N, along these directions.

    Parameters: `<name>/radius`, m; `<name>/roller`, rad.

    Attributes:
        name: of the constraint.
        centre: frame at the hub's centre, fixed in the hub.
        axle: (3,) hub axis in the axes of that frame.
        radius: height of the centre above the ground, m.
        roller: alpha, from the hub's axis to the axis of the roller on the ground, rad; not 0 or pi.
    """

    name: str
    centre: Frame
    axle: ArrayLike
    radius: float
    roller: float

    def __post_init__(self) -> None:
        RollingWheel(self.name, self.centre, self.axle, self.radius)
        if abs(np.sin(self.roller)) < 1e-9:
            raise ValueError(
                f'{self.name}: rollers parallel to the hub (roller angle {self.roller:g} rad) make it a conventional '
                'wheel; expected an angle other than 0 and pi, or a RollingWheel'
            )

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return the rows `roller` and `normal`."""
        disc = RollingWheel(self.name, self.centre, self.axle, self.radius).rows(state, parameters)
        angle = parameters.add(f'{self.name}/roller', self.roller)
        # directions of a disc: travel = axle x up, lateral = horizontal part of the axle; up x lateral = -travel
        mix = ca.vertcat(ca.horzcat(-ca.sin(angle), ca.cos(angle), 0), ca.horzcat(0, 0, 1))
        return Rows(
            (f'{self.name}/roller', f'{self.name}/normal'),
            ca.mtimes(mix, disc.jacobian),
            ca.mtimes(mix, disc.gamma),
            ca.SX(2, 1),
            ca.vertcat(0, disc.residual[2]),
            (False, True),
        )
