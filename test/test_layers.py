"""The walls of the house (DESIGN, section 3), read off the imports of every module, those inside functions included."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'dyn_nodes'
ROSLITE = PACKAGE.parent / 'roslite'
LAYERS = (
    {'model'},
    {'multibody'},
    {'constraints', 'elements/forces', 'elements/hydraulics', 'teams/deformable'},
    {'elements'},
    {'stability'},
    {'control'},
    {'simulation'},
    {'monitor', 'simulation/cosimulation', 'simulation/linear', 'teams', 'can', 'simulation/batches'},
    {'governor'},
    {'nodes', 'analysis/sweeps'},
    {'analysis'},
    {'library'},
    {'commands', 'cli', 'entry'},
    {'studies'},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# rooms beside the layers: which layer is the lowest that may use them; they know none of the layers
BESIDE = {
    'common': 0,
    'common/errors': 0,
    'common/printing': 0,
    'common/textfile': 0,
    'measures': LEVEL['stability'],
    'compile': LEVEL['multibody'],
    'compile/integrators': LEVEL['simulation'],
    'simulation/guards': LEVEL['simulation'],
    'viewer': LEVEL['nodes'],
}
# modules of dyn_nodes/middleware that are the same with and without ROS: which layer is the lowest that may use them
ADAPTERS = {
    'bags': LEVEL['nodes'],
    'bag_reader': LEVEL['nodes'],
    'launching': LEVEL['nodes'],
    'parameter_files': LEVEL['commands'],
}
OF_ROSLITE = {'middleware', 'common/errors', 'common/textfile', 'common/printing'}
"""Rooms that import roslite; the modules of `common` only export its errors and its functions for text and YAML."""
MIDDLEWARE_USERS = {'nodes', 'commands', 'cli', 'middleware'}
ROS = {'rclpy', 'cyclonedds', 'rosbags', 'rosidl_runtime_py', 'rosbag2_py', 'ament_index_python', 'launch_ros'}
ROS_FREE = {room for room, level in LEVEL.items() if level < LEVEL['nodes']} | {'compile'}


def room(parts: Sequence[str]) -> str:
    """Return the room of a module, by the parts of its path or name: a package in another one may be a room."""
    nested = '/'.join(parts[:2]).removesuffix('.py')
    return nested if nested in LEVEL or nested in BESIDE else parts[0].removesuffix('.py')


def room_of(path: Path) -> str:
    return room(path.relative_to(PACKAGE).parts)


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Line and absolute name of every import in a module."""
    root = PACKAGE if path.is_relative_to(PACKAGE) else ROSLITE
    package = ('dyn_nodes' if root == PACKAGE else 'roslite', *path.relative_to(root).parent.parts)
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = '.'.join(package[: len(package) - node.level + 1]) + '.' if node.level else ''
            module = start + (node.module or '')
            # `from dyn_nodes import simulation` names a room in its alias
            found += [(node.lineno, f'{module.rstrip(".")}.{alias.name}') for alias in node.names]
    return found


def modules_of(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob('*.py') if '__pycache__' not in path.parts)


MODULES = modules_of(PACKAGE)


@cache
def house() -> dict[Path, list[tuple[int, str]]]:
    """Imports of every module, read by the tests that want them and not by every process that collects."""
    return {path: imports_of(path) for path in MODULES}


@cache
def roslite() -> dict[Path, list[tuple[int, str]]]:
    """Imports of every module of roslite."""
    return {path: imports_of(path) for path in modules_of(ROSLITE)}


def house_imports(path: Path) -> list[tuple[str, str]]:
    """(place, room imported) of every import of this package's own rooms; an adapter is `middleware.bags` and so on."""
    result = []
    for line, name in house()[path]:
        parts = name.split('.')
        if parts[0] == 'dyn_nodes' and len(parts) > 1:
            is_adapter = parts[1] == 'middleware' and len(parts) > 2 and parts[2] in ADAPTERS
            name_of_room = f'middleware.{parts[2]}' if is_adapter else room(parts[1:])
            result.append((f'{path.relative_to(PACKAGE.parent)}:{line} imports {name}', name_of_room))
    return result


def violations(rule) -> list[str]:
    return [
        place for path in MODULES for place, room in house_imports(path) if not rule(room_of(path), room, path, place)
    ]


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in MODULES} - {'__init__', '__main__'}
    assert rooms <= set(LEVEL) | set(BESIDE) | {'middleware'}, 'a new room needs a place in DESIGN section 3 and here'


def test_the_package_has_at_most_twenty_packages_and_three_loose_modules():
    packages = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    loose = {path.stem for path in MODULES if path.parent == PACKAGE and not path.stem.startswith('__')}
    assert len(packages) <= 20
    assert loose <= {'cli', 'entry', 'measures'}


def test_lower_layers_never_import_higher_ones_or_their_neighbours():
    def allowed(importer, imported, *_):
        if importer not in LEVEL or imported not in LEVEL or importer == imported:
            return True
        return LEVEL[imported] < LEVEL[importer] or LEVEL[importer] == LEVEL['cli']

    assert violations(allowed) == []


def test_compile_knows_no_physics():
    allowed = {'compile', 'common', 'common/errors'}
    assert violations(lambda importer, imported, *_: importer != 'compile' or imported in allowed) == []


def test_rooms_beside_the_layers_know_none_of_them():
    def allowed(importer, imported, *_):
        return importer not in BESIDE or imported == importer or imported in BESIDE

    assert violations(allowed) == []


def test_rooms_beside_the_layers_are_used_from_their_layer_on():
    def allowed(importer, imported, *_):
        return imported not in BESIDE or importer not in LEVEL or LEVEL[importer] >= BESIDE[imported]

    assert violations(allowed) == []


def test_nothing_outside_imports_studies():
    assert violations(lambda importer, imported, *_: imported != 'studies' or importer == 'studies') == []


def test_middleware_is_imported_by_nodes_and_commands_only():
    assert violations(lambda importer, imported, *_: imported != 'middleware' or importer in MIDDLEWARE_USERS) == []


def test_middleware_knows_nothing_else_of_the_house():
    allowed = {'middleware', 'common'}  # common/share finds launch files; it imports no machine model
    assert violations(lambda importer, imported, *_: importer != 'middleware' or imported in allowed) == []


def test_adapters_of_bags_and_launch_files_are_used_from_their_layer_on():
    def allowed(importer, imported, *_):
        name = imported.removeprefix('middleware.')
        if name not in ADAPTERS or importer == 'middleware':
            return True
        return importer in LEVEL and LEVEL[importer] >= ADAPTERS[name]

    assert violations(allowed) == []


def roslite_imports(imports: list[tuple[int, str]]) -> list[str]:
    return [name for _, name in imports if name.split('.')[0] == 'roslite']


def test_roslite_is_reached_over_the_middleware_only():
    found = {str(path.relative_to(PACKAGE)) for path, imports in house().items() if roslite_imports(imports)}
    assert {name for name in found if room_of(PACKAGE / name) not in OF_ROSLITE} == set()
    named = {room_of(path) for path in MODULES if re.search(r'\broslite\.\w', path.read_text())}
    assert named <= OF_ROSLITE, 'by name, as in import_module'


@pytest.mark.parametrize('module', sorted(OF_ROSLITE - {'middleware'}))
def test_modules_that_export_functions_of_roslite_define_none(module):
    body = ast.parse((PACKAGE / f'{module}.py').read_text()).body
    assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign) for node in body)


def test_roslite_knows_nothing_of_this_package():
    found = [
        f'{path.relative_to(ROSLITE.parent)}:{line} imports {name}'
        for path, imports in roslite().items()
        for line, name in imports
        if name.split('.')[0] == PACKAGE.name
    ]
    assert found == []
    named = [path for path in ROSLITE.rglob('*.py') if re.search(r'\bdyn_nodes[.:]\w', path.read_text())]
    assert named == [], 'by name, as in import_module'


def test_parts_of_roslite_do_not_know_each_other():
    parts = {path.name for path in ROSLITE.iterdir() if (path / '__init__.py').is_file()}
    assert parts == {'bags', 'launching', 'runtime'}
    found = [
        f'{path.relative_to(ROSLITE.parent)} imports {name}'
        for path, imports in roslite().items()
        for name in roslite_imports(imports)
        if name.split('.')[1] in parts - {path.relative_to(ROSLITE).parts[0]}
    ]
    assert found == []


def test_roslite_has_the_version_of_the_distribution():
    assert importlib.import_module('roslite').__version__ == importlib.import_module('dyn_nodes').__version__


def test_nothing_below_the_nodes_knows_ros():
    found = [
        f'{path.relative_to(PACKAGE.parent)}:{line} imports {name}'
        for path, imports in house().items()
        if room_of(path) in ROS_FREE
        for line, name in imports
        if name.split('.')[0] in ROS or name.split('.')[0].endswith('_msgs')
    ]
    assert found == []


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('import dyn_nodes.simulation.system', 'dyn_nodes.simulation.system'),
        ('from dyn_nodes import nodes', 'dyn_nodes.nodes'),
        ('from ..nodes import markers', 'dyn_nodes.nodes.markers'),
        ('from . import tree', 'dyn_nodes.model.tree'),
        ('def f():\n    from dyn_nodes.cli import main', 'dyn_nodes.cli.main'),
    ],
)
def test_imports_are_found_in_every_spelling(monkeypatch, tmp_path, text, expected):
    monkeypatch.setattr('test_layers.PACKAGE', tmp_path)
    module = tmp_path / 'model' / 'load.py'
    module.parent.mkdir()
    module.write_text(text)
    assert expected in [name for _, name in imports_of(module)]


def test_simulation_stays_small():
    """It became the place of whatever needs a compiled machine once: other rooms have their own."""
    lines = [len(path.read_text().splitlines()) for path in (PACKAGE / 'simulation').glob('*.py')]
    assert sum(lines) <= 5500, 'simplify, or see which room the newcomer belongs to (docs/contributing/index.md)'


def test_tests_lie_in_the_room_of_what_they_test():
    """Others are of folders beside the package, of processes, of whole vehicles, and of files that are faulty."""
    beside = {
        'benchmarks',
        'docs',
        'examples',
        'mutants',
        'zoo',
        'ros2',
        'roslite',
        'system',
        'vehicles',
        'hostile',
        'corpus',
    }
    tests = PACKAGE.parent / 'test'
    rooms = {folder.name for folder in tests.iterdir() if any(folder.glob('**/test_*.py'))} | {'corpus'}
    known = {path.name for path in PACKAGE.rglob('*') if path.is_dir()} | {path.stem for path in PACKAGE.glob('*.py')}
    assert rooms - known == beside
    sources = {folder.name for folder in (tests / 'studies').iterdir() if any(folder.glob('test_*.py'))}
    assert all((PACKAGE / 'studies' / source).is_dir() for source in sources)
