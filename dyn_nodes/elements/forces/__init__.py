"""Forces of the ground on wheels and feet, as expressions of scalars (casadi SX or plain floats)."""

from __future__ import annotations

from dyn_nodes.elements.forces.contact import GroundAxes, WheelContact, ground_axes, kelvin_voigt, wheel_contact
from dyn_nodes.elements.forces.power import friction_power, suspension_dissipation, suspension_energy
from dyn_nodes.elements.forces.rolling import rolling_contact, tyre_friction
from dyn_nodes.model.friction.karnopp import karnopp
from dyn_nodes.model.friction.lugre import lugre, stribeck
from dyn_nodes.model.friction_law import Friction

__all__ = [
    'Friction',
    'GroundAxes',
    'WheelContact',
    'friction_power',
    'ground_axes',
    'karnopp',
    'kelvin_voigt',
    'lugre',
    'rolling_contact',
    'stribeck',
    'suspension_dissipation',
    'suspension_energy',
    'tyre_friction',
    'wheel_contact',
]
