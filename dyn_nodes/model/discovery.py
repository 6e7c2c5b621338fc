"""Discovery of kinds by the files of a package: each file contains one kind; there is no list."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

Kind = TypeVar('Kind')


def kinds_of(package: ModuleType, base: type[Kind]) -> dict[str, type[Kind]]:
    """Return the classes of a package that extend `base` and have a `kind`, by kind, in the order of their files.

    Raises:
        ValueError: two classes of one kind.
    """
    kinds: dict[str, type[Kind]] = {}
    for module in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        imported = import_module(f'{package.__name__}.{module.name}')
        for value in vars(imported).values():
            if not isinstance(value, type) or not issubclass(value, base) or value.__module__ != imported.__name__:
                continue
            kind = vars(value).get('kind')
            if kind is None:
                continue
            if kind in kinds:
                raise ValueError(f'{package.__name__}: two classes of kind {kind!r}')
            kinds[kind] = value
    return kinds


def records_of(package: ModuleType, acting: str, base: type[Kind]) -> dict[str, type[Kind]]:
    """Return the records of a package, and the records in the files of their elements in another package.

    The other package needs CasADi. It is imported only if it has a file that the first one does not have.

    Args:
        package: of records.
        acting: name of the package of elements.
        base: of the records.
    """
    records = kinds_of(package, base)
    loaded = sys.modules.get(acting)
    folder = Path(__file__).parents[1].joinpath(*acting.split('.')[1:])
    files = iter_modules([str(folder)] if loaded is None else loaded.__path__)
    if {module.name for module in files} <= {module.name for module in iter_modules(package.__path__)}:
        return records
    return {**records, **kinds_of(import_module(acting), base)}
