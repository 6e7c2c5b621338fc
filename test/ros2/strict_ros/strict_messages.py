"""Message classes as strict as those that rosidl generates for Python, made from the runtime's definitions.

The rules of rosidl_generator_py apply: checks and conversions of a field's setter, and values after receipt. A release
build of ROS 2 leaves the checks out (ROS_PYTHON_CHECK_FIELDS) and then sends wrong values for an int in a float64
field; Humble always checks. Here they are always on.
"""

from __future__ import annotations

import array
import importlib.abc
import importlib.machinery
import math
import sys
import types
from collections import UserList, UserString
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from roslite.runtime import types as runtime

FLOAT_BOUNDS = {'float32': 3.402823466e38, 'float64': 1.7976931348623157e308}
TYPE_CODES = {
    'float32': 'f',
    'float64': 'd',
    'int8': 'b',
    'uint8': 'B',
    'char': 'B',
    'int16': 'h',
    'uint16': 'H',
    'int32': 'i',
    'uint32': 'I',
    'int64': 'q',
    'uint64': 'Q',
}
_classes: dict[str, type] = {}


def _integer_bounds(base: str) -> tuple[int, int]:
    limits = np.iinfo('uint8' if base == 'char' else base)
    return int(limits.min), int(limits.max)


def is_scalar(value: Any, base: str, bound: int) -> bool:
    """Return whether a setter takes a value for a field of a base type (or an element of a sequence of it)."""
    if base == 'string':
        return isinstance(value, str) and (not bound or len(value) <= bound)
    if base == 'bool':
        return isinstance(value, bool)
    if base in ('byte', 'octet'):
        return isinstance(value, (bytes, bytearray)) and len(value) == 1
    if base in FLOAT_BOUNDS:
        limit = FLOAT_BOUNDS[base]
        return isinstance(value, float) and (not (value < -limit or value > limit) or math.isinf(value))
    low, high = _integer_bounds(base)
    return isinstance(value, int) and low <= value <= high


def _fits(value: Any, desc: Any) -> bool:
    kind, detail = desc
    if kind == Nodetype.BASE:
        return is_scalar(value, *detail)
    return isinstance(value, message(detail))


def check(owner: str, field: str, desc: Any, value: Any) -> Any:
    """Return the value that a setter stores.

    Raises:
        AssertionError: as the generated setter.
    """
    kind, detail = desc
    value_text = f'{type(value).__module__}.{type(value).__name__} {value!r:.80}'
    blame = f"{owner}: the '{field}' field must be of type {runtime._idl_label(desc)}, found {value_text}"
    if kind in (Nodetype.BASE, Nodetype.NAME):
        assert _fits(value, desc), blame
        return value
    inner, count = detail
    code = TYPE_CODES.get(inner[1][0]) if inner[0] == Nodetype.BASE else None
    if kind == Nodetype.ARRAY and code and isinstance(value, np.ndarray):
        assert value.dtype == np.dtype(code), blame
        assert value.size == count, blame
        return value
    if kind == Nodetype.SEQUENCE and code and isinstance(value, array.array):
        assert value.typecode == code, blame
        assert not count or len(value) <= count, blame
        return value
    # a NumPy array is not a collections.abc.Sequence: it is rejected, as in every release
    assert isinstance(value, (Sequence, Set, UserList)), blame
    assert not isinstance(value, (str, UserString)), blame
    assert all(_fits(item, inner) for item in value), blame
    if kind == Nodetype.ARRAY:
        assert len(value) == count, blame
        return np.array(value, dtype=np.dtype(code)) if code else value
    assert not count or len(value) <= count, blame
    return array.array(code, value) if code else value


def _default(desc: Any) -> Any:
    kind, detail = desc
    if kind == Nodetype.NAME:
        return message(detail)()
    if kind == Nodetype.BASE:
        base = detail[0]
        if base == 'string':
            return ''
        if base == 'bool':
            return False
        if base in ('byte', 'octet'):
            return bytes([0])
        return 0.0 if base in FLOAT_BOUNDS else 0
    inner, count = detail
    code = TYPE_CODES.get(inner[1][0]) if inner[0] == Nodetype.BASE else None
    if kind == Nodetype.SEQUENCE:
        return array.array(code) if code else []
    return np.zeros(count, np.dtype(code)) if code else [_default(inner) for _ in range(count)]


def _property(owner: str, field: str, desc: Any) -> property:
    slot = f'_{field}'

    def get(self: Any) -> Any:
        return getattr(self, slot)

    def put(self: Any, value: Any) -> None:
        object.__setattr__(self, slot, check(owner, field, desc, value))

    return property(get, put)


def _make(name: str) -> type:
    constants, fields = runtime.typestore().fielddefs[name]
    fields = [(field, desc) for field, desc in fields if field != runtime.PLACEHOLDER]
    defaults = runtime.DEFAULTS.get(name, {})

    def init(self: Any, **values: Any) -> None:
        unknown = [key for key in values if key not in self._ros_descriptions]
        assert not unknown, f'{name}: invalid arguments passed to constructor: {", ".join(unknown)}'
        for field, desc in fields:
            if field not in values:
                object.__setattr__(self, f'_{field}', defaults.get(field, _default(desc)))
                continue
            value, kind = values[field], desc[0]
            inner = desc[1][0] if kind in (Nodetype.SEQUENCE, Nodetype.ARRAY) else None
            code = TYPE_CODES.get(inner[1][0]) if inner and inner[0] == Nodetype.BASE else None
            if code and kind == Nodetype.SEQUENCE:  # the constructor converts before it assigns
                value = array.array(code, value)
            elif code:
                value = np.array(value, dtype=np.dtype(code))
            setattr(self, field, value)

    def same(self: Any, other: object) -> bool:
        return isinstance(other, type(self)) and all(
            np.array_equal(getattr(self, field), getattr(other, field)) for field, _ in fields
        )

    def text(self: Any) -> str:
        return f'{name}({", ".join(f"{field}={getattr(self, field)!r}" for field, _ in fields)})'

    def fields_and_types(cls: Any) -> dict[str, str]:
        return {field: runtime._idl_label(desc) for field, desc in fields}

    package, folder, short = name.split('/')
    body: dict[str, Any] = {
        '__slots__': tuple(f'_{field}' for field, _ in fields),
        '__module__': f'{package}.{folder}._{short.lower()}',
        '__init__': init,
        '__eq__': same,
        '__hash__': None,
        '__repr__': text,
        '_ros_type_name': name,
        '_ros_descriptions': dict(fields),
        'get_fields_and_field_types': classmethod(fields_and_types),
    }
    for constant, base, value in constants:
        body[constant] = bytes([value]) if base in ('byte', 'octet') else value
    for field, desc in fields:
        body[field] = _property(name, field, desc)
    return type(short, (), body)


def message(name: str) -> Any:
    """Return the strict class of `pkg/msg/Name`, or of a service's half `pkg/srv/Name_Request`."""
    if name not in _classes:
        runtime.message(name)
        _classes[name] = _make(name)
    return _classes[name]


def service(name: str) -> Any:
    """Return the class of a service type, with strict `.Request` and `.Response`."""
    if name not in _classes:
        runtime.service(name)
        package, folder, short = name.split('/')

        def reject(self: Any) -> None:
            raise NotImplementedError('Service classes can not be instantiated')

        body = {
            '__module__': f'{package}.{folder}._{short.lower()}',
            '__init__': reject,
            '_ros_type_name': name,
            'Request': message(f'{name}_Request'),
            'Response': message(f'{name}_Response'),
        }
        _classes[name] = type(short, (), body)
    return _classes[name]


# -- to and from the runtime that carries them -----------------------------------------------------------------------


def to_runtime(value: Any) -> Any:
    """Return the runtime's message with the contents of a strict one."""
    result = runtime.message(value._ros_type_name)()
    for field, desc in value._ros_descriptions.items():
        setattr(result, runtime.normalize_fieldname(field), _plain(getattr(value, field), desc))
    return result


def _plain(value: Any, desc: Any) -> Any:
    kind, detail = desc
    if kind == Nodetype.NAME:
        return to_runtime(value)
    if kind == Nodetype.BASE and isinstance(value, (bytes, bytearray)):
        return value[0]
    if kind in (Nodetype.SEQUENCE, Nodetype.ARRAY) and detail[0][0] == Nodetype.NAME:
        return [to_runtime(item) for item in value]
    return list(value) if isinstance(value, array.array) else value


def from_runtime(value: Any) -> Any:
    """Return the strict message of a message of the runtime, in rclpy's types."""
    result = message(value.__msgtype__)()
    for field, desc in result._ros_descriptions.items():
        held = _received(getattr(value, runtime.normalize_fieldname(field)), desc)
        object.__setattr__(result, f'_{field}', held)
    return result


def _received(value: Any, desc: Any) -> Any:
    kind, detail = desc
    if kind == Nodetype.NAME:
        return from_runtime(value)
    if kind == Nodetype.BASE:
        return bytes([int(value)]) if detail[0] in ('byte', 'octet') else value
    inner = detail[0]
    if inner[0] == Nodetype.NAME:
        return [from_runtime(item) for item in value]
    code = TYPE_CODES.get(inner[1][0])
    if code is None:
        items = value.tolist() if isinstance(value, np.ndarray) else list(value)
        return [bytes([item]) for item in items] if inner[1][0] in ('byte', 'octet') else items
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return array.array(code, plain) if kind == Nodetype.SEQUENCE else np.array(plain, np.dtype(code))


# -- packages --------------------------------------------------------------------------------------------------------


class _Folder(types.ModuleType):
    """`sensor_msgs.msg` or `std_srvs.srv`: classes are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        package, _, folder = self.__name__.partition('.')
        if name.startswith('_'):
            raise AttributeError(name)
        try:
            return (message if folder == 'msg' else service)(f'{package}/{folder}/{name}')
        except runtime.UnknownTypeError as error:
            raise AttributeError(str(error)) from None


class Packages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages of the available types, as a sourced ROS 2 does."""

    def __init__(self) -> None:
        names = [*runtime.message_types(), *runtime.service_types()]
        self.packages = {name.partition('/')[0] for name in names}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        package, _, folder = fullname.partition('.')
        if package not in self.packages or folder not in ('', 'msg', 'srv'):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=not folder)

    def create_module(self, spec: Any) -> Any:
        return types.ModuleType(spec.name) if spec.submodule_search_locations is not None else _Folder(spec.name)

    def exec_module(self, module: Any) -> None:
        if isinstance(module, _Folder):
            setattr(sys.modules[module.__name__.partition('.')[0]], module.__name__.partition('.')[2], module)


def install() -> None:
    """Make the packages importable."""
    if not any(isinstance(finder, Packages) for finder in sys.meta_path):
        sys.meta_path.append(Packages())
