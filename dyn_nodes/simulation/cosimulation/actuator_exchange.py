"""Hydraulics coupled to joint motion that is sampled, for example received on a topic."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.events import Event


class ActuatorExchange:
    """Integrates the oil along sampled joint motion and predicts the efforts until the next sample.

    Each sample is processed in two steps. First the oil is integrated from the last sample along the measured joint
    motion, so that an error of the last prediction has no effect on the pressures. Then it is integrated ahead by a
    period, and the mean effort of this time is returned: the impulse on the joints is accurate to second order.

    In the prediction the joints are part of the integration. With W, the mobility of the joints (`JointMobility`),
    their acceleration is

        a(t) = a_last + W (tau(t) - tau_last)

    where a_last is the mean acceleration of the last interval and tau_last the effort that caused it: gravity, ground
    and other forces are held, while oil and inertia interact. The natural frequency of a light link on its oil may then
    exceed the sample frequency. With W = 0 the joints keep their last acceleration, and the exchange is stable only if
    the natural frequency times the period is small.

    Attributes:
        system: the hydraulics; its `oil` is at the newest sample.
        period: time for which an effort is held, s.
        events: of the relief valves between the last two samples; times relative to the newest sample, s.
    """

    def __init__(self, system: ActuatorSystem, period: float) -> None:
        self.system, self.period = system, period
        self._velocity: Array | None = None
        self._effort = np.zeros(len(system.names))
        self._volts = np.zeros(len(system.names))
        self.events: list[Event] = []

    def start(self, positions: Array, efforts: Array) -> None:
        """Set the oil to hold the efforts (n,) at the positions (n,), in the order of the actuators.

        Raises ValueError for a cylinder at a dead centre.
        """
        self.system.start(positions, efforts)
        self._velocity = None
        self._effort = np.array(efforts, dtype=np.float64)
        self.events = []

    def predict(
        self,
        positions: Array,
        velocities: Array,
        volts: Array,
        mobility: Array | None = None,
        applied: Array | None = None,
    ) -> Array:
        """Process the first sample, or one a period after the last; return the mean efforts (n,) of the next period.

        For lockstep: until this sample the valves had the volts of the last call.

        Args:
            positions: (n,) in the order of the actuators, rad or m.
            velocities: (n,) rad/s or m/s.
            volts: (n,) held from here on.
            mobility: (n, n) derivative of the joints' accelerations by their efforts; None: 0.
            applied: (n,) efforts on the joints since the last sample; None: the efforts returned by the last call.

        Raises:
            DivergedError: the integration diverged; the oil does not change.
        """
        interval = 0.0 if self._velocity is None else self.period
        efforts = self._take(interval, positions, velocities, (self._volts, volts), mobility, applied)
        self._volts = np.array(volts, dtype=np.float64)
        return efforts

    def follow(
        self, interval: float, positions: Array, velocities: Array, volts: Array, mobility: Array | None = None
    ) -> Array:
        """Process a sample an interval, s, after the last one, with the same volts; return the predicted efforts.

        For irregular samples. An interval of 0 (after `start`) needs no integration to the sample. Raises
        DivergedError; the oil does not change.
        """
        return self._take(interval, positions, velocities, (volts, volts), mobility, None)

    def _take(
        self,
        interval: float,
        positions: Array,
        velocities: Array,
        volts: tuple[Array, Array],
        mobility: Array | None,
        applied: Array | None,
    ) -> Array:
        system, acceleration = self.system, self._acceleration(velocities, interval)
        before, events = system.snapshot(), self.events
        self.events = []
        try:
            if interval > 0.0 and self._velocity is not None:
                earlier = positions - 0.5 * interval * (self._velocity + velocities)
                system.advance(interval, earlier, self._velocity, acceleration, volts[0])
                self.events = [event.shifted(-interval) for event in system.events]
            now = system.snapshot()
            if mobility is not None:
                acceleration = acceleration - mobility @ (self._effort if applied is None else applied)
            efforts = system.advance(self.period, positions, velocities, acceleration, volts[1], mobility)
        except Exception:
            system.restore(before)
            self.events = events
            raise
        system.restore(now)
        self._velocity, self._effort = np.array(velocities), efforts
        return efforts

    def _acceleration(self, velocities: Array, interval: float) -> Array:
        if self._velocity is None or interval <= 0.0:
            return np.zeros_like(velocities)
        return (velocities - self._velocity) / interval
