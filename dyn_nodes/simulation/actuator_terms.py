"""Terms of the hydraulic actuators of a machine, traced: efforts, flows and pressure rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dyn_nodes.hydraulics import CylinderTerms, MotorTerms, PortFlows, SeriesMember, cylinder, motor, series_flows
from dyn_nodes.model.machine import Actuator, CylinderActuator, Machine
from dyn_nodes.multibody.spatial import Expression


def symbolic(record: Any, **fields: Any) -> Any:
    """Return a record of the machine with some of its numbers replaced by expressions."""
    return replace(record, **fields)


def actuator_states(actuator: Actuator) -> tuple[str, str, str]:
    """Names of an actuator's states."""
    lines = (
        ('head_pressure', 'rod_pressure') if isinstance(actuator, CylinderActuator) else ('pressure_a', 'pressure_b')
    )
    return ('spool', *lines)


def machine_terms(
    machine: Machine, states: Mapping[str, Sequence[Expression]], bulk_modulus_scale: Expression
) -> dict[str, CylinderTerms | MotorTerms]:
    """Evaluate the actuators of a machine; those on one pump together.

    Args:
        machine: the machine.
        states: by name of the actuator: spool, the two line pressures, position and velocity of the joint.
        bulk_modulus_scale: times the oil's bulk modulus.
    """
    ports: dict[str, PortFlows] = {}
    for pump in machine.pumps:
        fed = [machine.actuator(name) for name in pump.actuators if name in states]
        row = [SeriesMember(actuator.valve, actuator.supply, *states[actuator.name][:3]) for actuator in fed]
        if row:
            flows = series_flows(row, pump.flow, pump.relief_pressure)
            ports |= {actuator.name: flow for actuator, flow in zip(fed, flows)}
    terms = {}
    for name, (spool, first, second, q, qd) in states.items():
        actuator = scaled_actuator(machine.actuator(name), bulk_modulus_scale)
        terms[name] = actuator_terms(actuator, spool, first, second, q, qd, ports.get(name))
    return terms


def actuator_terms(
    actuator: Actuator,
    spool: Expression,
    first: Expression,
    second: Expression,
    q: Expression,
    qd: Expression,
    ports: PortFlows | None = None,
) -> CylinderTerms | MotorTerms:
    """Evaluate an actuator of either kind; `ports` are the flows of its valve where its pump is shared."""
    if isinstance(actuator, CylinderActuator):
        return cylinder(actuator, first, second, spool, q, qd, ports)
    return motor(actuator, first, second, spool, qd, ports)


def pressure_rates(terms: CylinderTerms | MotorTerms) -> tuple[Expression, Expression]:
    """Return the rates of the two line pressures, Pa/s."""
    if isinstance(terms, CylinderTerms):
        return terms.head_pressure_rate, terms.rod_pressure_rate
    return terms.first_pressure_rate, terms.second_pressure_rate


def line_flows(terms: CylinderTerms | MotorTerms) -> tuple[Expression, Expression]:
    """Return the flows into the two lines, m3/s."""
    if isinstance(terms, CylinderTerms):
        return terms.head_flow, terms.rod_flow
    return terms.first_flow, terms.second_flow


def scaled_actuator(actuator: Actuator, bulk_modulus_scale: Expression) -> Actuator:
    """Return the actuator with its oil's bulk modulus times a factor."""
    supply = symbolic(actuator.supply, bulk_modulus=actuator.supply.bulk_modulus * bulk_modulus_scale)
    return replace(actuator, supply=supply)
