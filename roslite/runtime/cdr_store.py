"""Type store of rosbags that generates the functions of a message type at their first call.

rosbags generates ten functions per type and nested type, most of them for ROS 1. A node uses two or three of them;
without the others it starts in half the time.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.serde.cdr import generate_deserialize_cdr, generate_getsize_cdr, generate_serialize_cdr
from rosbags.typesys.base import normalize_fieldname
from rosbags.typesys.store import Typestore


class CdrDefinition:
    """A `Msgdef` of rosbags with functions generated on demand."""

    def __init__(self, name: str, store: CdrStore) -> None:
        self.name, self._store = name, store
        self.fields: list[tuple[str, Any]] = [
            (normalize_fieldname(field), desc) for field, desc in store.fielddefs[name][1]
        ]
        self.cls = store.types[name]
        self._made: set[str] = set()

    @cached_property
    def _size(self) -> tuple[Any, int]:
        return generate_getsize_cdr(self.fields, self._store)

    @property
    def size_cdr(self) -> int:
        """Size of a message of fixed size, bytes; 0 for variable size."""
        return self._size[1]

    @cached_property
    def getsize_cdr(self) -> Any:
        """Function that returns the size of a message."""
        return self._size[0]

    @cached_property
    def serialize_cdr_le(self) -> Any:
        """Function that writes little endian."""
        return generate_serialize_cdr(self.fields, self._store, 'le')

    @cached_property
    def serialize_cdr_be(self) -> Any:
        """Function that writes big endian."""
        return generate_serialize_cdr(self.fields, self._store, 'be')

    @cached_property
    def deserialize_cdr_le(self) -> Any:
        """Function that reads little endian."""
        return generate_deserialize_cdr(self.fields, self._store, 'le')

    @cached_property
    def deserialize_cdr_be(self) -> Any:
        """Function that reads big endian."""
        return generate_deserialize_cdr(self.fields, self._store, 'be')

    def make(self, *functions: str) -> None:
        """Generate functions of the type and of all nested types now instead of in the first call."""
        if set(functions) <= self._made:
            return
        self._made.update(functions)
        for _, (kind, detail) in self.fields:
            kind, inner = detail[0] if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (kind, detail)
            if kind == Nodetype.NAME:
                self._store.get_msgdef(inner).make(*functions)
        for function in functions:
            getattr(self, function)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        return getattr(self._store.full_definition(self.name), name)  # ROS 1


class CdrStore(Typestore):
    """A type store with `CdrDefinition`s."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._definitions: dict[str, CdrDefinition] = {}

    def get_msgdef(self, typename: str) -> Any:
        """Return the definition of a type. Raises KeyError."""
        definition = self._definitions.get(typename)
        if definition is None:
            definition = self._definitions.setdefault(typename, CdrDefinition(typename, self))
        return definition

    def full_definition(self, typename: str) -> Any:
        """Return the complete definition of a type by rosbags."""
        return super().get_msgdef(typename)
