"""Kinds of actuators in a machine YAML, by `type`: each file of this package contains the record of one kind.

A record may also be in the file of its element, in `dyn_nodes.elements.actuators`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.discovery import records_of
from dyn_nodes.model.electric import ElectricRecord
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of


@cache
def actuator_kinds() -> dict[str, type[ActuatorRecord]]:
    """Return the record of every kind."""
    return records_of(sys.modules[__name__], 'dyn_nodes.elements.actuators', ActuatorRecord)


def actuator_keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of actuator."""
    return (
        choice('kind of the actuator', tuple(actuator_kinds()), default=REQUIRED, name='type'),
        *keys_of(actuator_kinds()[kind]),  # type: ignore[arg-type]
    )


def kind_of_keys(names: Iterable[str], kind: str) -> str:
    """Return the kind to which the keys clearly belong instead of `kind`; else `kind`.

    Args:
        names: keys of an actuator in a machine YAML.
        kind: `type` of the actuator.
    """
    present = set(names)
    foreign = {
        candidate: len(present - {key.name for key in actuator_keys(candidate)}) for candidate in actuator_kinds()
    }
    nearest = min(foreign, key=lambda candidate: foreign[candidate])
    return nearest if foreign[kind] > max(1, 2 * foreign[nearest]) else kind


def shared_keys() -> tuple[Key, ...]:
    """Return the keys of `defaults` for actuators: tables shared by kinds, then the kinds."""
    tables = {key.name: key for kind in actuator_kinds() for key in actuator_keys(kind) if key.shared}
    below = [key._replace(default=None, meaning=f'under the {name} of every actuator') for name, key in tables.items()]
    kinds = [
        Key(kind, 'table', f'under every actuator of type {kind}', default=None, table=actuator_keys(kind))
        for kind in actuator_kinds()
    ]
    return (*below, *kinds)


def oil_actuators(actuators: Iterable[ActuatorRecord]) -> list[HydraulicRecord]:
    """Return the hydraulic actuators."""
    return [actuator for actuator in actuators if isinstance(actuator, HydraulicRecord)]


def electric_motors(actuators: Iterable[ActuatorRecord]) -> list[ElectricRecord]:
    """Return the electric motors."""
    return [actuator for actuator in actuators if isinstance(actuator, ElectricRecord)]


def hydraulic(actuator: ActuatorRecord) -> HydraulicRecord:
    """Return a hydraulic actuator. Raises ValueError for another one."""
    if not isinstance(actuator, HydraulicRecord):
        raise ValueError(f'actuator {actuator.name!r}: expected a hydraulic one, found a {actuator.kind}')
    return actuator


def electric(actuator: ActuatorRecord) -> ElectricRecord:
    """Return an electric motor. Raises ValueError for another actuator."""
    if not isinstance(actuator, ElectricRecord):
        raise ValueError(f'actuator {actuator.name!r}: expected an electric motor, found a {actuator.kind}')
    return actuator
