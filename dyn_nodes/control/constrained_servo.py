"""Joints of a machine with constraints driven to positions: computed torque where passive joints move as they must."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.control.drive_limits import DrivenJoints, Flags, JointTask, ServoEfforts, ServoOutput, servo_output
from dyn_nodes.model.machine import Machine

BANDWIDTH, DAMPING = 40.0, 1.0
"""Of the servos: natural frequency, rad/s, and damping ratio."""
CUTOFF = 1e-9
"""Of the inertia that driven joints feel: directions in which they fight each other, relative."""


class ConstrainedServo:
    """Servos of the driven joints of a machine with constraints, within the limits of the joints.

    Args:
        machine: the machine.
        places: (d,) of its driven joints among the velocities.
    """

    def __init__(self, machine: Machine, places: Sequence[int]) -> None:
        self._joints, self._places = DrivenJoints(machine, BANDWIDTH, DAMPING), np.array(places, dtype=np.intp)

    def efforts(self, at: Blocks, task: JointTask, stiff: Flags) -> ServoEfforts:
        """Return the efforts that lead the driven joints to a target, as stiff position servos would.

        Where driven joints fight each other, these are the efforts of least norm.

        Args:
            at: the machine now, without these efforts.
            task: of all joints.
            stiff: (d,) joints that work against all that acts on them; the others do not work against the ground.
        """
        asked = self._joints.input_of(task)
        spaces = Subspaces(at.J)
        N, forced = spaces.motions, spaces.pseudo_inverse @ at.gamma
        inertia = N.T @ at.M @ N
        own = N[self._places]  # accelerations of the driven joints from those of the motions
        still = forced[self._places] + own @ np.linalg.solve(inertia, N.T @ (-at.h - at.M @ forced))
        response = own @ np.linalg.solve(inertia, own.T)
        found = ServoOutput.none(len(stiff))
        for part, motion in ((~stiff, np.zeros(len(stiff))), (stiff, still)):
            coupled = response[np.ix_(part, part)]
            held = -least(coupled, motion[part] + response[np.ix_(part, ~part)] @ found.efforts[~part])
            found.put(part, servo_output(asked.of(part), held, coupled, task.brakes, least))
        return self._joints.efforts_of(task, found)


def least(response: Array, wanted: Array) -> Array:
    """Return the efforts of least norm that give accelerations."""
    return np.asarray(np.linalg.pinv(response, CUTOFF, hermitian=True) @ wanted)
