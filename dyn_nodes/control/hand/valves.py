"""Valve voltages that lead joints along the references of a hand: speeds by the valve law, loads from the model.

The spool of an open-centre valve follows from speed and load. The load is the effort of the model on the reference, a
spool's time constant ahead, with a feedback of the speed, plus the filtered difference of the measured effort from the
model of the measured motion (`valve_loads`). The oil between valve and joint is a spring with little damping: the
difference from the model of the reference is taken as its ringing and damped by the speed (dynamic pressure feedback).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.effort_control import ArmDynamics
from dyn_nodes.control.hand.follower import HandFollower
from dyn_nodes.control.number_checks import require_not_negative, require_positive
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.valve_loads import SteadyLoads, speed_gain
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Actuator
from dyn_nodes.multibody.influence import TransferredModel

LEAST_LEVER = 1e-3
"""Lever, m/rad, below which the load is not divided by the lever (near a dead centre)."""
RESTING = 1e-9
"""Reference speed below which a joint is at rest, rad/s or m/s."""


@dataclass(frozen=True)
class ValveLoopGains:
    """Gains of all joints.

    Attributes:
        position: speed per position error, 1/s.
        integral: speed per integral of the error, 1/s2.
        damping_ratio: of the oil spring with its inertia.
        dead_band: error up to which a joint at rest stays locked, rad.
        least_speed: below which the spool is blended over its dead zone, rad/s.
        load_filter: time constant of the low pass on the difference of measured efforts from the model, s.
    """

    position: float = 1.0
    integral: float = 0.2
    damping_ratio: float = 0.8
    dead_band: float = 2e-3
    least_speed: float = 5e-3
    load_filter: float = 0.5

    def __post_init__(self) -> None:
        above = {'least_speed': self.least_speed, 'load_filter': self.load_filter}
        require_not_negative({name: value for name, value in vars(self).items() if name not in above}, 'gains: ')
        require_positive(above, 'gains: ')


class HandValves:
    """Computes valve voltages from the references of a follower and measured joint states.

    Args:
        follower: of a hand with a hydraulic actuator on every joint.
        arm: model of the machine above its base.
        actuators: of the machine.
        gains: of the loops; may be replaced at any time.

    Attributes:
        actuators: in the order of the hand's joints.

    Raises:
        ValueError: a joint of the hand without a hydraulic actuator.
    """

    def __init__(
        self,
        follower: HandFollower,
        arm: ArmDynamics,
        actuators: Sequence[Actuator],
        gains: ValveLoopGains = ValveLoopGains(),
    ) -> None:
        self.follower, self.arm, self.gains = follower, arm, gains
        by_joint = {actuator.joint: actuator for actuator in actuators}
        joints = follower.reference.hand.joints
        missing = [name for name in joints if name not in by_joint]
        if missing:
            raise ValueError(f'expected an actuator on every joint of the hand, found none on {", ".join(missing)}')
        self.actuators = tuple(hydraulic(by_joint[name]) for name in joints)
        self._elements = [actuator_element(actuator) for actuator in self.actuators]
        self._loads = SteadyLoads()
        self.restart(0.0)

    def restart(self, time: float) -> None:
        """Discard measurements before a time, s."""
        self._last = time
        self._integral = np.zeros(len(self.actuators))
        self._loads.restart()

    def voltages(self, time: float, posture: ArrayLike, rates: ArrayLike, efforts: ArrayLike | None = None) -> Array:
        """Return one voltage per joint of the hand, V. The follower must have been advanced to this time.

        Args:
            time: s, not before the last call.
            posture: measured positions of all joints.
            rates: (n,) measured, of the hand's joints.
            efforts: (n,) measured, of the hand's joints, N m; None: loads of the model only.
        """
        step, self._last = max(time - self._last, 0.0), time
        hand = self.follower.reference.hand
        q, v = np.asarray(posture, dtype=np.float64)[hand.indices], np.asarray(rates, dtype=np.float64)
        model = self.arm.model(posture)
        now = self.follower.sample(time)
        offset, ringing = self._compare(model, v, now.acceleration, efforts, step)
        ahead = [self.follower.sample(time + actuator.valve.time_constant) for actuator in self.actuators]
        rows = range(len(ahead))
        speed = np.array([ahead[k].velocity[k] for k in rows])
        error = np.asarray(now.position - q, dtype=np.float64)
        resting = np.abs(speed) < RESTING
        error[resting] -= np.clip(error[resting], -self.gains.dead_band, self.gains.dead_band)
        damped = ringing * [self._damping(k, float(q[k]), float(model.inertia[k, k])) for k in rows]
        locked = resting & (error == 0.0) & (np.abs(damped) < self.gains.least_speed)
        self._integral[locked] = 0.0
        demand = speed + self.gains.position * error + self._integral - damped
        gain = np.array([speed_gain(actuator.valve, step) for actuator in self.actuators])
        push = offset + model.inertia @ (gain * (demand - v))
        volts = np.zeros(len(self.actuators))
        for k in np.flatnonzero(~locked).tolist():
            load = model.effort(ahead[k].velocity, ahead[k].acceleration)[k] + push[k]
            volts[k] = self._voltage(k, float(demand[k]), float(error[k]), float(load), float(q[k]), step)
        return volts

    def _compare(
        self, model: TransferredModel, rates: Array, acceleration: Array, efforts: ArrayLike | None, step: float
    ) -> tuple[Array, Array]:
        """Return the steady difference of measured efforts from the model (n,), and the fast one from the reference."""
        if efforts is None:
            return np.zeros(len(rates)), np.zeros(len(rates))
        measured = np.asarray(efforts, dtype=np.float64)
        rest = measured - model.effort(rates, np.zeros(len(rates)))
        offset = self._loads.update(rest, rates, model.inertia, step, np.full(len(rates), self.gains.load_filter))
        return offset, np.asarray(measured - model.effort(rates, acceleration) - offset)

    def _damping(self, k: int, position: float, inertia: float) -> float:
        """Return the speed per effort that damps the oil spring, rad/s per N m."""
        stiffness = float(self._elements[k].locked_stiffness(position))
        return 2.0 * self.gains.damping_ratio / float(np.sqrt(stiffness * inertia))

    def _voltage(self, k: int, demand: float, error: float, load: float, position: float, step: float) -> float:
        valve = self.actuators[k].valve
        volts = self._spool(k, demand, load, position) / valve.gain
        # sign of the demand, not of the volts: a negative lever reverses the latter
        if not (abs(volts) >= valve.voltage_limit and demand * error > 0.0):
            self._integral[k] += self.gains.integral * error * step
        return float(np.clip(volts, -valve.voltage_limit, valve.voltage_limit))

    def _spool(self, k: int, speed: float, load: float, position: float) -> float:
        arm, actuator = float(self._elements[k].lever(position)), self.actuators[k]
        push = load / arm if abs(arm) > LEAST_LEVER else 0.0
        least = self.gains.least_speed
        if abs(speed) >= least:
            return spool_for_speed(actuator, arm * speed, push)
        return spool_for_speed(actuator, arm * float(np.copysign(least, speed)), push) * abs(speed) / least
