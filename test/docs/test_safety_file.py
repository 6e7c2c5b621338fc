"""The safety file of the governor names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from dyn_nodes.governor.law import questions
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.nodes.parameters import node_parameters

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'reference' / 'safety_file.md').read_text()


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def rows(letter: str) -> list[str]:
    return [line for line in PAGE.splitlines() if re.match(rf'\| {letter}\d+ \|', line)]


def test_every_requirement_names_tests_that_exist():
    requirements = rows('R')
    assert [row.split('|')[1].strip() for row in requirements] == [f'R{k + 1}' for k in range(len(requirements))]
    for row in requirements:
        named = re.findall(r'`(test/\S+\.py)::(\w+)`', row)
        assert named, row
        for path, name in named:
            assert name in names_in(path), f'{path} has no {name}'


def test_every_hazard_has_measures_and_every_requirement_a_hazard():
    numbers = set()
    for row in rows('H'):
        for first, last in re.findall(r'R(\d+)(?: to R(\d+))?', row.split('|')[4]):
            numbers |= set(range(int(first), int(last or first) + 1))
    assert numbers == {k + 1 for k in range(len(rows('R')))}


def test_parameters_of_the_governor_are_fixed_at_the_start_and_have_least_values():
    parameters = {parameter.name: parameter for parameter in node_parameters('tip_over_governor_node')}
    assert all(parameter.read_only for parameter in parameters.values())
    least = {name: parameters[name].low for name in ('reserve', 'tipping_reserve', 'least', 'lateness')}
    assert all(low > 0.0 for low in least.values()), least
    assert parameters['rated_share'].high < 1.0


def test_the_number_of_stops_of_a_decision_is_the_one_of_the_page():
    halvings = GovernorSettings().halvings
    factor = questions(1, halvings) - questions(0, halvings)
    assert f'`{questions(0, halvings)} + {factor} n` stops' in PAGE
    assert f'{questions(3, halvings)} for three levers' in PAGE
