"""Changes of values in the text of a YAML file that keep comments, order and layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from dyn_nodes.common.errors import UserError

Path = tuple[str, ...]
STEP = 2
"""Indentation of an inserted mapping, spaces."""


class EditError(UserError, ValueError):
    """A file cannot be changed as requested; the message has line, key, expected and found value."""


class Value(NamedTuple):
    """A value to write: the text of a scalar, and a remark for the end of its line, or ''."""

    text: str
    remark: str = ''


class _Change(NamedTuple):
    start: int
    end: int
    text: str


def with_values(text: str, values: Mapping[Path, Value]) -> str:
    """Return the text of a YAML document with changed values.

    An existing value is replaced together with its `assumed` and its remark; a missing value is added at the end
    of its mapping.

    Args:
        text: a mapping that `load_yaml` accepts.
        values: values by path of keys from the root.

    Raises:
        EditError: a path contains a value other than a mapping, or a mapping that an alias shares.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    uses: Counter[int] = Counter()
    _count(root, uses)
    changes: list[_Change] = []
    missing: dict[int, tuple[yaml.MappingNode, dict[str, Any]]] = {}
    for path, value in values.items():
        parent, rest = _descend(root, path, uses)
        pair = _pair(parent, rest[0])
        if pair is not None:
            changes.append(_replaced(text, parent, pair, path, value))
            continue
        tree = missing.setdefault(id(parent), (parent, {}))[1]
        for key in rest[:-1]:
            tree = tree.setdefault(key, {})
        tree[rest[-1]] = value
    changes += [_inserted(text, parent, tree) for parent, tree in missing.values()]
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def _count(node: yaml.Node | None, uses: Counter[int]) -> None:
    """Count the references to each node; a node with an alias has several."""
    if node is None:
        return
    uses[id(node)] += 1
    if uses[id(node)] > 1:
        return
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            _count(value, uses)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _count(value, uses)


def _pair(node: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(((name_node, value) for name_node, value in node.value if name_node.value == key), None)


def _descend(root: yaml.Node | None, path: Path, uses: Counter[int]) -> tuple[yaml.MappingNode, Path]:
    """Return the innermost existing mapping of a path, and the remaining keys."""
    node = root
    for k in range(len(path)):
        where = '.'.join(path[:k]) or 'document'
        if not isinstance(node, yaml.MappingNode):
            line = 0 if node is None else node.start_mark.line
            raise EditError(f'line {line + 1}: {where}: expected a mapping, found another value')
        if uses[id(node)] > 1:
            expected = 'expected a mapping that no alias shares'
            raise EditError(f'line {node.start_mark.line + 1}: {where}: {expected}')
        pair = _pair(node, path[k])
        if pair is None or k == len(path) - 1:
            return node, path[k:]
        node = pair[1]
    raise EditError('expected at least one key, found none')


def _end(node: yaml.Node, text: str) -> int:
    """Return the index after the last character of a node, without white space after a block."""
    while not getattr(node, 'flow_style', True) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return len(text[: node.end_mark.index].rstrip())


def _replaced(
    text: str, parent: yaml.MappingNode, pair: tuple[yaml.Node, yaml.Node], path: Path, value: Value
) -> _Change:
    key, old = pair
    where = f'line {old.start_mark.line + 1}: {".".join(path)}'
    if isinstance(old, yaml.SequenceNode) or (isinstance(old, yaml.MappingNode) and _pair(old, 'value') is None):
        raise EditError(f'{where}: expected a value, found a list or a mapping')
    start, end = text.index(':', key.end_mark.index) + 1, _end(old, text)
    end = max(start, end)
    if parent.flow_style:
        return _Change(start, end, f' {value.text}')
    line_end = _line_end(text, end)
    if text[end:line_end].strip() and not text[end:line_end].lstrip().startswith('#'):
        raise EditError(f'{where}: expected only a remark after the value')
    return _Change(start, line_end, f' {_line(value)}')


def _line(value: Value) -> str:
    return f'{value.text}  # {value.remark}' if value.remark else value.text


def _line_end(text: str, index: int) -> int:
    newline = text.find('\n', index)
    return len(text) if newline < 0 else newline


def _inserted(text: str, parent: yaml.MappingNode, tree: dict[str, Any]) -> _Change:
    if parent.flow_style:
        end = parent.end_mark.index - 1
        before = text[:end].rstrip()
        comma = '' if before.endswith((',', '{')) else ', '
        return _Change(len(before), end, comma + _flow(tree))
    indent = parent.value[0][0].start_mark.column
    end = _line_end(text, _end(parent, text))
    return _Change(end, end, ''.join(f'\n{line}' for line in _block(tree, indent)))


def _flow(tree: dict[str, Any]) -> str:
    parts = (
        f'{key}: {{{_flow(child)}}}' if isinstance(child, dict) else f'{key}: {child.text}'
        for key, child in tree.items()
    )
    return ', '.join(parts)


def _block(tree: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, child in tree.items():
        if isinstance(child, dict):
            lines += [f'{" " * indent}{key}:', *_block(child, indent + STEP)]
        else:
            lines.append(f'{" " * indent}{key}: {_line(child)}')
    return lines
