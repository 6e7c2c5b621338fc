"""Tipping of a machine by equilibrium: the load, slope or acceleration at which its static equilibrium is first lost.

As a load grows, supports lift, axles reach their stops, springs and tyres yield and the machine leans. The stable
equilibrium is followed (`search.follow`) to the load beyond which no equilibrium is near. This load is the tipping
load, at the first loss of equilibrium. Beyond it the machine moves onto a stop, onto another support, or overturns. If
it comes to rest, the path is followed from there, until the machine overturns: the fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    LEVELS,
    LIFTED,
    LOSS,
    LOWER,
    NOT_STANDING,
    RELEASED,
    SOLVED,
    TOUCHED,
    UPPER,
    Ramp,
)
from dyn_nodes.stability.equilibrium.states import ARM, balance_kernel, settle_kernel, tipping_kernel
from dyn_nodes.stability.polygon import support_order

FINE = 1e-6
"""Final step of the load at the end of a path, of the mass of the machine or of 1 rad."""
MOST = 4.0
"""Greatest tried payload, of the mass of the machine, or of its payload limit if this is greater."""
STEEPEST = 1.2
"""Greatest tried slope, rad."""
STEP = 0.05
"""First step of a load, of the mass of the machine or of 1 rad."""
MOST_AT_ONCE = 4
"""Greatest number of supports for which the edges alone decide; more may support a tilted machine in several ways."""

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
    """An event of a growing load: kind, name of the support or joint ('' for a loss or a fall), load, kg or rad."""

    kind: StageKind
    name: str
    load: float


class AxisInSpace(NamedTuple):
    """A tipping axis: two points (2, 3) in axes of the ground, the base above the origin, m; names of its points."""

    line: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tipping:
    """Tipping of a machine under a growing load.

    Attributes:
        stages: events in order.
        first_lift_off: load at which the first support that carried at the start lifts; inf: none.
        load: tipping load, at the first loss of equilibrium; inf: none up to the greatest load tried.
        fall: load at which the machine overturns; inf: none.
        running: gear of the machine.
        ramp: growth of the load.
        positions: (3, n) of the gear at the first lift-off, the first loss of equilibrium and the fall.
    """

    stages: tuple[Stage, ...]
    first_lift_off: float
    load: float
    fall: float
    running: RunningGear
    ramp: Ramp
    positions: Array

    @cached_property
    def axis(self) -> AxisInSpace | None:
        """Axis of the motion at the first loss of equilibrium; None: no loss."""
        return _axis_at(self.running, self.ramp, self.load, self.positions[1])

    @cached_property
    def fall_axis(self) -> AxisInSpace | None:
        """Axis of the fall; None: no fall."""
        return _axis_at(self.running, self.ramp, self.fall, self.positions[2])


class NotStandingError(UserError, ValueError):
    """A machine has no stable rest in this posture."""


def settle(running: RunningGear, payload: float, gravity: Array, start: Array | None = None) -> Equilibrium | None:
    """Return the stable equilibrium of a machine that is set down level; None if it overturns.

    Args:
        running: the gear of the machine in its posture.
        payload: kg.
        gravity: (3,) in axes of the ground, x along the heading, m/s2.
        start: (n,) initial position.
    """
    gear, q = running.gear, np.array(running.start if start is None else start, dtype=np.float64)
    at, multipliers = new_balance(gear), np.zeros(gear.rows)
    if settle_kernel(gear, q, float(payload), np.asarray(gravity, dtype=np.float64), multipliers, at) != SOLVED:
        return None
    compression = at.compression.copy()
    return Equilibrium(q, multipliers, compression, gear.supports['stiffness'] * np.maximum(compression, 0.0))


def tipping_load(running: RunningGear, gravity: Array, payload: float = 0.0) -> Tipping:
    """Return the tipping of a machine whose payload grows from a value, kg.

    Raises:
        NotStandingError: it does not stand at the start.
    """
    ramp = payload_ramp(gravity)
    mass = running.machine.total_mass
    return _tipping(running, ramp, float(payload), most_payload(running.machine), mass)


def tipping_angle(running: RunningGear, payload: float, size: float, heading: float) -> Tipping:
    """Return the tipping of a machine on ground of growing slope, rad.

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


def rigid_edges(running: RunningGear, carrying: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the supports (e, 2) at the ends of the edges of the support polygon, counter-clockwise.

    Empty if the edges alone do not give the tipping load: passive joints below the machine give way, more than
    `MOST_AT_ONCE` supports carry, or the machine is planar.

    Args:
        running: the gear of the machine.
        carrying: (c,) whether a support carries load.
    """
    machine = running.machine
    corners = [k for k, support in enumerate(machine.supports) if support.corner and carrying[k]]
    if not running.is_rigid or machine.base.attachment == 'planar' or carrying.sum() > MOST_AT_ONCE:
        return np.zeros((0, 2), dtype=np.int64)
    order = np.array(corners)[support_order(running.gear.supports['point'][corners])]
    return np.stack([order, np.roll(order, -1)], axis=1).astype(np.int64)


def first_loss(running: RunningGear, gravity: Array, edges: NDArray[np.int64]) -> float:
    """Return the tipping load, kg: `Tipping.load` of a payload that grows from zero.

    inf: none up to the greatest tried payload; 0: the machine does not stand without payload.

    Args:
        running: the gear of the machine in its posture.
        gravity: (3,) in axes of the ground, m/s2.
        edges: (e, 2) of `rigid_edges`, which give the load without following its growth.
    """
    gear, arm, unit = running.gear, np.zeros(1, ARM), running.machine.total_mass
    arm['mount'][0] = gear.load['point'][0]
    ramp, loads = payload_ramp(gravity), np.zeros((3, 1))
    tipping_kernel(
        gear,
        running.start,
        arm,
        ramp,
        ramp.gravity[np.newaxis],
        edges,
        np.array([0.0, STEP * unit, most_payload(running.machine), FINE * unit]),
        1,
        np.empty((EVENTS, 3)),
        np.zeros(gear.rows),
        np.empty((3, len(running.start))),
        loads,
        new_balance(gear),
    )
    return max(float(loads[1, 0]), 0.0)


def most_payload(machine: Machine) -> float:
    """Return the greatest tried payload, kg."""
    return MOST * max(machine.total_mass, machine.payload.limit if machine.payload is not None else 0.0)


def payload_ramp(gravity: Array) -> Ramp:
    """Return the ramp of a payload that grows from zero under gravity (3,), m/s2."""
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
        raise NotStandingError(f'{running.machine.name}: no stable rest in this posture')
    stages = []
    for kind, number, load in events[:count]:
        names = running.supports if kind in (LIFTED, TOUCHED, FLATTENED) else running.joints
        stages.append(Stage(NAMES[int(kind)], '' if number < 0 else names[int(number)], float(load)))
    return Tipping(tuple(stages), lift_off, loss, fall, running, ramp, positions)


def _axis_at(running: RunningGear, ramp: Ramp, share: float, q: Array) -> AxisInSpace | None:
    """Return the axis with the least holding moment at an equilibrium; None without one or a tipping motion."""
    if not np.isfinite(share):
        return None
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
