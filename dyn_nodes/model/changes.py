"""Replacement of numbers of a machine YAML by dotted key, as sweeps need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_nodes.model.schema_reader import is_marked
from dyn_nodes.model.yaml_source import Entry


def changed(root: Entry, changes: Mapping[str, float]) -> Entry:
    """Return the root mapping with other numbers; missing keys are added and checked like keys of the file.

    Args:
        root: of a machine YAML.
        changes: numbers by dotted key, such as `defaults.wheel.stiffness`. A value `{value: ..., assumed: ...}` becomes
            the number.
    """
    for key, value in changes.items():
        root = _placed(root, key.split('.'), value, key)
    return root


def _placed(entry: Entry, parts: Sequence[str], value: float, key: str) -> Entry:
    if not parts:
        return Entry('text', repr(float(value)), entry.line, key)
    inner = {} if entry.kind != 'map' or is_marked(entry) else dict(entry.mapping)
    name = parts[0]
    path = f'{entry.path}.{name}' if entry.path else name
    inner[name] = _placed(inner.get(name, Entry('map', {}, entry.line, path)), parts[1:], value, key)
    return Entry('map', inner, entry.line, entry.path)
