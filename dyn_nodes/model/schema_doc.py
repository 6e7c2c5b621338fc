"""Write the key tables of docs/reference/machine_yaml.md: `python -m dyn_nodes.model.schema_doc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dyn_nodes.model.actuators import actuator_keys, actuator_kinds
from dyn_nodes.model.config import machine_keys
from dyn_nodes.model.constraint_kinds import constraint_keys
from dyn_nodes.model.contacts import KINDS as CONTACTS
from dyn_nodes.model.contacts import contact_keys
from dyn_nodes.model.schema import REQUIRED, Key

KINDS = {
    'vector': '[x, y, z]',
    'flag': 'true or false',
    'table': 'mapping',
    'partial': 'mapping',
    'named': 'mapping of names',
    'positions': 'mapping of joints',
    'names': 'list of names',
    'numbers': 'list of numbers',
}

OF_KINDS: dict[str, Callable[[], Mapping[str, tuple[Key, ...]]]] = {
    'actuators': lambda: {f' of type `{kind}`': actuator_keys(kind) for kind in actuator_kinds()},
    'contacts': lambda: {f' of type `{kind}`': contact_keys(kind) for kind in CONTACTS},
    'constraints': lambda: {'': constraint_keys()},
}
"""Keys of named entries of several kinds: keys by kind, each with a table in the document."""


@dataclass
class Section:
    """A table of the document: titles of mappings with the same keys."""

    titles: list[str]
    keys: tuple[Key, ...]


def sections() -> list[Section]:
    """Return the tables of the document: the file, then its mappings; mappings with the same keys share a table."""
    tables: list[Section] = []
    for title, keys in (('The file', machine_keys()), *_below('', machine_keys())):
        same = next((section for section in tables if section.keys == keys), None)
        if same is None:
            tables.append(Section([title], keys))
        elif title not in same.titles:
            same.titles.append(title)
    return tables


def _below(path: str, keys: tuple[Key, ...]) -> Iterator[tuple[str, tuple[Key, ...]]]:
    """Yield title and keys of the mappings below keys."""
    for key in keys:
        at = f'{path}{key.name}'
        if key.name in OF_KINDS and not path:
            for kind, kind_keys in OF_KINDS[key.name]().items():
                yield f'`{at}.<name>`{kind}', kind_keys
                yield from _below(f'{at}.<name>.', kind_keys)
        elif key.table:
            at += '.<name>' if key.kind == 'named' else ''
            yield f'`{at}`', key.table
            if key.kind != 'partial':
                yield from _below(f'{at}.', key.table)


def key_tables() -> str:
    """Return every key of a machine YAML as Markdown tables."""
    return '\n'.join(_table(' and '.join(section.titles), section.keys) for section in sections())


def _table(title: str, keys: tuple[Key, ...]) -> str:
    rows = [f'| `{key.name}` | {_value(key)} | {key.unit} | {_default(key)} | {key.meaning} |' for key in keys]
    head = ['| key | value | unit | default | meaning |', '|---|---|---|---|---|']
    return '\n'.join([f'### {title}', '', *head, *rows, ''])


def _value(key: Key) -> str:
    if key.kind == 'choice':
        return ', '.join(f'`{choice}`' for choice in key.choices)
    bound = {'any': '', 'positive': ' > 0', 'non-negative': ' >= 0'}[key.sign]
    return KINDS.get(key.kind, key.kind) + bound


def _default(key: Key) -> str:
    if key.default is REQUIRED or key.needed:
        return 'required'
    if key.kind in ('table', 'named', 'partial') or key.default in (None, {}, (), ''):
        return ''
    if isinstance(key.default, tuple):
        return f'[{", ".join(f"{value:g}" for value in key.default)}]'
    if isinstance(key.default, bool):
        return str(key.default).lower()
    return f'{key.default:g}' if isinstance(key.default, float) else f'{key.default}'


if __name__ == '__main__':
    print(key_tables())
