"""The package as colcon installs it into a workspace: built without ROS, with colcon's Python packages."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
from test_nodes_on_strict_rclpy import console_nodes

ROOT = Path(__file__).parents[2]
PACKAGES = ('dyn_nodes', 'roslite')
LEFT_OUT = ('.*', 'build', 'install', 'log', 'runs', '__pycache__', '*.egg-info', '*.log')
#: Import name -> rosdep key in package.xml, if it is not a ROS package of that name.
KEYS = {
    'casadi': 'casadi-pip',
    'cycler': 'python3-matplotlib',
    'lxml': 'python3-lxml',
    'matplotlib': 'python3-matplotlib',
    'numba': 'python3-numba',
    'llvmlite': 'python3-numba',
    'numpy': 'python3-numpy',
    'PIL': 'python3-pil',
    'rich': 'python3-rich',
    'rosbags': 'python3-rosbags-pip',
    'scipy': 'python3-scipy',
    'yaml': 'python3-yaml',
    'yourdfpy': 'python3-yourdfpy-pip',
}
#: Packages of messages that a node publishes where they are installed, and only there.
OPTIONAL_INTERFACES = {'nav2_msgs'}
#: Optional packages without a rosdep key.
OPTIONAL = {
    'cyclonedds',
    'viser',
    'websockets',
    'msgspec',
    'trimesh',
    'mcap',
    'meshio',
    'can',
    'cantools',
    'asammdf',
    'SALib',
    'lz4',
    'pyarrow',
    'distributed',
    'backports',
    'control',
    'compression',
}


def run_quietly(words: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope='module')
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return `install/dyn_nodes` of a scratch workspace."""
    pytest.importorskip('colcon_core', reason='colcon is not installed: pip install -e .[dev]')
    pytest.importorskip('colcon_ros', reason='colcon-ros is not installed: pip install -e .[dev]')
    workspace = tmp_path_factory.mktemp('workspace')
    shutil.copytree(ROOT, workspace / 'src' / 'dyn_nodes', ignore=shutil.ignore_patterns(*LEFT_OUT))
    environment = {key: value for key, value in os.environ.items() if key not in ('PYTHONPATH', 'AMENT_PREFIX_PATH')}
    environment.update(COLCON_LOG_PATH=str(workspace / 'log'), COLCON_HOME=str(workspace / 'home'))
    words = [sys.executable, '-m', 'colcon', 'build', '--executor', 'sequential']
    run = run_quietly(words, environment, workspace)
    assert run.returncode == 0, run.stdout + run.stderr
    assert 'Finished <<< dyn_nodes' in run.stdout
    return workspace / 'install' / 'dyn_nodes'


@pytest.fixture(scope='module')
def environment(install: Path) -> dict[str, str]:
    """The environment that the workspace's setup file makes, as far as it matters here."""
    (library,) = install.glob('lib/python3*/site-packages')
    kept = {key: value for key, value in os.environ.items() if not key.startswith(('ROS_', 'DYN_NODES'))}
    return {**kept, 'AMENT_PREFIX_PATH': str(install), 'PYTHONPATH': str(library), 'PYTHONDONTWRITEBYTECODE': '1'}


def source(install: Path) -> Path:
    """The built copy: the tree itself may change during the test."""
    return install.parents[1] / 'src' / 'dyn_nodes'


def relative(folder: Path, pattern: str = '**/*') -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.glob(pattern) if path.is_file()}


def test_the_index_knows_the_package(install: Path) -> None:
    assert (install / 'share/ament_index/resource_index/packages/dyn_nodes').is_file()
    assert (install / 'share/dyn_nodes/package.xml').read_bytes() == (ROOT / 'package.xml').read_bytes()
    hooks = relative(install / 'share/dyn_nodes/hook')
    assert {'ament_prefix_path.dsv', 'pythonpath.dsv'} <= hooks


@pytest.mark.parametrize('folder', ['launch', 'urdf', 'config'])
def test_the_share_is_complete(install: Path, folder: str) -> None:
    wanted = {
        name
        for name in relative(source(install) / folder)
        if not any(part.startswith('.') for part in Path(name).parts)
    }
    assert wanted, folder
    assert relative(install / 'share/dyn_nodes' / folder) == wanted


def test_ros2_run_finds_every_node(install: Path) -> None:
    programs = install / 'lib/dyn_nodes'
    assert relative(programs) == console_nodes() | {'dyn-nodes'}
    assert all(os.access(program, os.X_OK) for program in programs.iterdir())


@pytest.mark.parametrize('package', PACKAGES)
def test_files_beside_the_code_are_installed(install: Path, package: str) -> None:
    (library,) = install.glob(f'lib/python3*/site-packages/{package}')

    def files(folder: Path) -> set[str]:
        return {name for name in relative(folder) if not name.endswith('.pyc')}

    assert files(library) == files(source(install) / package)


def test_every_entry_point_is_importable_from_the_install_space(
    install: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    code = """
import importlib, importlib.metadata, json, sys
points = importlib.metadata.distribution('dyn_nodes').entry_points
loaded = {point.name: callable(point.load()) for point in points if point.group == 'console_scripts'}
nodes = [importlib.import_module(f'dyn_nodes.nodes.{name}') for name in loaded if name.endswith('_node')]
print(json.dumps([loaded, [node.__file__ for node in nodes if not callable(node.main)], nodes[0].__file__]))
"""
    run = run_quietly([sys.executable, '-c', code], environment, tmp_path)
    assert run.returncode == 0, run.stderr
    loaded, without_main, location = json.loads(run.stdout)
    assert set(loaded) == console_nodes() | {'dyn-nodes'}
    assert all(loaded.values())
    assert without_main == []
    assert location.startswith(str(install))


def test_an_installed_program_reads_the_share_of_the_workspace(
    install: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    words = [str(install / 'lib/dyn_nodes/teleop_node'), '--ros-args', '-p', 'machine:=nowhere']
    run = run_quietly(words, environment, tmp_path)
    assert run.returncode == 1
    assert f'{install}/share/dyn_nodes' in run.stderr
    assert 'log_loader.urdf' in run.stderr
    assert 'Traceback' not in run.stderr


@pytest.mark.parametrize(('package', 'program'), [('casadi', 'dynamics_node'), ('rich', 'dyn-nodes')])
def test_a_missing_package_is_named_with_the_line_for_pip(
    package: str, program: str, install: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / 'sitecustomize.py').write_text(
        'import sys, importlib.abc\n'
        'class Hide(importlib.abc.MetaPathFinder):\n'
        '    def find_spec(self, name, path=None, target=None):\n'
        f'        if name.partition(".")[0] == {package!r}:\n'
        '            raise ModuleNotFoundError(f"No module named {name!r}", name=name)\n'
        'sys.meta_path.insert(0, Hide())\n'
    )
    hidden = {**environment, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{environment["PYTHONPATH"]}', 'ROS_DISTRO': 'jazzy'}
    words = [str(install / 'lib/dyn_nodes' / program), *(['check', 'log_loader'] if program == 'dyn-nodes' else [])]
    run = run_quietly(words, hidden, tmp_path)
    assert run.returncode == 1
    assert f'-m pip install "{package}"' in run.stderr
    assert 'Traceback' not in run.stderr


def test_package_xml_is_valid() -> None:
    package = pytest.importorskip('catkin_pkg.package')
    warnings: list[str] = []
    parsed = package.parse_package(str(ROOT / 'package.xml'), warnings=warnings)
    parsed.validate(warnings=warnings)
    assert warnings == []
    assert parsed.package_format == 3
    assert parsed.get_build_type() == 'ament_python'
    assert metadata('dyn_nodes')['Version'] == parsed.version, 'setup.py reads package.xml'


def test_package_xml_names_the_imports_of_the_code() -> None:
    package = pytest.importorskip('catkin_pkg.package')
    named = {depend.name for depend in package.parse_package(str(ROOT / 'package.xml')).exec_depends}
    imported: set[str] = set()
    interfaces: set[str] = set()
    for path in (path for name in PACKAGES for path in (ROOT / name).rglob('*.py')):
        text = path.read_text()
        if 'roslite/runtime' not in str(path):
            interfaces |= set(re.findall(r"(?:message|service)\(\s*'(\w+)/(?:msg|srv)/\w+'", text))
            needed = set(re.findall(r"(?<!optional_)message\(\s*'(\w+)/", text))
            assert not needed & OPTIONAL_INTERFACES, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or '').partition('.')[0])
    foreign = imported - set(sys.stdlib_module_names) - {*PACKAGES, '__future__'} - OPTIONAL
    assert {KEYS.get(name, name) for name in foreign} <= named
    assert interfaces
    assert interfaces - OPTIONAL_INTERFACES <= named


def test_package_xml_names_the_packages_of_the_launch_files() -> None:
    """Packages of ros2_control, with its plug-ins, and of MoveIt on Jazzy or newer; rviz2 is not forced on anybody."""
    package = pytest.importorskip('catkin_pkg.package')
    parsed = package.parse_package(str(ROOT / 'package.xml'))
    parsed.evaluate_conditions({'ROS_DISTRO': 'jazzy'})
    named = {depend.name for depend in parsed.exec_depends if depend.evaluated_condition}
    started = {
        name
        for path in (ROOT / 'launch').glob('*.launch.xml')
        for name in re.findall(r'<node pkg="(\w+)"', path.read_text())
    }
    for path in (ROOT / 'config').glob('*_controllers.yaml'):
        started |= set(re.findall(r'^ +type: (\w+)/', path.read_text(), re.MULTILINE))
    for path in (ROOT / 'urdf').iterdir():
        started |= set(re.findall(r'<plugin>(\w+)/', path.read_text()))
    assert {'controller_manager', 'moveit_ros_move_group', 'joint_state_topic_hardware_interface'} <= started
    assert started - {'dyn_nodes'} <= named
    assert 'rviz2' not in named
    parsed.evaluate_conditions({'ROS_DISTRO': 'humble'})
    assert not {'controller_manager', 'moveit_ros_move_group'} & {
        depend.name for depend in parsed.exec_depends if depend.evaluated_condition
    }


def test_scripts_are_installed_for_ros2_run() -> None:
    text = (ROOT / 'setup.cfg').read_text()
    assert 'script_dir=$base/lib/dyn_nodes' in text
    assert 'install_scripts=$base/lib/dyn_nodes' in text


@pytest.mark.parametrize(
    ('linter', 'arguments'),
    [
        ('ament_flake8', '--config setup.cfg dyn_nodes roslite launch test faults benchmarks'),
        ('ament_pep257', '--convention google --add-ignore D105 D107 D401 D402 -- dyn_nodes roslite'),
        ('ament_xmllint', 'package.xml launch config'),
    ],
)
def test_linters_of_ament_find_nothing(linter: str, arguments: str) -> None:
    """With what the package sets; ament_copyright is not among them, as files have no header: LICENSE holds for all."""
    pytest.importorskip(linter)
    if linter == 'ament_xmllint' and not shutil.which('xmllint'):
        pytest.skip('needs xmllint')
    run = subprocess.run(
        [sys.executable, '-m', f'{linter}.main', *arguments.split()], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr


def test_package_xml_names_the_linters() -> None:
    package = pytest.importorskip('catkin_pkg.package')
    named = {depend.name for depend in package.parse_package(str(ROOT / 'package.xml')).test_depends}
    assert {'ament_flake8', 'ament_pep257', 'ament_xmllint'} <= named
