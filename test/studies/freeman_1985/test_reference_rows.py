"""Rows of docs/reference_numbers_freeman_1985.yaml: one a printed quantity, its numbers those of the pinning test."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROWS = yaml.safe_load((ROOT / 'docs' / 'reference_numbers_freeman_1985.yaml').read_text())
NUMBER = re.compile(r'-?\d+(?:\.\d+)?(?:e-?\d+)?')


@cache
def quantities():
    """(key, what, numbers, keys of the test) of every call of `matches`."""
    found = []
    for path in sorted(Path(__file__).parent.glob('test_*_numbers.py')):
        text = path.read_text()
        for test in ast.parse(text).body:
            if not isinstance(test, ast.FunctionDef):
                continue
            pins = [ast.literal_eval(key) for mark in test.decorator_list if isinstance(mark, ast.Call)
                    and ast.unparse(mark.func).endswith('pins') for key in mark.args]  # fmt: skip
            for node in ast.walk(test):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == 'matches':
                    key, what = (ast.literal_eval(part) for part in node.args[:2])
                    numbers = NUMBER.findall(ast.get_source_segment(text, node.args[3]))
                    found.append((key, what, numbers, pins))
    return found


def test_every_quantity_of_a_test_has_its_row_and_every_row_its_test():
    calls = quantities()
    assert len(calls) > 100
    assert {key for key, *_ in calls} == set(ROWS)
    for key, what, _, pins in calls:
        assert f'freeman-1985/{key}' in pins, key
        assert ROWS[key][0] == what, key
    pinned = {pin.removeprefix('freeman-1985/') for *_, pins in calls for pin in pins}
    assert pinned == set(ROWS)


@pytest.mark.parametrize('key', ROWS)
def test_the_numbers_of_a_row_are_those_that_its_test_compares(key):
    expected = NUMBER.findall(ROWS[key][1])
    assert expected
    for name, _, numbers, _ in quantities():
        if name == key:
            assert numbers == expected
