"""The launch interpreter with the nodes and the launch files of this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dyn_nodes.common.share import find_resource, share_directory
from dyn_nodes.middleware.launching import LaunchError, declared_arguments, find_launch_file, interpret, node_names
from roslite.launching.context import LaunchContext
from roslite.launching.substitutions import expand


def test_a_node_and_the_command_of_this_package_are_python_modules(tmp_path):
    path = tmp_path / 'a.launch.xml'
    path.write_text(
        '<launch><node pkg="dyn_nodes" exec="recorder_node"/><node pkg="dyn_nodes" exec="dyn-nodes"/></launch>'
    )
    node, command = interpret(path).children
    assert node.command == (sys.executable, '-m', 'dyn_nodes.nodes.recorder_node')
    assert command.command == (sys.executable, '-m', 'dyn_nodes.cli')
    path.write_text('<launch><node pkg="dyn_nodes" exec="reocrder"/></launch>')
    with pytest.raises(LaunchError) as caught:
        interpret(path)
    assert f"expected a node of dyn_nodes ({', '.join(node_names())}), found 'reocrder'" in str(caught.value)


def test_a_launch_file_is_found_by_path_or_name(tmp_path, monkeypatch):
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'dyn_nodes').touch()
    folder = tmp_path / 'share' / 'dyn_nodes' / 'launch'
    folder.mkdir(parents=True)
    file = folder / 'loader.launch.xml'
    file.write_text('<launch/>')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    assert find_launch_file(str(file)) == file
    assert find_launch_file('loader') == find_launch_file('loader.launch.xml') == file
    with pytest.raises(LaunchError, match=r"no launch file 'lodaer' \(did you mean 'loader'\?\)"):
        find_launch_file('lodaer')
    with pytest.raises(LaunchError, match='no such file'):
        find_launch_file('some/where.launch.xml')


def test_the_share_is_found_in_the_source_tree():
    assert Path(expand('$(find-pkg-share dyn_nodes)', LaunchContext(Path('a')))) == share_directory()
    with pytest.raises(FileNotFoundError, match=r'config/no_such\.yaml was not found'):
        find_resource('config/no_such.yaml')


def test_the_share_of_the_ament_index_has_precedence(tmp_path, monkeypatch):
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'dyn_nodes').touch()
    (tmp_path / 'share' / 'dyn_nodes' / 'config').mkdir(parents=True)
    (tmp_path / 'share' / 'dyn_nodes' / 'config' / 'machine.yaml').write_text('a: 1\n')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/no/such/prefix:{tmp_path}')
    assert find_resource('config/machine.yaml') == tmp_path / 'share' / 'dyn_nodes' / 'config' / 'machine.yaml'


@pytest.mark.parametrize(
    'path', sorted((share_directory() / 'launch').glob('*.launch.xml')), ids=lambda path: path.name
)
def test_launch_files_of_the_package_evaluate_with_their_defaults(path):
    assert interpret(path).children
    assert all(argument.description for argument in declared_arguments(path))


def test_the_launcher_imports_nothing_heavy():
    heavy = ('numpy', 'cyclonedds', 'rosbags', 'casadi', 'scipy', 'rclpy')
    code = f'import sys, dyn_nodes.middleware.launching; print([m for m in {heavy} if m in sys.modules])'
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == '[]'
