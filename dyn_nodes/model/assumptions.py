"""Conditions that a result takes from the machine file because none was specified; they are listed with the result."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions


class Assumption(NamedTuple):
    """A condition that no option and no topic specifies.

    Attributes:
        quantity: `payload`, `slope`, `friction` or `posture`.
        value: assumed value in `unit`; for a posture the positions by joint, rad or m.
        source: origin of the value, and the missing option or topic.
    """

    quantity: str
    value: Any
    unit: str
    source: str

    def __str__(self) -> str:
        value, unit = self.value, f' {self.unit}' if self.unit else ''
        if isinstance(value, dict):
            shown = ', '.join(f'{name} {item:.4g}' for name, item in value.items())
        else:
            shown = ', '.join(f'{item:.6g}' for item in np.atleast_1d(value))
        return f'{self.quantity} {shown}{unit} ({self.source})'


def payload_of(machine: Machine, missing: str) -> tuple[Assumption, ...]:
    """Return the payload of the machine file as an assumption; none for a machine without payload.

    Args:
        machine: the machine.
        missing: option or topic that would specify it.
    """
    if machine.payload is None:
        return ()
    return (Assumption('payload', machine.payload.mass, 'kg', f'payload.mass of the machine file; no {missing}'),)


def slope_of(machine: Machine, missing: str) -> tuple[Assumption, ...]:
    """Return the slope of the machine file, roll and pitch, as an assumption; `missing` would specify it."""
    source = f'roll and pitch, slope of the machine file; no {missing}'
    return (Assumption('slope', [float(angle) for angle in machine.slope], 'rad', source),)


def friction_of(machine: Machine, missing: str) -> tuple[Assumption, ...]:
    """Return the least and greatest static friction coefficient of the wheels as an assumption (see `payload_of`)."""
    models: list[Any] = [getattr(contact, 'friction', None) for contact in machine.ground_contacts]
    coefficients = [float(model.static) for model in models if model is not None]
    if not coefficients:
        return ()
    values = sorted({min(coefficients), max(coefficients)})
    return (Assumption('friction', values, '', f'friction.static of the machine file; no {missing}'),)


def posture_of(machine: Machine, missing: str, specified: Collection[str] = ()) -> tuple[Assumption, ...]:
    """Return the initial positions of the unspecified joints as an assumption; `missing` would specify them."""
    positions = {name: value for name, value in initial_positions(machine).items() if name not in specified}
    if not positions:
        return ()
    source = f'rad or m, initial.joint_positions of the machine file; no {missing}'
    return (Assumption('posture', positions, '', source),)


def plain(assumptions: Iterable[Assumption]) -> list[dict[str, Any]]:
    """Return assumptions as plain data for JSON."""
    return [assumption._asdict() for assumption in assumptions]


def lines(assumptions: Iterable[Assumption | dict[str, Any]]) -> list[str]:
    """Return a line of text for every assumption, or for its plain data."""
    return [
        f'assumed: {assumption if isinstance(assumption, Assumption) else Assumption(**assumption)}'
        for assumption in assumptions
    ]
