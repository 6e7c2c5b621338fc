"""State of a machine on its suspension, from the Newton-Euler load and from a gyroscope, each in its frequency range.

Differentiating noisy encoders twice gives the load well at low frequencies only: the machine's rocking on its wheels (1
to 3 Hz) is late or lost in noise. A gyroscope measures that rocking at once, and the suspension converts it into loads:
stiffness times rotation. So the direction of the ground is integrated from the gyroscope and drawn slowly towards the
one at which the suspension balances the Newton-Euler load (a complementary filter): loads below the crossover frequency
come from the load, above it from the suspension. A wrong stiffness then affects only the rocking part, and a wrong
gyroscope bias has no lasting effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.ground_kernels import AGE, BALANCING, DIRECTION, MEMORY, RESETS
from dyn_nodes.monitor.load_model import GroundLoad
from dyn_nodes.stability import support_order, zmp_degree
from dyn_nodes.stability.equilibrium.standing import standing_supports
from dyn_nodes.stability.polygon import polygon_fault, polygon_fault_kernel
from dyn_nodes.stability.wheel_loads import WheelLoads, balance_loads


@dataclass(frozen=True)
class ObserverSettings:
    """Settings of the combination of the two sources.

    Attributes:
        time_constant: of the complementary filter, s.
        bias_time: time constant of the gyroscope's bias, from the load while the machine works, s.
        rest_time: time constant of the bias, from the gyroscope alone while the joints are at rest, s.
        disagreement: of the two centres of pressure, over the polygon's inradius; if it lasts longer than `timeout` the
            gyroscope's direction is replaced by the direction of the load: after a slip, or if the ground has changed.
        timeout: s; in a shock the load is late, and the gyroscope is right. A machine without load on the ground for
            longer has left it, and the direction is discarded.
        lifted: share of the normal force below which a wheel counts as off the ground in the load; the direction is not
            corrected while a wheel is off in both, because only the gyroscope is valid then.
        standing: time for which the load must have all wheels down to be used against the gyroscope, s.
        trust: the direction is corrected by this fraction of the inradius at most, and little while the machine rocks
            hard enough for its dampers to hold as much: the load in a shock is not reliable.
        renewal: s; after a wheel was off the direction is determined anew, from the load of this time at first.
    """

    time_constant: float = 0.8
    bias_time: float = 20.0
    rest_time: float = 1.0
    disagreement: float = 0.35
    timeout: float = 0.4
    lifted: float = 0.01
    standing: float = 0.1
    trust: float = 0.05
    renewal: float = 0.15


class Footing(NamedTuple):
    """Result of :class:`GroundObserver`, base axes.

    Attributes:
        normal: (s,) force of the ground on each spring, N.
        plane: (4,) of the ground, unit normal and distance, m.
        feet: (s, 3) ground points below the springs, m.
        force, moment: (3,) load and its moment about the base link's origin that these loads balance, N, N m.
        balanced, pressed: as in :class:`WheelLoads`.
    """

    normal: Array
    plane: Array
    feet: Array
    force: Array
    moment: Array
    balanced: bool
    pressed: bool


class ContactSprings:
    """Assignment of the springs of a machine to wheels and other contacts.

    Args:
        machine: the machine; the springs of a contact follow one another.

    Attributes:
        names: of the contacts.
        starts: (c,) index of the first spring of each.
        corners: indices of the springs that may be corners of the support polygon.
    """

    def __init__(self, machine: Machine) -> None:
        contacts = [spring.contact for spring in machine.supports]
        self.names = tuple(dict.fromkeys(contacts))
        self.starts = np.array([contacts.index(name) for name in self.names], dtype=np.intp)
        self.corners = np.array([k for k, spring in enumerate(machine.supports) if spring.corner], dtype=np.intp)

    def summed(self, values: Array) -> Array:
        """Return the sums (c, ...) of values (s, ...) over the springs of each contact."""
        if len(self.starts) == len(values):
            return values
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))


class GroundObserver:
    """Estimates the ground below a machine.

    Args:
        machine: on three wheels or more in a polygon, or on two tracks.
        settings: of the filter.

    Attributes:
        contacts: assignment of the springs.
        standing: (s,) springs that carry, or would before the machine moves by more than they yield.
        polygon: indices of the springs at the corners of the support polygon, counter-clockwise.
        radius: inradius of that polygon, m.
        memory: of `follow_kernel` (`MEMORY`,).
    """

    def __init__(self, machine: Machine, settings: ObserverSettings | None = None) -> None:
        self.settings = settings or ObserverSettings()
        springs = machine.supports
        numbers = [(spring.stiffness, spring.damping, spring.free_length) for spring in springs]
        self.springs = np.ascontiguousarray(np.array(numbers).T)
        self.stiffness, self.damping, self.free_length = self.springs
        self.contacts = ContactSprings(machine)
        self.standing = standing_supports(machine)
        self._names = tuple(spring.name for spring in springs)
        self.polygon: NDArray[np.intp] | None = None
        self.radius = 1.0
        self.memory = np.zeros(MEMORY)
        self.clear()

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Contacts (c,) with a spring that carries."""
        return np.asarray(np.logical_or.reduceat(self.standing, self.contacts.starts))

    @property
    def bias(self) -> Array:
        """Estimated bias (3,) of the gyroscope, rad/s."""
        return self.memory[:DIRECTION].copy()

    @property
    def balancing(self) -> Array:
        """Normal (3,) of the ground at which the springs balance the load alone, base axes; NaN before the first."""
        return self.memory[BALANCING : BALANCING + 3]

    def forget(self) -> None:
        """Discard the direction of the ground; the bias of the gyroscope is kept."""
        self.memory[DIRECTION:AGE] = np.nan

    @property
    def resets(self) -> int:
        """Number of disagreements of the two sources."""
        return int(self.memory[RESETS])

    def clear(self) -> None:
        """Discard the state."""
        self.memory[:RESETS] = 0.0
        self.memory[DIRECTION:AGE] = np.nan

    @cached_property
    def law(self) -> tuple[Array, tuple[float, ...], NDArray[np.intp], NDArray[np.intp]]:
        """Parameters of `follow_kernel`, after the polygon has been determined."""
        assert self.polygon is not None
        settings_, stiffness = self.settings, float(self.stiffness.sum())
        numbers = (
            settings_.time_constant,
            settings_.bias_time,
            settings_.rest_time,
            settings_.timeout,
            settings_.lifted,
            settings_.standing,
            settings_.renewal,
        )
        trust, lag = settings_.trust / (stiffness * self.radius), float(self.damping.sum() / stiffness)
        settings = (*numbers, settings_.disagreement * self.radius, trust, lag)
        return self.springs, settings, self.polygon, self.contacts.starts

    def statics(self, load: GroundLoad) -> WheelLoads:
        """Return the wheel loads that balance a load, without the gyroscope."""
        if self.polygon is None:
            self.learn_polygon(load.attachments)
        assert self.polygon is not None
        plane = self.memory[BALANCING:AGE]
        guess = None if np.isnan(plane[0]) else plane
        result = balance_loads(
            load.attachments, self.stiffness, self.free_length, self.polygon, load.force, load.moment, guess
        )
        if result.pressed and result.balanced:
            plane[:] = result.plane
        return result

    def learn_polygon(self, attachments: Array) -> None:
        """Determine the support polygon from the springs' attachments (s, 3), base axes."""
        corners = self.contacts.corners
        supports = corners[self.standing[corners]]
        self.polygon = supports[support_order(attachments[supports])]
        points = attachments[self.polygon]
        degree = zmp_degree(points, points.mean(axis=0), np.array([0.0, 0.0, -1.0]))
        self.radius = float(degree.inradius)

    def set_standing(self, standing: NDArray[np.bool_]) -> None:
        """Set the supports (s,) that carry, for example after legs have moved."""
        if not np.array_equal(standing, self.standing):
            self.standing, self.polygon = standing, None
            self.__dict__.pop('law', None)

    def fault(self, points: Array, *directions: Array) -> str:
        """Return why ground points (s, 3) of the springs form no support polygon seen from (3,) directions, or ''.

        Joints between base and wheels, and ground that is seen from below, change the order of the corners.
        """
        order = self.polygon
        assert order is not None
        corners = points[order]
        for each in directions:
            if polygon_fault_kernel(corners[np.newaxis], each[np.newaxis])[2]:
                return polygon_fault(corners, each, [self._names[k] for k in order])
        return ''

    def without_gyroscope(self, load: GroundLoad) -> Footing:
        """Return the footing that balances a load."""
        loads = self.statics(load)
        return Footing(loads.normal, loads.plane, loads.feet, load.force, load.moment, loads.balanced, loads.pressed)

    def followed(self, load: GroundLoad, results: Array, balanced: bool, pressed: bool) -> Footing:
        """Return the footing for the results of `follow_kernel` under a load."""
        w = len(self.stiffness)
        feet = results[w + 7 :].reshape(w, 3)
        return Footing(results[:w], results[w : w + 4], feet, load.force, results[w + 4 : w + 7], balanced, pressed)


def ground_axes(plane: Array) -> Array:
    """Return axes (3, 3), columns heading, left and normal of a plane (4,), in its axes; NaN if x is the normal."""
    nx, ny, nz, _ = plane.tolist()
    x, y, z = 1.0 - nx * nx, 0.0 - nx * ny, 0.0 - nx * nz
    size = math.sqrt(x * x + y * y + z * z) or math.nan
    x, y, z = x / size, y / size, z / size
    return np.array(((x, ny * z - nz * y, nx), (y, nz * x - nx * z, ny), (z, nx * y - ny * x, nz)))
