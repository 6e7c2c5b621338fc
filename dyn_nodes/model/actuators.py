"""Kinds of actuators in a machine YAML, by `type`. A new kind is its record's file and its line here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.cylinder import CylinderActuator
from dyn_nodes.model.dc_motor import DcMotorActuator
from dyn_nodes.model.motor import MotorActuator
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of

_RECORDS: tuple[type[ActuatorRecord], ...] = (CylinderActuator, MotorActuator, DcMotorActuator)
KINDS: dict[str, type[ActuatorRecord]] = {record.kind: record for record in _RECORDS}
OilActuator = CylinderActuator | MotorActuator
Actuator = CylinderActuator | MotorActuator | DcMotorActuator


def actuator_keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of actuator."""
    return (choice('what kind of actuator', tuple(KINDS), default=REQUIRED, name='type'), *keys_of(KINDS[kind]))  # type: ignore[arg-type]


def kind_of_keys(names: Iterable[str], kind: str) -> str:
    """Return the kind whose keys these are, where they are plainly not those of `kind`; else `kind`.

    Args:
        names: keys of an actuator in a machine YAML.
        kind: its `type`.
    """
    given = set(names)
    foreign = {own: len(given - {key.name for key in actuator_keys(own)}) for own in KINDS}
    nearest = min(foreign, key=lambda own: foreign[own])
    return nearest if foreign[kind] > max(1, 2 * foreign[nearest]) else kind


def shared_keys() -> tuple[Key, ...]:
    """Return the keys of `defaults` for actuators: tables that kinds share, then the kinds."""
    tables = {own.name: own for kind in KINDS for own in actuator_keys(kind) if own.shared}
    below = [own._replace(default=None, meaning=f'under the {name} of every actuator') for name, own in tables.items()]
    kinds = [
        Key(kind, 'table', f'under every actuator of type {kind}', default=None, table=actuator_keys(kind))
        for kind in KINDS
    ]
    return (*below, *kinds)


def hydraulic(actuator: Actuator) -> OilActuator:
    """Return an actuator as a hydraulic one. Raises ValueError where it is of another kind."""
    if not actuator.takes_oil:
        raise ValueError(f'actuator {actuator.name!r}: expected a hydraulic one, found a {actuator.kind}')
    return cast(OilActuator, actuator)


def electric(actuator: Actuator) -> DcMotorActuator:
    """Return an actuator as an electric motor. Raises ValueError where it is of another kind."""
    if not actuator.electric:
        raise ValueError(f'actuator {actuator.name!r}: expected an electric motor, found a {actuator.kind}')
    return cast(DcMotorActuator, actuator)
