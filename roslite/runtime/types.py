"""Message and service classes generated from rosbags' definitions, with the behaviour of rclpy's classes.

A class is default-constructible, takes keyword arguments, has the constants of the definition as class attributes, and
compares and prints like rclpy's classes. Numeric sequences and arrays are NumPy arrays after construction and receipt.
Lists, tuples, `array.array` and other NumPy arrays may be assigned and are converted when the message is published. A
`byte` field is an int (in rclpy a bytes object of length one): compare it only with constants of the class.
"""

from __future__ import annotations

import difflib
import importlib
import threading
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg
from rosbags.typesys.base import normalize_fieldname
from rosbags.typesys.store import Typestore

from . import simulation_interfaces
from .cdr_store import CdrStore
from .codec import DTYPES, Codec
from .definitions import DEFAULTS, MESSAGES, SERVICES
from .foreign_types import UnknownTypeError, parse_definition

PLACEHOLDER = 'structure_needs_at_least_one_member'
#: Names of base types in rclpy's get_fields_and_field_types.
_IDL_NAMES = {'float32': 'float', 'float64': 'double', 'bool': 'boolean', 'byte': 'octet', 'char': 'uint8'}

_UNSET = object()
_store = CdrStore(importlib.import_module(f'rosbags.typesys.stores.{Stores.ROS2_JAZZY.value}'))
_classes: dict[str, type] = {}
_codecs: dict[str, Codec] = {}
_services: dict[str, type] = {}
_hashes: dict[str, str] = {}
_lock = threading.RLock()


class Message:
    """Base class of all messages."""

    __slots__ = ()
    __msgtype__ = ''
    _fields: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]  # mutable, as in rclpy

    def __repr__(self) -> str:
        inside = ', '.join(f'{name}={_text(getattr(self, name))}' for name in self._fields)
        return f'{self.__class__.__module__}.{self.__class__.__name__}({inside})'

    def __copy__(self) -> Message:
        return type(self)(**{name: getattr(self, name) for name in self._fields})

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return field names and their types in rclpy's notation, such as `sequence<double>`."""
        fields = _store.fielddefs[cls.__msgtype__][1]
        return {normalize_fieldname(name): _idl_label(desc) for name, desc in fields if name != PLACEHOLDER}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def _text(value: Any) -> str:
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


def _idl_label(desc: Any) -> str:
    kind, detail = desc
    if kind == Nodetype.BASE:
        name, bound = detail
        return f'string<{bound}>' if bound else _IDL_NAMES.get(name, name)
    if kind == Nodetype.NAME:
        return detail.replace('/msg/', '/')
    inner, count = detail
    if kind == Nodetype.ARRAY:
        return f'{_idl_label(inner)}[{count}]'
    return f'sequence<{_idl_label(inner)}{f", {count}" if count else ""}>'


def _default_source(index: int, desc: Any, default: Any, names: dict[str, Any]) -> str:
    """Return source text of a field's default value; add the objects it uses to `names`."""
    kind, detail = desc
    if kind == Nodetype.BASE:
        if default is not None:
            return repr(default)
        base = detail[0]
        return {'string': "''", 'bool': 'False'}.get(base, '0.0' if base.startswith('float') else '0')
    if kind == Nodetype.NAME:
        names[f'_C{index}'] = message(detail)
        return f'_C{index}()'
    inner, count = detail
    size = count if kind == Nodetype.ARRAY else 0
    if inner[0] == Nodetype.BASE and inner[1][0] != 'string':
        names[f'_T{index}'] = DTYPES[inner[1][0]]
        return f'_zeros({size}, _T{index})'
    if inner[0] == Nodetype.BASE:
        return f"[''] * {size}" if size else '[]'
    names[f'_C{index}'] = message(inner[1])
    return f'[_C{index}() for _ in range({size})]' if size else '[]'


def _make_class(name: str) -> type:
    """Return the generated class of a message type, and register it in the store for decoding."""
    constants, fields = _store.fielddefs[name]
    defaults = DEFAULTS.get(name, {})
    slots = [normalize_fieldname(field) for field, _ in fields]
    shown = [slot for (field, _), slot in zip(fields, slots) if field != PLACEHOLDER]
    # no field name starts with an underscore
    names: dict[str, Any] = {'_zeros': np.zeros, '_new': object.__new__, '_unset': _UNSET}
    init = [f'def __init__(_self{", *, " if shown else ""}{", ".join(f"{slot}=_unset" for slot in shown)}):']
    make = [f'def make({", ".join(slots)}):', '  _self = _new(_cls)']
    for index, ((field, desc), slot) in enumerate(zip(fields, slots)):
        value = _default_source(index, desc, defaults.get(field), names)
        init.append(
            f'  _self.{slot} = {value} if {slot} is _unset else {slot}' if slot in shown else f'  _self.{slot} = 0'
        )
        make.append(f'  _self.{slot} = {slot}')
    make.append('  return _self')
    exec('\n'.join([*init, *make]), names)  # the source is generated from type definitions, not from data
    package, folder, short = name.split('/')
    body = {
        '__slots__': tuple(slots),
        '__init__': names['__init__'],
        '__module__': f'{package}.{folder}',
        '__qualname__': short,
        '__doc__': f'{name}: {", ".join(f"{_idl_label(desc)} {field}" for field, desc in fields)}.',
        '__msgtype__': name,
        '_fields': tuple(shown),
        **{constant: value for constant, _, value in constants},
    }
    cls = type(short, (Message,), body)
    names['_cls'] = cls
    _store.types[name] = names['make']
    return cls


def message(name: str) -> Any:
    """Return the class of a message type.

    Args:
        name: `pkg/msg/Name` (or `pkg/Name`).

    Raises:
        UnknownTypeError: no definition; `register_message` adds one.
    """
    cls = _classes.get(name)
    if cls is not None:
        return cls
    full = name if name.count('/') == 2 else name.replace('/', '/msg/', 1)
    with _lock:
        if full in MESSAGES and full not in _store.fielddefs:
            register_message(full, MESSAGES[full])
        if full not in _store.fielddefs:
            close = difflib.get_close_matches(full, _store.fielddefs, 3)
            hint = f'; close: {", ".join(close)}' if close else ''
            raise UnknownTypeError(f'unknown message type {name!r}{hint} (register_message adds a definition)')
        if full not in _classes:
            _classes[full] = _make_class(full)
        _classes[name] = _classes[full]
        return _classes[full]


def codec(name: str) -> Codec:
    """Return the codec of a message type, `pkg/msg/Name` or a service's `pkg/srv/Name_Request`."""
    existing = _codecs.get(name)
    if existing is None:
        with _lock:
            message(name)
            existing = _codecs.setdefault(name, Codec(_store, name, codec, message))
    return existing


def _complete(definitions: dict[str, Any]) -> None:
    """Check that all types in definitions exist, before code is generated. Raises UnknownTypeError."""
    for owner, (_, fields) in definitions.items():
        for field, desc in fields:
            inner = desc[1][0] if desc[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE) else desc
            if inner[0] == Nodetype.NAME and inner[1] not in _store.fielddefs and inner[1] not in definitions:
                raise UnknownTypeError(f'{owner}.{field}: unknown type {inner[1]!r}; register it first')


def register_message(name: str, text: str) -> Any:
    """Add a message definition and return its class.

    Args:
        name: `pkg/msg/Name`.
        text: definition in ROS 2's .msg format, optionally followed by its dependencies, each after a line of `=` and
            a line `MSG: pkg/Name`, as in bags.

    Raises:
        UnknownTypeError: the definition uses an unknown type.
        ValueError: an invalid, recursive or too large definition.
    """
    with _lock:
        if name in _store.fielddefs:
            return message(name)
        definitions = parse_definition(name, text, _store.fielddefs)
        if name not in definitions:
            raise UnknownTypeError(f'{name}: its definition has another name')
        _store.register(definitions)
        return message(name)


def _split_service(name: str, text: str) -> tuple[str, str]:
    lines = text.splitlines()
    rules = [index for index, line in enumerate(lines) if line.strip() == '---']
    if len(rules) != 1:
        raise ValueError(f"{name}: a service definition has one line '---', found {len(rules)}")
    return '\n'.join(lines[: rules[0]]), '\n'.join(lines[rules[0] + 1 :])


def register_service(name: str, text: str) -> Any:
    """Add a service definition and return its class, with `.Request` and `.Response`.

    Args:
        name: `pkg/srv/Name`.
        text: definition in ROS 2's .srv format.

    Raises:
        UnknownTypeError: the definition uses an unknown type.
        ValueError: an invalid name or definition of a service.
    """
    package, folder, short = (*name.split('/'), '', '')[:3]
    if folder != 'srv' or not short:
        raise ValueError(f'a service type is named pkg/srv/Name, found {name!r}')
    with _lock:
        if name in _services:
            return _services[name]
        definitions: dict[str, Any] = {}
        for half, part in zip(('Request', 'Response'), _split_service(name, text)):
            # rosbags would use names in pkg/srv/msg/ for request and response; the names are corrected here.
            parsed = get_types_from_msg(part, f'{package}/msg/{short}_{half}')
            definitions[f'{package}/srv/{short}_{half}'] = parsed[f'{package}/msg/{short}_{half}']
        _complete(definitions)
        _store.register(definitions)
        body = {
            '__srvtype__': name,
            '__module__': f'{package}.srv',
            'Request': message(f'{name}_Request'),
            'Response': message(f'{name}_Response'),
        }
        _services[name] = type(short, (), body)
        return _services[name]


def service(name: str) -> Any:
    """Return the class of a service type, with `.Request` and `.Response`.

    Args:
        name: `pkg/srv/Name` (or `pkg/Name`).

    Raises:
        UnknownTypeError: no definition; `register_service` adds one.
    """
    full = name if name.count('/') == 2 else name.replace('/', '/srv/', 1)
    existing = _services.get(full)
    if existing is not None:
        return existing
    if full in simulation_interfaces.SERVICES:
        for kind, text in simulation_interfaces.MESSAGES.items():
            register_message(kind, text)
        return register_service(full, simulation_interfaces.SERVICES[full])
    if full in SERVICES:
        return register_service(full, SERVICES[full])
    close = difflib.get_close_matches(full, [*SERVICES, *_services], 3)
    hint = f'; close: {", ".join(close)}' if close else ''
    raise UnknownTypeError(f'unknown service type {name!r}{hint} (register_service adds a definition)')


def message_definition(name: str) -> str:
    """Return the definition text of a message type with its dependencies, as in bags."""
    message(name)
    return _store.generate_msgdef(name, ros_version=2)[0]


def message_types() -> list[str]:
    """Return the names of all message types."""
    return sorted({*MESSAGES, *(name for name in _store.fielddefs if '/msg/' in name)})


def service_types() -> list[str]:
    """Return the names of all service types."""
    return sorted({*SERVICES, *simulation_interfaces.SERVICES, *_services})


def type_hash(name: str) -> str:
    """Return the RIHS01 hash of a message type, a service, or its request or response."""
    if name not in _hashes:
        with _lock:
            is_service = '/srv/' in name and not name.endswith(('_Request', '_Response'))
            extra = _service_structures(name) if is_service else {}
            if not is_service:
                message(name)
            scratch = Typestore()
            scratch.fielddefs = _HashedDefinitions(extra)
            _hashes[name] = scratch.hash_rihs01(name)
    return _hashes[name]


class _HashedDefinitions(dict[str, Any]):
    """Definitions for hashing: rosidl converts char to uint8 before it describes a type, rosbags does not."""

    def __missing__(self, name: str) -> Any:
        self[name] = ([], _without_char(_store.fielddefs[name][1]))
        return self[name]


def _without_char(fields: Any) -> list[Any]:
    def swap(desc: Any) -> Any:
        kind, detail = desc
        if kind == Nodetype.BASE:
            return (kind, ('uint8', detail[1])) if detail[0] == 'char' else desc
        return desc if kind == Nodetype.NAME else (kind, (swap(detail[0]), detail[1]))

    return [(field, swap(desc)) for field, desc in fields]


def _service_structures(name: str) -> dict[str, Any]:
    """Return the structures of a service as in rosidl: request, response and event."""
    service(name)
    request, response = (Nodetype.NAME, f'{name}_Request'), (Nodetype.NAME, f'{name}_Response')
    event = [
        ('info', (Nodetype.NAME, 'service_msgs/msg/ServiceEventInfo')),
        ('request', (Nodetype.SEQUENCE, (request, 1))),
        ('response', (Nodetype.SEQUENCE, (response, 1))),
    ]
    whole = [
        ('request_message', request),
        ('response_message', response),
        ('event_message', (Nodetype.NAME, f'{name}_Event')),
    ]
    return {f'{name}_Event': ([], event), name: ([], whole)}


def typestore() -> Any:
    """Return rosbags' type store with all registered types, for writing and reading bags."""
    return _store
