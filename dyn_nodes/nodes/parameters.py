"""Declaring a node's parameters from one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dyn_nodes.middleware import FloatingPointRange, IntegerRange, ParameterDescriptor


@dataclass(frozen=True)
class Declared:
    """A parameter.

    Attributes:
        name, default, description: the unit is part of the description.
        low, high: inclusive range of a number, or None.
        read_only: fixed after the start.
        choices: the texts accepted, or empty for any.
    """

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    read_only: bool = True
    choices: tuple[str, ...] = ()

    def descriptor(self) -> Any:
        """Return the ROS descriptor."""
        descriptor = ParameterDescriptor(description=self.description, read_only=self.read_only)
        if self.choices:
            descriptor.additional_constraints = f'one of: {", ".join(self.choices)}'
        if self.low is not None and self.high is not None:
            if isinstance(self.default, int):
                bounds = IntegerRange(from_value=int(self.low), to_value=int(self.high), step=0)
                descriptor.integer_range = [bounds]
            else:
                span = FloatingPointRange(from_value=float(self.low), to_value=float(self.high), step=0.0)
                descriptor.floating_point_range = [span]
        return descriptor


class ParameterError(ValueError):
    """A parameter value that the node cannot start with."""


def declare(node: Any, table: Iterable[Declared]) -> dict[str, Any]:
    """Declare the parameters and return their values. Raises ParameterError for a text that is none of its choices."""
    values = {}
    for declared in table:
        value = node.declare_parameter(declared.name, declared.default, declared.descriptor()).value
        if declared.choices and value not in declared.choices:
            raise ParameterError(
                f'parameter {declared.name!r}: expected one of {", ".join(declared.choices)}; found {value!r}'
            )
        values[declared.name] = value
    return values


MACHINE = (
    Declared('machine', '', 'path of the URDF, or the name of a machine of this package (log_loader)'),
    Declared('config', '', 'path of the machine YAML; empty: the one of that name, or none'),
)
TIMING = (
    Declared(
        'mode', 'realtime', 'realtime: wall clock; lockstep: as fast as it goes', choices=('realtime', 'lockstep')
    ),
    Declared('exchange_period', 0.001, 'simulated time between two exchanges with the actuators, s', 1e-5, 0.1),
    Declared('command_timeout', 0.2, 'silence after which the safe state is taken, s', 0.001, 60.0),
)
