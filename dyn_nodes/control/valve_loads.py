"""Loads for the valve inverse: measured efforts without their inertial part, and a feedback of the speed.

An open-centre valve at a small opening sets the pressure rather than the flow, as most of the pump's oil takes the
bypass: a joint then accelerates by the load for which its spool was computed. With b the slope of this torque by the
speed, a low pass (time constant T) on measured efforts I dv/dt and a position gain P, the loop

    I T s^3 + b T s^2 + b (1 + P T) s + b P = 0

is unstable for b (1 + P T) < I P: each acceleration maintains itself, above all in a swing, whose load is inertia
alone. Therefore the inertial part is removed from measured efforts, and the load of the wanted acceleration is added,
with a feedback of the speed. Where the valve sets the flow, its inverse hardly depends on the load, and neither acts.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.hydraulic import Valve

LEAST_LAG = 0.01
"""Least lag of spool and hold that is assumed, s."""


class SteadyLoads:
    """Low pass on measured efforts less the part that accelerates the joints."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start from the next efforts."""
        self._efforts: Array | None = None
        self._velocities: Array | None = None

    def update(self, efforts: Array, velocities: Array, inertia: Array, step: float, time_constants: Array) -> Array:
        """Return the loads (n,) that do not accelerate the joints, N m or N.

        Args:
            efforts: (n,) measured, N m or N.
            velocities: (n,) measured, rad/s or m/s.
            inertia: (n, n) of the joints; too large a one is harmless, too small a one leaves part of the ringing.
            step: time since the last call, s.
            time_constants: (n,) of the low pass, s.
        """
        if self._efforts is None or self._velocities is None:
            self._efforts, self._velocities = efforts, velocities
        share = step / (step + time_constants)
        self._efforts = self._efforts + (efforts - self._efforts) * share
        self._velocities = self._velocities + (velocities - self._velocities) * share
        return np.asarray(self._efforts - inertia @ ((velocities - self._velocities) / time_constants))


def speed_gain(valve: Valve, step: float) -> float:
    """Return the acceleration per error of the speed, 1/s: critically damped with the lag of spool and hold."""
    return 0.25 / max(valve.time_constant + step, LEAST_LAG)
