"""Efforts that the joints of an arm need on a vehicle in planar motion, for many states at once; compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

TURN, AHEAD, ASIDE = 2, 3, 4
"""Places of a twist among the velocities of a free base."""


class ArmEfforts:
    """Inverse dynamics of an arm on a level base.

    Args:
        machine: with a free base and no loops.
        joints: names of the n joints of the arm.
    """

    def __init__(self, machine: Machine, joints: Sequence[str]) -> None:
        self._model = RigidBodyModel(machine)
        names = [joint.name for joint in machine.movable_joints]
        self._places = [self._model.nv - len(names) + names.index(name) for name in joints]
        self._limits = np.array([machine.joint(name).effort_limit for name in joints])
        still, rest = np.zeros((1, len(names))), np.zeros((1, 3))
        self.shares(still, still, still, rest, rest, 0.0, np.zeros(3))  # compiles now

    def shares(
        self, q: Array, v: Array, a: Array, twists: Array, accelerations: Array, payload: float, gravity: Array
    ) -> Array:
        """Return the efforts (t, n) over their limits.

        Args:
            q: (t, m) positions of all movable joints, in the machine's order.
            v: (t, m) velocities; those of wheels do not matter.
            a: (t, m) accelerations; likewise.
            twists: (t, 3) of the base.
            accelerations: (t, 3) rates of their components.
            payload: kg.
            gravity: (3,) in axes of the base, m/s2.
        """
        model, count = self._model, len(q)
        places = np.tile(model.neutral(), (count, 1))
        places[:, model.nq - q.shape[1] :] = q
        rates = self._whole(v, twists), self._whole(a, accelerations)
        parameters = np.tile([*gravity, payload], (count, 1))
        efforts = np.empty((count, model.nv))
        model.kernels.inverse_dynamics_batch(places, *rates, parameters, efforts)
        return np.asarray(np.abs(efforts[:, self._places]) / self._limits)

    def _whole(self, joints: Array, base: Array) -> Array:
        """Return the velocities, or accelerations, (t, nv) of base and joints."""
        rates = np.zeros((len(joints), self._model.nv))
        rates[:, [AHEAD, ASIDE, TURN]] = base
        rates[:, self._model.nv - joints.shape[1] :] = joints
        return rates
