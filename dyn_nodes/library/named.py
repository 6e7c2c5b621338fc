"""Machines by the names that launch files and nodes know, or by their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dyn_nodes.library.machine import Machine
from dyn_nodes.library.notice import shown
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.named import known_machines, machine_files


def machines() -> tuple[str, ...]:
    """Return the names of the machines of this package, in alphabetical order.

    Each has a machine YAML; a URDF of its name, or that of the machine whose name it begins with.
    """
    return tuple(sorted(known_machines()))


def load(
    machine: str | Path,
    config: str | Path | None = None,
    *,
    payload: float | None = None,
    slope: tuple[float, float] | None = None,
    changes: Mapping[str, float] | None = None,
) -> Machine:
    """Load a machine.

    Args:
        machine: name of a machine of this package, such as `log_loader` (see `machines`), or path of a URDF or xacro
            file.
        config: path of the machine YAML, or name of one of this package; None: the named machine's own, or for a path
            none: then the base is fixed and there are no wheels, actuators or payload.
        payload: mass in the implement for all methods of the machine, kg; None: that of the machine YAML.
        slope: (roll, pitch) of the ground likewise, rad.
        changes: numbers over those of the machine YAML, by dotted key, such as `wheels.front_left.stiffness`.

    Returns:
        The machine; nothing is compiled yet.

    Raises:
        ValueError: no such name or file; the message has the nearest name. Or (`MachineError`) the files have faults;
            all of them are in its message, with file, line and key. Or changes without a machine YAML, or a payload
            that the machine cannot carry.
    """
    urdf, yaml = machine_files(machine, config)
    for what, path in (('machine', urdf), ('config', yaml)):
        if path is not None and not path.is_file():
            raise ValueError(f'{what}: no such file: {path}')
    if changes and yaml is None:
        raise ValueError('changes: expected a machine YAML whose numbers they change, found none')
    with shown('files'):
        loaded = Machine(load_machine(urdf, yaml, changes))
    own = loaded.conditions._replace(changes=dict(changes or {}))
    return Machine(loaded.data, own).carrying(payload, slope)
