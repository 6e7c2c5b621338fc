"""Which ground a machine stands on: errors of that choice, apart from the rigid ground, which takes long to import."""

from __future__ import annotations


class ContactModelError(ValueError):
    """The contact model does not exist, or does not suit the machine."""
