"""The table of measures is complete and the only one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.measures import AXES, DEFAULT_MEASURES, MEASURES, measure, measure_of
from dyn_nodes.stability import Support, margins
from dyn_nodes.stability.support import function_of

ROOT = Path(__file__).resolve().parents[1]
HEXAGON = np.array([(np.cos(a), np.sin(a), 0.0) for a in np.linspace(0.0, 2.0 * np.pi, 7)[:-1]])


@pytest.mark.parametrize('name', MEASURES)
def test_every_measure_is_computed_in_the_unit_and_number_that_the_table_gives(name):
    inputs = {'normal_loads': np.full(6, 16.35), 'friction': np.full(6, 0.7)}
    support = Support(HEXAGON, (0.1, 0, 0.8), (0, 0, -98.1), (0, 0, 0), 10.0, **inputs)
    margin = margins(support, [name])[name]
    entry = measure(name)
    assert margin.valid
    assert margin.value > 0.0
    assert margin.unit == entry.unit
    assert len(margin.edges) == (2 if entry.per == 'end' else 6)
    assert margin.value == pytest.approx(np.min(margin.edges))
    if entry.full_scale is not None:
        assert margin.value <= entry.full_scale(len(margin.edges)) * (1.0 + 1e-12)


@pytest.mark.parametrize('name', MEASURES)
def test_every_measure_has_words(name):
    entry = measure(name)
    assert entry.name == name
    assert entry.label
    assert entry.meaning.endswith('.')
    assert entry.unit in AXES
    assert measure_of(entry.topic) is entry
    assert callable(function_of(name))


def test_an_unknown_measure_is_rejected_by_name_and_shown_under_its_name():
    with pytest.raises(KeyError, match="unknown stability measure 'mine'; known: static, "):
        measure('mine')
    assert measure_of('my_margin').label == 'my margin'


def test_defaults_exist():
    assert set(DEFAULT_MEASURES) < set(MEASURES)


def test_the_table_loads_nothing_that_computes():
    code = 'import sys, dyn_nodes.measures; sys.exit("numba" in sys.modules or "numpy" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_no_other_table_is_keyed_by_measures():
    """Differences between measures are defined in one table."""
    names = {*MEASURES, 'zmp_degree'}
    tables = []
    for path in sorted((ROOT / 'dyn_nodes').rglob('*.py')):
        text = path.read_text(encoding='utf-8')
        if sum(name in text for name in names) < 2:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                if len(keys & names) > 1:
                    tables.append(f'{path.relative_to(ROOT)}:{node.lineno}')
    assert tables == []


def test_the_theory_page_lists_every_measure_with_its_unit():
    page = (ROOT / 'docs' / 'theory' / 'stability.md').read_text(encoding='utf-8')
    rows = dict(re.findall(r'^\| (`[^|]*) \| ([^|]+) \|', page, flags=re.MULTILINE))
    listed = {name: unit for names, unit in rows.items() for name in re.findall(r'`(\w+)`', names.split(', topic')[0])}
    assert listed == {name: entry.unit for name, entry in MEASURES.items()}
