"""Open-centre directional valve: areas of its orifices and the flows to its two ports."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.elements.hydraulics.supply import SharedFlow, shared_flow, signed_root
from dyn_nodes.model.machine import Supply, Valve

Scalar = Any  # a Python float, a casadi DM or an SX expression


class ValveAreas(NamedTuple):
    """Orifice areas, m2: from pump to the fed chamber, from the other chamber to tank, from pump to tank."""

    inlet: Scalar
    outlet: Scalar
    bypass: Scalar


class PortFlows(NamedTuple):
    """Flows of a directional valve.

    Attributes:
        first, second: into the first (head) and second (rod) line, m3/s, negative where oil leaves the line.
        supply_pressure: pressure of the pump's gallery, Pa.
        bypass_flow: flow through the open centre to tank, m3/s.
    """

    first: Scalar
    second: Scalar
    supply_pressure: Scalar
    bypass_flow: Scalar


def valve_areas(valve: Valve, spool: Scalar) -> ValveAreas:
    """Return the orifice areas at a spool displacement of either sign (spec G4).

    Args:
        valve: the valve.
        spool: displacement from neutral, m.
    """
    displacement = ca.fabs(spool)
    opening = ca.fmax(displacement - valve.dead_zone, 0.0)
    bypass = ca.fmax(valve.bypass_area - (valve.bypass_area / valve.bypass_stroke) * displacement, 0.0)
    return ValveAreas(valve.inlet_gain * opening, valve.outlet_gain * opening, bypass)


def valve_flows(
    valve: Valve, supply: Supply, spool: Scalar, first_pressure: Scalar, second_pressure: Scalar
) -> PortFlows:
    """Return the flows of the valve; a positive spool feeds the first line (abo-shanab-2003, eqs 2.7 to 2.11).

    The lines change roles with the sign of the spool. The roles are chosen first, so that pump and
    outlet are evaluated once; the change happens inside the dead zone, where both areas are zero.

    Args:
        valve: areas.
        supply: pump and oil.
        spool: displacement, m.
        first_pressure: pressure of the first (head) line, Pa.
        second_pressure: pressure of the second (rod) line, Pa.
    """
    areas = valve_areas(valve, spool)
    fed, drained = fed_and_drained(spool, first_pressure, second_pressure)
    return port_flows(supply, areas, spool, drained, shared_flow(supply, areas.inlet, areas.bypass, fed))


def fed_and_drained(spool: Scalar, first_pressure: Scalar, second_pressure: Scalar) -> tuple[Scalar, Scalar]:
    """Return the pressures of the line fed by the pump and of the line that drains to tank, Pa."""
    swap = (spool >= 0.0) * (first_pressure - second_pressure)
    return second_pressure + swap, first_pressure - swap


def port_flows(supply: Supply, areas: ValveAreas, spool: Scalar, drained: Scalar, pump: SharedFlow) -> PortFlows:
    """Return the flows of a valve with a specified share of the pump's flow.

    Args:
        supply: oil and tank.
        areas: m2.
        spool: displacement, m.
        drained: pressure of the line that drains to tank, Pa.
        pump: flows through inlet and bypass.
    """
    forward = spool >= 0.0
    conductance = supply.orifice_coefficient * areas.outlet
    outlet_flow = conductance * signed_root(drained - supply.tank_pressure, supply.smoothing)
    exchange = forward * (pump.inlet_flow + outlet_flow)
    return PortFlows(exchange - outlet_flow, pump.inlet_flow - exchange, pump.supply_pressure, pump.bypass_flow)
