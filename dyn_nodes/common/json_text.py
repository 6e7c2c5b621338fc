"""Results as JSON, which has no word for infinity, an array or a dataclass."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, is_dataclass
from typing import Any


def json_text(result: Any, indent: int | None = 2) -> str:
    """Return JSON: dataclasses are objects, arrays are lists, numbers that are not finite are null."""
    return json.dumps(_finite(result), indent=indent, default=_plain, allow_nan=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _finite(asdict(value))
    return _finite(value.tolist())


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
