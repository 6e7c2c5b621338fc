"""Kinds of actuators in a machine YAML, by `type`. A new kind is its record's file and its line here."""

from __future__ import annotations

from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.cylinder import CylinderActuator
from dyn_nodes.model.dc_motor import DcMotorActuator
from dyn_nodes.model.motor import MotorActuator
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of

KINDS: dict[str, type[ActuatorRecord]] = {record.kind: record for record in (CylinderActuator, MotorActuator, DcMotorActuator)}
Actuator = CylinderActuator | MotorActuator | DcMotorActuator


def actuator_keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of actuator."""
    return (choice('what kind of actuator', tuple(KINDS), default=REQUIRED, name='type'), *keys_of(KINDS[kind]))  # type: ignore[arg-type]


def shared_keys() -> tuple[Key, ...]:
    """Return the keys of `defaults` for actuators: tables that kinds share, then the kinds."""
    tables = {own.name: own for kind in KINDS for own in actuator_keys(kind) if own.shared}
    below = [own._replace(default=None, meaning=f'under the {name} of every actuator') for name, own in tables.items()]
    kinds = [
        Key(kind, 'table', f'under every actuator of type {kind}', default=None, table=actuator_keys(kind))
        for kind in KINDS
    ]
    return (*below, *kinds)
