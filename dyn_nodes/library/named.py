"""Machines by the names used in launch files and nodes, or from their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dyn_nodes.library.changes import machine_data
from dyn_nodes.library.machine import Machine
from dyn_nodes.model.named import machine_files, packaged_machines


def machines() -> tuple[str, ...]:
    """Return the names of the machines of this package, in alphabetical order.

    Each has a machine YAML, and a URDF of the same name or of the machine whose name is its prefix.
    """
    return tuple(sorted(packaged_machines()))


def load(
    machine: str | Path,
    config: str | Path | None = None,
    *,
    payload: float | None = None,
    slope: float | tuple[float, float] | None = None,
    changes: Mapping[str, float] | None = None,
) -> Machine:
    """Load a machine.

    Args:
        machine: name of a machine of this package, such as `log_loader` (see `machines`), or path of a URDF or xacro
            file.
        config: path of a machine YAML, or name of one of this package. None: the machine YAML of the named machine;
            for a path no machine YAML: the base is fixed, without wheels, actuators and payload.
        payload: mass in the implement for all methods of the machine, kg; None: from the machine YAML.
        slope: (roll, pitch) of the ground for all methods, or the pitch alone, rad; None: from the machine YAML.
        changes: replacements of numbers of the machine YAML, by dotted key, such as `wheels.front_left.stiffness` or
            `gravity`; and masses of links, such as `links.boom_link.mass`, kg, whose inertia changes with the mass.

    Returns:
        The machine; nothing is compiled yet.

    Raises:
        ValueError: no such name or file, with the nearest name; changes without a machine YAML; a payload that the
            machine cannot carry. `MachineError`, a ValueError: invalid files; it lists all faults with file, line, key.
    """
    urdf, yaml = machine_files(machine, config)
    loaded = Machine(machine_data(urdf, yaml, changes or {}))
    conditions = loaded.conditions._replace(changes=dict(changes or {}))
    return Machine(loaded.data, conditions).carrying(payload, slope)
