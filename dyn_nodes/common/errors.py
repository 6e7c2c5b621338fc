"""The base class of all errors that a user can correct, see `roslite/errors.py`."""

from __future__ import annotations

from roslite.errors import UserError

__all__ = ['UserError']
