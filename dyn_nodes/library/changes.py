"""Content of a machine's files with changed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import number
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.model.problems import did_you_mean


def machine_data(urdf: Path, yaml: Path | None, changes: Mapping[str, float]) -> MachineData:
    """Return the content of a machine's files; changes and errors as for `load`."""
    for kind, path in (('machine', urdf), ('config', yaml)):
        if path is not None and not path.is_file():
            raise ValueError(f'{kind}: no such file: {path}')
    masses = {key: mass for key, mass in changes.items() if key.startswith('links.') and key.endswith('.mass')}
    others = {key: value for key, value in changes.items() if key not in masses}
    if others and yaml is None:
        raise ValueError('changes: expected a machine YAML to change, found none')
    with shown('files'):
        data = load_machine(urdf, yaml, others)
    return _with_masses(data, masses) if masses else data


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
