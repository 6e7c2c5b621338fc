"""Elements of a system: whatever pushes on its bodies or has states beside positions and velocities.

An element names its states, inputs and parameters before anything is traced. Its methods then get the kinematics and
the symbols of these names, and return expressions. A system gathers forces, rates, outputs, energies and surfaces of
all its elements in one loop each; the same element serves a plain tree and a system with constraints.

Energy: along every motion, the power of the force on the bodies is

    force . v = supplied_power - d(potential_energy)/dt - dissipated_power,  dissipated_power >= 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import casadi as ca

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression


class ElementState(NamedTuple):
    """A state that an element has beside the positions and velocities of the bodies.

    Attributes:
        name: `<element>/<quantity>`, unique in its system.
        scale: usual size, in SI units; tolerances of adaptive integrators are relative to it.
        start: value at rest without load.
        balances: at rest, its value follows from the balance of forces.
    """

    name: str
    scale: float = 1.0
    start: float = 0.0
    balances: bool = False


class Command(NamedTuple):
    """An input of an element.

    Attributes:
        name: `<element>/<quantity>`.
        dead_time: between a command and the moment the element begins to follow it, s.
    """

    name: str
    dead_time: float = 0.0


class Watch(NamedTuple):
    """A value whose sign matters.

    Attributes:
        rise, fall: kind of the event where the value becomes positive, or is positive no more; empty: none.
        quantity: name of the number that is reported with the event.
        subject: what the event is about, by kind: `wheel`, `actuator` and `joint` and `relief`, ...
    """

    rise: str
    fall: str
    quantity: str
    subject: Mapping[str, str]


class Surface(NamedTuple):
    """A watch with its expressions: the value whose sign matters, and the number that is reported."""

    watch: Watch
    value: Expression
    quantity: Expression


class Symbols(Protocol):
    """The symbols of states and parameters by name."""

    def __getitem__(self, name: str, /) -> Expression: ...


def symbolic(record: Any, **fields: Any) -> Any:
    """Return a record of the machine with some of its numbers replaced by expressions."""
    return replace(record, **fields)


class Element(ABC):
    """Names of an element, which are known before anything is traced."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name, unique in its system."""

    @property
    def states(self) -> tuple[ElementState, ...]:
        """States, `<element>/<quantity>`, in the order of their rates."""
        return ()

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Commands that it follows."""
        return ()

    @property
    def parameters(self) -> Mapping[str, float]:
        """Defaults of its parameters by name; several elements may share a parameter."""
        return {}


class ForceElement(Element):
    """A spring, damper, friction, tyre or drag: forces that follow from the state.

    Attributes:
        drives: its force counts as effort of the joint (`effort` of joint_states): springs do, losses and stops do not.
        rests: its force may hold a machine at rest, without motion of the bodies.
    """

    drives = False
    rests = False

    @abstractmethod
    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (state.width,) its effort along every generalized velocity, such as state.jacobian(frame)^T wrench."""

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of its states."""
        return ()

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy stored in it, J."""
        return ca.SX(0)

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power that it turns into heat, W, not negative."""
        return ca.SX(0)

    def supplied_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power that flows into it from its source, W."""
        return ca.SX(0)

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return outputs by name, `<element>/<quantity>`."""
        return {}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the values whose signs are watched for events."""
        return ()
