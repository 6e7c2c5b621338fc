"""How a loaded machine tips as its payload or the slope of the ground grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.library.notice import shown
from dyn_nodes.model.equilibrium import gravity_in_ground
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.tipping import Tipping, tipping_angle, tipping_load

if TYPE_CHECKING:
    from dyn_nodes.library.machine import Machine


def tipping_of(
    machine: Machine,
    joints: Mapping[str, float],
    payload: float | None,
    slope: tuple[float, float] | None,
    downhill: float | None,
) -> Tipping:
    """Return how a machine tips; arguments and errors are those of `Machine.tipping`."""
    running = running_gear(machine.data, joints)
    with shown('tipping'):
        if downhill is not None:
            mass = machine.checked_payload(payload)
            return tipping_angle(running, mass, machine.data.gravity, downhill)
        if machine.data.payload is None:
            raise ValueError(f'{machine.name}: tipping: expected a `payload` in the machine YAML, found none')
        gravity = gravity_in_ground(machine.data) if slope is None else np.array(machine.gravity_vector(slope))
        return tipping_load(running, gravity, 0.0 if payload is None else machine.checked_payload(payload))
