"""Loads and attitude of a plant, and detection of lifted wheels.

loads_of = LoadsAndAttitude(plant)
watch = Wheels(*loads_of(plant))
watch.see(plant.time, *loads_of(plant))
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.present import write_edges
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.equilibrium.standing import gives_way

Attitude = tuple[float, float]
"""Roll and pitch of a base, rad."""
LIFT_TIME, LIFT_TILT = 0.1, np.radians(0.5)
"""A wheel has lifted if it is off the ground for longer than this, s, or the base turns by more meanwhile, rad."""


class LoadsAndAttitude:
    """Loads and attitude of plants of one machine.

    Args:
        plant: of that machine.
        criterion: as in `GovernorSettings`. With `tipping` a load belongs to an edge of the support polygon: the loads
            of the springs, each weighted by its distance from the edge over the sum of the distances.
    """

    def __init__(self, plant: Plant, criterion: str = 'lift_off') -> None:
        index = plant.system.index
        self._edges = None if criterion == 'lift_off' else _edges_of(plant)
        machine = plant.machine
        parts = machine.ground_contacts if self._edges is None else machine.supports
        self._loads = np.array([index('output', f'{part.name}/normal_force') for part in parts])
        self._attitude = index('output', 'roll'), index('output', 'pitch')

    def __call__(self, plant: Plant) -> tuple[Array, Attitude]:
        """Return the loads of the contacts or edges, N, and roll and pitch of the base, rad."""
        outputs = plant.outputs()
        roll, pitch = self._attitude
        loads = outputs[self._loads]
        if self._edges is not None:
            loads = self._edges @ loads
        return loads, (float(outputs[roll]), float(outputs[pitch]))


def _edges_of(plant: Plant) -> Array:
    """Return the weights (k, s) of the springs in the loads of the edges; the support polygon of the first posture.

    On pivots each spring counts alone.
    """
    if gives_way(plant.machine):
        return np.eye(len(plant.machine.supports))
    ground = StandingGround(in_space(plant.machine))
    points = ground.first_attachments()
    edges = np.empty((len(points), len(points)))
    write_edges(ground.corners, points[:, 1].copy(), -points[:, 0], edges)
    return edges[: len(ground.corners)]


def travel(volts: Sequence[Array] | Array) -> float:
    """Return the sum of the magnitudes of a sequence of volts (m,)."""
    return float(np.cumsum(np.abs(volts).sum(axis=1))[-1]) if len(volts) else 0.0


def turned(before: Attitude, now: Attitude) -> float:
    """Return the angle between the verticals of a base at two instants, rad; yaw has no effect."""
    a, b = (_vertical(*attitude) for attitude in (before, now))
    across = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return math.atan2(math.hypot(*across), a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _vertical(roll: float, pitch: float) -> tuple[float, float, float]:
    return -math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)


class Wheels:
    """Observer of wheels and base.

    Args:
        loads: of the contacts or edges at rest, N (`LoadsAndAttitude`).
        attitude: of the base now.

    Attributes:
        rest: the loads at rest.
        since: first instant at which a wheel, or all wheels off an edge, count as lifted, s.
        tilt: greatest rotation, rad.
        share: least load over the mean at the start.
        initial_share: least load at the start, over the same mean.
        off: time for which a wheel or edge was without load, s.
    """

    def __init__(self, loads: Array, attitude: Attitude) -> None:
        self.rest, self._mean, self._start = loads, float(loads.mean()), attitude
        self._up: tuple[float, Attitude] | None = None
        self.since: float | None = None
        self.tilt, self.share = 0.0, float(loads.min()) / self._mean
        self.initial_share, self.off = self.share, 0.0
        self._last: float | None = None

    def see(self, time: float, loads: Array, attitude: Attitude) -> None:
        """Process an instant, s: loads of the contacts, N, and the attitude of the base."""
        self.tilt = max(self.tilt, turned(self._start, attitude))
        least = min(loads.tolist())
        passed, self._last = 0.0 if self._last is None else time - self._last, time
        self.share = min(self.share, least / self._mean)
        if least > 0.0:
            self._up = None
            return
        self.off += passed
        self._up = self._up or (time, attitude)
        if self.since is None and (time - self._up[0] > LIFT_TIME or turned(self._up[1], attitude) > LIFT_TILT):
            self.since = round(time, 6)
