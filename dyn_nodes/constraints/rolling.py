"""Wheels that roll without slip, in two equivalent forms (yesiloglu-2007, C13 to C15).

`RollingWheel` is a disc whose lowest point is at rest on the ground: three rows, no auxiliary bodies.
`RollingArm` is the source's form: a massless leg from the wheel's centre to the ground, then hinges for lean and pivot;
the terminal body must have the velocity of the ground. All six rows are needed (spec F28: without the lateral row the
wheel slides); the massless links make the mass matrix singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.constraints.loops import Loop, world_frame
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody import Frame, Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression, cross, dot

UP = (0.0, 0.0, 1.0)
GroundHeight = Callable[[Expression], Expression] | Literal['parameters'] | None
"""Height of the ground, m: an expression of time, parameters, or zero."""


@dataclass(frozen=True, eq=False)
class RollingWheel:
    """A disc that rolls on the plane z = height without slip; the plane may move up and down.

    The multipliers are the force of the ground on the wheel, N: along its travel direction (axle x normal), along the
    axle's horizontal, along the normal. The travel rows are nonholonomic; the normal one has the gap as residual.
    A frictionless wheel, such as a castor in tanner-1998, has only the normal row.

    Parameters: `<name>/radius`, m; with `ground` `parameters`, `<name>/ground_height`, m, `_rate`, `_acceleration`.

    Attributes:
        name: name of the constraint.
        centre: frame at the wheel's centre, fixed in the wheel.
        axle: (3,) axle in the axes of the frame; forward is axle x up.
        radius: m.
        ground: height as an expression of time, m, differentiated exactly; `parameters`; None: level and at rest.
        frictionless: True for a wheel held only along the ground's normal.
    """

    name: str
    centre: Frame
    axle: ArrayLike
    radius: float
    ground: GroundHeight = None
    frictionless: bool = False

    def __post_init__(self) -> None:
        if not self.radius > 0:
            raise ValueError(f'{self.name}: expected a radius above zero, found {self.radius:g} m')
        if abs(float(np.linalg.norm(np.asarray(self.axle, dtype=float))) - 1) > 1e-9:
            raise ValueError(f'{self.name}: expected a unit axle, found {np.asarray(self.axle).tolist()}')
        if self.centre.body < 0:
            raise ValueError(f'{self.name}: expected a wheel on a moving body, found one fixed in the world')

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return three rows: `travel`, `lateral`, `normal`; only `normal` for a frictionless wheel."""
        radius = parameters.add(f'{self.name}/radius', self.radius)
        height, climb, climb_rate = _ground(self.name, self.ground, parameters)
        axes, rates = self._directions(state)
        up, up_rate = axes[3], rates[3]
        arm, arm_rate = -radius * up, -radius * up_rate
        J = state.jacobian(self.centre)
        at_ground = J[3:6, :] + ca.horzcat(*(cross(J[0:3, k], arm) for k in range(state.width)))
        motion = state.frame_velocity(self.centre)
        slip = motion.v + cross(motion.w, arm)
        bias = state.jacobian_rate_times_velocity(self.centre)
        acceleration = bias[3:6] + cross(bias[0:3], arm) + cross(motion.w, arm_rate)
        gamma = ca.vertcat(*(-dot(d, acceleration) - dot(r, slip) for d, r in zip(axes[:3], rates[:3])))
        gap = state.frame_pose(self.centre).p[2] + arm[2] - height
        held = slice(2, 3) if self.frictionless else slice(0, 3)
        return Rows(
            tuple(f'{self.name}/{row}' for row in ('travel', 'lateral', 'normal')[held]),
            ca.vertcat(*(ca.mtimes(d.T, at_ground) for d in axes[:3][held])),
            (gamma + ca.vertcat(0, 0, climb_rate))[held],
            ca.vertcat(0, 0, climb)[held],
            ca.vertcat(0, 0, gap)[held],
            tuple([False, False, True][held]),
        )

    def on_ground(self, state: TreeState, radius: Expression) -> tuple[Expression, Expression, Expression]:
        """Return the ground point (3,), m, and the unit vectors (3,) of travel and to its left, world axes."""
        (travel, lateral, _, up), _ = self._directions(state)
        return state.frame_pose(self.centre).p - radius * up, travel, lateral

    def _directions(self, state: TreeState) -> tuple[list[Expression], list[Expression]]:
        """Return travel, lateral, normal, and the direction from ground point to centre; and their rates."""
        n = ca.SX(np.array(UP))
        e = ca.mtimes(state.frame_pose(self.centre).R, ca.SX(np.asarray(self.axle, dtype=float)))
        e_rate = cross(state.frame_velocity(self.centre).w, e)
        s, s_rate = dot(n, e), dot(n, e_rate)
        c = ca.sqrt(1 - s * s)
        change = s * s_rate / (c * c)
        travel = cross(e, n) / c
        travel_rate = cross(e_rate, n) / c + travel * change
        up = (n - s * e) / c
        up_rate = -(s_rate * e + s * e_rate) / c + up * change
        zero = ca.SX(3, 1)
        return [travel, cross(n, travel), n, up], [travel_rate, cross(n, travel_rate), zero, up_rate]


@dataclass(frozen=True, eq=False)
class RollingArm:
    """Rolling condition of the source at the tip of a leg: terminal velocity = [0; (axis x leg) times the leg's rate].

    The chain is wheel, leg (hinge about the axle at the wheel's centre), lean and pivot hinges at the ground. The leg
    does not spin with the wheel; as they turn relative to each other, the contact moves by the rolled arc.

    The multipliers are the wrench [moment; force] of the ground on the terminal body at the contact, world axes. The
    ground may move up and down, see `RollingWheel`.

    Attributes:
        name: name of the constraint.
        tip: frame at the contact, fixed in the terminal body.
        leg: joint of the leg, about the axle at the wheel's centre. Joints beyond it may change the leg's length.
        ground: see `RollingWheel`.
    """

    name: str
    tip: Frame
    leg: str
    ground: GroundHeight = None

    def rows(self, state: TreeState, parameters: Parameters) -> Rows:
        """Return six rows: the terminal body does not turn or leave the ground, and moves as the wheel rolls."""
        body = state.tree.body(self.leg)
        hinge = state.tree.bodies[body]
        if hinge.kind != 'revolute':
            raise ValueError(f'{self.name}: expected a revolute joint {self.leg}, found {hinge.kind}')
        held = Loop.frame(self.name, self.tip, world_frame()).rows(state, parameters)
        height, climb, climb_rate = _ground(self.name, self.ground, parameters)
        reach, reach_rate = self._reach(state, body)
        jacobian, gamma = held.jacobian, held.gamma
        sigma, residual = ca.SX(6, 1), held.residual
        # the two travel rows roll; the normal row and the three rotations are as for a held frame
        jacobian[3:5, hinge.v] = jacobian[3:5, hinge.v] - reach[0:2]
        gamma[3:5] = gamma[3:5] + reach_rate[0:2] * state.v[hinge.v]
        residual[3:5] = 0
        sigma[5], gamma[5], residual[5] = climb, gamma[5] + climb_rate, residual[5] - height
        return Rows(held.names, jacobian, gamma, sigma, residual, (True, True, True, False, False, True))

    def _reach(self, state: TreeState, body: int) -> tuple[Expression, Expression]:
        """Return the travel of the contact per turn of the leg, axis x leg, and its rate."""
        axis = ca.mtimes(state.poses[body].R, ca.SX(state.tree.bodies[body].axis))
        leg = state.frame_velocity(Frame(body, np.eye(3), np.zeros(3)))
        arm = state.frame_pose(self.tip).p - state.poses[body].p
        arm_rate = state.frame_velocity(self.tip).v - leg.v
        return cross(axis, arm), cross(cross(leg.w, axis), arm) + cross(axis, arm_rate)


def _ground(name: str, motion: GroundHeight, parameters: Parameters) -> tuple[Expression, Expression, Expression]:
    """Return the height of the ground under a wheel with its first and second time derivatives."""
    if motion is None:
        return ca.SX(0), ca.SX(0), ca.SX(0)
    if motion != 'parameters':
        height = ca.SX(motion(parameters.time))
        rate = ca.jacobian(height, parameters.time)
        return height, rate, ca.jacobian(rate, parameters.time)
    height, rate, acceleration = (
        parameters.add(f'{name}/ground_height{suffix}', 0.0) for suffix in ('', '_rate', '_acceleration')
    )
    return height, rate, acceleration
