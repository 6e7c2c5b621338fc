"""Hydraulics against joint motion that is known at instants only, as it comes over a topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.simulation.actuation import ActuatorSystem
from dyn_nodes.simulation.events import Event

Array = NDArray[np.float64]


class ActuatorExchange:
    """Keeps the oil in step with sampled joint motion, and gives the efforts for the time until the next sample.

    What goes back is the mean effort over the coming period, while the joints move on with constant acceleration: the
    impulse on the joints is then right to second order in the period.

    Attributes:
        system: the hydraulics; its `oil` is at the newest instant (`predict`: one period later).
        period: time for which an effort is held, s.
        events: what the reliefs did on the way to the newest state of the oil; times from the newest sample, s.
    """

    def __init__(self, system: ActuatorSystem, period: float) -> None:
        self.system, self.period = system, period
        self._velocity: Array | None = None
        self.events: list[Event] = []

    def start(self, positions: Array, efforts: Array) -> None:
        """Trap oil that holds the efforts (n,) at the positions (n,), in the order of the actuators.

        Raises ValueError where a cylinder stands at a dead centre.
        """
        self.system.start(positions, efforts)
        self._velocity = None

    def predict(self, positions: Array, velocities: Array, volts: Array) -> Array:
        """Take the sample of the instant that the oil stands at, advance it by a period, return the mean efforts (n,).

        For lockstep: the next sample is one period later, for certain. Raises DivergedError; the oil stays.
        """
        acceleration = self._acceleration(velocities, self.period)
        efforts = self.system.advance(self.period, positions, velocities, acceleration, volts)
        self._velocity, self.events = velocities, self.system.events
        return efforts

    def follow(self, interval: float, positions: Array, velocities: Array, volts: Array) -> Array:
        """Bring the oil from the sample before to this one, `interval` (s) later; return the mean efforts (n,) to come.

        In between the joints move with the constant acceleration that joins both velocities, and arrive where they
        were measured. With an interval of 0 (after `start`) the oil is there already. Raises DivergedError; the oil
        stays.
        """
        acceleration = self._acceleration(velocities, interval)
        before = self.system.snapshot()
        self.events = []
        if interval > 0.0 and self._velocity is not None:
            begin = positions - 0.5 * interval * (self._velocity + velocities)
            self.system.advance(interval, begin, self._velocity, acceleration, volts)
            self.events = [event.shifted(-interval) for event in self.system.events]
        now = self.system.snapshot()
        try:
            efforts = self.system.advance(self.period, positions, velocities, acceleration, volts)
        except Exception:
            self.system.restore(before)
            self.events = []
            raise
        self.system.restore(now)
        self._velocity = velocities
        return efforts

    def _acceleration(self, velocities: Array, interval: float) -> Array:
        if self._velocity is None or interval <= 0.0:
            return np.zeros_like(velocities)
        return (velocities - self._velocity) / interval
