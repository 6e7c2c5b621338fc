"""The walls of the house (DESIGN, section 3), read off the imports of every module, those inside functions included."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'dyn_nodes'
LAYERS = (
    {'model'},
    {'multibody'},
    {'constraints', 'forces', 'hydraulics', 'deformable'},
    {'elements'},
    {'stability'},
    {'control'},
    {'simulation'},
    {'monitor', 'cosimulation', 'linear', 'teams', 'can', 'batches'},
    {'studies', 'nodes', 'sweeps'},
    {'analysis'},
    {'library'},
    {'commands', 'cli', 'entry'},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# rooms beside the layers: which layer is the lowest that may use them; they know none of the layers
BESIDE = {
    'share': 0,
    'extras': 0,
    'printing': 0,
    'textfile': 0,
    'loops': 0,
    'cholesky': 0,
    'compiling': 0,
    'sealing': 0,
    'turns': 0,
    'garbage': 0,
    'processes': 0,
    'measures': LEVEL['stability'],
    'compile': LEVEL['multibody'],
    'integrators': LEVEL['simulation'],
    'guards': LEVEL['simulation'],
    'recording': LEVEL['studies'],
    'launching': LEVEL['nodes'],
    'viewer': LEVEL['nodes'],
}
MIDDLEWARE_USERS = {'nodes', 'commands', 'cli', 'middleware'}
ROS = {'rclpy', 'cyclonedds', 'rosbags', 'rosidl_runtime_py', 'rosbag2_py', 'ament_index_python', 'launch_ros'}
ROS_FREE = {room for room, level in LEVEL.items() if level < LEVEL['nodes']} | {'compile'}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix('.py')


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Line and absolute name of every import in a module."""
    package = ('dyn_nodes', *path.relative_to(PACKAGE).parent.parts)
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


MODULES = sorted(path for path in PACKAGE.rglob('*.py') if '__pycache__' not in path.parts)


@cache
def house() -> dict[Path, list[tuple[int, str]]]:
    """Imports of every module, read by the tests that want them and not by every process that collects."""
    return {path: imports_of(path) for path in MODULES}


def house_imports(path: Path) -> list[tuple[str, str]]:
    """(place, room imported) of every import of this package's own rooms."""
    result = []
    for line, name in house()[path]:
        parts = name.split('.')
        if parts[0] == 'dyn_nodes' and len(parts) > 1:
            result.append((f'{path.relative_to(PACKAGE.parent)}:{line} imports {name}', parts[1]))
    return result


def violations(rule) -> list[str]:
    return [
        place for path in MODULES for place, room in house_imports(path) if not rule(room_of(path), room, path, place)
    ]


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in MODULES} - {'__init__', '__main__'}
    assert rooms <= set(LEVEL) | set(BESIDE) | {'middleware'}, 'a new room needs a place in DESIGN section 3 and here'


def test_lower_layers_never_import_higher_ones_or_their_neighbours():
    def allowed(importer, imported, *_):
        if importer not in LEVEL or imported not in LEVEL or importer == imported:
            return True
        return LEVEL[imported] < LEVEL[importer] or LEVEL[importer] == LEVEL['cli']

    assert violations(allowed) == []


def test_compile_knows_no_physics():
    own = {'compile', 'compiling', 'loops', 'sealing', 'turns'}
    assert violations(lambda importer, imported, *_: importer != 'compile' or imported in own) == []


def test_rooms_beside_the_layers_know_none_of_them():
    def allowed(importer, imported, *_):
        return importer not in BESIDE or imported == importer or imported in BESIDE

    assert violations(allowed) == []


def test_rooms_beside_the_layers_are_used_from_their_layer_on():
    def allowed(importer, imported, *_):
        return imported not in BESIDE or importer not in LEVEL or LEVEL[importer] >= BESIDE[imported]

    assert violations(allowed) == []


def test_middleware_is_imported_by_nodes_and_commands_only():
    assert violations(lambda importer, imported, *_: imported != 'middleware' or importer in MIDDLEWARE_USERS) == []


def test_middleware_knows_nothing_else_of_the_house():
    own = {'middleware', 'textfile'}  # how any file is read is no knowledge of machines
    assert violations(lambda importer, imported, *_: importer != 'middleware' or imported in own) == []


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
    assert sum(lines) <= 5500, 'simplify, or see which room the newcomer belongs to (docs/contributing.md)'


def test_tests_lie_in_the_room_of_what_they_test():
    """Others are of folders beside the package, of processes, of whole vehicles, and of files that are faulty."""
    beside = {'benchmarks', 'docs', 'examples', 'mutants', 'zoo', 'ros2', 'system', 'vehicles', 'hostile', 'corpus'}
    tests = PACKAGE.parent / 'test'
    rooms = {folder.name for folder in tests.iterdir() if any(folder.glob('**/test_*.py'))} | {'corpus'}
    assert {room for room in rooms if not any(PACKAGE.glob(f'{room}*'))} == beside
    sources = {folder.name for folder in (tests / 'studies').iterdir() if any(folder.glob('test_*.py'))}
    assert all((PACKAGE / 'studies' / source).is_dir() for source in sources)
