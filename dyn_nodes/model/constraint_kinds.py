"""Kinds of constraints in a machine YAML, by `kind`: each file of `dyn_nodes.constraints.kinds` contains one kind.

The first machine with constraints imports them, because their rows need CasADi.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from dyn_nodes.model.constraint import ConstraintRecord
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of_kinds

PACKAGE = 'dyn_nodes.constraints.kinds'


@cache
def constraint_kinds() -> Mapping[str, type[ConstraintRecord]]:
    """Return the record of every kind of constraint."""
    return kinds_of(import_module(PACKAGE), ConstraintRecord)


@cache
def constraint_keys() -> tuple[Key, ...]:
    """Return the keys of a constraint; keys of some kinds name these kinds."""
    kinds = constraint_kinds()
    return (choice('kind of the constraint; see below', tuple(kinds), REQUIRED, 'kind'), *keys_of_kinds(kinds))
