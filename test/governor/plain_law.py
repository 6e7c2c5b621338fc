"""The law of the governor as plain Python."""

from __future__ import annotations

from types import ModuleType

import pytest

from dyn_nodes.governor import law


def as_python(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Replace the compiled functions of the law by their Python functions; return the module."""
    for name, function in vars(law).copy().items():
        if hasattr(function, 'py_func'):
            monkeypatch.setattr(law, name, function.py_func)
    return law
