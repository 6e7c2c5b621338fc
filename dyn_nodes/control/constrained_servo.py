"""Computed torque for the driven joints of a machine with constraints; passive joints follow the constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.control.drive_limits import DrivenJoints, Flags, JointTask, ServoEfforts, ServoOutput, servo_output
from dyn_nodes.model.machine import Machine

BANDWIDTH, DAMPING = 40.0, 1.0
"""Natural frequency, rad/s, and damping ratio of the servos."""
CUTOFF = 1e-9
"""Relative singular value of the response of driven joints below which they oppose each other."""


class ConstrainedServo:
    """Servos of the driven joints of a machine with constraints, within the limits of the joints.

    Args:
        machine: the machine.
        indices: (d,) of its driven joints among the velocities.
    """

    def __init__(self, machine: Machine, indices: Sequence[int]) -> None:
        self._joints, self._indices = DrivenJoints(machine, BANDWIDTH, DAMPING), np.array(indices, dtype=np.intp)

    def efforts(self, at: Blocks, task: JointTask, stiff: Flags) -> ServoEfforts:
        """Return the efforts that lead the driven joints to a target, as stiff position servos would.

        Where driven joints oppose each other, these are the efforts of least norm.

        Args:
            at: the machine now, without these efforts.
            task: of all joints.
            stiff: (d,) joints that compensate all forces; the others do not compensate ground forces.
        """
        asked = self._joints.input_of(task)
        spaces = Subspaces(at.J)
        N, forced = spaces.motions, spaces.pseudo_inverse @ at.gamma
        inertia = N.T @ at.M @ N
        driven = N[self._indices]  # accelerations of the driven joints per acceleration of the motions
        still = forced[self._indices] + driven @ np.linalg.solve(inertia, N.T @ (-at.h - at.M @ forced))
        response = driven @ np.linalg.solve(inertia, driven.T)
        output = ServoOutput.none(len(stiff))
        for part, motion in ((~stiff, np.zeros(len(stiff))), (stiff, still)):
            coupled = response[np.ix_(part, part)]
            held = -least(coupled, motion[part] + response[np.ix_(part, ~part)] @ output.efforts[~part])
            output.put(part, servo_output(asked.of(part), held, coupled, task.brakes, least))
        return self._joints.efforts_of(task, output)


def least(response: Array, wanted: Array) -> Array:
    """Return the efforts of least norm that give accelerations."""
    return np.asarray(np.linalg.pinv(response, CUTOFF, hermitian=True) @ wanted)
