"""Kinds of contacts in a machine YAML, by `type`: each file of this package contains the record of one kind."""

import sys

from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.schema import REQUIRED, Key, choice, keys_of

KINDS: dict[str, type[ContactRecord]] = kinds_of(sys.modules[__name__], ContactRecord)


def contact_keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of contact."""
    return (choice('kind of the contact', tuple(KINDS), default=REQUIRED, name='type'), *keys_of(KINDS[kind]))  # type: ignore[arg-type]
