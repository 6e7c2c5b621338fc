"""First-order spool drive of a servovalve."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dyn_nodes.model.machine import Valve

Scalar = Any  # a Python float, a casadi DM or an SX expression


def spool_rate(valve: Valve, spool: Scalar, volts: Scalar) -> Scalar:
    """Return the speed of the spool, m/s (abo-shanab-2003, eq. 2.17).

    The voltage is clipped to the valve's limit and the commanded position to the mechanical stops; a first-order lag
    that starts between the stops then stays between them.

    Args:
        valve: time constant, gain, limits.
        spool: displacement, m.
        volts: command, V.
    """
    reach = ca.fmin(valve.gain * valve.voltage_limit, valve.spool_limit)
    target = ca.fmin(ca.fmax(valve.gain * volts, -reach), reach)
    return (1.0 / valve.time_constant) * (target - spool)
