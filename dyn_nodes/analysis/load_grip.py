"""The payload at which the wheels of a standing machine begin to slide: a load chart's third limit of the ground.

Reactions are admissible where they balance the load inside the friction cones (`stability.admissible_reactions`). Their
margin is a concave function of the payload, so that payloads with admissible reactions are an interval. Where it ends
because a wheel lifts, that payload is the tipping load, which is left to the test of the edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_statics import Demand, LoadStatics
from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.grip import axles_of, free_directions, grip_of

Array = NDArray[np.float64]
TOLERANCE = 1e-6
"""Part of the load that wheels need not balance."""
NEAR = 1e-4
"""Part of a bound by which a payload has to be below it to count as its own limit."""
HALVINGS = 30


class LoadGrip:
    """Friction of the wheels on which the machine of a load chart stands.

    Attributes:
        friction: (w,) static coefficients.
    """

    def __init__(self, statics: LoadStatics) -> None:
        machine, grip = statics.machine, grip_of(statics.machine)
        wheels = range(len(machine.wheels))
        own = axles_of(machine)
        axles = np.array([statics.wheel_rotations[k] @ own[machine.wheels[k].name] for k in wheels])
        rolls = np.array([wheel.rolling is not None for wheel in machine.wheels])
        self.friction, self._traction = grip.friction[: len(rolls)], grip.traction[: len(rolls)]
        self._points, self._rolling = statics.wheel_points, free_directions(grip, axles, rolls)
        if len(self._points) > len(rolls):  # a planar machine has its wheels twice
            self.friction, self._traction = np.tile(self.friction, 2), np.tile(self._traction, 2)
            self._rolling = np.tile(self._rolling, (2, 1))

    @property
    def known(self) -> bool:
        """Whether the machine file says how its wheels hold."""
        return bool(self.friction.any())

    def greatest_held(self, demand: Demand, bound: Array) -> Array:
        """Return the greatest payloads (N,) with admissible reactions, kg.

        It is inf where the wheels hold up to the bound (N,), and 0 where they do not even hold without payload.
        """
        result = np.full(len(bound), np.inf)
        if not self.known:
            return result
        places = np.flatnonzero(~self._held(demand, np.arange(len(bound)), (1.0 - NEAR) * bound))
        result[places] = 0.0
        places = places[self._held(demand, places, np.zeros(len(places)))]
        low, high = np.zeros(len(places)), bound[places].copy()
        for _ in range(HALVINGS if len(places) else 0):
            middle = 0.5 * (low + high)
            held = self._held(demand, places, middle)
            low, high = np.where(held, middle, low), np.where(held, high, middle)
        result[places] = low
        return result

    def _held(self, demand: Demand, places: NDArray[np.intp], payload: Array) -> NDArray[np.bool_]:
        """Return whether reactions are admissible in some of the states with payloads."""
        if not len(places):
            return np.zeros(0, dtype=np.bool_)
        wrench = demand.wrench[places] + payload[:, None] * demand.wrench_per_kg[places]
        return admissible_reactions(
            self._points,
            np.zeros(3),
            -wrench[:, 3:],
            -wrench[:, :3],
            friction=self.friction,
            rolling=self._rolling,
            traction=self._traction,
            tolerance=TOLERANCE,
            ranges=False,
        ).possible
