"""The vehicles of saha-1991 with random states, for tests of the formulations."""

from __future__ import annotations

import numpy as np

from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.wheeled_vehicles import (
    WheeledVehicle,
    axle_vehicle,
    caster_vehicle,
    omni_vehicle,
    rolling_disk,
)
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.saha_1991.machines import ISOTROPIC_ROWS, omni_wheel, vehicle

VEHICLES = {
    'driven axle': axle_vehicle,
    'caster vehicle': caster_vehicle,
    'omni 3': lambda: omni_vehicle(vehicle(3)),
    'mecanum 4': lambda: omni_vehicle(vehicle(4)),
    'isotropic 4': lambda: omni_vehicle(OmniVehicle([omni_wheel(*row) for row in ISOTROPIC_ROWS], 37.0, 1.6033)),
    'omni 6': lambda: omni_vehicle(vehicle(6)),
    'disk': rolling_disk,
    'disk by contact': lambda: rolling_disk(by_contact=True),
}


def random_states(own: WheeledVehicle, count: int, seed: int):
    """q, v that meets the constraints, and efforts on all joints of the size of its weights, `count` times."""
    rng = np.random.default_rng(seed)
    system = own.blocks
    for _ in range(count):
        q = own.random_position(rng)
        N = Subspaces(system.at(q).J).motions
        v = N @ rng.normal(size=N.shape[1])
        tau = rng.normal(size=system.tree.nv) * np.abs(system.at(q, v).h).max()
        yield q, v, tau
