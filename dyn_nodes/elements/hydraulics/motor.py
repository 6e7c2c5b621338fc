"""Hydraulic rotary motor with gear, valve, pump and line protection."""

from __future__ import annotations

from typing import Any, NamedTuple

from dyn_nodes.elements.hydraulics.supply import crossover_relief_flow, makeup_flow
from dyn_nodes.elements.hydraulics.valve import PortFlows, valve_flows
from dyn_nodes.model.machine import MotorActuator

Scalar = Any  # a Python float, a casadi DM or an SX expression


class MotorTerms(NamedTuple):
    """Rates, effort and flows of a motor at one state.

    Attributes:
        first_pressure_rate, second_pressure_rate: pressure rates of the two lines, Pa/s.
        effort: torque on the joint, oil minus viscous friction, N m.
        supply_pressure: pressure of the pump's gallery, Pa.
        first_flow, second_flow: total flow into each line (valve, make-up, cross-over, leakage), m3/s.
        bypass_flow: flow through the open centre to tank, m3/s.
    """

    first_pressure_rate: Scalar
    second_pressure_rate: Scalar
    effort: Scalar
    supply_pressure: Scalar
    first_flow: Scalar
    second_flow: Scalar
    bypass_flow: Scalar


def motor(
    actuator: MotorActuator,
    first_pressure: Scalar,
    second_pressure: Scalar,
    spool: Scalar,
    qd: Scalar,
    ports: PortFlows | None = None,
) -> MotorTerms:
    """Return the terms of a motor on an open-centre valve (abo-shanab-2003, eq. 2.16; section 2.12 and G6 of the spec).

    Args:
        actuator: parameters.
        first_pressure: pressure of the line that drives the joint forward, Pa.
        second_pressure: pressure of the other line, Pa.
        spool: displacement, m; positive feeds the first line.
        qd: joint speed, rad/s.
        ports: flows of a valve on a shared pump (`series_flows`); None: the valve has a dedicated pump.
    """
    supply = actuator.supply
    if ports is None:
        ports = valve_flows(actuator.valve, supply, spool, first_pressure, second_pressure)
    crossover = crossover_relief_flow(supply, first_pressure, second_pressure)
    crossover += actuator.leakage * (first_pressure - second_pressure)
    first_flow = ports.first + makeup_flow(supply, first_pressure) - crossover
    second_flow = ports.second + makeup_flow(supply, second_pressure) + crossover
    swept = actuator.displacement * qd
    stiffness = supply.bulk_modulus * (1.0 / actuator.line_volume)
    return MotorTerms(
        first_pressure_rate=stiffness * (first_flow - swept),
        second_pressure_rate=stiffness * (second_flow + swept),
        effort=actuator.displacement * (first_pressure - second_pressure) - actuator.viscous * qd,
        supply_pressure=ports.supply_pressure,
        first_flow=first_flow,
        second_flow=second_flow,
        bypass_flow=ports.bypass_flow,
    )
