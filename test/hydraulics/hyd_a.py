"""The assumed hydraulics HYD-A of the specification (G2 to G6)."""

from __future__ import annotations

import math

from dyn_nodes.model.machine import Supply, Valve


def make_supply(flow: float = 3.0e-3, line_relief: float = 35.2e6) -> Supply:
    return Supply(
        flow=flow,
        relief_pressure=32e6,
        line_relief_pressure=line_relief,
        line_relief_area=1e-4,
        makeup_area=2e-4,
        tank_pressure=0.2e6,
        bulk_modulus=827.37e6,
        orifice_coefficient=0.6 * math.sqrt(2.0 / 850.0),
    )


def make_valve(inlet: float = 1.2e-2, outlet: float = 6.0e-3) -> Valve:
    return Valve(inlet, outlet, 1e-4, 6e-3, 0.5e-3, 0.08, 1e-3, voltage_limit=8.0, spool_limit=8e-3)
