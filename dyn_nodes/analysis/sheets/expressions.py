"""Arithmetic expressions of a data sheet, over its quantities and the columns of its charts.

The text of an expression is parsed, and its tree is evaluated operation by operation; none of it is executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dyn_nodes.common.errors import UserError

FUNCTIONS = {'sqrt': np.sqrt, 'cos': np.cos, 'sin': np.sin, 'hypot': np.hypot, 'min': np.minimum, 'max': np.maximum}
"""Functions that an expression may call, with one operand or two."""
OPERATIONS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LONGEST = 300
"""Greatest number of characters of an expression."""


class FormulaError(UserError, ValueError):
    """Text that is no expression of the supported form, or an unknown name."""


@lru_cache(maxsize=1024)
def _tree(text: str) -> ast.expr:
    """Return the tree of an expression.

    Raises:
        FormulaError: the text is no expression.
    """
    try:
        if len(text) > LONGEST:
            raise SyntaxError
        return ast.parse(text.strip(), mode='eval').body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f'expected an arithmetic expression, found {text[:60]!r}') from None


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression.

    Args:
        text: for example `front_axle - wheelbase`.
        values: numbers or arrays by name.

    Raises:
        FormulaError: no expression, a form that is not supported, an unknown name, or a wrong number of operands.
    """

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            if node.id not in values:
                raise FormulaError(f'unknown name {node.id!r} in {text[:60]!r}')
            return values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return OPERATIONS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function, operands = FUNCTIONS.get(node.func.id), [value(operand) for operand in node.args]
            if function is not None and len(operands) == function.nin:
                return function(*operands)
        raise FormulaError(f'expected numbers, names, + - * / and functions in an expression, found {text[:60]!r}')

    return value(_tree(text))
