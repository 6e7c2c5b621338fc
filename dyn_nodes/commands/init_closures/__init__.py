"""Readers of files that close loops of a URDF: one module per format, listed in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dyn_nodes.commands.init_closures import loop_closures_yaml, mjcf, sdf
from dyn_nodes.commands.init_closures.closure import Closures
from dyn_nodes.common.textfile import LARGEST_YAML
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import Report
from dyn_nodes.model.xml_source import parse_xml, read_text
from dyn_nodes.model.yaml_source import read_yaml

YAML_NAME = 'loop_closures.yaml'
"""File of the SolidWorks exporter beside the URDF or in the folder `config` of the package."""


class Format(NamedTuple):
    """Name and reader of a format."""

    name: str
    read: Callable[[Any, Machine, Report, str], Closures]


FORMATS = {
    'yaml': Format('loop closures of the SolidWorks exporter', loop_closures_yaml.read),
    'mujoco': Format('equality constraints of an MJCF file', mjcf.read),
    'sdf': Format('loop joints of an SDF file', sdf.read),
    'robot': Format('loop joints in <gazebo> elements', sdf.read_gazebo),
}
"""Formats by root element of an XML file, or `yaml`."""


def read_closures(path: Path, machine: Machine, report: Report) -> Closures | None:
    """Return the loops of a file; None after a fault, which is added to the report.

    Args:
        path: of the file.
        machine: read from its URDF only.
        report: of the file.
    """
    root: Any = None
    if path.suffix.lower() in ('.yaml', '.yml'):
        root, kind = read_yaml(path, report), 'yaml'
    else:
        text = read_text(path, report, LARGEST_YAML)
        root = None if text is None else parse_xml(text, report)
        kind = '' if root is None else str(root.tag)
    if root is not None and kind not in FORMATS:
        roots = ', '.join(f'<{name}>' for name in FORMATS if name != 'yaml')
        report.add(root.sourceline, 'document', f'a YAML file, or an XML file with a root of {roots}', f'<{kind}>')
    if root is None or report.failed:
        return None
    closures = FORMATS[kind].read(root, machine, report, f'{FORMATS[kind].name}, {path.name}')
    return None if report.failed else closures


def files_beside(urdf: Path) -> Iterator[Path]:
    """Yield files that may close loops of a URDF: the file of the SolidWorks exporter and the URDF itself."""
    folders = (urdf.parent, urdf.parent / 'config', urdf.parent.parent, urdf.parent.parent / 'config')
    path = next((folder / YAML_NAME for folder in folders if (folder / YAML_NAME).is_file()), None)
    if path is not None:
        yield path
    if urdf.suffix == '.urdf' and b'<gazebo' in urdf.read_bytes():
        yield urdf
