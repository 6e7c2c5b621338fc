"""Open-centre valves in series on one pump: each bypass feeds the next valve, the last one drains to tank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.elements.hydraulics.supply import SharedFlow
from dyn_nodes.elements.hydraulics.valve import PortFlows, fed_and_drained, port_flows, valve_areas
from dyn_nodes.model.machine import Supply, Valve

Scalar = Any  # a Python float, a casadi DM or an SX expression

LEAKAGE_AREA = 2e-8
"""Leakage area of a shut bypass, m2: 0.02 mm2, which passes 0.2 l/min at 30 MPa."""

HALVINGS = 50  # upstream of two shut valves the first pressure is 1e12 times as sensitive as the unknown


class SeriesMember(NamedTuple):
    """A valve of the row: its parts, spool (m) and line pressures (Pa)."""

    valve: Valve
    supply: Supply
    spool: Scalar
    first_pressure: Scalar
    second_pressure: Scalar


class _Row(NamedTuple):
    """The galleries of a row at one trial.

    Attributes:
        flow: required flow of the pump, m3/s.  flow_rate: its derivative by the trial.
        pressures: pressures of the galleries above tank, Pa.  pressure_rate: derivative of the first.
        inlets, bypasses: flows of each valve, m3/s.
    """

    flow: Scalar
    flow_rate: Scalar
    pressures: list[Scalar]
    pressure_rate: Scalar
    inlets: list[Scalar]
    bypasses: list[Scalar]


def series_flows(members: Sequence[SeriesMember], flow: Scalar, relief_pressure: Scalar) -> list[PortFlows]:
    """Return the flows of every valve of a row on one pump.

    All unknowns follow from one: the signed root v of the last gallery's pressure relative to tank (negative if a
    cavitating line draws oil from tank). Its bypass passes g v to tank, its inlet the flow that its load allows; the
    bypass of the previous valve must pass the sum, which determines the pressure upstream; and so on up to the pump.
    The required pump flow increases with v, so one v exists at which it equals the pump's flow, or at which the first
    gallery is at relief pressure. Bisection with a fixed number of steps approximates v; a final Newton step provides
    the exact derivatives, which bisection lacks.

    Args:
        members: the valves, in order from the pump. All need the same tank pressure; their pump data are not used.
        flow: flow of the pump, m3/s.
        relief_pressure: relief pressure of the pump, Pa.
    """
    parts = [_Part(member) for member in members]
    tank = members[-1].supply.tank_pressure
    highest = relief_pressure - tank
    lowest = -ca.sqrt(tank)
    width = ca.sqrt(highest) - lowest
    trial: Scalar = lowest
    for k in range(HALVINGS):
        step = width * 0.5 ** (k + 1)
        below = _excess(_row(parts, trial + step), flow, highest)[0] < 0.0
        trial = trial + below * step
    excess, slope = _excess(_row(parts, trial), flow, highest)
    trial = ca.fmin(ca.fmax(trial - excess / slope, lowest), lowest + width)
    row = _row(parts, trial)
    result = []
    for part, pressure, inlet, bypass in zip(parts, row.pressures, row.inlets, row.bypasses):
        share = SharedFlow(inlet, tank + pressure, bypass)
        result.append(port_flows(part.supply, part.areas, part.spool, part.drained, share))
    return result


class _Part:
    """One valve: conductances (m3/s per root of Pa) and load above tank (Pa)."""

    def __init__(self, member: SeriesMember) -> None:
        self.supply, self.spool = member.supply, member.spool
        self.areas = valve_areas(member.valve, member.spool)
        fed, self.drained = fed_and_drained(member.spool, member.first_pressure, member.second_pressure)
        self.load = fed - member.supply.tank_pressure
        self.inlet = member.supply.orifice_coefficient * self.areas.inlet
        self.bypass = member.supply.orifice_coefficient * ca.fmax(self.areas.bypass, LEAKAGE_AREA)


def _row(parts: Sequence[_Part], trial: Scalar) -> _Row:
    """Evaluate the row from the last gallery up to the pump."""
    pressure, pressure_rate = trial * ca.fabs(trial), 2.0 * ca.fabs(trial)
    passing, passing_rate = parts[-1].bypass * trial, parts[-1].bypass
    pressures, inlets, bypasses = [], [], []
    for k, part in reversed(list(enumerate(parts))):
        drop = ca.fmax(pressure - part.load, 0.0)  # below zero the load check is shut
        root = 1.0 / ca.sqrt(drop + part.supply.smoothing)
        inlet = part.inlet * drop * root
        inlet_rate = part.inlet * (pressure > part.load) * root * (1.0 - 0.5 * drop * root * root) * pressure_rate
        pressures.append(pressure)
        inlets.append(inlet)
        bypasses.append(passing)
        passing, passing_rate = passing + inlet, passing_rate + inlet_rate
        if k > 0:
            over = passing / parts[k - 1].bypass
            pressure = pressure + over * ca.fabs(over)
            pressure_rate = pressure_rate + 2.0 * ca.fabs(over) * passing_rate / parts[k - 1].bypass
    return _Row(passing, passing_rate, pressures[::-1], pressure_rate, inlets[::-1], bypasses[::-1])


def _excess(row: _Row, flow: Scalar, highest: Scalar) -> tuple[Scalar, Scalar]:
    """Return the excess, as a share of the pump's flow or relief pressure, and its derivative by the trial."""
    by_flow, by_pressure = row.flow / flow - 1.0, row.pressures[0] / highest - 1.0
    relieved = by_pressure > by_flow
    excess = ca.fmax(by_flow, by_pressure)
    flow_slope, pressure_slope = row.flow_rate / flow, row.pressure_rate / highest
    return excess, flow_slope + relieved * (pressure_slope - flow_slope)
