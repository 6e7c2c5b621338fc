"""Joints without commands: wheels coast to rest, and on wheels by constraint the arm comes to rest with them."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

STOPPED = 0.02
"""Speed of a wheel below which brakes hold it, rad/s."""
BRAKING = 1.0
"""Deceleration of a vehicle on wheels by constraint whose joints are held, m/s2."""
JOINT_BRAKING = 10.0
"""Deceleration of its fastest other joint, rad/s2 or m/s2, if that takes longer."""
TOGETHER = 0.4
"""Time in which machines that hold one object come to rest, s: equal for all, so that the forces on the object are
small; short, as they do not move in parallel."""
HARDEST = 3.0
"""Greatest ratio of their decelerations to BRAKING and JOINT_BRAKING; faster machines take longer."""


class WheelRunOut:
    """The rolling wheels of a machine while its joints are held.

    Args:
        machine: the machine.
        period: between calls, s.
        together: the machine holds an object with others.

    Attributes:
        joints: indices of the joints of rolling wheels on springs among the movable joints.
    """

    def __init__(self, machine: Machine, period: float, together: bool = False) -> None:
        movable = machine.movable_joints
        rolling = {wheel.link for wheel in machine.wheels if wheel.rolling is not None}
        self.joints = np.array([k for k, joint in enumerate(movable) if joint.child in rolling], dtype=np.intp)
        indices = {joint.child: k for k, joint in enumerate(movable)}
        wheels = [(wheel.first.link, wheel.radius) for wheel in machine.rigid_wheels]
        self._rigid = [(indices[link], radius) for link, radius in wheels if link in indices]
        wheeled = {index for index, _ in self._rigid}
        self._driven = [
            k for k, joint in enumerate(movable) if k not in wheeled and joint.name not in machine.idle_joints
        ]
        self._period, self.together = period, together
        self._last: tuple[int, Array | None] = (-2, None)
        self._speeds, self._span, self._gone = np.zeros(len(movable)), 0.0, 0.0

    def lead(self, tick: int, positions: Array, velocities: Array, target: Array, rates: Array | None) -> None:
        """Set the target of every turning wheel to its present angle, in place.

        On wheels by constraint, which cannot slide, all joints are brought to rest together, the wheels at BRAKING: a
        servo would stop them within milliseconds, and the vehicle would overturn. One factor slows all, so that the
        machine stays on its path. Calls at successive instants continue; after a gap the joints start from their
        present speeds.

        Args:
            tick: number of the instant.
            positions: (n,) of the joints, rad or m.
            velocities: (n,) of the joints, rad/s or m/s.
            target: (n,) positions, rad or m; changed.
            rates: (n,) velocities of the target or None; changed on wheels by constraint.
        """
        turning = self.joints[np.abs(velocities[self.joints]) > STOPPED]
        target[turning] = positions[turning]
        if rates is None or not self._rigid:
            return
        last, self._last = self._last, (tick, rates)
        if not (last[0] == tick - 1 and last[1] is rates):
            self._speeds, self._span, self._gone = velocities.copy(), self._time_to_rest(velocities), 0.0
        running = self._left() * self._speeds != 0.0  # the others are held where they came to rest
        target[running] = positions[running]
        self._gone += self._period
        rates[:] = self._left() * self._speeds

    def _left(self) -> float:
        """Return the remaining part of the speeds."""
        return max(0.0, 1.0 - self._gone / self._span) if self._span > 0.0 else 0.0

    def _time_to_rest(self, velocities: Array) -> float:
        """Return the time in which joints with velocities (n,) come to rest together, s."""
        times = [abs(float(velocities[joint])) * radius / BRAKING for joint, radius in self._rigid]
        times += [abs(float(velocities[joint])) / JOINT_BRAKING for joint in self._driven]
        longest = max(times, default=0.0)
        return max(TOGETHER, longest / HARDEST) if self.together and longest > 0.0 else longest
