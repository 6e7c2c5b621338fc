"""A mapping from a YAML and its DBC: every signal, unit, joint and frame is checked, every fault has file and line.

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


def load_mapping(given: str | Path) -> tuple[CanMapping, tuple[Problem, ...]]:
    """Read a mapping; return it and its warnings.

    Args:
        given: path of its YAML, or the name of one in `config/can`.

    Raises:
        MachineError: with file, line, key, what was expected and what was found, for every fault; of the machine and
            the DBC, too.
        FileNotFoundError: a name that no file has.
        ImportError: cantools is not installed.
    """
    path = named_file(given, 'config/can')

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
        place = root.mapping['dbc']
        report.add(place.line, place.path, 'a file', f'{values["dbc"]!r}, which is none from {path.parent}')
        return None
    database = read_dbc(source, report.for_file(str(source)))
    if database is None or machine is None:
        return None
    channels = ChannelReader(reader, machine, database).read(root, values)
    frames = FrameReader(reader, machine, database).read(root, values, channels)
    if report.failed:
        return None
    mapping = CanMapping(machine, frames, (str(path), str(source)))
    for own in obstacles(mapping):
        entry = channels['command', own.actuator][1]
        report.warn(entry.line, entry.path, f'{own.expected}, else the bridge cannot be armed', own.found)
    return mapping


def _machine(root: Entry, values: Mapping[str, Any], path: Path, report: Report) -> Machine | None:
    given, config = values['machine'], values['config']
    named = '/' not in given and not given.endswith(('.urdf', '.xacro'))
    urdf = _file(root, 'machine', given, f'urdf/{given}.urdf' if named else '', path, report)
    yaml: Path | None = None
    if config or named:
        of_package = '/' not in config and not config.endswith(('.yaml', '.yml'))
        resource = f'config/{config or given}.yaml' if of_package else ''
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


def _file(root: Entry, key: str, given: str, resource: str, path: Path, report: Report) -> Path | None:
    """Return a file beside the mapping, or of the package; None, with a problem in the report, where there is none."""
    place = root.mapping[key]
    if resource:
        try:
            return find_resource(resource)
        except FileNotFoundError as error:
            report.add(place.line, place.path, 'the name of a machine of this package, or a path', error)
            return None
    if (path.parent / given).is_file():
        return path.parent / given
    report.add(place.line, place.path, 'a file', f'{given!r}, which is none from {path.parent}')
    return None
