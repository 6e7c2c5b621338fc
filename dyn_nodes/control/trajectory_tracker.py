"""Tracking of joint trajectories with hydraulic valves: voltages from references and measured joint states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.valve_loads import SteadyLoads, speed_gain
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Actuator

LONGEST_STEP = 0.1
"""Greatest step over which an error is integrated, s: a longer one is a gap in the measurements."""
_LEAST_LEVER = 1e-3  # m/rad; below it (near a dead centre) the load is not divided by the lever


class ReferenceCurve(Protocol):
    """References of joints over time: a trajectory, or a stream.

    Attributes:
        duration: time of its end, s; inf for a stream.
    """

    @property
    def duration(self) -> float:
        """Time of the last point, s."""

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time, s."""


@dataclass(frozen=True)
class TrackerGains:
    """Gains of a joint's outer loop: dq_command = feedforward * dq_ref + position * e + integral * (integral of e).

    Attributes:
        position: 1/s. Above about 2 zeta omega of the oil spring (abo-shanab-2003, 2.15) the joint rings.
        integral: 1/s2.
        dead_band: |e| up to which a joint at its goal is locked with a neutral spool, rad.
        least_speed: joint speed below which the jump over the spool's dead zone is blended in linearly, rad/s.
        load_filter: time constant of the low pass on measured efforts, s.
        feedforward: factor of the reference's speed.
    """

    position: float = 1.5
    integral: float = 0.4
    dead_band: float = 2e-3
    least_speed: float = 5e-3
    load_filter: float = 0.3
    feedforward: float = 1.0


class TrajectoryTracker:
    """Computes valve voltages from a joint trajectory and measured joint states.

    The wanted speed of a joint (reference one spool time constant ahead, plus feedback of the position error) goes
    through the inverse of the valve's steady flow, with the measured effort, if any, as load (`valve_loads`). An
    open-centre valve moves no load until its gallery pressure exceeds the load pressure: without efforts, tracking of a
    heavy load relies on feedback and is several times less accurate. Without a trajectory every valve is neutral.

    Args:
        actuators: n hydraulic ones.
        gains: for all joints, or one for each actuator.
        inertia: returns the inertia (n, n) of the joints at positions (n,), with the greatest payload; None: efforts
            are loads as measured, and a joint whose load is mostly inertia rings.

    Attributes:
        gains: one for each actuator; may be changed at any time by `set_gains`.
    """

    def __init__(
        self,
        actuators: Sequence[Actuator],
        gains: TrackerGains | Sequence[TrackerGains] | None = None,
        inertia: Callable[[Array], Array] | None = None,
    ) -> None:
        self.actuators = tuple(hydraulic(actuator) for actuator in actuators)
        self._elements = [actuator_element(actuator) for actuator in self.actuators]
        self.joint_names = tuple(actuator.joint for actuator in self.actuators)
        self._inertia, self._loads = inertia, SteadyLoads()
        self.set_gains(gains or TrackerGains())
        self.trajectory: ReferenceCurve | None = None
        self._start = 0.0
        self._reset(0.0)

    def set_gains(self, gains: TrackerGains | Sequence[TrackerGains]) -> None:
        """Set the gains. Raises ValueError for a wrong number of them."""
        count = len(self.actuators)
        self.gains = (gains,) * count if isinstance(gains, TrackerGains) else tuple(gains)
        if len(self.gains) != count:
            raise ValueError(f'gains: expected {count}, found {len(self.gains)}')
        self._filters = np.array([each.load_filter for each in self.gains])

    def _reset(self, time: float) -> None:
        self._integral = np.zeros(len(self.actuators))
        self._loads.restart()
        self._last = time

    def set_trajectory(
        self, trajectory: JointTrajectory, time: float, positions: ArrayLike, velocities: ArrayLike | None = None
    ) -> None:
        """Follow a trajectory from now on.

        Args:
            trajectory: for the joints of the actuators, in any order.
            time: now, s.
            positions: (n,) measured now, in the order of `joint_names`; start of the curve.
            velocities: (n,) measured now, rad/s.

        Raises:
            ValueError: other joints, a wrong size, not finite.
        """
        self.trajectory = trajectory.for_joints(self.joint_names).starting_from(positions, velocities)
        self._start = time
        self._reset(time)

    def cancel(self) -> None:
        """Drop the trajectory: neutral valves."""
        self.trajectory = None

    def reference(self, time: float) -> JointReference | None:
        """Return the reference at a time, or None without a trajectory."""
        return None if self.trajectory is None else self.trajectory.sample(time - self._start)

    def finished(self, time: float) -> bool:
        """Return whether the trajectory's last point has passed (True without one)."""
        return self.trajectory is None or time - self._start >= self.trajectory.duration

    def voltages(
        self, time: float, positions: ArrayLike, efforts: ArrayLike | None = None, velocities: ArrayLike | None = None
    ) -> Array:
        """Return one voltage per actuator, V.

        Args:
            time: now, s, not before the last call.
            positions: (n,) measured joint positions, in the order of `joint_names`, rad.
            efforts: (n,) measured joint efforts, N m; None: the valves are inverted without load.
            velocities: (n,) measured joint speeds, rad/s; None: as without `inertia`.

        Raises:
            ValueError: wrong size, or not finite.
        """
        measured = self._checked('positions', positions)
        forces = None if efforts is None else self._checked('efforts', efforts)
        speeds = None if velocities is None else self._checked('velocities', velocities)
        if self.trajectory is None:
            self._last = time
            return np.zeros(len(self.actuators))
        step, self._last = max(time - self._last, 0.0), time
        elapsed = time - self._start
        error = self.trajectory.sample(elapsed).position - measured
        lags = [actuator.valve.time_constant for actuator in self.actuators]
        ahead = [self.trajectory.sample(elapsed + lag)[1:] for lag in lags]
        speed, rise = (np.array([each[rate][k] for k, each in enumerate(ahead)]) for rate in (0, 1))
        band = np.where(speed == 0.0, [gains.dead_band for gains in self.gains], 0.0)
        error -= np.clip(error, -band, band)  # no step at the edge of the band
        locked = (speed == 0.0) & (error == 0.0)
        self._integral[locked] = 0.0
        demand = self._integral + [
            gains.feedforward * v + gains.position * e for gains, v, e in zip(self.gains, speed, error)
        ]
        loads = self._wanted_loads(measured, forces, speeds, demand, rise, step)
        step = min(step, LONGEST_STEP)
        volts = np.zeros(len(self.actuators))
        for k in np.flatnonzero(~locked).tolist():
            volts[k] = self._channel(k, demand[k], error[k], loads[k], measured[k], step)
        return volts

    def _wanted_loads(
        self, positions: Array, efforts: Array | None, speeds: Array | None, demand: Array, rise: Array, step: float
    ) -> Array:
        """Return the loads (n,) for which the valves are inverted, N m, at wanted speeds and accelerations (n,)."""
        if speeds is None or self._inertia is None:
            speeds, inertia = np.zeros(len(positions)), np.zeros((len(positions), len(positions)))
        else:
            inertia = self._inertia(positions)
        gain = np.array([speed_gain(actuator.valve, step) for actuator in self.actuators])
        loads = inertia @ (rise + gain * (demand - speeds))
        if efforts is not None:
            loads += self._loads.update(efforts, speeds, inertia, step, self._filters)
        return np.asarray(loads)

    def _channel(self, index: int, demand: float, error: float, load: float, position: float, step: float) -> float:
        valve = self.actuators[index].valve
        volts = self._spool(index, demand, load, position) / valve.gain
        # sign of the demand, not of the volts: a negative lever reverses the latter
        saturated = abs(volts) >= valve.voltage_limit and demand * error > 0.0
        if not saturated:
            self._integral[index] += self.gains[index].integral * error * step
        return float(np.clip(volts, -valve.voltage_limit, valve.voltage_limit))

    def _spool(self, index: int, joint_speed: float, load: float, position: float) -> float:
        arm, actuator = float(self._elements[index].lever(position)), self.actuators[index]
        push = load / arm if abs(arm) > _LEAST_LEVER else 0.0
        least = self.gains[index].least_speed
        if abs(joint_speed) >= least:
            return spool_for_speed(actuator, arm * joint_speed, push)
        edge = spool_for_speed(actuator, arm * np.copysign(least, joint_speed), push)
        return edge * abs(joint_speed) / least

    def _checked(self, name: str, values: ArrayLike) -> Array:
        array = np.array(values, dtype=np.float64)
        if array.shape != (len(self.actuators),):
            raise ValueError(f'{name}: expected {len(self.actuators)} numbers, found an array of shape {array.shape}')
        if not np.isfinite(array).all():
            bad = self.joint_names[int(np.flatnonzero(~np.isfinite(array))[0])]
            raise ValueError(f'{name}: expected finite numbers, found a value that is not finite for joint {bad!r}')
        return array
