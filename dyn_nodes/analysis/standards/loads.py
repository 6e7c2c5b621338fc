"""Load cases with forces beside gravity: wind, hands, inertia and slopes, as moments about the tipping axes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_nodes.analysis.standards.posed import Force, Limit, Posed
from dyn_nodes.model.machine import Machine


class Push(NamedTuple):
    """A horizontal force, N, at a point of a link, m."""

    link: str
    point: tuple[float, float, float]
    size: float


@dataclass(frozen=True)
class Stabilising:
    """Least ratio of stabilising to overturning moment, with forces towards each tipping axis.

    The weight of the machine and a load inside an axis stabilise; a load outside the axis and the forces overturn.

    Attributes:
        load: kg.
        pushes: forces, all in the same direction.
    """

    load: float
    pushes: tuple[Push, ...]

    def __call__(self, posed: Posed) -> Limit:
        """Return the least ratio over all axes; inf if nothing overturns the machine."""
        least = Limit(np.inf, ())
        for heading in posed.outward(self.load):
            direction = np.array([np.cos(heading), np.sin(heading), 0.0])
            forces = [Force(push.link, np.array(push.point), push.size * direction) for push in self.pushes]
            weight, load, work, names = posed.moments(self.load, forces)
            stabilising = np.maximum(weight - np.minimum(load, 0.0) - np.minimum(work, 0.0), 0.0)
            overturning = np.maximum(load, 0.0) + np.maximum(work, 0.0)
            with np.errstate(divide='ignore'):
                ratio = np.where(overturning > 0.0, stabilising / np.maximum(overturning, 1e-300), np.inf)
            k = int(np.argmin(ratio))
            if ratio[k] < least.value:
                least = Limit(float(ratio[k]), names[k])
        return least


def at_load(machine: Machine, size: float, above: float = 0.0) -> Push:
    """Return a force at the load.

    Args:
        machine: with a payload.
        size: N.
        above: height above the load point in its link, m.
    """
    assert machine.payload is not None
    x, y, z = (float(value) for value in machine.payload.position)
    return Push(machine.payload.link, (x, y, z + above), size)


def at_masses(machine: Machine, links: Iterable[str], share: float) -> tuple[Push, ...]:
    """Return forces at the centres of mass of links, of a share of their weight.

    Args:
        machine: the machine.
        links: names of the links.
        share: force over weight.
    """
    chosen = set(links)
    return tuple(
        Push(
            link.name, (float(link.com[0]), float(link.com[1]), float(link.com[2])), share * link.mass * machine.gravity
        )
        for link in machine.links
        if link.name in chosen and link.mass > 0.0 and share > 0.0
    )
