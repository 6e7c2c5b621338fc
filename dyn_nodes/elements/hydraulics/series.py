"""Several open-centre valves on one pump: the bypass of each valve feeds the next, the last one's goes to tank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.elements.hydraulics.supply import SharedFlow
from dyn_nodes.elements.hydraulics.valve import PortFlows, fed_and_drained, port_flows, valve_areas
from dyn_nodes.model.machine import Supply, Valve

Scalar = Any  # a Python float, a casadi DM or an SX expression

LEAKAGE_AREA = 2e-8
"""Of a shut bypass, m2: a fiftieth of a square millimetre; a fifth of a litre a minute at 30 MPa."""

HALVINGS = 50  # behind two shut valves the first pressure is 1e12 times as sensitive as the unknown


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
        flow: that the pump has to deliver, m3/s.  flow_rate: its derivative by the trial.
        pressures: of the galleries above tank, Pa.  pressure_rate: derivative of the first.
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

    All unknowns follow from one: the signed root v of the last gallery's pressure above tank (below, where a line that
    cavitates sucks oil from tank). Its bypass passes g v to tank, its inlet takes what its load lets in, and the sum is
    what the bypass of the valve before must pass: this gives the pressure before it; and so on up to the pump. What the
    pump has to deliver rises with v, so there is one v at which it is what the pump gives, or at which the first
    gallery is at relief pressure. Bisection finds it with a fixed number of steps; a last step by Newton takes the
    exact derivatives along, which bisection has not.

    Args:
        members: the one next to the pump first. All need the same tank pressure; their own pump data are not used.
        flow: of the pump, m3/s.
        relief_pressure: of the pump, Pa.
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
    """From the last gallery up to the pump."""
    pressure, pressure_rate = trial * ca.fabs(trial), 2.0 * ca.fabs(trial)
    passing, passing_rate = parts[-1].bypass * trial, parts[-1].bypass
    pressures, inlets, bypasses = [], [], []
    for k, part in reversed(list(enumerate(parts))):
        drop = ca.fmax(pressure - part.load, 0.0)  # the load check is shut below
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
    """What is too much, as a share of the pump's flow or of the relief pressure, and its derivative by the trial."""
    by_flow, by_pressure = row.flow / flow - 1.0, row.pressures[0] / highest - 1.0
    relieved = by_pressure > by_flow
    excess = ca.fmax(by_flow, by_pressure)
    flow_slope, pressure_slope = row.flow_rate / flow, row.pressure_rate / highest
    return excess, flow_slope + relieved * (pressure_slope - flow_slope)
