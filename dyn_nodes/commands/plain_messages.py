"""Conversion between messages and plain values, YAML and CSV."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from dyn_nodes.commands import CommandError
from dyn_nodes.common.textfile import TextFileError, load_yaml

ARRAY_LIMIT = 128
NOW, AUTO = 'now', 'auto'
TIME, HEADER = 'builtin_interfaces/Time', 'std_msgs/Header'


def message_class(kind: str) -> Any:
    """Return a message class by its type.

    Raises:
        CommandError: the type is unknown.
    """
    from dyn_nodes.middleware import message

    return _made(message, kind)


def service_class(kind: str) -> Any:
    """Return a service class by its type.

    Raises:
        CommandError: the type is unknown.
    """
    from dyn_nodes.middleware import service

    return _made(service, kind)


def _made(make: Callable[[str], Any], kind: str) -> Any:
    try:
        return make(kind)
    except (ValueError, LookupError, ImportError, AttributeError) as error:
        raise CommandError(f'{error}') from None


def to_plain(value: Any, limit: int | None = None) -> Any:
    """Return a message or a field as dictionaries, lists and scalars.

    Args:
        value: message or field.
        limit: length at which arrays are cut, with '...' at their end; None for no limit.
    """
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: to_plain(getattr(value, name), limit) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return list(value) if len(value) != 1 else value[0]
    if hasattr(value, 'tolist'):
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [to_plain(item, limit) for item in (value if limit is None else value[:limit])]
        return items if limit is None or len(value) <= limit else [*items, '...']
    return value


def to_yaml(value: Any) -> str:
    """Return plain values as YAML in the layout of `ros2 topic echo`."""
    import yaml

    if not isinstance(value, dict | list):
        return f'{yaml.safe_dump(value, allow_unicode=True).removesuffix("...").strip().removesuffix("...").strip()}\n'
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=False)


def parse_values(text: str | None) -> Any:
    """Return the values in a YAML text.

    Raises:
        CommandError: the text is no YAML.
    """
    try:
        return load_yaml(text) if text else None
    except TextFileError as error:
        raise CommandError(f'VALUES: expected YAML, found {(text or "")[:100]!r} ({error})', 2) from None


def to_csv(value: Any) -> str:
    """Return all numbers and texts of a plain value, in order, separated by commas."""
    if isinstance(value, dict):
        return ','.join(to_csv(item) for item in value.values())
    if isinstance(value, list):
        return ','.join(to_csv(item) for item in value)
    return str(value)


def select_field(value: Any, path: str) -> Any:
    """Return a field of a message by its path, such as `pose.position.x` or `position[2]`.

    Raises:
        CommandError: the field does not exist.
    """
    for part in path.split('.'):
        match = re.fullmatch(r'(\w+)((?:\[-?\d+\])*)', part)
        names = list(value.get_fields_and_field_types()) if hasattr(value, 'get_fields_and_field_types') else []
        if match is None or match.group(1) not in names:
            listed = ', '.join(names) or 'none'
            raise CommandError(f"--field {path}: no field '{part}'; there are {listed}")
        value = getattr(value, match.group(1))
        for index in re.findall(r'-?\d+', match.group(2)):
            try:
                value = value[int(index)]
            except (IndexError, TypeError):
                raise CommandError(f"--field {path}: '{part}' has no element {index}") from None
    return value


def fill_message(target: Any, values: Any, path: str = '') -> Any:
    """Set the fields of a message from plain values; return the message.

    Raises:
        CommandError: a field does not exist or a value has the wrong type.
    """
    fields = target.get_fields_and_field_types()
    if values is None:
        return target
    if not isinstance(values, dict):
        raise CommandError(f'{path or "message"}: expected field: value pairs, found {values!r}')
    for name, value in values.items():
        where = f'{path}.{name}' if path else str(name)
        if name not in fields:
            listed = ', '.join(fields) or 'none'
            raise CommandError(f'{where}: no such field of {type(target).__name__}; there are {listed}')
        setattr(target, name, _field_value(getattr(target, name), fields[name], value, where))
    return target


def _field_value(present: Any, label: str, value: Any, where: str) -> Any:
    """Return a plain value converted to the type of a field."""
    if label == TIME and value == NOW:
        return _now()
    if label == HEADER and value == AUTO:
        present.stamp = _now()
        return present
    if hasattr(present, 'get_fields_and_field_types'):
        return fill_message(present, value, where)
    array = re.fullmatch(r'(?:sequence<)?([\w/]+(?:<\d+>)?)(?:(>)|\[(\d+)\]|, (\d+)>)', label)
    if array is None:
        return _scalar(label, value, where)
    if not isinstance(value, list):
        raise CommandError(f'{where}: expected a list ({label}), found {value!r}')
    inner, _, exact, most = array.groups()
    if (exact and len(value) != int(exact)) or (most and len(value) > int(most)):
        raise CommandError(f'{where}: expected {exact or f"at most {most}"} values, found {len(value)}')
    if '/' not in inner:
        return [_scalar(inner, item, f'{where}[{k}]') for k, item in enumerate(value)]
    kind = message_class(inner.replace('/', '/msg/'))
    return [fill_message(kind(), item, f'{where}[{k}]') for k, item in enumerate(value)]


def _now() -> Any:
    from dyn_nodes.nodes.stamps import stamp_at

    return stamp_at(time.time_ns())


def _scalar(label: str, value: Any, where: str) -> Any:
    """Return a plain value converted to a basic type."""
    if label == 'boolean':
        if not isinstance(value, bool):
            raise CommandError(f'{where}: expected true or false, found {value!r}')
        return value
    if label in ('float', 'double'):
        try:
            if not isinstance(value, bool):
                return float(value)
        except (TypeError, ValueError):
            pass
        raise CommandError(f'{where}: expected a number, found {value!r}')
    if label.startswith(('string', 'wstring')):
        if isinstance(value, dict | list):
            raise CommandError(f'{where}: expected a text, found {value!r}')
        return value if isinstance(value, str) else str(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise CommandError(f'{where}: expected an integer, found {value!r}')
    if label == 'octet':
        from dyn_nodes.middleware import RUNTIME

        label = 'uint8'
        if RUNTIME == 'rclpy' and 0 <= value < 256:
            return bytes([value])
    match = re.fullmatch(r'(u?)int(\d+)', label)
    if match is not None:
        bits = int(match.group(2))
        low, high = (0, 2**bits - 1) if match.group(1) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if not low <= value <= high:
            raise CommandError(f'{where}: expected {low} to {high}, found {value}')
    return value
