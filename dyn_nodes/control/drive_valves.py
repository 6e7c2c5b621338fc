"""Valve voltages of the hydraulic motors of wheels or tracks, so that they follow a `DriveReference`.

The wanted speed of a motor goes through the inverse of the valve's steady flow, against its load: the load of the
steady turn is added at once, further load from the measured effort by a low pass. A proportional and an integral part
correct the speed. At zero speed the valve is neutral: the oil holds the motor, also on a slope.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveReference
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine

NEUTRAL_SPEED = 1e-6
"""Reference speed below which the valve of a motor is neutral, rad/s."""


@dataclass(frozen=True)
class ValveGains:
    """Loop of the motors' speeds.

    Attributes:
        proportional: speed command per speed error.
        integral: speed command per integral of the speed error, 1/s.
        load_filter: time constant of the low pass on measured efforts, s.
    """

    proportional: float = 0.5
    integral: float = 2.0
    load_filter: float = 0.3


class DriveValves:
    """Valves of the driven wheels or tracks.

    Args:
        machine: whose actuators drive them.
        base: its wheels and tracks.
        gains: see there.

    Attributes:
        indices: (d,) indices of these valves among the machine's actuators, in the order of the driven wheels.
        dead_volts: (d,) voltage up to which their ports stay closed, V.
        gains: may be replaced at any time.
        saturated: names of the wheels whose valve was at its limit in the last call.

    Raises:
        NoVehicleError: a driven wheel without a hydraulic motor.
    """

    def __init__(self, machine: Machine, base: WheelBase, gains: ValveGains | None = None) -> None:
        self.base, self.gains = base, gains or ValveGains()
        self._driven = np.flatnonzero(base.driven)
        by_joint = {actuator.joint: k for k, actuator in enumerate(machine.actuators)}
        for k in self._driven:
            if base.wheels[k].drive not in by_joint:
                raise NoVehicleError(
                    f'{base.names[k]}: expected a hydraulic actuator on joint {base.wheels[k].drive!r}, found none'
                )
        self.indices = np.array([by_joint[base.wheels[k].drive] for k in self._driven], dtype=np.intp)
        self._actuators = [hydraulic(machine.actuators[index]) for index in self.indices]
        self.dead_volts = np.array([actuator.valve.dead_zone / actuator.valve.gain for actuator in self._actuators])
        self._turn = base.turn[self._driven]
        self.reset()

    def reset(self) -> None:
        """Reset the corrections of speeds and loads."""
        self._integral = np.zeros(len(self.indices))
        self._surplus: Array | None = None
        self.saturated: tuple[str, ...] = ()

    def volts(self, reference: DriveReference, dt: float, speeds: Array, efforts: Array | None) -> Array:
        """Return the volts (d,).

        Args:
            reference: of the wheels.
            dt: since the last call, s.
            speeds: (n,) measured about the axles, rad/s.
            efforts: (n,) measured about the axles, N m, or None.
        """
        driven = self._driven
        wanted = reference.wheel_speeds[driven]
        rise = reference.wheel_accelerations[driven]
        error = wanted - rise * dt - speeds[driven]  # at the instant of the measurement
        loads = self._loads(reference.twist, dt, efforts)
        volts, held = np.zeros(len(driven)), []
        for k, actuator in enumerate(self._actuators):
            if abs(wanted[k]) < NEUTRAL_SPEED:
                self._integral[k] = 0.0
                continue
            valve = actuator.valve
            ahead = wanted[k] + rise[k] * valve.time_constant
            demand = ahead + self.gains.proportional * error[k] + self._integral[k]
            spool = spool_for_speed(actuator, float(self._turn[k] * demand), float(self._turn[k] * loads[k]))
            volts[k] = np.clip(spool / valve.gain, -valve.voltage_limit, valve.voltage_limit)
            if abs(volts[k]) >= valve.voltage_limit and demand * error[k] > 0.0:
                held.append(self.base.names[driven[k]])
            else:
                self._integral[k] += self.gains.integral * error[k] * dt
        self.saturated = tuple(held)
        return volts

    def _loads(self, rolling: Array, dt: float, efforts: Array | None) -> Array:
        """Return the loads (d,) about the axles, N m: of the steady turn, and the filtered measured difference."""
        turning = self.base.turning_torques(rolling)[self._driven]
        if efforts is None:
            return turning
        surplus = efforts[self._driven] - turning
        if self._surplus is None:
            self._surplus = surplus
        self._surplus = self._surplus + (surplus - self._surplus) * dt / (dt + self.gains.load_filter)
        return np.asarray(turning + self._surplus)
