"""Payload at which the wheels of a machine at rest start to slide: the third limit of the ground in a load chart.

Reactions are admissible if they balance the load inside the friction cones (`stability.admissible_reactions`). Their
margin is a concave function of the payload, so payloads with admissible reactions form an interval. If the interval
ends because a wheel lifts, its end is the tipping load, which the test of the edges determines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_statics import EffortDemand, LoadStatics
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.grip import Grip, axles_of, free_directions, grip_of

TOLERANCE = 1e-6
"""Tolerance of the balance as a part of the load."""
NEAR = 1e-4
"""Part of a bound by which a payload must be lower to count as a separate limit."""
FINE = 2.0**-30
"""Accuracy of the payload as a part of its bound."""
MOST_ROUNDS = 60


class LoadGrip:
    """Friction of the wheels of a machine in a load chart.

    Attributes:
        checked: False if sliding is not checked: passive joints below the machine move, or it has tracks.
        friction: (w,) static coefficients.
        points: (w, 3) ground points of the wheels, m.
    """

    def __init__(self, statics: LoadStatics) -> None:
        machine, gear, grip = statics.machine, statics.gear, grip_of(statics.machine)
        self.checked = not (machine.contacts or gear.gives_way)
        wheels = [k for k, wheel in enumerate(machine.wheels) if gear.carrying[k]] if self.checked else []
        poses, axle = link_poses(machine.links, machine.joints, initial_positions(machine)), axles_of(machine)
        loaded = [machine.wheels[k] for k in wheels]
        axles = np.array([poses[wheel.link][:3, :3] @ axle[wheel.name] for wheel in loaded]).reshape(-1, 3)
        rolls = np.array([wheel.rolling is not None for wheel in loaded], dtype=bool)
        carrying = Grip(*(part[wheels] for part in grip))
        self.friction, self._traction = carrying.friction, carrying.traction
        self.points, self._rolling = gear.points[: 2 * len(wheels)], free_directions(carrying, axles, rolls)
        if len(self.points) > len(rolls):  # a planar machine has its wheels twice
            self.friction, self._traction = np.tile(self.friction, 2), np.tile(self._traction, 2)
            self._rolling = np.tile(self._rolling, (2, 1))

    @property
    def has_friction(self) -> bool:
        """Whether the machine file has friction of the wheels."""
        return bool(self.friction.any())

    @property
    def certain(self) -> bool:
        """Whether `splits` can prove that the wheels hold a state: no roller leaves a direction without force."""
        return self.has_friction and bool(np.isnan(self._traction).all()) and np.linalg.matrix_rank(self._balance) == 3

    @property
    def _balance(self) -> Array:
        """Matrix (3, w) from the wheels' normal forces to their sum and its moments about x and y."""
        return np.vstack([np.ones(len(self.points)), self.points[:, 1], -self.points[:, 0]])

    @cached_property
    def splits(self) -> tuple[Array, Array]:
        """Least-norm normal forces (w, 3) for a force and its moments; self-balanced forces (w,) of four wheels."""
        split, spare = np.linalg.pinv(self._balance), np.zeros(len(self.points))
        if len(self.points) == 4:
            spare = np.linalg.svd(self._balance)[2][3]
        return np.ascontiguousarray(split), np.where(np.abs(spare) > 1e-9, spare, 0.0)

    def greatest_held(self, demand: EffortDemand, bound: Array) -> Array:
        """Return the greatest payloads (N,) with admissible reactions, kg.

        The result is inf if the wheels hold up to the bound (N,), and 0 if they do not hold even without payload.
        """
        result = np.full(len(bound), np.inf)
        if not self.has_friction:
            return result
        margin = self._margin(demand, np.arange(len(bound)), (1.0 - NEAR) * bound)
        states = np.flatnonzero(margin < 0.0)
        result[states] = 0.0
        above, below = margin[states], self._margin(demand, states, np.zeros(len(states)))
        held = below >= 0.0
        states, ends = states[held], ((1.0 - NEAR) * bound[states[held]], above[held], below[held])
        result[states] = _last_held(lambda some, payload: self._margin(demand, states[some], payload), *ends)
        return result

    def _margin(self, demand: EffortDemand, states: NDArray[np.intp], payload: Array) -> Array:
        """Return the margin of the reactions in some states with payloads, N; negative without admissible ones."""
        if not len(states):
            return np.zeros(0)
        wrench = demand.wrench[states] + payload[:, None] * demand.wrench_per_kg[states]
        reactions = admissible_reactions(
            self.points,
            np.zeros(3),
            -wrench[:, 3:],
            -wrench[:, :3],
            friction=self.friction,
            rolling=self._rolling,
            traction=self._traction,
            tolerance=TOLERANCE,
            ranges=False,
        )
        margin = np.nan_to_num(reactions.margin, nan=-np.inf, neginf=-np.inf)
        return np.where(reactions.possible, np.maximum(margin, 0.0), np.minimum(margin, -np.finfo(float).tiny))


def _last_held(margin: Callable[[NDArray[np.intp], Array], Array], high: Array, above: Array, below: Array) -> Array:
    """Return the greatest payloads (n,) without a negative margin, by Chandrupatla's method (1997).

    `margin` returns the margins of some of the states with payloads. At the payloads `high` (n,) they are `above` (n,),
    all negative; without payload they are `below` (n,).
    """
    result, fine = np.zeros(len(high)), FINE * high
    some = np.arange(len(high))
    last, other, third = np.zeros(len(high)), high.copy(), high.copy()  # payloads; the root is between the first two
    f, g, h = below.copy(), above.copy(), above.copy()
    part = np.full(len(high), 0.5)
    for _ in range(MOST_ROUNDS):
        if not len(some):
            break
        tried = last + part * (other - last)
        value = margin(some, tried)
        same = (value >= 0.0) == (f >= 0.0)
        third, h = np.where(same, last, other), np.where(same, f, g)
        other, g = np.where(same, other, last), np.where(same, g, f)
        last, f = tried, value
        result[some] = np.where(f >= 0.0, last, other)
        going = np.abs(other - last) > fine[some]
        some, last, other, third, f, g, h = (values[going] for values in (some, last, other, third, f, g, h))
        part = _next_part(last, other, third, f, g, h, fine[some])
    return result


def _next_part(last: Array, other: Array, third: Array, f: Array, g: Array, h: Array, fine: Array) -> Array:
    """Return the next trial as a part of the distance from `last` to `other`: inverse quadratic, or the middle."""
    with np.errstate(divide='ignore', invalid='ignore'):
        ratio, level = (last - other) / (third - other), (f - g) / (h - g)
        smooth = (level**2 < ratio) & ((1.0 - level) ** 2 < 1.0 - ratio)
        ahead = f / (g - f) * h / (g - h) + (third - last) / (other - last) * f / (h - f) * g / (h - g)
    least = 0.5 * fine / np.abs(other - last)
    return np.clip(np.where(smooth & np.isfinite(ahead), ahead, 0.5), least, 1.0 - least)
