"""Kinds of actuators, one file each, and the actuators of a machine as elements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.elements.hydraulic import shared_feeds
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.actuators import ActuatorElement, ActuatorTerms
from dyn_nodes.multibody.elements import Command, ElementState, ForceElement, Surface, Symbols
from dyn_nodes.multibody.spatial import Expression

Kinds = Mapping[str, Callable[[Any], ActuatorElement]]
KINDS: Kinds = kinds_of(
    sys.modules[__name__],
    ActuatorElement,  # type: ignore[type-abstract]
)
"""Class of the element of every `type` of actuator in a machine file."""


def actuator_element(record: Actuator, kinds: Kinds = KINDS) -> Any:
    """Return the element of an actuator; its parameters may be expressions."""
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
    """Return the terms of a machine's actuators by name; actuators that share a source are evaluated together.

    Args:
        machine: the machine.
        actuators: the actuators that are part of the system.
        motions: position and rate of the joints, by joint name.
        symbols: states, inputs and parameters, by name.
    """
    actuators = tuple(actuators)
    feeds = shared_feeds(machine, actuators, symbols)
    return {
        actuator.name: actuator.terms(*motions[actuator.joint], symbols, feeds.get(actuator.name))
        for actuator in actuators
    }


class ActuatorForces(ForceElement):
    """Actuators of a machine on the joints of its tree, evaluated together and once for each traced state.

    Args:
        machine: the machine.
        actuators: the actuators that are part of the system.
    """

    drives = True

    def __init__(self, machine: Machine, actuators: Sequence[ActuatorElement]) -> None:
        self.machine, self.actuators = machine, tuple(actuators)
        self._traced: tuple[TreeState, dict[str, ActuatorTerms]] | None = None

    @property
    def name(self) -> str:
        """Return the name of the element."""
        return 'actuators'

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return the states of all actuators."""
        return tuple(state for actuator in self.actuators for state in actuator.states)

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Return the commands of all actuators."""
        return tuple(command for actuator in self.actuators for command in actuator.inputs)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the parameters of all actuators."""
        return {name: value for actuator in self.actuators for name, value in actuator.parameters.items()}

    def terms(self, state: TreeState, symbols: Symbols) -> dict[str, ActuatorTerms]:
        """Return the terms of the actuators by name."""
        if self._traced is None or self._traced[0] is not state:
            motions = {actuator.joint: joint_motion(state, actuator.joint)[:2] for actuator in self.actuators}
            self._traced = state, actuator_terms(self.machine, self.actuators, motions, symbols)
        return self._traced[1]

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) the efforts along the joints."""
        terms = self.terms(state, symbols)
        efforts = (
            along_joint(state, joint_motion(state, actuator.joint).velocity_index, terms[actuator.name].effort)
            for actuator in self.actuators
        )
        return sum(efforts, ca.SX(state.width, 1))

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of all states."""
        return [rate for terms in self.terms(state, symbols).values() for rate in terms.rates]

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the stored energy, J."""
        return self._total('stored_energy', state, symbols)

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the dissipated power, W."""
        return self._total('dissipated_power', state, symbols)

    def supplied_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the supplied power, W."""
        return self._total('supplied_power', state, symbols)

    def _total(self, term: str, state: TreeState, symbols: Symbols) -> Expression:
        return sum((getattr(terms, term) for terms in self.terms(state, symbols).values()), ca.SX(0))

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the outputs of all actuators."""
        return {name: value for terms in self.terms(state, symbols).values() for name, value in terms.outputs.items()}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the event surfaces of all actuators."""
        return [surface for terms in self.terms(state, symbols).values() for surface in terms.surfaces]


def states_at_rest(machine: Machine, positions: Mapping[str, float], efforts: Mapping[str, float]) -> dict[str, float]:
    """Return the states of a machine's actuators at which they hold its joints, by name.

    Args:
        machine: the machine.
        positions: positions of the joints by name, rad or m.
        efforts: efforts on the joints by name, N m or N.

    Raises:
        ValueError: an actuator cannot hold its joint, such as a cylinder at its dead centre.
    """
    result: dict[str, float] = {}
    for actuator in actuator_elements(machine):
        values = actuator.at_rest(float(positions[actuator.joint]), float(efforts[actuator.joint]))
        result |= {state.name: value for state, value in zip(actuator.states, values)}
    return result
