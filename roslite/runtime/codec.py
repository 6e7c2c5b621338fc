"""Conversion between messages and CDR bytes: generated writer (`encoder.py`), rosbags' generated reader, field checks.

The writer converts lists and other arrays to arrays of the declared type. Invalid values are rejected with message type
and field.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys.base import normalize_fieldname

from .encoder import EncoderSource

#: Encapsulation header of XCDR version 1, little endian.
CDR_HEADER = b'\x00\x01\x00\x00'

DTYPES = {
    'bool': np.dtype(np.bool_),
    'byte': np.dtype(np.uint8),
    'char': np.dtype(np.uint8),
    'octet': np.dtype(np.uint8),
    'float32': np.dtype(np.float32),
    'float64': np.dtype(np.float64),
    **{f'{sign}int{bits}': np.dtype(f'{sign}int{bits}') for sign in ('', 'u') for bits in (8, 16, 32, 64)},
}
INTEGERS = {name for name in DTYPES if 'int' in name} | {'byte', 'char', 'octet'}

_FLOAT32 = struct.Struct('<f')

#: Errors of packing a wrong value, in rosbags or in Python.
PACKING_ERRORS = (struct.error, AttributeError, TypeError, ValueError, IndexError, OverflowError, SerdeError)


class DecodeError(ValueError):
    """Bytes that are not the CDR encoding of the expected message type."""


def type_label(desc: Any) -> str:
    """Return a field's type in the notation of message definitions, such as `float64[36]` or `string[]`."""
    kind, detail = desc
    if kind == Nodetype.BASE:
        return detail[0]
    if kind == Nodetype.NAME:
        return detail
    inner, count = detail
    if kind == Nodetype.ARRAY:
        return f'{type_label(inner)}[{count}]'
    return f'{type_label(inner)}[{f"<={count}" if count else ""}]'


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f'array of {value.dtype}, shape {value.shape}'
    text = repr(value)
    return f'{type(value).__name__} {text if len(text) <= 60 else text[:57] + "..."}'


def _wrong(owner: str, field: str, desc: Any, value: Any) -> TypeError:
    return TypeError(f'{owner}.{field}: expected {type_label(desc)}, found {_described(value)}')


def to_array(value: Any, owner: str, field: str, desc: Any) -> np.ndarray:
    """Return a field's value as a contiguous array (n,) of the declared type.

    Args:
        value: list, tuple, bytes, `array.array` or NumPy array of numbers.
        owner: message type, for the error.
        field: field name, for the error.
        desc: rosbags' description of the field (array or sequence of a numeric base type).

    Raises:
        TypeError: the value cannot be converted without changing its meaning.
        ValueError: a fixed-size array with another size.
    """
    base = desc[1][0][1][0]
    dtype = DTYPES[base]
    if isinstance(value, (bytes, bytearray, memoryview)) and dtype.itemsize == 1:
        array = np.frombuffer(value, dtype=np.uint8)
    elif isinstance(value, (str, dict)) or value is None:
        raise _wrong(owner, field, desc, value)
    else:
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise _wrong(owner, field, desc, value) from error
    if array.ndim != 1:
        raise _wrong(owner, field, desc, value)
    allowed = 'fiu' if base.startswith('float') else 'iub' if base in INTEGERS else 'b'
    if array.size and array.dtype.kind not in allowed:
        raise _wrong(owner, field, desc, value)
    if base in INTEGERS and array.size and array.dtype != dtype:
        limits = np.iinfo(dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise TypeError(f'{owner}.{field}: a value is outside of {base}: {_described(value)}')
    if desc[0] == Nodetype.ARRAY and array.size != desc[1][1]:
        raise ValueError(f'{owner}.{field}: expected {desc[1][1]} elements, found {array.size}')
    return np.ascontiguousarray(array, dtype=dtype)


def check_scalar(value: Any, owner: str, field: str, desc: Any) -> None:
    """Raise TypeError unless `value` can be packed as the base type of `desc`."""
    base = desc[1][0]
    if base == 'string':
        good = isinstance(value, str)
    elif base == 'bool':
        good = isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1))
    elif base.startswith('float'):
        good = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, str)
    else:
        try:
            limits = np.iinfo(DTYPES[base])
            good = limits.min <= operator.index(value) <= limits.max
        except TypeError:
            good = False
    if not good:
        raise _wrong(owner, field, desc, value)


def _single(value: float) -> float:
    """Return a number rounded to float32."""
    return _FLOAT32.unpack(_FLOAT32.pack(value))[0]


class Codec:
    """Encodes and decodes one message type.

    Args:
        store: rosbags' type store; its `types` create this runtime's message classes.
        name: type name, `pkg/msg/Name`.
        find: function that returns the codec of another type (for nested messages).
        find_class: function that returns the class of a type.
    """

    def __init__(self, store: Any, name: str, find: Callable[[str], Codec], find_class: Callable[[str], type]) -> None:
        self.name = name
        self._store = store
        self._find, self._find_class = find, find_class
        self._definition = store.get_msgdef(name)
        self.fields = [(normalize_fieldname(field), desc) for field, desc in store.fielddefs[name][1]]

    def prepare_to_encode(self) -> None:
        """Generate the functions of `encode` now, to avoid a delay of the first message."""
        self._write  # noqa: B018

    def prepare_to_decode(self) -> None:
        """Generate the functions of `decode` now, for messages in the usual byte order."""
        self._definition.make('deserialize_cdr_le')

    @cached_property
    def _write(self) -> Callable[[Any, Callable[[Any], None]], None]:
        checks = {'to_array': to_array, 'check': check_scalar, 'wrong': _wrong, 'dtypes': DTYPES}
        return EncoderSource(lambda name: self._find(name).fields, checks).make(self.name)

    def copy(self, message: Any) -> Any:
        """Return a copy of a message, equal to decoding its encoding.

        Raises:
            TypeError, ValueError: as in `encode`.
        """
        try:
            return self.copier(message)
        except PACKING_ERRORS as error:
            self.check(message)
            raise TypeError(f'{self.name}: the message cannot be encoded: {error}') from error

    @cached_property
    def copier(self) -> Callable[[Any], Any]:
        """Generated function of `copy`."""
        names: dict[str, Any] = {'ndarray': np.ndarray, 'to_array': to_array, 'check': check_scalar, 'wrong': _wrong}
        names |= {'new': object.__new__, 'cls': self._find_class(self.name), 'single': _single}
        lines = ['c = new(cls)']
        for index, (field, desc) in enumerate(self.fields):
            lines += self._copier_lines(index, field, desc, names)
        source = '\n'.join(['def copied(m):', *(f'  {line}' for line in (*lines, 'return c'))])
        exec(source, names)  # the source is generated from type definitions, not from data
        made: Callable[[Any], Any] = names['copied']
        return made

    def _copier_lines(self, index: int, field: str, desc: Any, names: dict[str, Any]) -> list[str]:
        kind, detail = desc
        names[f'D{index}'] = desc
        blame = f'{self.name!r}, {field!r}, D{index}'
        if kind == Nodetype.BASE:
            return self._scalar_copier_lines(field, detail[0], blame)
        if kind == Nodetype.NAME:
            names[f'N{index}'] = self._find(detail).copier
            return [f'c.{field} = N{index}(m.{field})']
        inner, count = detail
        fixed = kind == Nodetype.ARRAY
        limit = [f'if len(v) {"!=" if fixed else ">"} {count}: raise ValueError({field!r})'] if count else []
        if inner[0] == Nodetype.BASE and inner[1][0] != 'string':
            names[f'T{index}'] = DTYPES[inner[1][0]]
            return [
                f'v = m.{field}',
                f'if type(v) is ndarray and v.dtype is T{index} and v.ndim == 1: v = v.copy()',
                'else:',
                f'  w = to_array(v, {blame})',
                '  v = w.copy() if w is v else w',
                *limit,
                f'c.{field} = v',
            ]
        if inner[0] == Nodetype.BASE:
            return [
                f'v = m.{field}',
                f'if type(v) is str: raise wrong({blame}, v)',
                'v = list(v)',
                *limit,
                'for e in v:',
                f'  if type(e) is not str: check(e, {self.name!r}, {field!r}, D{index}[1][0])',
                f'c.{field} = v',
            ]
        names[f'N{index}'] = self._find(inner[1]).copier
        return [f'v = [N{index}(e) for e in m.{field}]', *limit, f'c.{field} = v']

    @staticmethod
    def _scalar_copier_lines(field: str, base: str, blame: str) -> list[str]:
        lines = [f'v = m.{field}']
        if base == 'string':
            return [*lines, f'if type(v) is not str: check(v, {blame})', f'c.{field} = v']
        if base == 'bool':
            return [*lines, f'if v is not True and v is not False: check(v, {blame}); v = bool(v)', f'c.{field} = v']
        if base == 'float64':
            return [*lines, f'if type(v) is not float: check(v, {blame}); v = float(v)', f'c.{field} = v']
        if base == 'float32':
            return [*lines, f'if type(v) is not float: check(v, {blame}); v = float(v)', f'c.{field} = single(v)']
        if base in ('byte', 'octet'):
            lines.append('if type(v) is bytes and len(v) == 1: v = v[0]')
        low, high = np.iinfo(DTYPES[base]).min, np.iinfo(DTYPES[base]).max
        return [*lines, f'if type(v) is not int or not {low} <= v <= {high}: check(v, {blame}); v = int(v)',
                f'c.{field} = v']  # fmt: skip

    def encode(self, message: Any, prefix: bytes = b'') -> bytes:
        """Return the message as XCDR1 little-endian bytes with encapsulation header.

        Args:
            message: instance of this codec's type.
            prefix: bytes between the encapsulation header and the body, such as the 16-byte request header of services;
                the length must be a multiple of 8 to keep the alignment of the body.

        Raises:
            TypeError, ValueError: an invalid value of a field, with type and field.
        """
        try:
            return self._encode(message, prefix)
        except PACKING_ERRORS as error:
            self.check(message)
            try:  # the check has converted the arrays
                return self._encode(message, prefix)
            except PACKING_ERRORS:
                raise TypeError(f'{self.name}: the message cannot be encoded: {error}') from error

    def _encode(self, message: Any, prefix: bytes) -> bytes:
        parts = [CDR_HEADER, prefix]
        self._write(message, parts.append)
        return b''.join(parts)

    def decode(self, data: bytes | memoryview, skip: int = 0) -> Any:
        """Return the message encoded in `data`.

        Args:
            data: CDR bytes with encapsulation header, in either byte order.
            skip: number of bytes between the encapsulation header and the body (see `encode`).

        Raises:
            DecodeError: not an encoding of this type.
        """
        if len(data) < 4 + skip or data[0] != 0 or data[1] > 1:
            raise DecodeError(f'{self.name}: not XCDR1 data: {len(data)} bytes starting with {bytes(data[:4]).hex()}')
        # Copied to a bytearray to make the arrays of the message writable.
        body = memoryview(bytearray(data))[4 + skip :]
        try:
            definition = self._definition
            read = definition.deserialize_cdr_le if data[1] else definition.deserialize_cdr_be
            message, position = read(body, 0, definition.cls, self._store)
        except Exception as error:
            raise DecodeError(f'{self.name}: cannot decode {len(data)} bytes: {error}') from error
        if position > len(body) or position + 3 < len(body):
            raise DecodeError(f'{self.name}: {len(body)} bytes, but the message has {position}')
        return message

    def check(self, message: Any) -> None:
        """Check all fields of a message and nested messages; slow, for error reports.

        Raises:
            TypeError: the first field with a value of another type, by name.
            ValueError: a fixed-size array with another size.
        """
        for field, desc in self.fields:
            try:
                value = getattr(message, field)
            except AttributeError:
                raise TypeError(
                    f'{self.name}: expected a message with field {field!r}, found {_described(message)}'
                ) from None
            self._check_field(message, field, desc, value)

    def _check_field(self, message: Any, field: str, desc: Any, value: Any) -> None:
        kind, detail = desc
        if kind == Nodetype.BASE:
            if not (detail[0] in ('byte', 'octet') and isinstance(value, bytes) and len(value) == 1):
                check_scalar(value, self.name, field, desc)
        elif kind == Nodetype.NAME:
            self._check_nested(value, field, detail)
        elif detail[0][0] == Nodetype.BASE and detail[0][1][0] != 'string':
            setattr(message, field, to_array(value, self.name, field, desc))
        else:
            if isinstance(value, (str, bytes, dict)) or not hasattr(value, '__len__'):
                raise _wrong(self.name, field, desc, value)
            if kind == Nodetype.ARRAY and len(value) != detail[1]:
                raise ValueError(f'{self.name}.{field}: expected {detail[1]} elements, found {len(value)}')
            for index, element in enumerate(value):
                if detail[0][0] == Nodetype.BASE:
                    check_scalar(element, self.name, f'{field}[{index}]', detail[0])
                else:
                    self._check_nested(element, f'{field}[{index}]', detail[0][1])

    def _check_nested(self, value: Any, field: str, name: str) -> None:
        if getattr(value, '__msgtype__', None) != name:
            raise TypeError(f'{self.name}.{field}: expected {name}, found {_described(value)}')
        self._find(name).check(value)
