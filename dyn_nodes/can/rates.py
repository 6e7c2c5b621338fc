"""Maximum rates of change of the quantities of a machine, to distinguish jumps of faulty sensors."""

from __future__ import annotations

import math

from dyn_nodes.can.mapping import Kind
from dyn_nodes.model import Machine

SLACK = 1.2
"""Maximum speed of a joint over its limit, which overrunning loads exceed."""
STARTS, FILLS = 0.05, 0.02
"""Minimum times, s: of a joint to its speed limit; of a line to its relief pressure and a wheel to its maximum load."""
TURNS, SHOCK = 20.0, 0.01
"""Angular acceleration of a base that lands on its wheels, rad/s2; minimum rise time to 2 g in the impact, s."""


def usual_rate(machine: Machine, kind: Kind, name: str) -> float:
    """Return the maximum rate of a measured quantity, SI units per second; inf if the machine does not limit it.

    Args:
        machine: machine with the quantity.
        kind: kind of the channel.
        name: name of the channel.
    """
    if kind in ('position', 'velocity'):
        limit = machine.joint(name).velocity_limit
        return limit * SLACK if kind == 'position' else limit / STARTS
    if kind == 'imu':
        return TURNS if name.startswith('angular') else 2.0 * machine.gravity / SHOCK
    if kind == 'pressure':
        supply = getattr(machine.actuator(name.partition('/')[0]), 'supply', None)
        return math.inf if supply is None else float(supply.line_relief_pressure) / FILLS
    carried = 0.0 if machine.payload is None else machine.payload.limit
    if kind == 'payload':
        return carried / STARTS if carried else math.inf
    return machine.gravity * (sum(link.mass for link in machine.links) + carried) / FILLS
