"""How a machine stands on its suspension, from the load by Newton-Euler and from a gyroscope, each where it is good.

Differentiating noisy encoders twice gives the load well at low frequencies only: the machine's rocking on its wheels (1
to 3 Hz) comes late or drowned in noise. A gyroscope sees that rocking at once, and the suspension turns it into loads:
stiffness times rotation. So the direction of the ground is carried along by the gyroscope and drawn slowly towards
the one at which the suspension balances the Newton-Euler load (a complementary filter): loads below the crossover come
from the load, above it from the suspension. A wrong stiffness then spoils only the rocking part, and a wrong gyroscope
bias nothing that lasts.
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
from dyn_nodes.monitor.load_model import Load
from dyn_nodes.stability import support_order, zmp_degree
from dyn_nodes.stability.equilibrium.standing import standing_supports
from dyn_nodes.stability.polygon import polygon_fault
from dyn_nodes.stability.wheel_loads import WheelLoads, balance_loads


@dataclass(frozen=True)
class ObserverSettings:
    """How the two sources are joined.

    Attributes:
        time_constant: of the complementary filter, s.
        bias_time: in which the gyroscope's bias is learnt from the load while the machine works, s.
        rest_time: in which it is learnt from the gyroscope alone while the joints stand still, s.
        disagreement: of the two centres of pressure, over the polygon's inradius; where it lasts longer than `patience`
            the gyroscope's direction is dropped for that of the load: after a slip, or where the ground has changed.
        patience: s; in a shock the load comes late, and the gyroscope is right. A machine that presses on nothing for
            longer has left the ground, which is forgotten.
        lifted: share of the normal force below which a wheel counts as off the ground in the load; the direction is
            not drawn while a wheel is off in both, as nothing but the gyroscope then sees it.
        standing: s for which the load must have all wheels down to count against the gyroscope.
        trust: the direction is drawn by the shift of so much of the inradius at most, and little while the machine
            rocks hard enough for its dampers to hold as much: the load in a shock is not to be trusted.
        renewal: s; after a wheel was off the direction is found anew, from the load of this time at first.
    """

    time_constant: float = 0.8
    bias_time: float = 20.0
    rest_time: float = 1.0
    disagreement: float = 0.35
    patience: float = 0.4
    lifted: float = 0.01
    standing: float = 0.1
    trust: float = 0.05
    renewal: float = 0.15


class Footing(NamedTuple):
    """Result of :class:`GroundObserver`, base axes.

    Attributes:
        normal: (s,) push of the ground on each spring, N.
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
    """Which springs of a machine belong to which wheel or other contact.

    Args:
        machine: the machine; the springs of a contact follow one another.

    Attributes:
        names: of the contacts.
        starts: (c,) index of the first spring of each.
        corners: indices of the springs that may be corners of the support polygon.
    """

    def __init__(self, machine: Machine) -> None:
        own = [spring.contact for spring in machine.supports]
        self.names = tuple(dict.fromkeys(own))
        self.starts = np.array([own.index(name) for name in self.names], dtype=np.intp)
        self.corners = np.array([k for k, spring in enumerate(machine.supports) if spring.corner], dtype=np.intp)

    def summed(self, values: Array) -> Array:
        """Return the sums (c, ...) over the springs of each contact of values (s, ...)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))


class GroundObserver:
    """Follows the ground below a machine.

    Args:
        machine: on three wheels or more in a polygon, or on two tracks.
        settings: of the filter.

    Attributes:
        contacts: whose springs they are.
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
        """(c,) contacts with a spring that carries."""
        return np.asarray(np.logical_or.reduceat(self.standing, self.contacts.starts))

    @property
    def bias(self) -> Array:
        """(3,) of the gyroscope, as learnt, rad/s."""
        return self.memory[:DIRECTION].copy()

    @property
    def balancing(self) -> Array:
        """(3,) normal of the ground at which the springs balance the load alone, base axes; NaN before the first."""
        return self.memory[BALANCING : BALANCING + 3]

    def forget(self) -> None:
        """Forget how the ground lay; the bias of the gyroscope stays."""
        self.memory[DIRECTION:AGE] = np.nan

    @property
    def resets(self) -> int:
        """How often the two sources disagreed."""
        return int(self.memory[RESETS])

    def clear(self) -> None:
        """Forget where the ground is."""
        self.memory[:RESETS] = 0.0
        self.memory[DIRECTION:AGE] = np.nan

    @cached_property
    def law(self) -> tuple[Array, tuple[float, ...], NDArray[np.intp], NDArray[np.intp]]:
        """What `follow_kernel` knows of the machine, whose polygon has been learnt."""
        assert self.polygon is not None
        own, stiffness = self.settings, float(self.stiffness.sum())
        numbers = own.time_constant, own.bias_time, own.rest_time, own.patience, own.lifted, own.standing, own.renewal
        trust, lag = own.trust / (stiffness * self.radius), float(self.damping.sum() / stiffness)
        settings = (*numbers, own.disagreement * self.radius, trust, lag)
        return self.springs, settings, self.polygon, self.contacts.starts

    def statics(self, load: Load) -> WheelLoads:
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
        """Take the support polygon of the springs' attachments (s, 3), base axes."""
        corners = self.contacts.corners
        places = corners[self.standing[corners]]
        self.polygon = places[support_order(attachments[places])]
        points = attachments[self.polygon]
        degree = zmp_degree(points, points.mean(axis=0), np.array([0.0, 0.0, -1.0]))
        self.radius = float(degree.inradius)

    def stand_on(self, standing: NDArray[np.bool_]) -> None:
        """Take other supports (s,) as those that carry, as after legs have moved."""
        if not np.array_equal(standing, self.standing):
            self.standing, self.polygon = standing, None
            self.__dict__.pop('law', None)

    def fault(self, points: Array, *directions: Array) -> str:
        """Return why ground points (s, 3) of the springs are no support polygon seen from (3,) directions; '' if not.

        Joints between base and wheels, and ground that is seen from below, take the corners out of their order.
        """
        order = self.polygon
        assert order is not None
        names = [self._names[k] for k in order]
        return next(filter(None, (polygon_fault(points[order], each, names) for each in directions)), '')

    def without_gyroscope(self, load: Load) -> Footing:
        """Return the footing that balances a load."""
        found = self.statics(load)
        return Footing(found.normal, found.plane, found.feet, load.force, load.moment, found.balanced, found.pressed)

    def followed(self, load: Load, found: Array, balanced: bool, pressed: bool) -> Footing:
        """Return the footing of what `follow_kernel` found under a load."""
        w = len(self.stiffness)
        feet = found[w + 7 :].reshape(w, 3)
        return Footing(found[:w], found[w : w + 4], feet, load.force, found[w + 4 : w + 7], balanced, pressed)


def ground_axes(plane: Array) -> Array:
    """Return (3, 3): columns are heading, left and normal of a plane (4,), in its axes; NaN where x is the normal."""
    nx, ny, nz, _ = plane.tolist()
    x, y, z = 1.0 - nx * nx, 0.0 - nx * ny, 0.0 - nx * nz
    size = math.sqrt(x * x + y * y + z * z) or math.nan
    x, y, z = x / size, y / size, z / size
    return np.array(((x, ny * z - nz * y, nx), (y, nz * x - nx * z, ny), (z, nx * y - ny * x, nz)))
