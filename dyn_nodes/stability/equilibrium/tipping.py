"""Tipping of a machine by equilibrium: the load, slope or acceleration at which its static equilibrium is first lost.

As a load grows, supports lift, axles reach their stops, springs and tyres yield and the machine leans. `tipping` follows
the stable equilibrium (`search.follow_kernel`) to the load beyond which none is near: the first loss of equilibrium, the
tipping load. From there the machine moves on by itself, onto a stop, onto another support, or over; the path is
followed again from where it comes to rest, until it overturns: the fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.stability.equilibrium.balance import Balance, new_balance
from dyn_nodes.stability.equilibrium.gear import Gear, RunningGear
from dyn_nodes.stability.equilibrium.search import (
    FOUND,
    LIFTED,
    LOST,
    LOWER,
    RELEASED,
    TOUCHED,
    UPPER,
    follow_kernel,
    settle_kernel,
)

Array = NDArray[np.float64]
FINE = 1e-6
"""Step of the load at which the end of a path is found, of the mass of the machine or of 1 rad."""
MOST = 50.0
"""Greatest payload that is tried, of the mass of the machine."""
STEEPEST = 1.2
"""Greatest slope that is tried, rad."""
LEVELS = 8
"""Number of equilibria that are lost one after another before a fall."""
EVENTS = 64

StageKind = Literal['lift-off', 'touch-down', 'stop', 'release', 'loss', 'fall']
NAMES: dict[int, StageKind] = {
    LIFTED: 'lift-off',
    TOUCHED: 'touch-down',
    LOWER: 'stop',
    UPPER: 'stop',
    RELEASED: 'release',
}


class Ramp(NamedTuple):
    """How a load grows: by payload, kg, or by a turn of gravity towards `direction`, rad.

    Attributes:
        payload: at the start, kg.
        gravity: (3,) at the start in axes of the ground, m/s2.
        size: of gravity, m/s2.
        direction: (3,) unit, across gravity.
        turns: gravity turns, the payload stays.
    """

    payload: float
    gravity: Array
    size: float
    direction: Array
    turns: bool


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A stable equilibrium.

    Attributes:
        q: (n,) position of the joints of the gear.
        multipliers: (m,) of the constraints.
        compression: (c,) of the supports, m; negative: gap.
        loads: (c,) normal force of the ground on each support, N.
    """

    q: Array
    multipliers: Array
    compression: Array
    loads: Array


@dataclass(frozen=True)
class Stage:
    """An event of a growing load.

    Attributes:
        kind: what happens.
        name: of the support or joint; '' for a loss or a fall.
        load: at which it happens, kg or rad.
    """

    kind: StageKind
    name: str
    load: float


@dataclass(frozen=True, eq=False)
class Tipping:
    """How a machine tips under a growing load.

    Attributes:
        stages: events in order.
        first_lift_off: load at which a support lifts first that carried at the start; inf: none.
        load: tipping load: that of the first loss of equilibrium; inf: none up to the greatest load tried.
        fall: load at which the machine overturns; inf: none.
        at_loss: last equilibrium before the first loss.
    """

    stages: tuple[Stage, ...]
    first_lift_off: float
    load: float
    fall: float
    at_loss: Equilibrium


class NotStandingError(ValueError):
    """A machine does not stand in this posture."""


def settle(running: RunningGear, payload: float, gravity: Array, start: Array | None = None) -> Equilibrium | None:
    """Return the stable equilibrium to which a machine sinks when it is set down level; None where it overturns.

    Args:
        running: the gear of the machine in its posture.
        payload: kg.
        gravity: (3,) in axes of the ground, x along the heading, m/s2.
        start: (n,) position to start from.
    """
    q = (running.start if start is None else start).copy()
    gear = running.gear
    multipliers, at = np.zeros(gear.rows), new_balance(gear)
    outcome = settle_kernel(gear, q, float(payload), np.array(gravity, dtype=np.float64), multipliers, at)
    return _equilibrium(gear, q, multipliers, at) if outcome == FOUND else None


def tipping_load(running: RunningGear, gravity: Array, payload: float = 0.0) -> Tipping:
    """Return how a machine tips as its payload grows from a value, kg.

    Raises NotStandingError where it does not stand at the start.
    """
    ramp = Ramp(0.0, np.ascontiguousarray(gravity), float(np.linalg.norm(gravity)), np.zeros(3), False)
    mass = running.gear.mass
    return _tipping(running, ramp, payload, MOST * mass, FINE * mass)


def tipping_angle(running: RunningGear, payload: float, size: float, heading: float) -> Tipping:
    """Return how a machine tips as the ground under it is inclined, rad.

    Args:
        running: the gear of the machine in its posture.
        payload: kg.
        size: of gravity, m/s2.
        heading: of the downhill direction from the front, counter-clockwise, rad.

    Raises NotStandingError where it does not stand on level ground.
    """
    direction = np.array([np.cos(heading), np.sin(heading), 0.0])
    ramp = Ramp(float(payload), np.array([0.0, 0.0, -size]), size, direction, True)
    return _tipping(running, ramp, 0.0, STEEPEST, FINE)


def _tipping(running: RunningGear, ramp: Ramp, share: float, most: float, fine: float) -> Tipping:
    gear = running.gear
    payload, gravity = loaded(ramp, share)
    start = settle(running, payload, gravity)
    if start is None:
        raise NotStandingError(f'{running.machine.name}: it does not stand in this posture')
    q, multipliers = start.q.copy(), start.multipliers.copy()
    stages: list[Stage] = []
    first, lift_off, at_loss, at = np.inf, np.inf, start, new_balance(gear)
    carried = {name for name, load in zip(running.supports, start.loads) if load > 0.0}
    for _ in range(LEVELS):
        events = np.zeros((EVENTS, 3))
        step = 0.05 * (gear.mass if not ramp.turns else 1.0)
        share, outcome, count = follow_kernel(gear, ramp, share, q, multipliers, step, most, fine, events, at)
        for kind, number, value in events[:count]:
            names = running.supports if kind in (LIFTED, TOUCHED) else running.joints
            stages.append(Stage(NAMES[int(kind)], names[int(number)], float(value)))
            if kind == LIFTED and names[int(number)] in carried:
                lift_off = min(lift_off, float(value))
        if outcome != LOST:
            return Tipping(tuple(stages), lift_off, first, np.inf, at_loss)
        if not np.isfinite(first):
            first, at_loss = share, _equilibrium(gear, q.copy(), multipliers.copy(), at)
        stages.append(Stage('loss', '', share))
        payload, gravity = loaded(ramp, share + fine)
        if settle_kernel(gear, q, payload, gravity, multipliers, at) != FOUND:
            break
        share += fine
    stages.append(Stage('fall', '', share))
    return Tipping(tuple(stages), min(lift_off, first), first, share, at_loss)


def loaded(ramp: Ramp, share: float) -> tuple[float, Array]:
    """Return payload, kg, and gravity (3,), m/s2, at a share of a ramp."""
    if not ramp.turns:
        return ramp.payload + share, ramp.gravity
    return ramp.payload, np.cos(share) * ramp.gravity + np.sin(share) * ramp.size * ramp.direction


def _equilibrium(gear: Gear, q: Array, multipliers: Array, at: Balance) -> Equilibrium:
    compression = at.compression.copy()
    return Equilibrium(q, multipliers, compression, gear.supports['stiffness'] * np.maximum(compression, 0.0))
