"""The vehicles of tables 4.1 to 4.3 and 5.1; and all vehicles of the source as trees with rolling contacts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.wheeled_vehicles import (
    WheeledVehicle,
    axle_vehicle,
    caster_vehicle,
    omni_vehicle,
    rolling_disk,
)
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

Array = NDArray[np.float64]
State = tuple[Array, Array, Array]
FOUR_ROWS = ((45, 0, 56.3, 0.36), (135, 180, 123.7, 0.36), (45, 180, 236.3, 0.36), (135, 0, 303.7, 0.36))
ISOTROPIC_ROWS = ((45, 0, -45, 0.3), (45, 90, 45, 0.3), (-135, 180, 135, 0.3), (-135, 270, 225, 0.3))
SIX_ANGLES = (90, 210, 330, 30, 150, 270)


def omni_wheel(roller: float, hub: float, direction: float, distance: float, driven: bool = True) -> OmniWheel:
    """Return a wheel of the tables: angles in degrees, distance in m."""
    alpha, beta, delta = np.deg2rad([roller, hub, direction])
    return OmniWheel(alpha, beta, delta, distance, 0.1, 0.01, 2.0, 0.01, 0.00515, driven)


def vehicle(count: int, driven: Collection[int] | None = None) -> OmniVehicle:
    """Return the vehicle with 3, 4 or 6 wheels.

    Args:
        count: of wheels.
        driven: numbers of the driven wheels, from 1; all of them where None.
    """
    rows = FOUR_ROWS if count == 4 else tuple((90, b, b, 0.3) for b in SIX_ANGLES[:count])
    wheels = [omni_wheel(*row, driven=driven is None or k in driven) for k, row in enumerate(rows, 1)]
    return OmniVehicle(wheels, *((37.0, 1.6033) if count == 4 else (32.0, 1.7067)))


def isotropic_vehicle() -> OmniVehicle:
    """Return the vehicle of table 5.1 with the platform of table 4.2."""
    return OmniVehicle([omni_wheel(*row) for row in ISOTROPIC_ROWS], 37.0, 1.6033)


SPATIAL: dict[str, Callable[[], WheeledVehicle]] = {
    'driven axle': axle_vehicle,
    'caster vehicle': caster_vehicle,
    'omni 3': lambda: omni_vehicle(vehicle(3)),
    'mecanum 4': lambda: omni_vehicle(vehicle(4)),
    'isotropic 4': lambda: omni_vehicle(isotropic_vehicle()),
    'omni 6': lambda: omni_vehicle(vehicle(6)),
    'disk': rolling_disk,
    'disk by contact': lambda: rolling_disk(by_contact=True),
}
"""Vehicles in space, with weight, as constrained systems."""


def random_states(own: WheeledVehicle, count: int, seed: int) -> Iterator[State]:
    """Return `count` times q, v that meets the constraints, and efforts on all joints of the size of its weights."""
    rng = np.random.default_rng(seed)
    system = own.blocks
    for _ in range(count):
        q = own.random_position(rng)
        N = Subspaces(system.at(q).J).motions
        v = N @ rng.normal(size=N.shape[1])
        yield q, v, rng.normal(size=system.tree.nv) * np.abs(system.at(q, v).h).max()
