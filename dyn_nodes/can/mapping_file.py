"""Reading of a mapping from YAML and DBC: all signals, units, joints and frames are checked; faults have file and line.

    machine: log_loader
    dbc: log_loader.dbc
    joints:
      boom_joint: {signal: BoomCylinder.Length, measures: cylinder_length}

The keys are declared in `mapping_keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dyn_nodes.can.channels import ChannelReader
from dyn_nodes.can.commandable import obstacles
from dyn_nodes.can.dbc import read_dbc
from dyn_nodes.can.frames import FrameReader
from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.can.mapping_keys import MappingEntries
from dyn_nodes.common.share import find_resource, named_file
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import MachineError, Problem, Report
from dyn_nodes.model.schema import keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry


def load_mapping(source: str | Path) -> tuple[CanMapping, tuple[Problem, ...]]:
    """Read a mapping; return it and its warnings.

    Args:
        source: path of its YAML, or the name of one in `config/can`.

    Raises:
        MachineError: with file, line, key, expected and found content for every fault, also of the machine and the DBC.
        FileNotFoundError: no file of that name.
        ImportError: cantools is not installed.
    """
    path = named_file(source, 'config/can')

    def made(root: Entry, report: Report) -> tuple[CanMapping, tuple[Problem, ...]] | None:
        mapping = _read(root, path, report)
        return None if mapping is None else (mapping, report.sorted_warnings())

    return load_file(path, made)


def _read(root: Entry, path: Path, report: Report) -> CanMapping | None:
    reader = SchemaReader(report)
    values = reader.table(root, keys_of(MappingEntries))
    machine = _machine(root, values, path, report) if 'machine' in values and 'config' in values else None
    if 'dbc' not in values:
        return None
    source = path.parent / values['dbc']
    if not source.is_file():
        location = root.mapping['dbc']
        report.add(location.line, location.path, 'a file', f'{values["dbc"]!r}, which does not exist in {path.parent}')
        return None
    database = read_dbc(source, report.for_file(str(source)))
    if database is None or machine is None:
        return None
    channels = ChannelReader(reader, machine, database).read(root, values)
    frames = FrameReader(reader, machine, database).read(root, values, channels)
    if report.failed:
        return None
    mapping = CanMapping(machine, frames, (str(path), str(source)))
    for obstacle in obstacles(mapping):
        entry = channels['command', obstacle.actuator][1]
        report.warn(entry.line, entry.path, f'{obstacle.expected}, else the bridge cannot be armed', obstacle.found)
    return mapping


def _machine(root: Entry, values: Mapping[str, Any], path: Path, report: Report) -> Machine | None:
    name, config = values['machine'], values['config']
    named = '/' not in name and not name.endswith(('.urdf', '.xacro'))
    urdf = _file(root, 'machine', name, f'urdf/{name}.urdf' if named else '', path, report)
    yaml: Path | None = None
    if config or named:
        of_package = '/' not in config and not config.endswith(('.yaml', '.yml'))
        resource = f'config/{config or name}.yaml' if of_package else ''
        yaml = _file(root, 'config' if config else 'machine', config, resource, path, report)
        if yaml is None:
            return None
    if urdf is None:
        return None
    try:
        return load_machine(urdf, yaml)
    except MachineError as error:
        report.problems.extend(error.problems)
        return None


def _file(root: Entry, key: str, value: str, resource: str, path: Path, report: Report) -> Path | None:
    """Return a file relative to the mapping, or of the package; None, with a reported problem, if it does not exist."""
    location = root.mapping[key]
    if resource:
        try:
            return find_resource(resource)
        except FileNotFoundError as error:
            report.add(location.line, location.path, 'the name of a machine of this package, or a path', error)
            return None
    if (path.parent / value).is_file():
        return path.parent / value
    report.add(location.line, location.path, 'a file', f'{value!r}, which does not exist in {path.parent}')
    return None
