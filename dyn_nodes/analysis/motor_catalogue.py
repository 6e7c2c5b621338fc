"""A catalogue of motors: a YAML file whose motors have the keys of a `dc_motor` in the machine YAML.

motors:
  ec_90:
    torque_constant: 0.11     # N m/A
    resistance: 0.34          # ohm
    inductance: 0.26e-3       # H
    rotor_inertia: 5.1e-4     # kg m2
    voltage_limit: 48.0       # V
    current_limit: 30.0       # A
    continuous_current: 5.0   # A
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dyn_nodes.model.actuators.dc_motor import DcMotorActuator
from dyn_nodes.model.named_file import load_named
from dyn_nodes.model.schema import Key, build, keys_of, named, number
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry

OPEN = {'joint': '', 'gear_ratio': 1.0, 'screw_lead': None}
"""Keys of a machine's motor that a catalogue does not have, with their replacements."""


@dataclass(frozen=True)
class CatalogueMotor(DcMotorActuator):
    """A motor that may be chosen for a joint."""

    continuous_current: Annotated[float, number('for continuous duty', 'A', 'positive')] = math.inf


@dataclass(frozen=True)
class _Catalogue:
    motors: Annotated[dict[str, CatalogueMotor], named('motors to choose from', CatalogueMotor)]


def catalogue_keys() -> tuple[Key, ...]:
    """Return the keys of a motor in a catalogue."""
    return tuple(key for key in keys_of(CatalogueMotor) if key.name not in OPEN)


def load_catalogue(path: str | Path) -> tuple[CatalogueMotor, ...]:
    """Return the motors of a catalogue in order.

    Raises:
        MachineError: with file, line, key, expected and found value for every error.
    """
    return load_named(path, keys_of(_Catalogue), 'motors', 'at least one motor', _motor)


def _motor(reader: SchemaReader, name: str, entry: Entry) -> CatalogueMotor | None:
    values = reader.table(entry, catalogue_keys(), where=entry.path)
    if reader.report.failed:
        return None
    motor: CatalogueMotor | None = build(CatalogueMotor, {**values, **OPEN}, name=name)
    return motor


def as_catalogue_motor(motor: DcMotorActuator) -> CatalogueMotor:
    """Return the motor of a machine as a catalogue entry."""
    fields = {key.field: getattr(motor, key.field) for key in keys_of(DcMotorActuator)}
    return CatalogueMotor(name=motor.name, **fields)
