"""Keys of a machine YAML, each declared once: at the field of the record that holds its value.

    @dataclass(frozen=True)
    class Payload:
        mass: Annotated[float, number('at the start', 'kg', 'non-negative')]

`keys_of(Payload)` are its keys. The reader with its errors, the record and docs/reference/machine_yaml.md follow from
them. A field and its key have the same default; a field without a declaration is no key.

Modules with such records must evaluate their annotations: no `from __future__ import annotations`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.limits import unit_remark

Kind = Literal[
    'number', 'numbers', 'vector', 'pair', 'text', 'choice', 'flag', 'table', 'partial', 'named', 'positions', 'names'
]
Sign = Literal['any', 'positive', 'non-negative']
Remark = Callable[[float, str], 'str | None']
MOST_KINDS_SHOWN = 4
"""Greatest number of kinds that the meaning of a key lists."""


class _Required:
    """Marker of keys without a default."""

    def __repr__(self) -> str:
        return 'required'


REQUIRED = _Required()
_OF_THE_FIELD = _Required()
"""Marker: the key has the default of its field."""


class Key(NamedTuple):
    """One key of a mapping.

    Attributes:
        kind: `vector` is [x, y, z], `pair` is [x, y];
            `table` is a mapping with the keys of `table`, `partial` one that may lack any of them;
            `named` is a mapping from names to such mappings;
            `positions` a mapping from joint names to numbers; `names` a list of texts; `numbers` a list of numbers.
        unit: SI unit; values of an implausible size for it are rejected.
        default: value of an absent key; `REQUIRED`: the key must be present.
        records: of the value of a `table` or `named` key; with several, the key `chooser` of the mapping selects one.
        field: of the record that stores the value.
        read: converts the value for the field.
        remark: returns a remark on a number that cannot be in this unit, else None.
        needed, allowed: kinds of the mapping that must and that may have the key; both empty: all may.
        shared: whether an entry of `defaults` with the name of the key supplies defaults of the value.
        kinds: returns the records if they are not available at the declaration.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ''
    default: Any = REQUIRED
    sign: Sign = 'any'
    choices: tuple[str, ...] = ()
    table: tuple[Key, ...] = ()
    records: tuple[tuple[str, type], ...] = ()
    chooser: str = ''
    field: str = ''
    read: Callable[[Any], Any] | None = None
    remark: Remark = unit_remark
    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    shared: bool = False
    kinds: Callable[[], Mapping[str, type]] | None = None

    @property
    def record(self) -> type | None:
        """The only record of the value; None with no or several records."""
        return self.records[0][1] if len(self.records) == 1 else None


def number(
    meaning: str, unit: str = '', sign: Sign = 'any', default: Any = _OF_THE_FIELD, remark: Remark = unit_remark,
    **limits: Any
) -> Key:  # fmt: skip
    """Declare a number; `limits` are further attributes of the key."""
    return Key('', 'number', meaning, unit, default, sign, remark=remark, **limits)


def vector(meaning: str, unit: str = '', default: Any = _OF_THE_FIELD, **limits: Any) -> Key:
    """Declare [x, y, z], stored as a tuple or converted by `read`."""
    return Key('', 'vector', meaning, unit, default, **limits)


def text(meaning: str, default: Any = _OF_THE_FIELD, **limits: Any) -> Key:
    """Declare a text."""
    return Key('', 'text', meaning, '', default, **limits)


def choice(meaning: str, choices: tuple[str, ...], default: Any = _OF_THE_FIELD, name: str = '') -> Key:
    """Declare one of several words."""
    return Key(name, 'choice', meaning, '', default, choices=choices)


def flag(meaning: str, **limits: Any) -> Key:
    """Declare a truth value."""
    return Key('', 'flag', meaning, '', _OF_THE_FIELD, **limits)


def table(meaning: str, record: type, name: str = '', default: Any = _OF_THE_FIELD, **limits: Any) -> Key:
    """Declare a mapping with the keys of a record."""
    return Key(name, 'table', meaning, '', default, records=(('', record),), **limits)


def one_table_of(meaning: str, chooser: Key, records: Callable[[], Mapping[str, type]]) -> Key:
    """Declare a mapping for one of several records, selected by the key `chooser`.

    `records` is called at the first use of the keys, when all kinds of a package are imported.
    """
    return Key('', 'table', meaning, '', _OF_THE_FIELD, chooser=chooser.name, table=(chooser,), kinds=records)


def named(meaning: str, record: type | None = None, name: str = '') -> Key:
    """Declare a mapping from names to mappings with the keys of a record."""
    records = () if record is None else (('', record),)
    return Key(name, 'named', meaning, '', _OF_THE_FIELD, records=records)


def collection(kind: Kind, meaning: str, unit: str = '', **limits: Any) -> Key:
    """Declare `names`, `numbers` or `positions`."""
    return Key('', kind, meaning, unit, _OF_THE_FIELD, **limits)


def frozen_array(values: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a read-only float array of a shape. Raises ValueError for another shape."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f'expected an array of shape {shape}, found {array.shape}')
    array.setflags(write=False)
    return array


def frozen_vector(values: object) -> NDArray[np.float64]:
    """Return a read-only (3,) array."""
    return frozen_array(values, (3,))


def unit_tuple(vector: Any) -> tuple[float, float, float]:
    """Return a vector scaled to norm one; a zero vector is unchanged."""
    length = float(np.linalg.norm(vector))
    x, y, z = (float(part) / length if length > 0.0 else float(part) for part in vector)
    return x, y, z


@cache
def keys_of(record: type) -> tuple[Key, ...]:
    """Return the keys that a dataclass or NamedTuple declares, in the order of its fields.

    Raises TypeError if the module of the record does not evaluate its annotations.
    """
    defaults = _defaults(record)
    keys: list[Key] = []
    for field, annotation in _annotations(record).items():
        if isinstance(annotation, str) and 'Annotated[' in annotation:
            raise TypeError(f'{record.__name__}.{field}: expected an evaluated annotation, found {annotation}')
        declared = (entry for entry in getattr(annotation, '__metadata__', ()) if isinstance(entry, Key))
        keys += [_completed(key, field, defaults.get(field, REQUIRED)) for key in declared]
    return tuple(keys)


def _annotations(record: type) -> dict[str, Any]:
    if dataclasses.is_dataclass(record):
        return {field.name: field.type for field in dataclasses.fields(record)}
    return dict(record.__annotations__)


def _defaults(record: type) -> dict[str, Any]:
    if not dataclasses.is_dataclass(record):
        return dict(record._field_defaults)  # type: ignore[attr-defined]
    defaults = {field.name: field.default for field in dataclasses.fields(record)}
    made = {f.name: f.default_factory for f in dataclasses.fields(record)}
    defaults = {name: value for name, value in defaults.items() if value is not dataclasses.MISSING}
    return defaults | {name: make() for name, make in made.items() if make is not dataclasses.MISSING}  # type: ignore[misc]


def _completed(key: Key, field: str, default: Any) -> Key:
    """Return a declared key completed by its field and the records of its value."""
    default = default if key.default is _OF_THE_FIELD else key.default
    if key.kinds is not None:
        records = key.kinds()
        table = (key.table[0]._replace(choices=tuple(records)),)
        key = key._replace(records=tuple(records.items()), table=table, kinds=None)
    keys = (*key.table, *_keys_of_records(key))
    return _naming_kinds(key._replace(name=key.name or field, field=field, table=keys, default=default))


def _naming_kinds(key: Key) -> Key:
    """Return the key; its meaning lists the kinds of the mapping that have it, if they are few."""
    kinds = (*key.needed, *key.allowed)
    if not 0 < len(kinds) <= MOST_KINDS_SHOWN:
        return key
    return key._replace(meaning=f'{key.meaning}; {"kind" if len(kinds) == 1 else "kinds"} {", ".join(kinds)}')


def keys_of_kinds(records: Mapping[str, type]) -> tuple[Key, ...]:
    """Return the keys of a mapping of one of several kinds, each with the kinds that need or allow it.

    Args:
        records: record of every kind.

    Raises:
        TypeError: two kinds have a key of one name and different values.
    """
    having: dict[str, dict[str, Key]] = {}
    for kind, record in records.items():
        for key in keys_of(record):
            having.setdefault(key.name, {})[kind] = key
    return tuple(_key_of_kinds(by_kind) for by_kind in having.values())


def _key_of_kinds(by_kind: Mapping[str, Key]) -> Key:
    needed = tuple(kind for kind, key in by_kind.items() if key.default is REQUIRED)
    allowed = tuple(kind for kind in by_kind if kind not in needed)
    first = by_kind[(*needed, *allowed)[0]]
    meanings: dict[str, str] = {}
    for kind in (*needed, *allowed):
        key = by_kind[kind]
        if (key.kind, key.unit, key.sign, key.table) != (first.kind, first.unit, first.sign, first.table):
            raise TypeError(f'{key.name}: expected a {first.kind} with the same unit in every kind, found {kind}')
        meanings.setdefault(key.meaning, f'of kind {kind}: {key.meaning}')
    meaning = '; '.join((first.meaning, *list(meanings.values())[1:]))
    default = None if needed else first.default
    return _naming_kinds(first._replace(meaning=meaning, default=default, needed=needed, allowed=allowed))


def _keys_of_records(key: Key) -> list[Key]:
    """Return the keys of a mapping; the meaning of a key that not all records have names its record."""
    having: dict[str, list[str]] = {}
    for name, record in key.records:
        for inner in keys_of(record):
            having.setdefault(inner.name, []).append(name)
    result: dict[str, Key] = {}
    for name, record in key.records:
        for inner in keys_of(record):
            shared = len(having[inner.name]) == len(key.records)
            meaning = inner.meaning if shared else f'{inner.meaning}; of {name} only'
            result.setdefault(inner.name, inner._replace(meaning=meaning))
    return list(result.values())


def build(record: type, values: Mapping[str, Any], tolerant: bool = False, **others: Any) -> Any:
    """Return the record of a mapping's values; None if a value is missing because of a fault.

    Args:
        record: to make.
        values: by key; mappings of values where the key has a record.
        tolerant: replace values with faults by their defaults, if any.
        **others: fields that are not keys.
    """
    arguments = dict(others)
    for key in keys_of(record):
        value = values.get(key.name, REQUIRED)
        if key.records and isinstance(value, dict):
            value = _build_table(key, value, tolerant)
        if value is REQUIRED:
            if not tolerant or key.default is REQUIRED:
                return None
            value = key.default
        if arguments.get(key.field) is None:  # of several keys for one field, the present one
            arguments[key.field] = value if key.read is None or value is None else key.read(value)
    return record(**arguments)


def _build_table(key: Key, values: Mapping[str, Any], tolerant: bool) -> Any:
    if not tolerant and any(inner.name not in values for inner in key.table):
        return REQUIRED
    record = key.record or dict(key.records)[values[key.chooser]]
    made = build(record, values, tolerant)
    return REQUIRED if made is None else made
