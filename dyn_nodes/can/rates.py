"""Greatest rates of the quantities of a machine: the jump of a faulty sensor is faster, a sound sensor is not."""

from __future__ import annotations

import math

from dyn_nodes.can.mapping import Kind
from dyn_nodes.model import Machine

SLACK = 1.2
"""Speed of a joint over its limit, which it exceeds under a load that pulls."""
STARTS, FILLS = 0.05, 0.02
"""Least time in which a joint reaches its speed limit; and a line its relief pressure, a wheel its greatest load, s."""
TURNS, SHOCK = 20.0, 0.01
"""Angular acceleration of a base that comes down on its wheels, rad/s2; least time in which it feels 2 g then, s."""


def usual_rate(machine: Machine, kind: Kind, name: str) -> float:
    """Return the greatest rate of a measured quantity, SI units per second; inf where the machine does not limit it.

    Args:
        machine: whose quantity it is.
        kind: of the channel.
        name: of the channel.
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
