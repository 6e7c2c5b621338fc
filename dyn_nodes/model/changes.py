"""Replacement of numbers of a machine YAML by dotted key, as sweeps and variations of assumed values need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_nodes.model.schema_reader import is_marked
from dyn_nodes.model.yaml_source import Entry

Number = float | Sequence[float]
"""A number or a list of numbers of a machine YAML."""


def changed(root: Entry, changes: Mapping[str, Number]) -> Entry:
    """Return the root mapping with other numbers; missing keys are added and checked like keys of the file.

    Args:
        root: of a machine YAML.
        changes: numbers or lists of numbers by dotted key, such as `defaults.wheel.stiffness`. They replace a value
            `{value: ..., assumed: ...}` as a whole.
    """
    for key, value in changes.items():
        root = _placed(root, key.split('.'), value, key)
    return root


def number_at(root: Entry, key: str) -> Number | None:
    """Return the number, or the list of numbers, at a dotted key of a machine YAML; None for any other value."""
    entry = root
    for part in key.split('.'):
        entry = entry.mapping.get(part, Entry('null', '', root.line, key))
    entry = entry.mapping['value'] if is_marked(entry) else entry
    try:
        return [float(item.text) for item in entry.items] if entry.kind == 'list' else float(entry.text)
    except ValueError:
        return None


def _placed(entry: Entry, parts: Sequence[str], value: Number, key: str) -> Entry:
    if not parts:
        if isinstance(value, Sequence):
            return Entry('list', [_placed(entry, (), item, key) for item in value], entry.line, key)
        return Entry('text', repr(float(value)), entry.line, key)
    inner = {} if entry.kind != 'map' or is_marked(entry) else dict(entry.mapping)
    name = parts[0]
    path = f'{entry.path}.{name}' if entry.path else name
    inner[name] = _placed(inner.get(name, Entry('map', {}, entry.line, path)), parts[1:], value, key)
    return Entry('map', inner, entry.line, entry.path)
