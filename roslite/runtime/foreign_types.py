"""Checks of untrusted message definitions, such as those in bags, before code is generated from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import TypesysError, get_types_from_msg

from roslite.errors import UserError

LONGEST_TEXT = 200_000
"""Maximum characters of a definition with its dependencies."""
MOST_VALUES = 1_000_000
"""Maximum number of values of a message without sequences; nested arrays multiply."""
DEEPEST = 30
"""Maximum nesting depth of messages."""
_TYPE_NAME = re.compile(r'[a-zA-Z]\w*/(msg|srv)/[a-zA-Z]\w*', re.ASCII)
_FIELD_NAME = re.compile(r'[a-zA-Z]\w*', re.ASCII)


class UnknownTypeError(UserError, ValueError):
    """A message or service type without a definition."""


def parse_definition(name: str, text: str, registered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new definitions of a text, by name.

    Args:
        name: `pkg/msg/Name`.
        text: definition in ROS 2's .msg format with its dependencies.
        registered: existing definitions of rosbags by name, which are omitted from the result.

    Raises:
        UnknownTypeError: a used type has no definition.
        ValueError: an invalid type name, an invalid definition, or one that is recursive or too large.
    """
    if not _TYPE_NAME.fullmatch(name):
        raise ValueError(f'expected the name of a message type, pkg/msg/Name, found {name!r:.100}')
    if len(text) > LONGEST_TEXT:
        raise ValueError(f'{name}: expected a definition of at most {LONGEST_TEXT} characters, found {len(text)}')
    try:
        definitions = get_types_from_msg(text, name)
    except (TypesysError, RecursionError, KeyError, TypeError, AttributeError) as error:  # raised by rosbags' parser
        reason = ' '.join(str(error).split())[:100]
        raise ValueError(f'{name}: expected a message definition: {ascii(reason)[1:-1]}') from None
    new = {key: definition for key, definition in definitions.items() if key not in registered}
    for owner, (_, fields) in new.items():
        for field, _ in fields:
            if not _FIELD_NAME.fullmatch(field) or not _TYPE_NAME.fullmatch(owner):
                raise ValueError(f'{name}: expected names of fields and types, found {owner!r:.80}, {field!r:.80}')
    sizes: dict[str, int] = {}
    for owner in new:
        _count(owner, {**registered, **new}, sizes, ())
    return new


def _count(name: str, definitions: Mapping[str, Any], sizes: dict[str, int], above: tuple[str, ...]) -> int:
    """Return the number of values of a message with empty sequences.

    Raises:
        ValueError: a message contains itself, or has too many values or levels.
    """
    if name in sizes:
        return sizes[name]
    if name in above or len(above) > DEEPEST:
        raise ValueError(f'{above[0]}: expected at most {DEEPEST} levels of messages, and no recursion')
    total = 0
    for field, (kind, detail) in definitions[name][1]:
        inner, count = detail if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else ((kind, detail), 1)
        size = 1
        if inner[0] == Nodetype.NAME:
            if inner[1] not in definitions:
                raise UnknownTypeError(f'{name}.{field}: unknown type {inner[1]!r}; register it first')
            size = _count(inner[1], definitions, sizes, (*above, name))
        total += 1 if kind == Nodetype.SEQUENCE else size * count
    if total > MOST_VALUES:
        raise ValueError(f'{name}: expected at most {MOST_VALUES} values in a message, found {total}')
    sizes[name] = total
    return total
