"""The vehicles of tables 4.1 to 4.3 and 5.1; and all vehicles of the source as trees with rolling contacts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache

import numpy as np

from dyn_nodes.analysis.omni_config import OmniMachine, load_omni_machine
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.saha_1991.wheeled_vehicles import (
    WheeledVehicle,
    axle_vehicle,
    caster_vehicle,
    omni_vehicle,
    rolling_disk,
)

State = tuple[Array, Array, Array]
TABLES = {3: 'three_wheels', 4: 'four_wheels', 6: 'six_wheels'}
"""Files of tables 4.1 to 4.3 in config/omni, by the number of wheels."""


@cache
def _table(name: str) -> OmniMachine:
    return load_omni_machine(find_resource(f'config/omni/{name}.yaml'))


def vehicle(count: int, driven: Collection[int] | None = None) -> OmniVehicle:
    """Return the vehicle with 3, 4 or 6 wheels.

    Args:
        count: of wheels.
        driven: numbers of the driven wheels, from 1; None: all.
    """
    machine = _table(TABLES[count])
    return machine.vehicle if driven is None else machine.with_drives([f'wheel_{k}' for k in driven]).vehicle


def isotropic_vehicle() -> OmniVehicle:
    """Return the vehicle of table 5.1 with the platform of table 4.2."""
    return _table('four_wheels_isotropic').vehicle


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


def random_states(wheeled: WheeledVehicle, count: int, seed: int) -> Iterator[State]:
    """Yield `count` states q, v that meet the constraints, with joint efforts of the size of the weights."""
    rng = np.random.default_rng(seed)
    system = wheeled.blocks
    for _ in range(count):
        q = wheeled.random_position(rng)
        N = Subspaces(system.at(q).J).motions
        v = N @ rng.normal(size=N.shape[1])
        yield q, v, rng.normal(size=system.tree.nv) * np.abs(system.at(q, v).h).max()
