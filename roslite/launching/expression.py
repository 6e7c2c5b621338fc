"""Evaluation of the expression of `$(eval ...)` without Python's `eval`.

`ros2 launch` passes the text to Python's `eval`. Here a launch file is data: the expression is parsed, and all nodes of
its syntax tree and all called functions must be on the lists below. Accepted expressions have the same result as with
Python's `eval`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from roslite.errors import UserError

MAXIMUM_LENGTH = 1000
MAXIMUM_EXPONENT = 64
MAXIMUM_INTEGER_BITS = 4096
MAXIMUM_DIGITS = 400

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_MATH_FUNCTIONS = (
    *('acos', 'acosh', 'asin', 'asinh', 'atan', 'atan2', 'atanh', 'cos', 'cosh', 'sin', 'sinh', 'tan', 'tanh'),
    *('exp', 'log', 'log10', 'log1p', 'log2', 'sqrt', 'hypot', 'degrees', 'radians'),
    *('ceil', 'copysign', 'fabs', 'floor', 'fmod', 'isclose', 'isfinite', 'isinf', 'isnan', 'trunc'),
)
_MATH: dict[str, Callable[..., Any]] = {name: getattr(math, name) for name in _MATH_FUNCTIONS}
_CONSTANTS: dict[str, float] = {name: getattr(math, name) for name in ('pi', 'e', 'tau', 'inf', 'nan')}


def _round(value: Any, digits: int | None = None) -> Any:
    """Return a rounded number. Digits are limited: Python's `round(1, -1000000000)` first computes 10**1000000000."""
    if digits is not None and not -MAXIMUM_DIGITS <= digits <= MAXIMUM_DIGITS:
        raise ExpressionError(f'round to at most {MAXIMUM_DIGITS} digits is allowed')
    return round(value, digits)


_BUILTINS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (abs, bool, float, int, len, max, min, str, sum)},
    'round': _round,
}
_STRING_METHODS = frozenset({'lower', 'upper', 'strip', 'startswith', 'endswith'})


class ExpressionError(UserError):
    """An expression that is not allowed, or fails."""


def evaluate(text: str) -> str:
    """Return the value of an expression of numbers, strings and the functions of `math`.

    Args:
        text: at most 1,000 characters of Python syntax: arithmetic, comparisons, `and`/`or`/`not`, conditional
            expressions, lists, `abs bool float int len max min round str sum`, `math`'s functions and constants (with
            or without the prefix `math.`), and the string methods `lower upper strip startswith endswith`.

    Returns:
        The result converted by `str()`: `True`, `3.5`, `text`.

    Raises:
        ExpressionError: too long, invalid syntax, a feature that is not allowed, or a failure (a division by zero).
    """
    if len(text) > MAXIMUM_LENGTH:
        raise ExpressionError(f'expected an expression of at most {MAXIMUM_LENGTH} characters, found {len(text)}')
    try:
        tree = ast.parse(text.strip(), mode='eval')
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ExpressionError(f'expected an expression, found {text!r} ({reason})') from None
    try:
        return str(_value(tree.body))
    except ExpressionError as error:
        raise ExpressionError(f'{error} in {text!r}') from None
    except (ArithmeticError, TypeError, ValueError, IndexError, RecursionError, MemoryError) as error:
        raise ExpressionError(f'{text!r} fails: {error or type(error).__name__}') from None


def _value(node: ast.expr) -> Any:
    """Return the value of a node of the syntax tree."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise ExpressionError(f'{type(node).__name__} is not allowed')
    return handler(node)


def _constant(node: ast.Constant) -> Any:
    if node.value is None or isinstance(node.value, bool | int | float | str):
        return node.value
    raise ExpressionError(f'a {type(node.value).__name__} is not allowed')


def _name(node: ast.Name) -> Any:
    if node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    raise ExpressionError(f"the name '{node.id}' is not allowed")


def _attribute(node: ast.Attribute) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id == 'math' and node.attr in _CONSTANTS:
        return _CONSTANTS[node.attr]
    raise ExpressionError(f"the attribute '{node.attr}' is not allowed")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _binary(node: ast.BinOp) -> Any:
    function = _BINARY.get(type(node.op))
    if function is None:
        raise ExpressionError(f'the operator {type(node.op).__name__} is not allowed')
    left, right = _value(node.left), _value(node.right)
    if not isinstance(node.op, ast.Add) and not (_is_number(left) and _is_number(right)):
        # A string times a number, or formatted by `%`, could fill the memory.
        raise ExpressionError(f'the operator {type(node.op).__name__} is for numbers')
    if isinstance(node.op, ast.Pow) and isinstance(left, int) and abs(right) > MAXIMUM_EXPONENT:
        raise ExpressionError(f'an exponent of at most {MAXIMUM_EXPONENT} is allowed')
    result = function(left, right)
    if isinstance(result, int) and result.bit_length() > MAXIMUM_INTEGER_BITS:
        raise ExpressionError('the integer is too large')
    return result


def _unary(node: ast.UnaryOp) -> Any:
    function = _UNARY.get(type(node.op))
    if function is None:
        raise ExpressionError(f'the operator {type(node.op).__name__} is not allowed')
    return function(_value(node.operand))


def _boolean(node: ast.BoolOp) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    value: Any = None
    for operand in node.values:
        value = _value(operand)
        if bool(value) is stop_at:
            break
    return value


def _comparison(node: ast.Compare) -> Any:
    left = _value(node.left)
    for operation, operand in zip(node.ops, node.comparators):
        function = _COMPARE.get(type(operation))
        if function is None:
            raise ExpressionError(f'the comparison {type(operation).__name__} is not allowed')
        right = _value(operand)
        if not function(left, right):
            return False
        left = right
    return True


def _conditional(node: ast.IfExp) -> Any:
    return _value(node.body) if _value(node.test) else _value(node.orelse)


def _list(node: ast.List) -> list[Any]:
    return [_value(element) for element in node.elts]


def _tuple(node: ast.Tuple) -> tuple[Any, ...]:
    return tuple(_value(element) for element in node.elts)


def _subscript(node: ast.Subscript) -> Any:
    container, index = _value(node.value), _value(node.slice)
    if not isinstance(container, list | tuple | str) or not isinstance(index, int):
        raise ExpressionError('only a list, tuple or string can be indexed, by an integer')
    return container[index]


def _call(node: ast.Call) -> Any:
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError('keyword and starred arguments are not allowed')
    arguments = [_value(argument) for argument in node.args]
    function = node.func
    if isinstance(function, ast.Name):
        target = _BUILTINS.get(function.id) or _MATH.get(function.id)
        if target is None:
            raise ExpressionError(f"the function '{function.id}' is not allowed")
        return target(*arguments)
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Name) and function.value.id == 'math' and function.attr in _MATH:
            return _MATH[function.attr](*arguments)
        if function.attr in _STRING_METHODS:
            owner = _value(function.value)
            if isinstance(owner, str):
                return getattr(owner, function.attr)(*arguments)
        raise ExpressionError(f"the method '{function.attr}' is not allowed")
    raise ExpressionError('only a named function can be called')


_HANDLERS: dict[type[ast.expr], Callable[[Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.IfExp: _conditional,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
