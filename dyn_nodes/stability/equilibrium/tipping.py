"""Tipping of a machine by equilibrium: the load, slope or acceleration at which its static equilibrium is first lost.

As a load grows, supports lift, axles reach their stops, springs and tyres yield and the machine leans. The stable
equilibrium is followed (`search.follow`) to the load beyond which none is near: the first loss of equilibrium, the
tipping load. From there the machine moves on by itself, onto a stop, onto another support, or over; the path is
followed again from where it comes to rest, until it overturns: the fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.machine import Machine
from dyn_nodes.stability.equilibrium.axes import carrying_supports, tipping_axes
from dyn_nodes.stability.equilibrium.balance import new_balance
from dyn_nodes.stability.equilibrium.gear import RunningGear
from dyn_nodes.stability.equilibrium.search import (
    EVENTS,
    FALL,
    FLATTENED,
    FOUND,
    LEVELS,
    LIFTED,
    LOSS,
    LOWER,
    NOT_STANDING,
    RELEASED,
    TOUCHED,
    UPPER,
    Ramp,
)
from dyn_nodes.stability.equilibrium.states import ARM, balance_kernel, settle_kernel, tipping_kernel

FINE = 1e-6
"""Step of the load at which the end of a path is found, of the mass of the machine or of 1 rad."""
MOST = 4.0
"""Greatest payload that is tried, of the mass of the machine, or of its payload limit where this is more."""
STEEPEST = 1.2
"""Greatest slope that is tried, rad."""
STEP = 0.05
"""First step of a load, of the mass of the machine or of 1 rad."""

StageKind = Literal['lift-off', 'touch-down', 'stop', 'release', 'loss', 'fall', 'flattened']
NAMES: dict[int, StageKind] = {
    LIFTED: 'lift-off',
    TOUCHED: 'touch-down',
    LOWER: 'stop',
    UPPER: 'stop',
    RELEASED: 'release',
    LOSS: 'loss',
    FALL: 'fall',
    FLATTENED: 'flattened',
}


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


class Stage(NamedTuple):
    """An event of a growing load: what happens, at which support or joint ('' for a loss or a fall), kg or rad."""

    kind: StageKind
    name: str
    load: float


class AxisInSpace(NamedTuple):
    """A tipping axis: two points (2, 3) in axes of the ground, the base above the origin, m; what it passes through."""

    line: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tipping:
    """How a machine tips under a growing load.

    Attributes:
        stages: events in order.
        first_lift_off: load at which a support lifts first that carried at the start; inf: none.
        load: tipping load: that of the first loss of equilibrium; inf: none up to the greatest load tried.
        fall: load at which the machine overturns; inf: none.
        axis: about which it moves when the equilibrium is lost first; None: it is not.
        fall_axis: about which it falls; None: it does not.
    """

    stages: tuple[Stage, ...]
    first_lift_off: float
    load: float
    fall: float
    axis: AxisInSpace | None
    fall_axis: AxisInSpace | None


class NotStandingError(UserError, ValueError):
    """A machine does not stand in this posture."""


def settle(running: RunningGear, payload: float, gravity: Array, start: Array | None = None) -> Equilibrium | None:
    """Return the stable equilibrium to which a machine sinks when it is set down level; None where it overturns.

    Args:
        running: the gear of the machine in its posture.
        payload: kg.
        gravity: (3,) in axes of the ground, x along the heading, m/s2.
        start: (n,) position to start from.
    """
    gear, q = running.gear, np.array(running.start if start is None else start, dtype=np.float64)
    at, multipliers = new_balance(gear), np.zeros(gear.rows)
    if settle_kernel(gear, q, float(payload), np.asarray(gravity, dtype=np.float64), multipliers, at) != FOUND:
        return None
    compression = at.compression.copy()
    return Equilibrium(q, multipliers, compression, gear.supports['stiffness'] * np.maximum(compression, 0.0))


def tipping_load(running: RunningGear, gravity: Array, payload: float = 0.0) -> Tipping:
    """Return how a machine tips as its payload grows from a value, kg.

    Raises:
        NotStandingError: it does not stand at the start.
    """
    ramp = payload_ramp(gravity)
    mass = running.machine.total_mass
    return _tipping(running, ramp, float(payload), most_payload(running.machine), mass)


def tipping_angle(running: RunningGear, payload: float, size: float, heading: float) -> Tipping:
    """Return how a machine tips as the ground under it is inclined, rad.

    Args:
        running: the gear of the machine in its posture.
        payload: kg.
        size: of gravity, m/s2.
        heading: of the downhill direction from the front, counter-clockwise, rad.

    Raises:
        NotStandingError: it does not stand on level ground.
    """
    direction = np.array([np.cos(heading), np.sin(heading), 0.0])
    ramp = Ramp(float(payload), np.array([0.0, 0.0, -size]), float(size), direction, True)
    return _tipping(running, ramp, 0.0, STEEPEST, 1.0)


def most_payload(machine: Machine) -> float:
    """Return the greatest payload that is tried, kg."""
    return MOST * max(machine.total_mass, machine.payload.limit if machine.payload is not None else 0.0)


def payload_ramp(gravity: Array) -> Ramp:
    """Return the ramp of a payload that grows from nothing under gravity (3,), m/s2."""
    return Ramp(0.0, np.array(gravity, dtype=np.float64), float(np.linalg.norm(gravity)), np.zeros(3), False)


def _tipping(running: RunningGear, ramp: Ramp, start: float, most: float, unit: float) -> Tipping:
    gear, arm = running.gear, np.zeros(1, ARM)
    arm['mount'][0] = gear.load['point'][0]
    events, loads, positions = np.zeros((EVENTS, 3)), np.zeros((3, 1)), np.zeros((3, len(running.start)))
    count = tipping_kernel(
        gear,
        running.start,
        arm,
        ramp,
        ramp.gravity[np.newaxis],
        np.zeros((0, 2), dtype=np.int64),
        np.array([start, STEP * unit, most, FINE * unit]),
        LEVELS,
        events,
        np.zeros(gear.rows),
        positions,
        loads,
        new_balance(gear),
    )
    lift_off, loss, fall = (float(load) for load in loads[:, 0])
    if lift_off == NOT_STANDING:
        raise NotStandingError(f'{running.machine.name}: it does not stand in this posture')
    stages = []
    for kind, number, load in events[:count]:
        names = running.supports if kind in (LIFTED, TOUCHED, FLATTENED) else running.joints
        stages.append(Stage(NAMES[int(kind)], '' if number < 0 else names[int(number)], float(load)))
    axis = _axis_at(running, ramp, loss, positions[1]) if np.isfinite(loss) else None
    fall_axis = _axis_at(running, ramp, fall, positions[2]) if np.isfinite(fall) else None
    return Tipping(tuple(stages), lift_off, loss, fall, axis, fall_axis)


def _axis_at(running: RunningGear, ramp: Ramp, share: float, q: Array) -> AxisInSpace | None:
    """Return the axis that holds least at an equilibrium; None where no motion is found."""
    payload, gravity = loaded(ramp, share)
    at = new_balance(running.gear)
    balance_kernel(running.gear, q, payload, gravity, np.zeros(running.gear.rows), at)
    axes = tipping_axes(running, q, payload, gravity, carrying_supports(at.compression))
    if not len(axes.names):
        return None
    least = int(np.argmin(-axes.weights @ gravity))
    return AxisInSpace(axes.lines[least], axes.names[least])


def loaded(ramp: Ramp, share: float) -> tuple[float, Array]:
    """Return payload, kg, and gravity (3,), m/s2, at a share of a ramp."""
    if not ramp.turns:
        return ramp.payload + share, ramp.gravity
    return ramp.payload, np.cos(share) * ramp.gravity + np.sin(share) * ramp.size * ramp.direction
