"""Wheels whose commands end: brakes hold them where they stop, instead of pulling them back to an angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine

Array = NDArray[np.float64]
STOPPED = 0.02
"""Speed of a wheel below which brakes hold it, rad/s."""
BRAKING = 1.0
"""Deceleration of a vehicle on wheels by constraint whose joints are held, m/s2."""


class WheelRunOut:
    """The rolling wheels of a machine as its joints are held.

    Args:
        machine: the machine.
        period: between calls, s.

    Attributes:
        joints: places of the joints of rolling wheels on springs among the movable joints.
    """

    def __init__(self, machine: Machine, period: float) -> None:
        movable = machine.movable_joints
        rolling = {wheel.link for wheel in machine.wheels if wheel.rolling is not None}
        self.joints = np.array([k for k, joint in enumerate(movable) if joint.child in rolling], dtype=np.intp)
        places = {joint.child: k for k, joint in enumerate(movable)}
        wheels = [(own.first.link, own.radius) for own in machine.rigid_wheels if own.first is not None]
        self._rigid = [(places[link], radius) for link, radius in wheels if link in places]
        self._period = period
        self._last: tuple[int, Array | None] = (-2, None)

    def lead(self, tick: int, positions: Array, velocities: Array, target: Array, rates: Array | None) -> None:
        """Take the present angle of every rolling wheel that still turns as its target, in place.

        Wheels by constraint, which no friction lets slide, are led to rest at BRAKING: a servo would stop them within
        milliseconds, and the vehicle would turn over them. Calls at successive instants go on; after a gap the wheels
        are led from their present speed.

        Args:
            tick: number of the instant.
            positions: (n,) of the joints, rad or m.
            velocities: (n,) of the joints, rad/s or m/s.
            target: (n,) positions, rad or m; is changed.
            rates: (n,) velocities of the target; those of wheels by constraint are changed. None: there are none.
        """
        turning = self.joints[np.abs(velocities[self.joints]) > STOPPED]
        target[turning] = positions[turning]
        if rates is None:
            return
        last, self._last = self._last, (tick, rates)
        goes_on = last[0] == tick - 1 and last[1] is rates
        for joint, radius in self._rigid:
            speed = rates[joint] if goes_on else float(velocities[joint])
            if speed != 0.0:  # it is held where it comes to rest
                target[joint] = positions[joint]
            rates[joint] = np.sign(speed) * max(0.0, abs(speed) - BRAKING * self._period / radius)
