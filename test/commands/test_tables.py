"""Tests of tables and JSON of records."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np

from dyn_nodes.commands import tables
from dyn_nodes.common.json_text import json_text


@dataclass
class Wheel:
    name: str
    load: float


WHEELS = [Wheel('front', 12.5), Wheel('rear', math.nan)]
COLUMNS = {
    'wheel': lambda wheel: wheel.name,
    'load, N': lambda wheel: f'{wheel.load:.1f}' if wheel.load == wheel.load else '',
}


def test_words_are_aligned_left_and_numbers_right(capsys):
    tables.show(WHEELS, COLUMNS, title='wheels [of] it')
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == 'wheels [of] it'
    assert next(line for line in lines if 'front' in line).split() == ['│', 'front', '│', '12.5', '│']
    assert [column.justify for column in tables.table(WHEELS, COLUMNS).columns] == ['left', 'right']


def test_rows_of_cells_need_only_headings_and_long_cells_are_not_truncated(capsys):
    tables.show([('x' * 200, '-1')], ('name', 'value'))
    assert capsys.readouterr().out.count('x') == 200
    assert [column.header for column in tables.table([], ('a', 'b')).columns] == ['a', 'b']


def test_records_become_json_with_null_for_nan(capsys):
    tables.show(WHEELS, COLUMNS, as_json=True)
    assert json.loads(capsys.readouterr().out) == [{'name': 'front', 'load': 12.5}, {'name': 'rear', 'load': None}]


def test_arrays_and_their_elements_become_json():
    values = {'a': np.array([[1.0, np.inf]]), 'b': np.bool_(True), 'c': (np.float64('nan'), 1)}
    assert json.loads(json_text(values)) == {'a': [[1.0, None]], 'b': True, 'c': [None, 1]}
