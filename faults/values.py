"""Messages of valid types with absurd values: every field of every type, in any combination."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

from dyn_nodes.middleware import message

FLOATS = (
    *(float('nan'), float('inf'), float('-inf'), 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -0.0),
    *(0.0, 1.0, -1.0, 1e3, -1e6, 1e9, 1e15, -1e30, 3.4e38),
)
STRINGS = ('', 'boom_joint', 'x' * 5000, 'é\u202e\u2028\n\x1b[2J', 'boom_joint\x00', '/', '$(touch MARK)', '[/red]')
LENGTHS = (0, 1, 2, 3, 4, 7, 1000)
FEW = (0, 1, 3)
"""Lengths of sequences of strings and of messages."""
_INTEGER = re.compile(r'(u?)int(8|16|32|64)')
_ARRAY = re.compile(r'(.+)\[(\d+)\]')
_SEQUENCE = re.compile(r'sequence<(.+?)(?:, \d+)?>')


def absurd(label: str, rng: random.Random) -> Any:
    """Return a value of a field.

    Args:
        label: type of the field as `get_fields_and_field_types` spells it: `double`, `sequence<string>`.
        rng: source of chance.
    """
    if match := _SEQUENCE.fullmatch(label):
        inner = match.group(1)
        return [absurd(inner, rng) for _ in range(rng.choice(FEW if '/' in inner or inner == 'string' else LENGTHS))]
    if match := _ARRAY.fullmatch(label):
        return [absurd(match.group(1), rng) for _ in range(int(match.group(2)))]
    if label in ('double', 'float', 'float64', 'float32'):
        value = rng.choice(FLOATS)
        return value if label in ('double', 'float64') or not 3.5e38 < abs(value) < float('inf') else 3.4e38
    if match := _INTEGER.fullmatch(label):
        bits, signed = int(match.group(2)), not match.group(1)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return rng.choice((low, high, 0, 1, min(999_999_999, high), min(1_000_000_000, high), rng.randint(low, high)))
    if label in ('boolean', 'bool'):
        return rng.random() < 0.5
    if label in ('octet', 'byte', 'char'):
        return rng.choice((0, 1, 255))
    if label.startswith(('string', 'wstring')):
        return rng.choice(STRINGS)
    return absurd_message(message(label.replace('/', '/msg/') if label.count('/') == 1 else label), rng)


def absurd_message(kind: Any, rng: random.Random) -> Any:
    """Return a message all of whose fields are absurd."""
    made = kind()
    for name, label in kind.get_fields_and_field_types().items():
        _set(made, name, absurd(label, rng))
    return made


def damaged(good: Any, rng: random.Random, share: float = 0.2) -> Any:
    """Return a copy of a good message with some of its fields, at least one at any depth, made absurd."""
    result = copy.deepcopy(good)
    fields = result.get_fields_and_field_types()
    chosen = [name for name in fields if rng.random() < share] or ([rng.choice(list(fields))] if fields else [])
    for name in chosen:
        value = getattr(result, name)
        if hasattr(value, 'get_fields_and_field_types') and rng.random() < 0.7:
            _set(result, name, damaged(value, rng, 0.5))
        elif _is_filled(value) and rng.random() < 0.6:
            _set(result, name, _with_one_absurd(value, fields[name], rng))
        else:
            _set(result, name, absurd(fields[name], rng))
    return result


def _is_filled(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, '__len__') and len(value) > 0


def _with_one_absurd(values: Any, label: str, rng: random.Random) -> list[Any]:
    inner = (_SEQUENCE.fullmatch(label) or _ARRAY.fullmatch(label)).group(1)
    result = list(values)
    result[rng.randrange(len(result))] = absurd(inner, rng)
    return result


def _set(target: Any, name: str, value: Any) -> None:
    """Set a field; rclpy expects a byte as bytes of length one."""
    try:
        setattr(target, name, value)
    except (AssertionError, TypeError, ValueError):
        if isinstance(value, int):
            setattr(target, name, bytes([value & 255]))
