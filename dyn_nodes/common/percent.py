"""Utilisation of the rated load as a text."""

from __future__ import annotations

import math


def percent_of(utilisation: float, decimals: int = 0) -> str:
    """Return a utilisation of the rated load in %, rounded down: no stage is shown before it starts."""
    if not math.isfinite(utilisation):
        return f'{utilisation}'
    steps = 10.0**decimals
    return f'{math.floor(100.0 * steps * utilisation + 1e-6) / steps:.{decimals}f}'
