"""Generated functions that write messages as CDR.

rosbags' generated writers pack one number at a time and call a function for every nested message. Here one function
writes all fields of a type and its nested types; successive numbers need one call of `struct`, with the alignment in
its format. The bytes are identical.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

FORMATS = {
    'bool': '?', 'byte': 'B', 'octet': 'B', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H',
    'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q', 'float32': 'f', 'float64': 'd',
}  # fmt: skip
GAPS = tuple(bytes(size) for size in range(8))
END = b'\0'


def packers(codes: str) -> tuple[struct.Struct, ...]:
    """Return eight packers of numbers with alignment gaps, by the start offset modulo 8.

    Args:
        codes: format characters of `struct`, one for each number; `x` is the end of a string.
    """
    return tuple(struct.Struct(_with_gaps(codes, offset)) for offset in range(8))


def _with_gaps(codes: str, offset: int) -> str:
    text = ['<']
    for code in codes:
        size = struct.calcsize(f'<{code}')
        gap = -offset % size
        text.append('x' * gap + code)
        offset += gap + size
    return ''.join(text)


@lru_cache(maxsize=64)
def text_block(texts: tuple[str, ...], offset: int) -> bytes:
    """Return the elements of a sequence of strings as CDR, with alignment for an offset modulo 4."""
    block = bytearray(offset)
    for text in texts:
        data = text.encode()
        block += GAPS[-len(block) & 3]
        block += struct.pack('<I', len(data) + 1)
        block += data + END
    return bytes(block[offset:])


def octet(value: Any) -> Any:
    """Return the number of a `byte` field, which is a bytes object of length one in rclpy."""
    return value[0] if type(value) is bytes and len(value) == 1 else value


class EncoderSource:
    """Source text of the function that writes a type.

    The function takes a message and the `append` of a list, and appends the parts of the body.

    Args:
        fields: function that returns the fields of a type: names and rosbags' descriptions.
        checks: `to_array(value, owner, field, desc)`, `check(value, owner, field, desc)` and `wrong(owner, field, desc,
            value)` of the codec, and `dtypes` by base type.
    """

    def __init__(self, fields: Callable[[str], Sequence[tuple[str, Any]]], checks: dict[str, Any]) -> None:
        self._fields = fields
        self._dtypes: dict[str, Any] = checks['dtypes']
        self.names: dict[str, Any] = {
            'ndarray': np.ndarray, 'octet': octet, 'text_block': text_block, 'GAPS': GAPS, 'END': END,
            **{name: checks[name] for name in ('to_array', 'check', 'wrong')},
        }  # fmt: skip
        self._lines: list[str] = []
        self._indent = 1
        self._codes: list[str] = []
        self._values: list[str] = []
        self._count = 0

    def make(self, name: str) -> Callable[[Any, Callable[[Any], None]], None]:
        """Return the function of a type."""
        self._add_fields(name, 'm')
        self._flush()
        if not self._lines:
            self._line('pass')
        source = '\n'.join(['def write(m, add):', '  offset = 0', *self._lines])
        exec(source, self.names)  # the source is generated from type definitions, not from data
        made: Callable[[Any, Callable[[Any], None]], None] = self.names['write']
        return made

    def _line(self, text: str) -> None:
        self._lines.append('  ' * self._indent + text)

    def _new(self, prefix: str, value: Any = None) -> str:
        self._count += 1
        name = f'{prefix}{self._count}'
        if value is not None:
            self.names[name] = value
        return name

    def _number(self, code: str, value: str) -> None:
        self._codes.append(code)
        if code != 'x':
            self._values.append(value)

    def _flush(self) -> None:
        """Add the code that packs the pending numbers."""
        if not self._codes:
            return
        many = self._new('P', packers(''.join(self._codes)))
        self._line(f's = {many}[offset & 7]')
        self._line(f'add(s.pack({", ".join(self._values)}))')
        self._line('offset += s.size')
        self._codes, self._values = [], []

    def _add_fields(self, name: str, message: str) -> None:
        for field, desc in self._fields(name):
            kind, detail = desc
            value = f'{message}.{field}'
            if kind == Nodetype.NAME:
                inner = self._new('m')
                self._line(f'{inner} = {value}')
                self._add_fields(detail, inner)
            elif kind == Nodetype.BASE:
                self._add_scalar(value, detail[0], f'{name!r}, {field!r}, {self._new("D", desc)}')
            else:
                self._add_many(value, desc, f'{name!r}, {field!r}, {self._new("D", desc)}')

    def _add_scalar(self, value: str, base: str, blame: str) -> None:
        if base == 'string':
            self._add_text(value)
            return
        if base == 'bool':
            variable = self._new('v')
            self._line(f'{variable} = {value}')
            self._line(f'if {variable} is not True and {variable} is not False: check({variable}, {blame})')
            value = variable
        if base in ('byte', 'octet'):
            value = f'octet({value})'
        self._number(FORMATS[base], value)

    def _add_text(self, value: str) -> None:
        data = self._new('b')
        self._line(f'{data} = {value}.encode()')
        self._number('I', f'len({data}) + 1')
        self._flush()
        self._line(f'add({data})')
        self._line(f'offset += len({data})')
        self._number('x', '')

    def _add_many(self, value: str, desc: Any, blame: str) -> None:
        kind, (inner, count) = desc
        values = self._new('v')
        self._line(f'{values} = {value}')
        if inner[0] == Nodetype.BASE and inner[1][0] != 'string':
            self._add_numbers(values, inner[1][0], kind == Nodetype.ARRAY and count, blame)
            return
        self._line(f'if type({values}) is str: raise wrong({blame}, {values})')
        if kind == Nodetype.ARRAY:
            self._line(f'if len({values}) != {count}: raise ValueError({blame.split(", ")[1]})')
        else:
            self._number('I', f'len({values})')
        self._flush()
        if inner[0] == Nodetype.BASE:
            texts = self._new('b')
            self._line(f'{texts} = text_block(tuple({values}), offset & 3)')
            self._line(f'add({texts})')
            self._line(f'offset += len({texts})')
            return
        item = self._new('m')
        self._line(f'for {item} in {values}:')
        self._indent += 1
        before = len(self._lines)
        self._add_fields(inner[1], item)
        self._flush()
        if len(self._lines) == before:
            self._line('pass')
        self._indent -= 1

    def _add_numbers(self, values: str, base: str, count: int, blame: str) -> None:
        """Add the code of an array with `count` numbers; 0: a sequence with its length before it."""
        dtype = self._dtypes[base]
        length = f' or len({values}) != {count}' if count else ''
        self._line(
            f'if type({values}) is not ndarray or {values}.dtype is not {self._new("T", dtype)} '
            f'or {values}.ndim != 1{length}: {values} = to_array({values}, {blame})'
        )
        if not count:
            self._number('I', f'len({values})')
        self._flush()
        self._line(f'if len({values}):')
        if dtype.itemsize > 1:
            self._line(f'  add(GAPS[-offset & {dtype.itemsize - 1}])')
            self._line(f'  offset += (-offset & {dtype.itemsize - 1}) + {dtype.itemsize} * len({values})')
        else:
            self._line(f'  offset += len({values})')
        self._line(f'  add({values}.tobytes())')
