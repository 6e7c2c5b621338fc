"""Serialized messages that differ in their numbers only: a prepared form is filled in.

A report such as a wrench has the same frame and the same layout every time. Its CDR form is written once, from a
prototype; after that stamps and numbers are packed at their offsets, which costs a tenth of creating a message,
converting its fields and encoding it. Both runtimes publish CDR bytes, and subscriptions decode them as usual.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .select import RUNTIME

CDR_HEADER = b'\x00\x01\x00\x00'
"""Encapsulation of XCDR version 1, little endian."""
FORMATS = {
    'boolean': '?', 'octet': 'B', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H', 'int32': 'i',
    'uint32': 'I', 'int64': 'q', 'uint64': 'Q', 'float': 'f', 'double': 'd',
}  # fmt: skip
TIME = 'builtin_interfaces/Time'
STAMP = struct.Struct('<iI')
"""CDR form of a stamp: seconds, nanoseconds."""
_MANY = re.compile(r'(?:sequence<(?P<item>.+?)(?:, \d+)?>|(?P<fixed>.+)\[\d+\])')


class _Layout:
    """The bytes of a prototype, and the offsets of its stamps and numbers.

    Attributes:
        body: CDR without its encapsulation header.
        stamps: offsets of stamps.
        numbers: (path, offset, format) of all other numbers; elements of a sequence have its path.
    """

    def __init__(self, prototype: Any) -> None:
        self.body = bytearray()
        self.stamps: list[int] = []
        self.numbers: list[tuple[str, int, str]] = []
        self._add_message(prototype, '')

    def _add_message(self, message: Any, path: str) -> None:
        for name, label in message.get_fields_and_field_types().items():
            self._add(getattr(message, name), label, f'{path}.{name}' if path else name)

    def _add(self, value: Any, label: str, path: str) -> None:
        many = _MANY.fullmatch(label)
        if many is not None:
            if label.startswith('sequence'):
                self._pack('I', len(value))
            for item in value:
                self._add(item, many['item'] or many['fixed'], path)
        elif label in FORMATS:
            offset = self._pack(FORMATS[label], value[0] if isinstance(value, bytes) else value)
            self.numbers.append((path, offset, FORMATS[label]))
        elif label.startswith('string'):
            text = value.encode() + b'\0'
            self._pack('I', len(text))
            self.body += text
        elif label == TIME:
            self.stamps.append(self._pack('i', value.sec))
            self._pack('I', value.nanosec)
        elif hasattr(value, 'get_fields_and_field_types'):
            self._add_message(value, path)
        else:
            raise ValueError(f'{path}: a {label} cannot be prepared')

    def _pack(self, code: str, value: Any) -> int:
        """Append a number with its alignment; return its offset."""
        packed = struct.pack(f'<{code}', value)
        self.body += bytes(-len(self.body) % len(packed))
        self.body += packed
        return len(self.body) - len(packed)


class PreparedMessage:
    """The CDR form of messages that differ in stamps and numbers only.

    Args:
        prototype: a message. Its strings, the lengths of its sequences, and the numbers of other fields are the same in
            all messages.
        fields: paths of the fields with numbers that change, without indices: `wrench.force`, `transforms.transform`. A
            path includes all numbers below it.

    Attributes:
        count: of the numbers that change.

    Raises:
        ValueError: a field of the prototype cannot be prepared, or no number belongs to a path.
    """

    def __init__(self, prototype: Any, fields: Sequence[str]) -> None:
        layout = _Layout(prototype)
        start = len(CDR_HEADER)
        changing = [(offset + start, code) for path, offset, code in layout.numbers if _is_below(path, fields)]
        unknown = [f for f in fields if not any(_is_below(path, (f,)) for path, _, _ in layout.numbers)]
        if unknown:
            raise ValueError(f'{type(prototype).__name__}: no numbers in {", ".join(unknown)}')
        self.count = len(changing)
        data = CDR_HEADER + bytes(layout.body)
        # DDS delivers multiples of four bytes; rclpy's serialization does not pad
        self._buffer = bytearray(data + bytes(-len(data) & 3) if RUNTIME == 'embedded' else data)
        self._stamps = [offset + start for offset in layout.stamps]
        self._runs = list(_runs(changing))

    def filled(self, stamp: bytes, numbers: Sequence[float]) -> bytes:
        """Return a message.

        Args:
            stamp: (8,) for all stamps in it: seconds and nanoseconds as `STAMP` packs them.
            numbers: (count,) in the order of the message's definition.

        Raises:
            ValueError: another count.
            struct.error, OverflowError: a number that its field cannot hold.
        """
        if len(numbers) != self.count:
            raise ValueError(f'expected {self.count} numbers, found {len(numbers)}')
        buffer = self._buffer
        for offset in self._stamps:
            buffer[offset : offset + 8] = stamp
        for pack_into, offset, first, end in self._runs:
            pack_into(buffer, offset, *numbers[first:end])
        return bytes(buffer)


def _is_below(path: str, fields: Iterable[str]) -> bool:
    return any(path == field or path.startswith(f'{field}.') for field in fields)


def _runs(numbers: Sequence[tuple[int, str]]) -> Iterable[tuple[Callable[..., None], int, int, int]]:
    """Yield (pack_into, offset, first number, end) of numbers that follow one another without a gap."""
    first = 0
    for k, (offset, code) in enumerate(numbers):
        after = offset + struct.calcsize(code)
        if k + 1 < len(numbers) and numbers[k + 1][0] == after:
            continue
        codes = ''.join(code for _, code in numbers[first : k + 1])
        yield struct.Struct(f'<{codes}').pack_into, numbers[first][0], first, k + 1
        first = k + 1
