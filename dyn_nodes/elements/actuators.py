"""Kinds of actuators, and those of a machine as elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dyn_nodes.elements.cylinder import Cylinder
from dyn_nodes.elements.hydraulic import shared_feeds
from dyn_nodes.elements.motor import Motor
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody.actuators import ActuatorElement, ActuatorTerms
from dyn_nodes.multibody.elements import Symbols
from dyn_nodes.multibody.spatial import Expression

Kinds = Mapping[str, Callable[[Any], ActuatorElement]]
KINDS: Kinds = {'cylinder': Cylinder, 'motor': Motor}
"""Element of every `type` of actuator in a machine file."""


def actuator_element(record: Actuator, kinds: Kinds = KINDS) -> Any:
    """Return the element of an actuator; its numbers may be expressions."""
    return kinds[record.kind](record)


def actuator_elements(machine: Machine, kinds: Kinds = KINDS) -> tuple[ActuatorElement, ...]:
    """Return the actuators of a machine, in its order."""
    return tuple(actuator_element(record, kinds) for record in machine.actuators)


def actuator_terms(
    machine: Machine,
    actuators: Iterable[ActuatorElement],
    motions: Mapping[str, tuple[Expression, Expression]],
    symbols: Symbols,
) -> dict[str, ActuatorTerms]:
    """Evaluate actuators of a machine; those with a common source together.

    Args:
        machine: the machine.
        actuators: those that are part of the system.
        motions: position and rate of the joints, by the name of the joint.
        symbols: of states, inputs and parameters by name.
    """
    actuators = tuple(actuators)
    feeds = shared_feeds(machine, actuators, symbols)
    return {own.name: own.terms(*motions[own.joint], symbols, feeds.get(own.name)) for own in actuators}


def states_at_rest(machine: Machine, positions: Mapping[str, float], efforts: Mapping[str, float]) -> dict[str, float]:
    """Return the states of a machine's actuators that hold its joints, by name.

    Args:
        machine: the machine.
        positions: of the joints by name, rad or m.
        efforts: on the joints by name, N m or N.

    Raises:
        ValueError: an actuator holds nothing there, such as a cylinder at its dead centre.
    """
    result: dict[str, float] = {}
    for own in actuator_elements(machine):
        values = own.at_rest(float(positions[own.joint]), float(efforts[own.joint]))
        result |= {state.name: value for state, value in zip(own.states, values)}
    return result
