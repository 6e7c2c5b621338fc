"""Values in the text of a YAML file, where comments, order and layout of everything else stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from dyn_nodes.common.errors import UserError

Path = tuple[str, ...]
STEP = 2
"""Spaces by which an inserted mapping is indented."""


class EditError(UserError, ValueError):
    """A file that cannot be changed as wanted; the text has line, key, what was expected and what was found."""


class Value(NamedTuple):
    """What to write: the text of a scalar, and a remark for the end of its line where it has one, or ''."""

    text: str
    remark: str = ''


class _Change(NamedTuple):
    start: int
    end: int
    text: str


def with_values(text: str, values: Mapping[Path, Value]) -> str:
    """Return the text of a YAML document with other values.

    A value that is there is replaced, with its `assumed` and the remark behind it; one that is not is added to the end
    of its mapping.

    Args:
        text: a mapping, sound (`load_yaml` accepts it).
        values: by the keys on the way from the root.

    Raises:
        EditError: there is another thing than a mapping on the way, or one that an alias shares with other places.
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
    """Count from how many places each node is reached; one that an alias names is reached from several."""
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
    return next(((own, value) for own, value in node.value if own.value == key), None)


def _descend(root: yaml.Node | None, path: Path, uses: Counter[int]) -> tuple[yaml.MappingNode, Path]:
    """Return the innermost mapping that is there, and the keys from there on."""
    node = root
    for k in range(len(path)):
        where = '.'.join(path[:k]) or 'document'
        if not isinstance(node, yaml.MappingNode):
            line = 0 if node is None else node.start_mark.line
            raise EditError(f'line {line + 1}: {where}: expected a mapping, found another value')
        if uses[id(node)] > 1:
            expected = 'expected a mapping that no alias shares with another place'
            raise EditError(f'line {node.start_mark.line + 1}: {where}: {expected}')
        pair = _pair(node, path[k])
        if pair is None or k == len(path) - 1:
            return node, path[k:]
        node = pair[1]
    raise EditError('expected a key at least, found none')


def _end(node: yaml.Node, text: str) -> int:
    """Return the index behind the last character of a node, without what follows a block."""
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
        raise EditError(f'{where}: expected nothing but a remark behind the value')
    return _Change(start, line_end, f' {_line(value)}')


def _line(value: Value) -> str:
    return f'{value.text}  # {value.remark}' if value.remark else value.text


def _line_end(text: str, index: int) -> int:
    found = text.find('\n', index)
    return len(text) if found < 0 else found


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
    parts = (f'{key}: {{{_flow(own)}}}' if isinstance(own, dict) else f'{key}: {own.text}' for key, own in tree.items())
    return ', '.join(parts)


def _block(tree: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, own in tree.items():
        if isinstance(own, dict):
            lines += [f'{" " * indent}{key}:', *_block(own, indent + STEP)]
        else:
            lines.append(f'{" " * indent}{key}: {_line(own)}')
    return lines
