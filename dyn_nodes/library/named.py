"""Machines by the names used in launch files and nodes, or from their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dyn_nodes.library.machine import Machine
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import number
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.model.named import known_machines, machine_files
from dyn_nodes.model.problems import did_you_mean


def machines() -> tuple[str, ...]:
    """Return the names of the machines of this package, in alphabetical order.

    Each has a machine YAML, and a URDF of the same name or of the machine whose name is its prefix.
    """
    return tuple(sorted(known_machines()))


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
    for kind, path in (('machine', urdf), ('config', yaml)):
        if path is not None and not path.is_file():
            raise ValueError(f'{kind}: no such file: {path}')
    masses = {key: mass for key, mass in (changes or {}).items() if key.startswith('links.') and key.endswith('.mass')}
    others = {key: value for key, value in (changes or {}).items() if key not in masses}
    if others and yaml is None:
        raise ValueError('changes: expected a machine YAML to change, found none')
    with shown('files'):
        data = load_machine(urdf, yaml, others)
        loaded = Machine(_with_masses(data, masses) if masses else data)
    conditions = loaded.conditions._replace(changes=dict(changes or {}))
    return Machine(loaded.data, conditions).carrying(payload, slope)


def _with_masses(data: MachineData, masses: Mapping[str, float]) -> MachineData:
    """Return a machine whose links have other masses and, in proportion, inertias."""
    links = {link.name: link for link in data.links}
    for key, value in masses.items():
        name, mass = key.removeprefix('links.').removesuffix('.mass'), number(data.name, key, value)
        link = links[checked_link(data.name, name, tuple(links))]
        if not mass > 0.0 or link.mass == 0.0:
            expected = 'above 0 kg' if link.mass else 'a link with a mass'
            raise ValueError(f'{data.name}: {key}: expected {expected}, found {mass:g}')
        links[name] = replace(link, mass=mass, inertia=link.inertia * (mass / link.mass))
    return replace(data, links=tuple(links.values()))


def checked_link(owner: str, name: str, names: tuple[str, ...]) -> str:
    """Return the name of a link. Raises ValueError with the nearest name if it is not among `names`."""
    if name not in names:
        raise ValueError(f'{owner}: links: unknown link {did_you_mean(name, names)}')
    return name
