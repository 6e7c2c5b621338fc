"""Tests contain the reference numbers of the sources that they read or pin, each to its printed digits."""

from __future__ import annotations

import ast
import importlib.util
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.studies import reference
from dyn_nodes.studies.reference import row, tabulated

DOCS = Path(__file__).resolve().parents[3] / 'docs'


@cache
def generator():
    spec = importlib.util.spec_from_file_location('reference_numbers', DOCS / 'reference_numbers.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_section_with_printed_numbers_is_pinned():
    sections = {key.rpartition('/')[0] for key in generator().pins()}
    assert {f'abo-shanab-2003/6.{k}' for k in range(1, 11)} <= sections


NUMBER = re.compile(r'(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?')
READING = re.compile(r"\b(tabulated|matches)\(\s*'([^']+)'")


def numbers_in(parts):
    """Return the absolute values of the numbers in parts of a program, including its strings."""
    sizes = set()
    for node in (node for part in parts for node in ast.walk(part)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex):
            sizes |= {abs(node.value.real), abs(node.value.imag)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            sizes |= {float(number) for number in NUMBER.findall(node.value)}
    return sizes


@cache
def with_numbers(path):
    """Return the text of a module with the keys of the rows that it reads replaced by their numbers."""
    return READING.sub(lambda call: f'{call[1]}({row(call[2])[1]!r}', path.read_text())


@cache
def numbers_of_studies(folder):
    """Return the numbers of the modules of a source's studies."""
    return numbers_in([ast.parse(with_numbers(module)) for module in folder.glob('*.py')])


@cache
def numbers_of(location):
    """Return the numbers of a test, `<path>: <name>`, and of all code outside of tests in its file.

    If the file runs studies, whose claims contain the numbers, the modules of its source's studies are included.
    """
    path, name = location.removesuffix(' (slow)').split(': ')
    text = with_numbers(DOCS.parent / path)
    parts = ast.parse(text).body
    tests = [part for part in parts if isinstance(part, ast.FunctionDef) and part.name.startswith('test_')]
    sizes = numbers_in([part for part in parts if part not in tests or part.name == name])
    if 'run_study' in text:
        sizes |= numbers_of_studies(DOCS.parent / 'dyn_nodes' / 'studies' / Path(path).parent.name)
    return sizes


def half_of_last_digit(number):
    """Return half a unit of the last digit of a printed number; 0 for two digits or less."""
    digits, _, power = number.partition('e')
    if len(digits.replace('.', '').lstrip('0')) < 3:
        return 0.0
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition('.')[2]))


def absent(key, values):
    """Return the printed numbers of a row that no test of the row contains to these digits."""
    sizes = sorted(set().union(*(numbers_of(location) for location in generator().pins()[key])))
    scales = (1.0, 1e2, 1e3, 1e6, 1e-2, 1e-3, 1e-6)  # of percent, kN, mm, MPa
    error = {number: np.abs(np.outer(scales, sizes) - float(number)).min() for number in NUMBER.findall(values)}
    return [number for number in error if error[number] > half_of_last_digit(number) + 1e-12 * float(number)]


ROUND_OFF = {
    'abo-shanab-2003/6.2/random_chains', 'abo-shanab-2003/6.9/agreement', 'abo-shanab-2003/6.10/supply_random',
    'saha-1991/6.2/simulation', 'saha-1991/6.6/feathered', 'saha-1991/6.7/schemes', 'tanner-1998/6.2/agreement',
    'tanner-1998/6.2/wrench-agreement', 'yesiloglu-2007/6.4/operator_recursion', 'yesiloglu-2007/6.4/unforced_run',
    'yesiloglu-2007/6.11/identities',
}  # fmt: skip
"""Rows of round-off errors in the specification, below 1e-7, for which the tests have limits."""
NOT_COMPARED = {
    'abo-shanab-2003/6.6/rigid_steps': ['4'],  # digits
    'abo-shanab-2003/6.8/swing_order': ['6.28'],  # 2 pi
    'saha-1991/6.6/infeasible': ['301'],  # all instants of the run
    'yesiloglu-2007/6.1/mass_matrix': ['3.1267154172'],  # printed, and wrong
    'yesiloglu-2007/6.11/topology': ['29', '25'],  # for axes that the source does not specify
    'yesiloglu-2007/6.11/identities': ['4.83', '12.0'],  # printed, and wrong
}
"""Numbers of rows that no test contains, with the reason."""


@pytest.mark.parametrize('source', generator().SOURCES)
def test_the_tests_that_pin_a_row_contain_its_numbers(source):
    missing = {}
    for key, (_, values) in generator().numbers(source).items():
        assert key in generator().pins(), f'{key}: expected a test that pins it'
        left = absent(key, values)
        if key in ROUND_OFF:
            left = [number for number in left if float(number) > 1e-7]
        if left:
            missing[key] = left
    keys = generator().numbers(source).keys()
    assert missing == {key: left for key, left in NOT_COMPARED.items() if key in keys}


def test_a_number_that_no_test_contains_is_reported():
    assert absent('abo-shanab-2003/6.6/rigid_start', '17.56/1.00, 1.00/24.68 MPa') == []
    assert absent('abo-shanab-2003/6.6/rigid_start', '17.57/1.00, 1.01/24.68 MPa') == ['17.57', '1.01']


# -- the table ---


KEY = 'tanner-1998/no such row'


@pytest.mark.parametrize(
    ('text', 'shape'),
    [
        ('0.5 rad/s', ()),
        ('1, -2.5e-3, 3 kg m2', (3,)),
        ('1 (printed 2); 3; 4', (3,)),
        ('1, 2; 3, 4 1/s', (2, 2)),
        ('0, 0; 0, -1 / 0, 0; 0, -2', (2, 2, 2)),
    ],
)
def test_a_row_of_equal_groups_is_an_array(monkeypatch, text, shape):
    monkeypatch.setattr(reference, 'row', lambda key: ('', text))
    assert np.shape(tabulated(KEY)) == shape


def test_groups_of_different_length_are_a_list_and_other_values_are_text(monkeypatch):
    monkeypatch.setattr(reference, 'row', lambda key: ('', '1, 2; 3.5 m; 0.1 to 0.2 m, 4; 5, ...'))
    pair, single, words, dots = tabulated(KEY)
    assert pair.tolist() == [1.0, 2.0]
    assert (single, words, dots) == (3.5, '0.1 to 0.2 m, 4', '5, ...')


def test_a_row_that_is_not_in_the_table_is_named():
    with pytest.raises(KeyError, match='no such row'):
        tabulated(KEY)


# -- once ---

LONG = 5
"""Number of significant digits from which a number may only be in the table."""
STUDIES = DOCS.parent / 'dyn_nodes' / 'studies'
PARTLY = ('abo-shanab-2003', 'yesiloglu-2007', 'saha-1991')
"""Sources whose tests still contain numbers of rows outside of the table, mostly of rows shortened by dots."""


def long_decimals(text):
    """Return the decimal numbers with many digits in a text, as written."""
    return {number for number in NUMBER.findall(text) if '.' in number and len(significant(number)) >= LONG}


def significant(number):
    return number.partition('e')[0].replace('.', '').lstrip('0')


@pytest.mark.parametrize('source', generator().SOURCES)
def test_a_long_number_of_the_table_stands_neither_in_studies_nor_in_tests(source):
    table = set().union(*(long_decimals(values) for _, values in generator().numbers(source).values()))
    files = [*STUDIES.rglob('*.py'), *(() if source in PARTLY else (DOCS.parent / 'test').rglob('test_*.py'))]
    again = {path.name: table & long_decimals(path.read_text()) for path in files}
    assert {name: numbers for name, numbers in again.items() if numbers} == {}


# -- tolerances ---


SAME_PARTS = 2e-6
"""Relative tolerance that is always accepted in a test."""
PERCENT = 'of 1 to 5 % by the specification: start, course and valves are not printed whole'
LOOSER = {
    'abo-shanab-2003/6.10/locked_boom': 'of 0.05 %: a stiffness of oil at a posture that is given to a degree',
    'abo-shanab-2003/6.8/swing_*': '360 degrees, a whole turn: any motion of less',
    'abo-shanab-2003/6.[678]/*': PERCENT,
    'freeman-1985/7.5/*': 'evaluations of a solver, of which the specification wants the ordering only',
    'saha-1991/6.7/schemes': 'an error of integration',
    'saha-1991/6.8/*': 'onsets and drifts of schemes whose errors grow, and their factors',
    'tanner-1998/6.5/four': 'an optimum that a cone solver finds to 1e-3 N',
    'tanner-1998/6.7/plate_rods': 'of 0.1 % by the specification',
    'yesiloglu-2007/6.5/printed_signs': 'of three digits, with signs that are printed wrong',
    'yesiloglu-2007/6.5/work': 'the worst condition over the samples of a run',
}
"""Patterns of rows that a test checks to fewer than the printed digits, with the reason; the first match counts."""


def tolerance_of(call, number):
    """Return the absolute tolerance of a call of pytest.approx or assert_allclose for a number."""
    keywords = {
        word.arg: ast.literal_eval(word.value) for word in call.keywords if isinstance(word.value, ast.Constant)
    }
    part, size = (keywords.get(name, keywords.get(other)) for name, other in (('rel', 'rtol'), ('abs', 'atol')))
    if part is None and size is None:
        part = 1e-6 if ast.unparse(call.func).endswith('approx') else 1e-7
    return max((part or 0.0) * number, size or 0.0)


@cache
def looser_numbers(text, name):
    """Return the numbers, as written, that a test compares less accurately than one unit of their last digit."""
    looser = set()
    tests = (part for part in ast.parse(text).body if isinstance(part, ast.FunctionDef) and part.name == name)
    for call in (node for test in tests for node in ast.walk(test) if isinstance(node, ast.Call)):
        position = {'approx': 0, 'assert_allclose': 1}.get(ast.unparse(call.func).rpartition('.')[2])
        if position is None or len(call.args) <= position or any(map(is_variable, ast.walk(call.args[position]))):
            continue
        for number in NUMBER.findall(ast.get_source_segment(text, call.args[position])):
            digits, _, power = number.partition('e')
            unit = 10.0 ** (int(power or 0) - len(digits.partition('.')[2]))
            if tolerance_of(call, float(number)) > max(1.01 * unit, SAME_PARTS * float(number)) and float(number):
                looser.add(number)
    return looser


def is_variable(node):
    return isinstance(node, ast.Name | ast.Call)


@pytest.mark.parametrize('source', generator().SOURCES)
def test_tolerances_follow_the_printed_digits_except_for_listed_rows(source):
    looser = set()
    for key in generator().numbers(source):
        tests = [location.removesuffix(' (slow)').split(': ') for location in generator().pins()[key]]
        if all(looser_numbers(with_numbers(DOCS.parent / path), name) for path, name in tests):
            looser.add(key)
    assert {key for key in looser if not any(fnmatchcase(key, pattern) for pattern in LOOSER)} == set()


def test_a_tolerance_beyond_the_printed_digits_is_reported():
    text = 'def test_a(x):\n    x == pytest.approx({}, rel=1e-3)\n    np.testing.assert_allclose(x, [{}], atol=1e-3)\n'
    assert looser_numbers(text.format('1.2345', '2.345'), 'test_a') == {'1.2345'}
    assert looser_numbers(text.format('1.23', '2.3456'), 'test_a') == {'2.3456'}
    assert looser_numbers('def test_a(x):\n    assert x == pytest.approx(1.5)\n', 'test_a') == set()


@pytest.mark.parametrize('pattern', LOOSER)
def test_every_reason_for_a_looser_tolerance_is_of_a_row(pattern):
    assert any(fnmatchcase(key, pattern) for key in generator().pins())
