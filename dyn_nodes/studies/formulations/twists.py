"""Twists of all bodies at their mass centres, from the joint rates of a tree (saha-1991, 2.5 to 2.10, 3.30).

A twist is [angular velocity; velocity of the mass centre], a wrench [moment; force at the mass centre], all in world
axes. Dots are then true derivatives: the frame does not rotate (W of the source is zero, and dM/dt contains the
rotation of the bodies). A massless body has its twist at its origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import casadi as ca
import numpy as np

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression, skew
from dyn_nodes.multibody.tree import Body, Frame


@dataclass(frozen=True, eq=False)
class MassCentreTwists:
    """Stacked twists, inertias and wrenches of the bodies of a tree; r bodies, rows 6 k to 6 k + 5 belong to body k.

    Attributes:
        state: of the tree; a payload is part of the body that carries it.
    """

    state: TreeState

    @cached_property
    def centres(self) -> list[Expression]:
        """(3,) mass centre of each body in its own axes."""
        tree = self.state.tree
        result: list[Expression] = [ca.SX(body.com) for body in tree.bodies]
        payload = tree.payload
        if payload is not None and payload.body >= 0:
            body, added = tree.bodies[payload.body], ca.SX(self.state.payload_mass)
            if body.mass == 0.0:
                result[payload.body] = ca.SX(payload.p)
            else:
                moment = body.mass * ca.SX(body.com) + added * ca.SX(payload.p)
                result[payload.body] = moment / (body.mass + added)
        return result

    @cached_property
    def arms(self) -> list[Expression]:
        """(3,) from the origin of each body to its mass centre, world axes."""
        return [ca.mtimes(pose.R, centre) for pose, centre in zip(self.state.poses, self.centres)]

    @cached_property
    def _frames(self) -> list[Frame]:
        # numeric frames, except in the body that carries the payload
        return [Frame(k, np.eye(3), cast(np.ndarray, centre)) for k, centre in enumerate(self.centres)]

    @cached_property
    def per_rate(self) -> Expression:
        """(6 r, nv) T of the tree: column j holds the twists at unit rate of joint j (3.43)."""
        return ca.densify(ca.vertcat(*(self.state.jacobian(frame) for frame in self._frames)))

    @cached_property
    def rate_at_constant_speed(self) -> Expression:
        """(6 r,) dT/dt v: rates of the twists at zero joint accelerations."""
        return ca.vertcat(*(self.state.jacobian_rate_times_velocity(frame) for frame in self._frames))

    @cached_property
    def central_inertias(self) -> list[Expression]:
        """(3, 3) inertia of each body about its mass centre, world axes."""
        result = []
        for inertia, centre, pose in zip(self.state.inertias, self.centres, self.state.poses):
            central = inertia.J + inertia.M[0, 0] * ca.mtimes(skew(centre), skew(centre))
            result.append(ca.mtimes(ca.mtimes(pose.R, central), pose.R.T))
        return result

    @cached_property
    def masses(self) -> list[Expression]:
        """Mass of each body, kg."""
        return [inertia.M[0, 0] for inertia in self.state.inertias]

    def joint_axis(self, body: Body, index: int) -> Expression:
        """Return the axis (3,) of a joint in world axes."""
        return ca.mtimes(self.state.poses[index].R, ca.SX(body.axis))

    @cached_property
    def per_effort(self) -> Expression:
        """(6 r, nv) wrenches of unit joint efforts on the moved body and on its carrier.

        per_rate^T per_effort is the unit matrix.
        """
        result = ca.SX(6 * len(self.state.tree.bodies), self.state.tree.nv)
        for index, body in enumerate(self.state.tree.bodies):
            if body.kind == 'free':
                R = self.state.poses[index].R
                result[6 * index : 6 * index + 6, body.v : body.v + 6] = ca.mtimes(
                    self.at_centre(index), ca.diagcat(R, R)
                )
                continue
            axis, zero = self.joint_axis(body, index), ca.SX(3, 1)
            unit = ca.vertcat(axis, zero) if body.kind == 'revolute' else ca.vertcat(zero, axis)
            wrench = ca.mtimes(self.at_centre(index), unit)
            result[6 * index : 6 * index + 6, body.v] = wrench
            if body.parent >= 0:
                result[6 * body.parent : 6 * body.parent + 6, body.v] = -ca.mtimes(
                    self.at_centre(body.parent, self.state.poses[index].p), unit
                )
        return ca.densify(result)

    def at_centre(self, index: int, point: Expression | None = None) -> Expression:
        """Return the (6, 6) matrix that takes a wrench at a world point (default: the body's origin) to its centre."""
        pose = self.state.poses[index]
        arm = (pose.p if point is None else point) - pose.p - self.arms[index]
        result = ca.SX.eye(6)
        result[0:3, 3:6] = skew(arm)
        return result

    @cached_property
    def origins_per_twist(self) -> Expression:
        """(6 r, 6 r) velocity of every body's origin from the twist at its mass centre."""
        blocks = []
        for arm in self.arms:
            block = ca.SX.eye(6)
            block[3:6, 0:3] = skew(arm)
            blocks.append(block)
        return ca.densify(ca.diagcat(*blocks)) if blocks else ca.SX(0, 0)

    @property
    def rates_per_twist(self) -> Expression:
        """(nv, 6 r) joint rates from the twists of the bodies on both sides: a left inverse of `per_rate`.

        It is dual to the efforts: a constraint on a joint's rate acts along the joint's effort.
        """
        return self.per_effort.T

    def centre_position(self, index: int) -> Expression:
        """Return the mass centre (3,) of a body in the world, m."""
        return self.state.poses[index].p + self.arms[index]
