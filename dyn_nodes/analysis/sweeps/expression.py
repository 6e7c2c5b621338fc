"""Expressions over the signals of a run: a small grammar with its own parser.

    max("boom/head_pressure") / 1e6
    duration_below(min_of("front_left/normal_force", "rear_left/normal_force"), 1000)

A signal is a state, an output or `time`. Its name is in double quotes, or without quotes if it is a word. The parser
splits the text of a file into tokens and builds a tree of operations from the tables below; it never executes the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError

Signals = Callable[[str], Array]
"""Function that returns a signal (t,) by name."""

LONGEST, DEEPEST = 500, 40
"""Greatest number of characters and greatest nesting of an expression."""
TIME = 'time'


class ExpressionError(UserError, ValueError):
    """The text is not an expression of this grammar; the reason is in `expected` and `actual`."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f'expected {expected}, found {actual}')
        self.expected, self.actual = expected, actual


def _integral(time: Array, values: Array) -> float:
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(time)))


def _duration(time: Array, condition: NDArray[np.bool_]) -> float:
    """Return the total length of the intervals at whose start a condition holds, s."""
    return float(np.sum(np.diff(time)[condition[:-1]]))


def _first_time(time: Array, condition: NDArray[np.bool_]) -> float:
    return float(time[np.argmax(condition)]) if condition.any() else math.nan


class _Function(NamedTuple):
    """A function of the grammar.

    Attributes:
        operands: number of operands; the least number if `many`.
        call: implementation. Its arguments are the operands; if `reduces`, the times (t,) precede them, and all
            operands are signals (t,).
        reduces: whether the result is a number of the run.
        many: whether more operands are allowed.
    """

    operands: int
    call: Callable[..., Any]
    reduces: bool = False
    many: bool = False


FUNCTIONS: Mapping[str, _Function] = {
    'min': _Function(1, lambda t, x: float(np.min(x)), True),
    'max': _Function(1, lambda t, x: float(np.max(x)), True),
    'mean': _Function(1, lambda t, x: _integral(t, x) / (t[-1] - t[0]) if t[-1] > t[0] else float(x[0]), True),
    'first': _Function(1, lambda t, x: float(x[0]), True),
    'last': _Function(1, lambda t, x: float(x[-1]), True),
    'integral': _Function(1, _integral, True),
    'time_of_min': _Function(1, lambda t, x: float(t[np.argmin(x)]), True),
    'time_of_max': _Function(1, lambda t, x: float(t[np.argmax(x)]), True),
    'first_time_below': _Function(2, lambda t, x, y: _first_time(t, x < y), True),
    'first_time_above': _Function(2, lambda t, x, y: _first_time(t, x > y), True),
    'duration_below': _Function(2, lambda t, x, y: _duration(t, x < y), True),
    'duration_above': _Function(2, lambda t, x, y: _duration(t, x > y), True),
    'min_of': _Function(2, lambda *x: np.minimum.reduce(np.broadcast_arrays(*x)), many=True),
    'max_of': _Function(2, lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)), many=True),
    'abs': _Function(1, np.abs),
    'sqrt': _Function(1, np.sqrt),
    'exp': _Function(1, np.exp),
    'log': _Function(1, np.log),
    'sin': _Function(1, np.sin),
    'cos': _Function(1, np.cos),
    'hypot': _Function(2, np.hypot),
}
"""Functions by name. The functions of the first group reduce a signal to a number."""
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    '+': np.add,
    '-': np.subtract,
    '*': np.multiply,
    '/': np.divide,
    '^': np.power,
}
CONSTANTS = {'pi': math.pi}


@dataclass(frozen=True)
class Expression:
    """A tree of operations.

    Attributes:
        text: source text.
        root: number, `Signal` or `Call`.
    """

    text: str
    root: float | Signal | Call

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals in the expression without duplicates and without `time`."""
        return tuple(dict.fromkeys(name for name in _names(self.root) if name != TIME))

    def value(self, time: Array, signals: Signals) -> float:
        """Return the value for a run with the times (t,), s; NaN or inf if the operations result in it."""
        with np.errstate(all='ignore'):
            return float(_value(self.root, time, signals))


@dataclass(frozen=True)
class Signal:
    """A signal by name."""

    name: str


@dataclass(frozen=True)
class Call:
    """An operation with its operands; the name is one of `FUNCTIONS` or a sign."""

    name: str
    operands: tuple[float | Signal | Call, ...]


def parse(text: str) -> Expression:
    """Return the expression of a text.

    Raises:
        ExpressionError: wrong syntax, an unknown function, a wrong number of arguments, or a signal as result.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f'at most {LONGEST} characters', f'{len(text)}')
    root = _Parser(text).whole()
    if _is_signal(root):
        raise ExpressionError('a number of the run, such as max(...) of a signal', f'a signal: {text[:60]!r}')
    return Expression(text, root)


def _names(node: float | Signal | Call) -> Iterator[str]:
    if isinstance(node, Signal):
        yield node.name
    elif isinstance(node, Call):
        for operand in node.operands:
            yield from _names(operand)


def _is_signal(node: float | Signal | Call) -> bool:
    if isinstance(node, Call):
        function = FUNCTIONS.get(node.name)
        return not (function is not None and function.reduces) and any(map(_is_signal, node.operands))
    return isinstance(node, Signal)


def _value(node: float | Signal | Call, time: Array, signals: Signals) -> Any:
    if isinstance(node, Signal):
        return time if node.name == TIME else signals(node.name)
    if not isinstance(node, Call):
        return node
    operands = [_value(operand, time, signals) for operand in node.operands]
    if node.name in _BINARY:
        return _BINARY[node.name](*operands)
    if node.name == 'negative':
        return -operands[0]
    function = FUNCTIONS[node.name]
    if function.reduces:
        return function.call(time, *(np.broadcast_to(operand, time.shape) for operand in operands))
    return function.call(*operands)


_TOKEN = re.compile(
    r'\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|"(?P<quoted>[^"]+)"|(?P<sign>[-+*/^(),]))'
)


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise ExpressionError(
                'a number, a name, a "name" or one of + - * / ^ ( ) ,', repr(text[position:][:20].strip())
            )
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


class _Parser:
    """Recursive-descent parser of sums of products of powers."""

    def __init__(self, text: str) -> None:
        self.tokens, self.position, self.depth = _tokens(text), 0, 0

    def whole(self) -> float | Signal | Call:
        node = self._sum()
        if self.position < len(self.tokens):
            raise ExpressionError('the end or an operator', repr(self.tokens[self.position][1]))
        return node

    def _take(self, *signs: str) -> str:
        """Return the next sign if it is one of these, else ''."""
        kind, text = self._next()
        if kind == 'sign' and text in signs:
            self.position += 1
            return text
        return ''

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ('', 'the end')

    def _demand(self, sign: str) -> None:
        if not self._take(sign):
            raise ExpressionError(repr(sign), repr(self._next()[1]))

    def _sum(self) -> float | Signal | Call:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f'at most {DEEPEST} levels', 'more')
        node = self._product()
        while sign := self._take('+', '-'):
            node = Call(sign, (node, self._product()))
        self.depth -= 1
        return node

    def _product(self) -> float | Signal | Call:
        node = self._signed()
        while sign := self._take('*', '/'):
            node = Call(sign, (node, self._signed()))
        return node

    def _signed(self) -> float | Signal | Call:
        negative = False
        while sign := self._take('-', '+'):
            negative ^= sign == '-'
        node = self._power()
        return Call('negative', (node,)) if negative else node

    def _power(self) -> float | Signal | Call:
        node = self._atom()
        if not self._take('^'):
            return node
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f'at most {DEEPEST} levels', 'more')
        node = Call('^', (node, self._signed()))
        self.depth -= 1
        return node

    def _atom(self) -> float | Signal | Call:
        if self._take('('):
            node = self._sum()
            self._demand(')')
            return node
        kind, text = self._next()
        if kind in ('', 'sign'):
            raise ExpressionError('a number, a name or (', repr(text))
        self.position += 1
        if kind == 'number':
            return float(text)
        if kind == 'quoted':
            return Signal(text)
        if self._take('('):
            return self._call(text)
        return CONSTANTS[text] if text in CONSTANTS else Signal(text)

    def _call(self, name: str) -> Call:
        if name not in FUNCTIONS:
            raise ExpressionError(f'one of {", ".join(FUNCTIONS)}', repr(name))
        operands = [self._sum()]
        while self._take(','):
            operands.append(self._sum())
        self._demand(')')
        wanted = FUNCTIONS[name]
        if len(operands) < wanted.operands or (len(operands) > wanted.operands and not wanted.many):
            more = ' or more' if wanted.many else ''
            raise ExpressionError(f'{wanted.operands}{more} arguments of {name}', f'{len(operands)}')
        return Call(name, tuple(operands))
