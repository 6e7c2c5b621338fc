"""Hydraulics against joint motion that is known at instants only, as it comes over a topic."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.events import Event


class ActuatorExchange:
    """Keeps the oil in step with sampled joint motion, and gives the efforts for the time until the next sample.

    Each sample is taken in two steps. First the oil is brought here from the last sample, along the joint motion that
    was measured: an error of the last prediction leaves no trace in the pressures. Then it is led ahead by a period,
    and the mean effort of that time is returned: the impulse on the joints is right to second order.

    On the way ahead the joints are part of the integration. With W, the mobility of the joints (`JointMobility`), their
    acceleration is

        a(t) = a_last + W (tau(t) - tau_last)

    where a_last is the mean acceleration of the last interval and tau_last the effort that caused it: gravity, the
    ground and all else are held, oil and inertia act on each other as they do. The natural frequency of a light link
    on its oil may then be above that of the samples. With W = 0 the joints keep their last acceleration, and the
    exchange is stable only while that frequency times the period is small.

    Attributes:
        system: the hydraulics; its `oil` is at the newest sample.
        period: time for which an effort is held, s.
        events: what the reliefs did between the last two samples; times from the newest sample, s.
    """

    def __init__(self, system: ActuatorSystem, period: float) -> None:
        self.system, self.period = system, period
        self._velocity: Array | None = None
        self._effort = np.zeros(len(system.names))
        self._volts = np.zeros(len(system.names))
        self.events: list[Event] = []

    def start(self, positions: Array, efforts: Array) -> None:
        """Trap oil that holds the efforts (n,) at the positions (n,), in the order of the actuators.

        Raises ValueError where a cylinder stands at a dead centre.
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
        """Take the sample that is one period after the last one (or the first); return the mean efforts (n,) to come.

        For lockstep: until here the valves had the volts of the last call.

        Args:
            positions: (n,) in the order of the actuators, rad or m.
            velocities: (n,) rad/s or m/s.
            volts: (n,) held from here on.
            mobility: (n, n) derivative of the joints' accelerations by their efforts; None: 0.
            applied: (n,) efforts that the joints have had since the last sample; None: those that were returned.

        Raises:
            DivergedError: the oil stays.
        """
        interval = 0.0 if self._velocity is None else self.period
        efforts = self._take(interval, positions, velocities, (self._volts, volts), mobility, applied)
        self._volts = np.array(volts, dtype=np.float64)
        return efforts

    def follow(
        self, interval: float, positions: Array, velocities: Array, volts: Array, mobility: Array | None = None
    ) -> Array:
        """Take a sample that is `interval` (s) after the last one, under the same volts; return the efforts to come.

        For samples that come when they like. With an interval of 0 (after `start`) the oil is there already. Raises
        DivergedError; the oil stays.
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
