"""Finite elements reduced to the grasps as traced equations: `deformable.corotation.CorotatedBody` in symbols.

The axes of the body follow from the polar decomposition of its grasps' positions. A quaternion that turns with them is
a state. Starting from it, Newton steps compute the axes to round-off without a decomposition in the compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.multibody.spatial import Expression, cross, quaternion_rate, rotation_of_quaternion, skew
from dyn_nodes.teams.deformable.condensation import Condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.object_model import ObjectEquations, ObjectMotion

NEWTON_STEPS = 2
RETURN = 10.0
"""Rate at which the quaternion converges to the axes, 1/s."""


class _Axes(NamedTuple):
    """Axes of the body.

    Attributes:
        R: (3, 3) in the world.
        spin: (3, 3) angular velocity over the sum of arms times velocities.
        off: (3,) turn from the quaternion to the axes, rad, in axes of the body.
    """

    R: Expression
    spin: Expression
    off: Expression


@dataclass(frozen=True, eq=False)
class CondensedModel:
    """Traced equations of a reduced body whose grasps are not on a line."""

    reduced: Condensed
    inner = ('orientation_x', 'orientation_y', 'orientation_z', 'orientation_w')

    @cached_property
    def body(self) -> CorotatedBody:
        """The numerical counterpart."""
        return CorotatedBody(self.reduced)

    @property
    def nodes(self) -> int:
        """Number of its grasps."""
        return self.body.count

    @property
    def vibrations(self) -> int:
        """Number of its vibrations."""
        return len(self.reduced.frequencies)

    def inner_start(self, position: Array) -> Array:
        """Return the quaternion (4,) of its axes with grasps at positions (m, 3)."""
        return np.asarray(quaternion_of_matrix(self.body.axes(position).R), dtype=np.float64)

    def _axes(self, centered: Expression, quaternion: Expression) -> _Axes:
        """Return the axes for positions (3, m) about their mean."""
        R = rotation_of_quaternion(quaternion / ca.norm_2(quaternion))
        moment = ca.mtimes(centered, ca.DM(self.body.arms))
        first = ca.SX(3, 1)
        for k in range(NEWTON_STEPS):
            S = ca.mtimes(R.T, moment)
            turn = ca.mtimes(_spin(S), ca.vertcat(S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]))
            first = turn if k == 0 else first
            R = ca.mtimes(R, _turned(turn))
        return _Axes(R, _spin(ca.mtimes(R.T, moment)), first)

    def equations(self, motion: ObjectMotion, gravity: Expression, scales: Expression) -> ObjectEquations:
        """Return the equations of `CorotatedBody.forces` and `mass`."""
        body, m = self.body, self.nodes
        size = 3 * m
        P, W = ca.reshape(motion.position, 3, m), ca.reshape(motion.velocity, 3, m)
        center = ca.sum2(P) / m
        axes = self._axes(P - center, motion.inner)
        R, X = axes.R, ca.SX(ca.DM(body.arms.T))
        arms, speed, down = ca.mtimes(R.T, P - center), ca.mtimes(R.T, W), ca.mtimes(R.T, gravity)
        mass = ca.SX(ca.DM(self.reduced.mass)) * scales[0]
        lever, moment = scales[0] * ca.SX(ca.DM(body.lever)), scales[0] * ca.SX(ca.DM(body.moment))
        total = scales[0] * body.mass_total

        omega = ca.mtimes(axes.spin, _sum_of_crosses(X, speed))
        q = ca.vertcat(ca.vec(arms - X), motion.amplitudes)
        relative = speed - ca.sum2(speed) / m - ca.mtimes(skew(omega), arms)
        rate = ca.vertcat(ca.vec(relative), motion.rates)
        elastic = scales[1] * ca.mtimes(ca.DM(self.reduced.stiffness), q)
        viscous = scales[2] * ca.mtimes(ca.DM(self.reduced.damping), rate)
        inner = elastic + viscous - ca.mtimes(lever.T, down)
        held = ca.reshape(inner[:size], 3, m)
        held = held - ca.sum2(held) / m
        first = moment + ca.mtimes(lever, q)
        velocities = ca.vertcat(ca.vec(speed), motion.rates)
        momenta = ca.mtimes(mass, velocities)
        along = ca.reshape(momenta[:size], 3, m)
        torque = cross(down, first) - _sum_of_crosses(arms, held) + _sum_of_crosses(speed, along)
        carried = ca.vertcat(ca.vec(-ca.mtimes(skew(omega), speed)), ca.SX(self.vibrations, 1))
        load = ca.mtimes(mass, carried) + ca.vertcat(ca.vec(held), inner[size:])
        turned = ca.mtimes(axes.spin, torque)
        local = ca.reshape(load[:size], 3, m) + ca.mtimes(skew(omega), along)
        local = local + ca.mtimes(skew(turned), X) - total / m * down

        T = ca.diagcat(*[R] * m, ca.SX.eye(self.vibrations))
        linear = ca.mtimes(R, along)
        energy = ca.vertcat(
            0.5 * ca.dot(velocities, momenta),
            0.5 * ca.dot(q, elastic) - total * ca.dot(center, gravity) - ca.dot(down, first),
        )
        return ObjectEquations(
            mass=ca.mtimes(T, ca.mtimes(mass, T.T)),
            load=ca.vertcat(ca.vec(ca.mtimes(R, local)), load[size:]),
            inner_rates=quaternion_rate(motion.inner, omega + RETURN * axes.off),
            energy=energy,
            heat=ca.dot(rate, viscous),
            momentum=ca.vertcat(_sum_of_crosses(P, linear), ca.sum2(linear)),
        )


def _spin(S: Expression) -> Expression:
    """Return the (3, 3) inverse of tr U - U for the symmetric part U of a matrix."""
    U = 0.5 * (S + S.T)
    return ca.inv_minor(ca.trace(U) * ca.SX.eye(3) - U)


def _turned(turn: Expression) -> Expression:
    """Return the (3, 3) rotation by a small vector, exactly orthogonal (Cayley)."""
    half = skew(0.5 * turn)
    return ca.SX.eye(3) + 2.0 / (1.0 + 0.25 * ca.sumsqr(turn)) * (half + ca.mtimes(half, half))


def _sum_of_crosses(a: Expression, b: Expression) -> Expression:
    """Return the sum (3,) of the cross products of columns (3, m)."""
    return sum((cross(ca.SX(a[:, k]), ca.SX(b[:, k])) for k in range(a.shape[1])), ca.SX(3, 1))
