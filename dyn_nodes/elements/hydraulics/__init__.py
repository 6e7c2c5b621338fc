"""Valves, cylinders, motors and pumps, as expressions of scalars (casadi SX or plain floats)."""

from __future__ import annotations

from dyn_nodes.elements.hydraulics.cylinder import CylinderTerms, cylinder, stop_energy, stop_force, stop_loss
from dyn_nodes.elements.hydraulics.linkage import LinkageTerms, lever, lever_rate, linkage, piston
from dyn_nodes.elements.hydraulics.motor import MotorTerms, motor
from dyn_nodes.elements.hydraulics.series import SeriesMember, series_flows
from dyn_nodes.elements.hydraulics.spool import spool_rate
from dyn_nodes.elements.hydraulics.supply import (
    SharedFlow,
    crossover_relief_flow,
    makeup_flow,
    port_protection_flow,
    shared_flow,
    signed_root,
)
from dyn_nodes.elements.hydraulics.valve import PortFlows, ValveAreas, valve_areas, valve_flows

__all__ = [
    'CylinderTerms',
    'LinkageTerms',
    'MotorTerms',
    'PortFlows',
    'SeriesMember',
    'SharedFlow',
    'ValveAreas',
    'crossover_relief_flow',
    'cylinder',
    'lever',
    'lever_rate',
    'linkage',
    'makeup_flow',
    'motor',
    'piston',
    'port_protection_flow',
    'series_flows',
    'shared_flow',
    'signed_root',
    'spool_rate',
    'stop_energy',
    'stop_force',
    'stop_loss',
    'valve_areas',
    'valve_flows',
]
