"""Kinds of contacts in a machine YAML, by `type`. A new kind is its record's file and its line here."""

from __future__ import annotations

from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of
from dyn_nodes.model.track import Track

KINDS: dict[str, type[ContactRecord]] = {record.kind: record for record in (Track,)}


def contact_keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of contact."""
    return (choice('what kind of contact', tuple(KINDS), default=REQUIRED, name='type'), *keys_of(KINDS[kind]))  # type: ignore[arg-type]
