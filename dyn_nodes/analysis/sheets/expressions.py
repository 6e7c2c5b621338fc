"""Arithmetic expressions of a data sheet, over its quantities and the columns of its charts."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

FUNCTIONS = {'sqrt': np.sqrt, 'cos': np.cos, 'sin': np.sin, 'hypot': np.hypot, 'min': np.minimum, 'max': np.maximum}
"""Functions that an expression may call."""
LONGEST = 300
"""Greatest number of characters of an expression."""
_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.USub,
    ast.UAdd,
    ast.Name,
    ast.Load,
    ast.Call,
)


class ExpressionError(ValueError):
    """Text that is no expression of the supported form, or an unknown name."""


@lru_cache(maxsize=1024)
def compiled(text: str) -> tuple[CodeType, frozenset[str]]:
    """Return the code of an expression and the names that it uses.

    Raises:
        ExpressionError: the text has another form.
    """
    try:
        if len(text) > LONGEST:
            raise SyntaxError
        tree = ast.parse(text.strip(), mode='eval')
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f'expected an arithmetic expression, found {text[:60]!r}') from None
    names = set()
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords
        if not (number or isinstance(node, _NODES)) or (isinstance(node, ast.Call) and not call):
            raise ExpressionError(f'expected numbers, names and + - * / in an expression, found {text[:60]!r}')
        if isinstance(node, ast.Name):
            names.add(node.id)
    return compile(tree, '<expression>', 'eval'), frozenset(names - set(FUNCTIONS))


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression.

    Args:
        text: for example `front_axle - wheelbase`.
        values: numbers or arrays by name.

    Raises:
        ExpressionError: no expression, or an unknown name.
    """
    code, names = compiled(text)
    for name in names:
        if name not in values:
            raise ExpressionError(f'unknown name {name!r} in {text[:60]!r}')
    return eval(code, {'__builtins__': {}}, {**FUNCTIONS, **{name: values[name] for name in names}})
