"""Writing of the lines of a fit into copies of the machine files: URDF, machine YAML and mapping of the bus."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dyn_nodes.analysis.urdf_edit import with_elements
from dyn_nodes.analysis.yaml_edit import EditError, Value, with_values
from dyn_nodes.common import textfile
from dyn_nodes.model.xml_source import LARGEST_URDF

BUS = 'can'
"""Directory of the mapping and its DBC, below the directory of the machine files."""
_ENTRY = re.compile(r'^(?P<indent> *)(?P<key>[^:#]+): *(?P<value>[^#]*?) *(?:# *(?P<remark>.*))?$')
_SOURCE = re.compile(r'from (.*), \S+ to \S+ s')


def machine_yaml(text: str, lines: str) -> str:
    """Return the text of a machine YAML with the numbers of `lines.yaml`, with interval and log as remarks.

    Raises:
        EditError: the lines are invalid, or the YAML cannot take them.
    """
    return with_values(text, dict(_values(lines)))


def _values(lines: str) -> Iterator[tuple[tuple[str, ...], Value]]:
    """Yield path and value of each number."""
    source = _SOURCE.search(lines.partition('\n')[0])
    log = f', from {source[1]}' if source else ''
    remarks = {}
    stack: list[tuple[int, str]] = []
    for line in lines.splitlines():
        match = _ENTRY.match(line)
        if match is None:
            continue
        indent = len(match['indent'])
        stack = [entry for entry in stack if entry[0] < indent]
        stack.append((indent, match['key'].strip()))
        if match['remark']:
            remarks[tuple(key for _, key in stack)] = match['remark'] + log
    for path, number in _numbers(lines, 'lines.yaml', 'actuators'):
        yield path, Value(_text(number), remarks.get(path, log.lstrip(', ')))


def _numbers(lines: str, name: str, section: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield path and number of all entries of a file of lines."""
    try:
        data = textfile.load_yaml(lines)
    except textfile.TextFileError as error:
        raise EditError(f'{name}: {error}') from None
    if data is None:
        return
    if not isinstance(data, dict) or not isinstance(data.get(section), dict):
        raise EditError(f'{name}: expected a mapping {section!r}, found none')
    yield from _leaves(name, (section,), data[section])


def _leaves(name: str, path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(name, (*path, str(key)), child)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)
    else:
        raise EditError(f'{name}: {".".join(path)}: expected a number, found {str(value)[:40]!r}')


def _text(number: float) -> str:
    """Return a number with five digits and a point in the mantissa: YAML 1.1 reads 1e9 as text."""
    mantissa, exponent = f'{number:.4e}'.split('e')
    return f'{mantissa}e{int(exponent):+d}'


def mapping_yaml(text: str, lines: str, files: dict[str, str]) -> str:
    """Return the text of a mapping with the joint offsets of `offsets.yaml` added to its existing offsets.

    Args:
        text: text of the mapping.
        lines: text of the offsets, '' for none.
        files: paths for the keys `machine`, `config` and `dbc`.

    Raises:
        EditError: a joint has no signal, or the mapping cannot take an offset.
    """
    joints = textfile.load_yaml(text).get('joints') or {}
    values: dict[tuple[str, ...], Value] = {(key,): Value(path) for key, path in files.items()}
    for path, number in _numbers(lines, 'offsets.yaml', 'joints'):
        if len(path) != 3 or path[2] != 'joint_offset' or path[1] not in joints:
            raise EditError(f'offsets.yaml: {".".join(path)}: expected the joint_offset of a joint of the mapping')
        before = float(joints[path[1]].get('joint_offset', 0.0))
        values[path] = Value(f'{before + number:.5f}')
    return with_values(text, values)


def write_applied(
    fit: Path, urdf: Path, config: Path, mapping: tuple[Path, Path] | None, directory: Path
) -> list[Path]:
    """Write copies of machine files with the lines of a fit to a new directory; return their paths.

    Args:
        fit: directory that `fit machine --out` wrote; lines that were deleted there are not applied.
        urdf: URDF of the machine.
        config: machine YAML.
        mapping: mapping of its bus and its DBC; None without a bus.
        directory: new directory; must not exist.

    Raises:
        EditError: the directory has no lines, or the files cannot take them.
        FileExistsError: the directory exists.
        OSError: the directory cannot be written.
    """
    names = ('lines.yaml', 'lines.urdf', 'offsets.yaml')
    lines = {name: _read(fit / name) if (fit / name).exists() else '' for name in names}
    if not any(lines.values()):
        raise EditError(f'{fit}: expected {", ".join(names)}, as `fit machine --out` writes them, found none')
    if urdf.suffix == '.xacro' and lines['lines.urdf']:
        raise EditError(f'{urdf}: expected a URDF, found a xacro file, in which an element may serve many links')
    texts = {
        directory / urdf.name: _of(urdf, lambda text: with_elements(text, lines['lines.urdf'])),
        directory / config.name: _of(config, lambda text: machine_yaml(text, lines['lines.yaml'])),
    }
    if mapping is not None:
        source, dbc = mapping
        files = {'machine': f'../{urdf.name}', 'config': f'../{config.name}', 'dbc': dbc.name}
        texts[directory / BUS / source.name] = _of(
            source, lambda text: mapping_yaml(text, lines['offsets.yaml'], files)
        )
    directory.mkdir(parents=True)
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    written = list(texts)
    if mapping is not None:
        written.append(Path(shutil.copyfile(mapping[1], directory / BUS / mapping[1].name)))
    return written


def _read(path: Path) -> str:
    try:
        return textfile.read_text(path, LARGEST_URDF)
    except textfile.TextFileError as error:
        raise EditError(f'{path}: {error}') from None


def _of(path: Path, change: Any) -> str:
    try:
        return str(change(_read(path)))
    except EditError as error:
        raise EditError(str(error) if str(error).startswith(str(path)) else f'{path}: {error}') from None
