"""Checks of limits and gains that must be finite and positive or not negative."""

import math
from collections.abc import Mapping
from typing import Any


def require_positive(values: Mapping[str, Any], where: str = '') -> None:
    """Raise a ValueError that names the first value that is not a finite number above 0.

    Args:
        values: by name.
        where: start of the message, such as 'limits: '.
    """
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f'{where}{name}: expected a number > 0, found {value!r}')


def require_not_negative(values: Mapping[str, Any], where: str = '') -> None:
    """Raise a ValueError that names the first value that is not a finite number of 0 or more.

    Args:
        values: by name.
        where: start of the message, such as 'gains: '.
    """
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f'{where}{name}: expected a number >= 0, found {value!r}')
