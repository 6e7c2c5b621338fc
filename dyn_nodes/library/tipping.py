"""Tipping of a loaded machine as its payload or the slope of the ground increases."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dyn_nodes.library.notice import shown
from dyn_nodes.model.machine import Machine
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.tipping import Tipping, tipping_angle, tipping_load


def tipping_of(
    machine: Machine,
    joints: Mapping[str, float],
    mass: float,
    gravity: tuple[float, float, float],
    downhill: float | None,
) -> Tipping:
    """Return how a machine tips.

    Args:
        machine: content of its files.
        joints: positions by name, others from the machine YAML, rad or m.
        mass: payload on increasing slopes, or initial payload, kg.
        gravity: in axes of the ground under an increasing payload, m/s2.
        downhill: heading of increasing slopes from the front, rad; None: the payload increases.

    Raises:
        ValueError: as for `Machine.tipping`.
    """
    running = running_gear(machine, joints)
    with shown('tipping'):
        if downhill is not None:
            return tipping_angle(running, mass, machine.gravity, downhill)
        if machine.payload is None:
            raise ValueError(f'{machine.name}: tipping: expected a `payload` in the machine YAML, found none')
        return tipping_load(running, np.array(gravity), mass)
