"""The base class of all errors that a user can correct."""

from __future__ import annotations


class UserError(Exception):
    """A file, a value or a request that cannot be used; the message names it, what was expected and what was found.

    Commands print the message without a traceback.
    """
