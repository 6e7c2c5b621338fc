"""The matrix of models and independent checks: its tests exist, and no package of physics is missing."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from dyn_nodes.elements.actuators import KINDS
from dyn_nodes.measures import MEASURES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs'))
import witnesses  # noqa: E402

DATA = witnesses.load()
ROWS = DATA['models']
NAMES = [entry['model'] for entry in ROWS]
PHYSICS = (
    'multibody',
    'constraints',
    'elements/forces',
    'elements/hydraulics',
    'elements',
    'teams/deformable',
    'stability',
    'simulation',
)
OTHERS = ('simulation/cosimulation', 'teams', 'monitor', 'simulation/linear', 'compile/integrators')
BY_MODULE = ('elements/forces', 'elements', 'elements/contacts', 'elements/actuators', 'model/friction')
LIBRARIES = {
    'pinocchio': ('pinocchio',),
    'mujoco': ('mujoco',),
    'numerical': ('scipy', 'skfem', 'clarabel'),
}
"""Packages whose modules are all in a row; and imports of a test that claims another program."""


@cache
def modules() -> dict[str, Path]:
    paths = list((ROOT / 'test').rglob('test_*.py'))
    assert len({path.stem for path in paths}) == len(paths)
    return {path.stem: path for path in paths}


@cache
def functions(module: str) -> set[str]:
    tree = ast.parse(modules()[module].read_text(encoding='utf-8'))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@cache
def imported(module: str) -> set[str]:
    """Return the third-party packages that a test module and its helpers import."""
    path = modules()[module]
    text = path.read_text(encoding='utf-8')
    helpers = [entry for entry in path.parent.glob('*.py') if f'from {entry.stem} import' in text]
    return {name for entry in (path, *helpers) for name in sum(LIBRARIES.values(), ()) if name in entry.read_text()}


def covered() -> set[str]:
    return {name for entry in ROWS for name in entry.get('code', ())}


@pytest.mark.parametrize('entry', ROWS, ids=NAMES)
def test_named_tests_exist_and_use_the_claimed_program(entry: dict) -> None:
    unknown = set(entry) - {'model', 'code', 'measures', 'gap', *DATA['kinds']}
    assert not unknown
    for kind in DATA['kinds']:
        for name in entry.get(kind, ()):
            module, _, function = name.partition('::')
            assert module in modules(), name
            assert function in functions(module), name
            assert kind not in LIBRARIES or imported(module) & set(LIBRARIES[kind]), name


@pytest.mark.parametrize('entry', ROWS, ids=NAMES)
def test_a_model_has_two_kinds_of_independent_checks(entry: dict) -> None:
    assert len([kind for kind in DATA['kinds'] if entry.get(kind)]) >= 2


def test_every_package_of_physics_is_in_a_row() -> None:
    code = covered()
    for name in code:
        assert (ROOT / 'dyn_nodes' / name).exists(), name
    for package in (*PHYSICS, *OTHERS):
        assert any(f'{name}/'.startswith(f'{package}/') for name in code), package


def test_every_force_and_element_is_in_a_row() -> None:
    code = covered()
    for package in BY_MODULE:
        files = {path for path in (ROOT / 'dyn_nodes' / package).glob('*.py') if path.name != '__init__.py'}
        for file in files:
            name = str(file.relative_to(ROOT / 'dyn_nodes'))
            assert name in code, name
    assert {f'elements/actuators/{kind}.py' for kind in KINDS} <= code


def test_every_measure_is_in_a_row() -> None:
    assert {name for entry in ROWS for name in entry.get('measures', ())} == set(MEASURES)
