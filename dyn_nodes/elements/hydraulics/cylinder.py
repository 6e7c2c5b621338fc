"""Hydraulic cylinder with its valve, pump, line protection and end stops."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.elements.hydraulics.linkage import linkage
from dyn_nodes.elements.hydraulics.supply import port_protection_flow
from dyn_nodes.elements.hydraulics.valve import PortFlows, valve_flows
from dyn_nodes.model.machine import CylinderActuator

Scalar = Any  # a Python float, a casadi DM or an SX expression

STOP_TRAVEL = 5e-3
"""Penetration of an end stop under line-relief pressure on the head side, m (assumed)."""

STOP_DAMPING = 2.0
"""Loss factor of the end stops (Hunt and Crossley), s/m (assumed)."""


class CylinderTerms(NamedTuple):
    """Rates, force and flows of a cylinder at one state.

    Attributes:
        head_pressure_rate, rod_pressure_rate: Pa/s.
        force: net push of the piston, oil minus viscous friction plus end stop, N; positive extends.
        effort: force * dX/dq, N m or N.
        piston: X, m.  piston_rate: dX/dt, m/s.
        supply_pressure: pressure of the pump's gallery, Pa.
        head_flow, rod_flow: total flow into each chamber (valve, make-up, minus line relief and leakage), m3/s.
        bypass_flow: flow through the open centre to tank, m3/s.
    """

    head_pressure_rate: Scalar
    rod_pressure_rate: Scalar
    force: Scalar
    effort: Scalar
    piston: Scalar
    piston_rate: Scalar
    supply_pressure: Scalar
    head_flow: Scalar
    rod_flow: Scalar
    bypass_flow: Scalar


def stop_force(actuator: CylinderActuator, piston: Scalar, piston_rate: Scalar) -> Scalar:
    """Return the force of the end stops on the piston, N; zero for 0 <= X <= stroke.

    A stop is a unilateral Hunt-Crossley element, -K p (1 + d dp/dt) for a penetration p: continuous at touch, and
    dissipative at every speed.

    Args:
        actuator: the cylinder; its head area and line relief pressure set the stiffness.
        piston: X, m.
        piston_rate: dX/dt, m/s.
    """
    stiffness, penetration = _stop(actuator, piston)
    return -stiffness * (penetration + STOP_DAMPING * piston_rate * ca.fabs(penetration))


def stop_energy(actuator: CylinderActuator, piston: Scalar) -> Scalar:
    """Return the energy of the end stops, J: K p^2 / 2."""
    stiffness, penetration = _stop(actuator, piston)
    return 0.5 * stiffness * penetration**2


def stop_loss(actuator: CylinderActuator, piston: Scalar, piston_rate: Scalar) -> Scalar:
    """Return the power that the end stops dissipate, W: K d |p| (dX/dt)^2."""
    stiffness, penetration = _stop(actuator, piston)
    return stiffness * STOP_DAMPING * ca.fabs(penetration) * piston_rate**2


def _stop(actuator: CylinderActuator, piston: Scalar) -> tuple[Scalar, Scalar]:
    """Return the stiffness of the stops, N/m, and the penetration, m, positive beyond the stroke."""
    penetration = piston - ca.fmin(ca.fmax(piston, 0.0), actuator.linkage.stroke)
    return actuator.supply.line_relief_pressure * actuator.head_area * (1.0 / STOP_TRAVEL), penetration


def cylinder(
    actuator: CylinderActuator,
    head_pressure: Scalar,
    rod_pressure: Scalar,
    spool: Scalar,
    q: Scalar,
    qd: Scalar,
    ports: PortFlows | None = None,
) -> CylinderTerms:
    """Return the terms of a cylinder on an open-centre valve (abo-shanab-2003, eqs 2.7 to 2.15; spec G2 to G4).

    Args:
        actuator: parameters; `rod_volume` must exceed `rod_area * stroke`.
        head_pressure: Pa.
        rod_pressure: Pa.
        spool: displacement, m; positive extends.
        q: joint position, rad or m.
        qd: joint speed, rad/s or m/s.
        ports: flows of a valve on a shared pump (`series_flows`); None: the valve has a dedicated pump.
    """
    supply = actuator.supply
    piston, lever, _ = linkage(actuator.linkage, q)
    piston_rate = lever * qd
    if ports is None:
        ports = valve_flows(actuator.valve, supply, spool, head_pressure, rod_pressure)
    leak = actuator.leakage * (head_pressure - rod_pressure)
    head_flow = ports.first + port_protection_flow(supply, head_pressure) - leak
    rod_flow = ports.second + port_protection_flow(supply, rod_pressure) + leak
    head_volume = actuator.head_volume + actuator.head_area * piston
    rod_volume = actuator.rod_volume - actuator.rod_area * piston
    stiffness = supply.bulk_modulus / (head_volume * rod_volume)  # one division for both chambers
    force = (
        head_pressure * actuator.head_area
        - rod_pressure * actuator.rod_area
        - actuator.viscous * piston_rate
        + stop_force(actuator, piston, piston_rate)
    )
    return CylinderTerms(
        head_pressure_rate=stiffness * rod_volume * (head_flow - actuator.head_area * piston_rate),
        rod_pressure_rate=stiffness * head_volume * (rod_flow + actuator.rod_area * piston_rate),
        force=force,
        effort=force * lever,
        piston=piston,
        piston_rate=piston_rate,
        supply_pressure=ports.supply_pressure,
        head_flow=head_flow,
        rod_flow=rod_flow,
        bypass_flow=ports.bypass_flow,
    )
