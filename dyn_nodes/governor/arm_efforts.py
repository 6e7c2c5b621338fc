"""Joint efforts of an arm on a vehicle in planar motion, for many states at once; compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

TURN, AHEAD, ASIDE = 2, 3, 4
"""Indices of the components of a twist in the velocity vector of a free base."""


class ArmEfforts:
    """Inverse dynamics of an arm on a level base.

    Args:
        machine: with a free base and no loops.
        joints: names of the arm's n joints.
    """

    def __init__(self, machine: Machine, joints: Sequence[str]) -> None:
        self._model = RigidBodyModel(machine)
        names = [joint.name for joint in machine.movable_joints]
        self._indices = [self._model.nv - len(names) + names.index(name) for name in joints]
        self._limits = np.array([machine.joint(name).effort_limit for name in joints])
        still, rest = np.zeros((1, len(names))), np.zeros((1, 3))
        self.shares(still, still, still, rest, rest, 0.0, np.zeros(3))  # compiles now

    def shares(
        self, q: Array, v: Array, a: Array, twists: Array, accelerations: Array, payload: float, gravity: Array
    ) -> Array:
        """Return the ratios of joint efforts to their limits (t, n).

        Args:
            q: (t, m) positions of all movable joints, in the machine's order.
            v: (t, m) velocities; wheel velocities have no effect.
            a: (t, m) accelerations; wheel accelerations have no effect.
            twists: (t, 3) twists of the base.
            accelerations: (t, 3) rates of the components of the twists.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.
        """
        model, count = self._model, len(q)
        positions = np.tile(model.neutral(), (count, 1))
        positions[:, model.nq - q.shape[1] :] = q
        rates = self._whole(v, twists), self._whole(a, accelerations)
        parameters = np.tile([*gravity, payload], (count, 1))
        efforts = np.empty((count, model.nv))
        model.kernels.inverse_dynamics_batch(positions, *rates, parameters, efforts)
        return np.asarray(np.abs(efforts[:, self._indices]) / self._limits)

    def _whole(self, joints: Array, base: Array) -> Array:
        """Return the velocities or accelerations (t, nv) of base and joints."""
        rates = np.zeros((len(joints), self._model.nv))
        rates[:, [AHEAD, ASIDE, TURN]] = base
        rates[:, self._model.nv - joints.shape[1] :] = joints
        return rates
