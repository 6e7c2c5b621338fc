"""Elements of machines: one file for each kind, with its states, forces, outputs, events and states at rest."""

from __future__ import annotations

from dyn_nodes.elements.actuators import actuator_element, actuator_elements, actuator_terms, states_at_rest
from dyn_nodes.elements.actuators.cylinder import Cylinder
from dyn_nodes.elements.actuators.motor import Motor

__all__ = ['Cylinder', 'Motor', 'actuator_element', 'actuator_elements', 'actuator_terms', 'states_at_rest']
