"""Base class of all errors that a user can correct."""

from __future__ import annotations


class UserError(Exception):
    """An invalid file, value or request; the message names it and has the expected and the found content.

    Commands print the message without a traceback.
    """
