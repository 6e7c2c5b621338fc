"""Kinds of constraints in a machine YAML, by `kind`: every file of `dyn_nodes.constraints.kinds` is one.

They are imported with the first machine that has constraints: their rows need CasADi, which other machines do not load.
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
    """Return the keys of a constraint; those that not all kinds have name theirs."""
    kinds = constraint_kinds()
    return (choice('what is held; see below', tuple(kinds), REQUIRED, 'kind'), *keys_of_kinds(kinds))
