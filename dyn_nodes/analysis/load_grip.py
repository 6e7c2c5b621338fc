"""The payload at which the wheels of a standing machine begin to slide: a load chart's third limit of the ground.

Reactions are admissible where they balance the load inside the friction cones (`stability.admissible_reactions`). Their
margin is a concave function of the payload, so that payloads with admissible reactions are an interval. Where it ends
because a wheel lifts, that payload is the tipping load, which is left to the test of the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_statics import Demand, LoadStatics
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.grip import Grip, axles_of, free_directions, grip_of

TOLERANCE = 1e-6
"""Part of the load that wheels need not balance."""
NEAR = 1e-4
"""Part of a bound by which a payload has to be below it to count as its own limit."""
FINE = 2.0**-30
"""Part of a bound to which the payload is found."""
MOST_ROUNDS = 60


class LoadGrip:
    """Friction of the wheels on which the machine of a load chart stands.

    Attributes:
        checked: False where sliding is not checked: joints give way under the machine, or it stands on tracks.
        friction: (w,) static coefficients.
        points: (w, 3) ground points of the wheels, m.
    """

    def __init__(self, statics: LoadStatics) -> None:
        machine, gear, grip = statics.machine, statics.gear, grip_of(statics.machine)
        self.checked = not (machine.contacts or gear.gives_way)
        wheels = [k for k, own in enumerate(machine.wheels) if gear.carrying[k]] if self.checked else []
        poses, axle = link_poses(machine.links, machine.joints, initial_positions(machine)), axles_of(machine)
        names = [machine.wheels[k] for k in wheels]
        axles = np.array([poses[own.link][:3, :3] @ axle[own.name] for own in names]).reshape(-1, 3)
        rolls = np.array([own.rolling is not None for own in names], dtype=bool)
        carrying = Grip(*(part[wheels] for part in grip))
        self.friction, self._traction = carrying.friction, carrying.traction
        self.points, self._rolling = gear.points[: 2 * len(wheels)], free_directions(carrying, axles, rolls)
        if len(self.points) > len(rolls):  # a planar machine has its wheels twice
            self.friction, self._traction = np.tile(self.friction, 2), np.tile(self._traction, 2)
            self._rolling = np.tile(self._rolling, (2, 1))

    @property
    def known(self) -> bool:
        """Whether the machine file says how its wheels hold."""
        return bool(self.friction.any())

    @property
    def certain(self) -> bool:
        """Whether `splits` show some states that the wheels hold: no roller leaves a direction without force."""
        return self.known and bool(np.isnan(self._traction).all()) and np.linalg.matrix_rank(self._balance) == 3

    @property
    def _balance(self) -> Array:
        """(3, w) normal force and its moments about x and y of the wheels' normal forces."""
        return np.vstack([np.ones(len(self.points)), self.points[:, 1], -self.points[:, 0]])

    @cached_property
    def splits(self) -> tuple[Array, Array]:
        """Normal forces (w, 3) of least norm for a force and its moments, and (w,) those of four that balance."""
        split, spare = np.linalg.pinv(self._balance), np.zeros(len(self.points))
        if len(self.points) == 4:
            spare = np.linalg.svd(self._balance)[2][3]
        return np.ascontiguousarray(split), np.where(np.abs(spare) > 1e-9, spare, 0.0)

    def greatest_held(self, demand: Demand, bound: Array) -> Array:
        """Return the greatest payloads (N,) with admissible reactions, kg.

        It is inf where the wheels hold up to the bound (N,), and 0 where they do not even hold without payload.
        """
        result = np.full(len(bound), np.inf)
        if not self.known:
            return result
        margin = self._margin(demand, np.arange(len(bound)), (1.0 - NEAR) * bound)
        places = np.flatnonzero(margin < 0.0)
        result[places] = 0.0
        above, below = margin[places], self._margin(demand, places, np.zeros(len(places)))
        held = below >= 0.0
        places, ends = places[held], ((1.0 - NEAR) * bound[places[held]], above[held], below[held])
        result[places] = _last_held(lambda some, payload: self._margin(demand, places[some], payload), *ends)
        return result

    def _margin(self, demand: Demand, places: NDArray[np.intp], payload: Array) -> Array:
        """Return the margin of the reactions in some of the states with payloads, N; negative where there are none."""
        if not len(places):
            return np.zeros(0)
        wrench = demand.wrench[places] + payload[:, None] * demand.wrench_per_kg[places]
        found = admissible_reactions(
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
        margin = np.nan_to_num(found.margin, nan=-np.inf, neginf=-np.inf)
        return np.where(found.possible, np.maximum(margin, 0.0), np.minimum(margin, -np.finfo(float).tiny))


def _last_held(margin: Callable[[NDArray[np.intp], Array], Array], high: Array, above: Array, below: Array) -> Array:
    """Return the greatest payloads (n,) without a negative margin, by Chandrupatla's method (1997).

    `margin` gives that of some of the states with payloads. Those of the payloads `high` (n,) are `above` (n,), which
    are negative, those of no payload `below` (n,).
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
        some, last, other, third, f, g, h = (own[going] for own in (some, last, other, third, f, g, h))
        part = _next_part(last, other, third, f, g, h, fine[some])
    return result


def _next_part(last: Array, other: Array, third: Array, f: Array, g: Array, h: Array, fine: Array) -> Array:
    """Return where to try next, as a part of the way from `last` to `other`: by a parabola, or in the middle."""
    with np.errstate(divide='ignore', invalid='ignore'):
        place, level = (last - other) / (third - other), (f - g) / (h - g)
        smooth = (level**2 < place) & ((1.0 - level) ** 2 < 1.0 - place)
        ahead = f / (g - f) * h / (g - h) + (third - last) / (other - last) * f / (h - f) * g / (h - g)
    least = 0.5 * fine / np.abs(other - last)
    return np.clip(np.where(smooth & np.isfinite(ahead), ahead, 0.5), least, 1.0 - least)
