"""The present motion of joints: rest, a task of valve voltages, or a trajectory; as voltages or as positions."""

from __future__ import annotations

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.recovery import SupervisedTask
from dyn_nodes.control.trajectory import JointReference, JointTrajectory, TrajectoryPoint
from dyn_nodes.control.trajectory_tracker import TrajectoryTracker
from dyn_nodes.control.voltage_profile import VoltageProfile

IDLE, DONE, TRACKING, HOLDING = 'idle', 'done', 'track', 'hold'
"""Phases outside of a task."""


def resting(joint_names: tuple[str, ...], positions: Array) -> JointTrajectory:
    """Return the trajectory that stays at a position."""
    return JointTrajectory.from_points(joint_names, [TrajectoryPoint(0.0, positions)])


class ValveMotion:
    """Valve voltages of a task from time 0 on, until a trajectory takes over; neutral without either.

    Args:
        tracker: of the actuators, in the order of the voltages.
        profile: the task, or None.
        lead: time by which a profile is evaluated ahead, s; half the hold of a voltage is second-order accurate.
    """

    def __init__(
        self, tracker: TrajectoryTracker, profile: VoltageProfile | SupervisedTask | None = None, lead: float = 0.0
    ) -> None:
        self.tracker, self.profile, self.lead = tracker, profile, lead
        self._names = [actuator.name for actuator in tracker.actuators]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that a trajectory must name."""
        return self.tracker.joint_names

    def restart(self, positions: Array) -> None:
        """Restart: the task plays at its times, without a trajectory."""
        self.tracker.cancel()
        if isinstance(self.profile, SupervisedTask):
            self.profile.restart()

    def follow(self, trajectory: JointTrajectory, time: float, positions: Array, velocities: Array) -> None:
        """Follow a trajectory from now on. Raises ValueError for other joints."""
        self.tracker.set_trajectory(trajectory, time, positions, velocities)

    def interrupt(self, time: float, positions: Array) -> bool:
        """Stop a trajectory at the present positions; return whether there was one. A task continues at its times."""
        if self.tracker.trajectory is None:
            return False
        self._hold(time, positions)
        return True

    @property
    def plays_task(self) -> bool:
        """Whether a task is active: there is one, and no trajectory has taken over."""
        return self.profile is not None and self.tracker.trajectory is None

    def leave_task(self, time: float, positions: Array) -> bool:
        """Hold the present positions until `restart` if a task is active; return whether one was."""
        if not self.plays_task:
            return False
        self._hold(time, positions)
        return True

    def reference_at(self, time: float) -> JointReference | None:
        """Return the reference of the joints at a time, None without a trajectory."""
        return self.tracker.reference(time)

    def record_neutral(self) -> None:
        """Record that neutral voltages were sent instead of the task's."""
        if isinstance(self.profile, SupervisedTask):
            self.profile.record_volts(dict.fromkeys(self._names, 0.0))

    def _hold(self, time: float, positions: Array) -> None:
        self.tracker.set_trajectory(resting(self.joint_names, positions), time, positions)

    def voltages(self, time: float, positions: Array, velocities: Array, efforts: Array | None) -> Array:
        """Return one voltage per actuator, V."""
        if self.profile is not None and self.plays_task:
            return self._task_voltages(self.profile, time)
        return self.tracker.voltages(time, positions, efforts, velocities)

    def _task_voltages(self, profile: VoltageProfile | SupervisedTask, time: float) -> Array:
        if not isinstance(profile, SupervisedTask):
            return profile.evaluate(time + self.lead, self._names)
        profile.watch(time)
        volts = profile.evaluate(time + self.lead, self._names)
        profile.record_volts(dict(zip(self._names, volts.tolist())))
        return volts

    def phase(self, time: float) -> str:
        """Return the name of the present phase."""
        if self.tracker.trajectory is not None:
            return HOLDING if self.tracker.finished(time) else TRACKING
        if self.profile is None:
            return IDLE
        return DONE if time >= self.profile.duration else self.profile.phase(time)


class PositionMotion:
    """Joint positions and velocities of a trajectory; without one the start positions."""

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self.joint_names = joint_names
        self._start = 0.0
        self._moving = False
        self._trajectory: JointTrajectory | None = None

    def restart(self, positions: Array) -> None:
        """Hold positions (n,)."""
        self._trajectory, self._moving = resting(self.joint_names, positions), False

    def follow(self, trajectory: JointTrajectory, time: float, positions: Array, velocities: Array) -> None:
        """Follow a trajectory from now on. Raises ValueError for other joints."""
        self._trajectory = trajectory.for_joints(self.joint_names).starting_from(positions, velocities)
        self._start, self._moving = time, True

    def interrupt(self, time: float, positions: Array) -> bool:
        """Stop a trajectory at the present positions; return whether there was one."""
        moving = self._moving
        if moving:
            self.restart(positions)
        return moving

    def sample(self, time: float) -> JointReference:
        """Return the reference of the joints at a time. Needs `restart` first."""
        assert self._trajectory is not None
        return self._trajectory.sample(time - self._start)

    def reference_at(self, time: float) -> JointReference | None:
        """Return the reference of the joints at a time, None before the first `restart`."""
        return None if self._trajectory is None else self.sample(time)

    def coming(self, time: float, count: int) -> list[JointReference]:
        """Return the reference at a time and, during a trajectory, at `count` further times up to its end."""
        assert self._trajectory is not None
        lasting = self.lasting(time)
        left = 0.0 if lasting is None else lasting[0].duration - lasting[1]
        ahead = [] if left <= 0.0 else [time + left * (k + 1) / count for k in range(count)]
        return [self.sample(instant) for instant in (time, *ahead)]

    def lasting(self, time: float) -> tuple[JointTrajectory, float] | None:
        """Return the trajectory and the time since its start, s; None without one or after its end."""
        if self.phase(time) != TRACKING or self._trajectory is None:
            return None
        return self._trajectory, time - self._start

    def reference(self, time: float) -> tuple[Array, Array]:
        """Return positions and velocities (n,) at a time. Needs `restart` first."""
        reference = self.sample(time)
        return reference.position, reference.velocity

    def phase(self, time: float) -> str:
        """Return the name of the present phase."""
        if not self._moving or self._trajectory is None:
            return IDLE
        return TRACKING if time - self._start < self._trajectory.duration else HOLDING
