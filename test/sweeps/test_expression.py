"""Expressions over signals: the grammar against Python's, and texts that are not expressions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.analysis.sweeps.expression import DEEPEST, FUNCTIONS, LONGEST, ExpressionError, parse

TIME = np.linspace(0.0, 2.0, 201)
SIGNALS = {'a': np.sin(3.0 * TIME), 'b': 2.0 + TIME, 'wheel/load': 1.0 - TIME}
# an independent evaluation: the same text by Python, with NumPy's functions
PYTHON = {
    'a': SIGNALS['a'],
    'b': SIGNALS['b'],
    'time': TIME,
    'pi': math.pi,
    'abs': np.abs,
    'max': np.max,
    'min': np.min,
}

NUMBERS = st.floats(0.125, 8.0).map(lambda number: f'{number:.4f}')
LEAVES = st.one_of(NUMBERS, st.sampled_from(['a', 'b', 'time', 'pi']))


def grown(inner):
    pair = st.tuples(inner, st.sampled_from(['+', '-', '*', '/']), inner).map(lambda text: ' '.join(text))
    return st.one_of(
        pair, inner.map(lambda text: f'({text})'), inner.map(lambda text: f'-{text}'), inner.map('abs({})'.format)
    )


@reaches(finite=24)
@given(st.recursive(LEAVES, grown, max_leaves=12), st.sampled_from(['max', 'min']))
def test_arithmetic_equals_python(text, function):
    with np.errstate(all='ignore'):
        expected = eval(f'{function}({text})', {'__builtins__': {}}, PYTHON)
    result = parse(f'{function}({text})').value(TIME, SIGNALS.__getitem__)
    reached('finite', math.isfinite(result))
    assert result == pytest.approx(float(expected), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('max("wheel/load")', 1.0),
        ('time_of_min("wheel/load")', 2.0),
        ('last(b) - first(b)', 2.0),
        ('integral(b)', 6.0),
        ('mean(b)', 3.0),
        ('duration_below("wheel/load", 0)', 0.99),
        ('duration_above("wheel/load", 0.005)', 1.0),
        ('first_time_below("wheel/load", 0.005)', 1.0),
        ('first_time_above(b, 10)', math.nan),
        ('max(max_of(a, b, 0)) / 1e2', 0.04),
        ('min(min_of(b, 3))', 2.0),
        ('-2^2', -4.0),
        ('2^-1', 0.5),
        ('2^3^2', 512.0),
        ('1 - 2 - 3', -4.0),
        ('8 / 4 / 2', 1.0),
        ('sqrt(0 - 1)', math.nan),
        ('1 / 0', math.inf),
        ('last(hypot(3, 4))', 5.0),
    ],
)
def test_values(text, expected):
    assert parse(text).value(TIME, SIGNALS.__getitem__) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_signals_are_the_read_ones():
    assert parse('max("wheel/load" + a) + max(a) * last(time)').signals == ('wheel/load', 'a')


@pytest.mark.parametrize(
    'text',
    [
        '',
        'max(',
        'max()',
        'max(a',
        'max(a, b)',
        'duration_below(a)',
        'min_of(a)',
        'a',
        'a + 1',
        'abs(a)',
        '1 +',
        '1 2',
        '__import__("os").system("true")',
        'a.b',
        'max(a); 1',
        'lambda: 0',
        'max([a])',
        'unknown(a)',
        '"open',
        '1 ** 2',
        'max(a) if 1 else 2',
        '(' * (DEEPEST + 1) + '1' + ')' * (DEEPEST + 1),
        '2^' * (DEEPEST + 1) + '1',
        '1+' * LONGEST + '1',
    ],
)
def test_invalid_expressions_are_rejected(text):
    with pytest.raises(ExpressionError, match=r'expected .* found'):
        parse(text)


TEXTS = st.recursive(LEAVES, grown, max_leaves=6).map('max({})'.format)
ENDS = ['', ' + 1', '(', ')', ' +', ' b', ';', ' + c', '.real', '[0]', ' if a else b']


@reaches(accepted=6, refused=6)
@given(st.text(max_size=60) | TEXTS | st.tuples(TEXTS, st.sampled_from(ENDS)).map(''.join))
def test_any_text_is_an_expression_or_rejected(text):
    try:
        expression = parse(text)
    except ExpressionError:
        reached('refused')
        return
    reached('accepted')
    assert expression.text == text


def test_the_longest_chain_is_within_the_recursion_limit_of_python():
    chain = '1+' * (LONGEST // 2 - 1) + '1'
    assert parse(chain).value(TIME, SIGNALS.__getitem__) == LONGEST // 2


@given(st.sampled_from(sorted(FUNCTIONS)))
def test_every_function_gives_a_number_of_a_run_of_one_instant(name):
    operands = ', '.join(['b'] * FUNCTIONS[name].operands)
    text = f'{name}({operands})' if FUNCTIONS[name].reduces else f'last({name}({operands}))'
    value = parse(text).value(TIME[:1], lambda signal: SIGNALS[signal][:1])
    assert isinstance(value, float)
