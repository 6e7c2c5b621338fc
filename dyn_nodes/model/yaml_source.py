"""Reader of YAML files: a plain tree with line numbers; no tags, no alias bombs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from dyn_nodes.common.textfile import DEEPEST, LARGEST_YAML, MOST_ENTRIES, yaml_fault
from dyn_nodes.model.problems import PRINTABLE, Report, is_printable, shorten
from dyn_nodes.model.xml_source import read_text

_PREFIX = 'tag:yaml.org,2002:'
_SUPPORTED_TAGS = {
    _PREFIX + word for word in ('null', 'bool', 'int', 'float', 'str', 'timestamp', 'seq', 'map', 'value')
}
_MERGE = _PREFIX + 'merge'
_LAYOUT = str.maketrans('\n\t', '  ')


@dataclass(frozen=True)
class Entry:
    """A value of a YAML file.

    Attributes:
        kind: `text` (also an unquoted number), `quoted`, `bool`, `null`, `list` or `map`.
        value: str; list of entries; dict of entries by key.
        line: 1-based line of the key, or of the value without key.
        path: dotted keys from the root of the file: `wheels.front_left.position`.
    """

    kind: str
    value: object
    line: int
    path: str

    @property
    def mapping(self) -> dict[str, Entry]:
        """The entries of a `map`, else an empty dict."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Entry]:
        """The entries of a `list`, else an empty list."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str:
        """The text of a scalar, else ''."""
        return self.value if isinstance(self.value, str) else ''

    def describe(self) -> str:
        """Return a description of the value for messages."""
        if self.kind in ('list', 'map'):
            return f'a {"list" if self.kind == "list" else "mapping"} of {len(self.items) + len(self.mapping)}'
        return 'nothing' if self.kind == 'null' else f'{shorten(self.text)!r}'


@lru_cache(maxsize=8)
def _composed(text: str) -> yaml.Node | None:
    """Return the nodes of a document; cached, because checks and computations read the same file."""
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _TooLargeError(Exception):
    """The expanded document is too large or infinite."""


def read_yaml(path: Path, report: Report) -> Entry | None:
    """Return the root mapping of a YAML file; report a fault and return None otherwise."""
    text = read_text(path, report, LARGEST_YAML)
    if text is None:
        return None
    try:
        node = _composed(text)
        if node is None:
            report.add(0, 'document', 'a mapping', 'an empty file')
            return None
        root = _Converter(report).convert(node, '', node.start_mark.line + 1, 0)
    except (RecursionError, _TooLargeError):
        expected = f'at most {MOST_ENTRIES} values, nested at most {DEEPEST} deep, aliases expanded'
        report.add(0, 'document', expected, 'more')
        return None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: the constructors of odd scalars
        fault = yaml_fault(error, text)
        report.add(fault.line, 'document', fault.expected, fault.found)
        return None
    if root.kind != 'map':
        report.add(root.line, 'document', 'a mapping', root.describe())
        return None
    return root


class _Converter:
    """Converter of nodes into entries, with a limit of their number."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.entries = 0

    def convert(self, node: yaml.Node, path: str, line: int, depth: int) -> Entry:
        self.entries += 1
        if self.entries > MOST_ENTRIES or depth > DEEPEST:
            raise _TooLargeError
        if node.tag not in _SUPPORTED_TAGS:
            self.report.add(node.start_mark.line + 1, path or 'document', 'a value without a tag', f'tag {node.tag!r}')
        if isinstance(node, yaml.MappingNode):
            return Entry('map', self._map(node, path, depth), line, path)
        if isinstance(node, yaml.SequenceNode):
            items = [
                self.convert(item, f'{path}[{index}]', item.start_mark.line + 1, depth + 1)
                for index, item in enumerate(node.value)
            ]
            return Entry('list', items, line, path)
        kind = _scalar_kind(node) if isinstance(node, yaml.ScalarNode) else 'text'
        text = str(node.value)
        if not is_printable(text.translate(_LAYOUT)):
            self.report.add(line, path or 'document', PRINTABLE, ascii(text))
        return Entry(kind, text, line, path)

    def _map(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                merged = {**self._merged(value_node, path, line, depth), **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.report.add(line, path or 'document', 'keys that are words', 'a list or mapping as key')
                continue
            key = str(key_node.value)
            where = f'{path}.{key}' if path else key
            if not is_printable(key):
                self.report.add(line, path or 'document', f'a key of {PRINTABLE}', ascii(key))
                continue
            if key in entries:
                expected = f'a unique key (line {entries[key].line} has it)'
                self.report.add(line, where, expected, 'a duplicate')
                continue
            entries[key] = self.convert(value_node, where, line, depth + 1)
        return {**merged, **entries}

    def _merged(self, node: yaml.Node, path: str, line: int, depth: int) -> dict[str, Entry]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Entry] = {}
        for one in nodes:
            if isinstance(one, yaml.MappingNode):
                merged = {**self.convert(one, path, line, depth + 1).mapping, **merged}
            else:
                self.report.add(line, f'{path}.<<' if path else '<<', 'a mapping to merge', 'something else')
        return merged


def _scalar_kind(node: yaml.ScalarNode) -> str:
    if node.style is not None:
        return 'quoted'
    return {_PREFIX + 'null': 'null', _PREFIX + 'bool': 'bool'}.get(node.tag, 'text')
