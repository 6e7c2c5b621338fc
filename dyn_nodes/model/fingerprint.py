"""Hashes of a machine (equal hashes mean equal machine code) and of the package."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.model.machine import Machine

TEXT_ONLY = {'urdf', 'sources', 'assumed', 'reactions', 'locked'}
"""Fields that no compiled code depends on."""


@cache
def code_fingerprint() -> str:
    """Return a hash of all Python files of this package, so that stored results belong to one version."""
    root, state = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(root.rglob('*.py')):
        state.update(f'{path.relative_to(root)}\0'.encode() + path.read_bytes())
    return state.hexdigest()


def machine_fingerprint(machine: Machine) -> str:
    """Return a hash of all data of a machine on which its dynamics depend."""
    content = {
        field.name: _plain(getattr(machine, field.name))
        for field in dataclasses.fields(machine)
        if field.name not in TEXT_ONLY
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [float(x).hex() for x in value.ravel()]
    if isinstance(value, float):
        return value.hex()
    if dataclasses.is_dataclass(value):
        content = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {'__class__': type(value).__name__, **content}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value
