"""Layers of the architecture (DESIGN, section 3), checked by the imports of every module, also inside functions."""

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
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
# packages beside the layers: the lowest layer that may use them; they import none of the layers
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
# modules of dyn_nodes/middleware that are the same with and without ROS: the lowest layer that may use them
ADAPTERS = {
    'bags': LEVEL['nodes'],
    'bag_reader': LEVEL['nodes'],
    'launching': LEVEL['nodes'],
    'parameter_files': LEVEL['commands'],
}
OF_ROSLITE = {'middleware', 'common/errors', 'common/textfile', 'common/printing'}
"""Packages that import roslite; the modules of `common` only export its errors and its functions for text and YAML."""
MIDDLEWARE_USERS = {'nodes', 'commands', 'cli', 'middleware'}
ROS = {'rclpy', 'cyclonedds', 'rosbags', 'rosidl_runtime_py', 'rosbag2_py', 'ament_index_python', 'launch_ros'}
ROS_FREE = {package for package, level in LEVEL.items() if level < LEVEL['nodes']} | {'compile'}


def package_at(parts: Sequence[str]) -> str:
    """Return the package of a module by the parts of its path or name; some subpackages count as packages."""
    nested = '/'.join(parts[:2]).removesuffix('.py')
    return nested if nested in LEVEL or nested in BESIDE else parts[0].removesuffix('.py')


def package_of(path: Path) -> str:
    return package_at(path.relative_to(PACKAGE).parts)


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Return line and absolute name of every import in a module."""
    root = PACKAGE if path.is_relative_to(PACKAGE) else ROSLITE
    package = ('dyn_nodes' if root == PACKAGE else 'roslite', *path.relative_to(root).parent.parts)
    imports = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imports += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = '.'.join(package[: len(package) - node.level + 1]) + '.' if node.level else ''
            module = start + (node.module or '')
            # `from dyn_nodes import simulation` names a package in its alias
            imports += [(node.lineno, f'{module.rstrip(".")}.{alias.name}') for alias in node.names]
    return imports


def modules_of(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob('*.py') if '__pycache__' not in path.parts)


MODULES = modules_of(PACKAGE)


@cache
def imports_of_package() -> dict[Path, list[tuple[int, str]]]:
    """Return the imports of every module; cached, and not read at collection."""
    return {path: imports_of(path) for path in MODULES}


@cache
def roslite() -> dict[Path, list[tuple[int, str]]]:
    """Return the imports of every module of roslite."""
    return {path: imports_of(path) for path in modules_of(ROSLITE)}


def package_imports(path: Path) -> list[tuple[str, str]]:
    """Return (location, package) of every import from dyn_nodes; adapters are `middleware.bags` and so on."""
    result = []
    for line, name in imports_of_package()[path]:
        parts = name.split('.')
        if parts[0] == 'dyn_nodes' and len(parts) > 1:
            is_adapter = parts[1] == 'middleware' and len(parts) > 2 and parts[2] in ADAPTERS
            target = f'middleware.{parts[2]}' if is_adapter else package_at(parts[1:])
            result.append((f'{path.relative_to(PACKAGE.parent)}:{line} imports {name}', target))
    return result


def violations(rule) -> list[str]:
    return [
        location
        for path in MODULES
        for location, target in package_imports(path)
        if not rule(package_of(path), target, path, location)
    ]


def test_every_package_has_a_layer():
    present = {package_of(path) for path in MODULES} - {'__init__', '__main__'}
    assert present <= set(LEVEL) | set(BESIDE) | {'middleware'}, 'add a new package to DESIGN section 3 and here'


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


def test_compile_imports_no_physics():
    allowed = {'compile', 'common', 'common/errors'}
    assert violations(lambda importer, imported, *_: importer != 'compile' or imported in allowed) == []


def test_packages_beside_the_layers_import_none_of_them():
    def allowed(importer, imported, *_):
        return importer not in BESIDE or imported == importer or imported in BESIDE

    assert violations(allowed) == []


def test_packages_beside_the_layers_are_used_from_their_layer_on():
    def allowed(importer, imported, *_):
        return imported not in BESIDE or importer not in LEVEL or LEVEL[importer] >= BESIDE[imported]

    assert violations(allowed) == []


def test_nothing_outside_imports_studies():
    assert violations(lambda importer, imported, *_: imported != 'studies' or importer == 'studies') == []


def test_middleware_is_imported_by_nodes_and_commands_only():
    assert violations(lambda importer, imported, *_: imported != 'middleware' or importer in MIDDLEWARE_USERS) == []


def test_middleware_imports_nothing_else_of_the_package():
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
    users = {
        str(path.relative_to(PACKAGE)) for path, imports in imports_of_package().items() if roslite_imports(imports)
    }
    assert {name for name in users if package_of(PACKAGE / name) not in OF_ROSLITE} == set()
    named = {package_of(path) for path in MODULES if re.search(r'\broslite\.\w', path.read_text())}
    assert named <= OF_ROSLITE, 'by name, as in import_module'


@pytest.mark.parametrize('module', sorted(OF_ROSLITE - {'middleware'}))
def test_modules_that_export_functions_of_roslite_define_none(module):
    body = ast.parse((PACKAGE / f'{module}.py').read_text()).body
    assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign) for node in body)


def test_roslite_imports_nothing_of_this_package():
    imported = [
        f'{path.relative_to(ROSLITE.parent)}:{line} imports {name}'
        for path, imports in roslite().items()
        for line, name in imports
        if name.split('.')[0] == PACKAGE.name
    ]
    assert imported == []
    named = [path for path in ROSLITE.rglob('*.py') if re.search(r'\bdyn_nodes[.:]\w', path.read_text())]
    assert named == [], 'by name, as in import_module'


def test_parts_of_roslite_do_not_import_each_other():
    parts = {path.name for path in ROSLITE.iterdir() if (path / '__init__.py').is_file()}
    assert parts == {'bags', 'launching', 'runtime'}
    imported = [
        f'{path.relative_to(ROSLITE.parent)} imports {name}'
        for path, imports in roslite().items()
        for name in roslite_imports(imports)
        if name.split('.')[1] in parts - {path.relative_to(ROSLITE).parts[0]}
    ]
    assert imported == []


def test_roslite_has_the_version_of_the_distribution():
    assert importlib.import_module('roslite').__version__ == importlib.import_module('dyn_nodes').__version__


def test_nothing_below_the_nodes_imports_ros():
    imported = [
        f'{path.relative_to(PACKAGE.parent)}:{line} imports {name}'
        for path, imports in imports_of_package().items()
        if package_of(path) in ROS_FREE
        for line, name in imports
        if name.split('.')[0] in ROS or name.split('.')[0].endswith('_msgs')
    ]
    assert imported == []


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
    """`simulation` must not collect everything that needs a compiled machine: use the other packages."""
    lines = [len(path.read_text().splitlines()) for path in (PACKAGE / 'simulation').glob('*.py')]
    assert sum(lines) <= 5500, 'simplify, or move the new module to its package (docs/contributing/index.md)'


def test_tests_are_in_the_folder_of_the_tested_package():
    """The other folders test directories beside the package, processes, whole vehicles and faulty files."""
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
    folders = {folder.name for folder in tests.iterdir() if any(folder.glob('**/test_*.py'))} | {'corpus'}
    existing = {path.name for path in PACKAGE.rglob('*') if path.is_dir()} | {
        path.stem for path in PACKAGE.glob('*.py')
    }
    assert folders - existing == beside
    sources = {folder.name for folder in (tests / 'studies').iterdir() if any(folder.glob('test_*.py'))}
    assert all((PACKAGE / 'studies' / source).is_dir() for source in sources)
