"""Nodes in one process and in separate processes: the same bag, byte for byte."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from timeouts import scaled_timeout

from dyn_nodes.middleware import RUNTIME
from dyn_nodes.middleware.bag_reader import compare_bags
from dyn_nodes.middleware.launching import LaunchError
from dyn_nodes.nodes import composition_node

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = sorted((ROOT / 'launch').glob('*.launch.xml'))
COMPOSABLE = [path for path in LAUNCH if 'exec="composition_node"' in path.read_text()]


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(name: str, *arguments: str, seed: int = 0) -> subprocess.Popen:
        domain = str(1 + (os.getpid() + 31 * len(started)) % 95)
        environment = {**os.environ, 'ROS_DOMAIN_ID': domain, 'PYTHONHASHSEED': str(seed), 'HOME': str(tmp_path)}
        environment.setdefault('DYN_NODES_CACHE', str(Path.home() / '.cache' / 'dyn_nodes'))
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', name, *arguments]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.wait(scaled_timeout(30))
        process.stdout.close()


def test_equal_runs_give_equal_bags_composed_and_separate_whatever_the_hash_seed(launch, tmp_path):
    """All topics, also /diagnostics, /rosout, /parameter_events and /events. The three runs disturb each other."""
    runs = []
    for number, compose in enumerate(('true', 'true', 'false')):
        bag = tmp_path / str(number) / 'bag'
        words = ('mode:=lockstep', 'record:=true', 'duration:=0.3', f'bag:={bag}', f'compose:={compose}')
        runs.append((launch('log_loader', *words, seed=number), bag))
    for process, _ in runs:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    for _, bag in runs[1:]:
        comparison = compare_bags(runs[0][1], bag, with_times=RUNTIME == 'embedded')
        # rclpy: log times, and the stamps of /rosout, are of the wall clock
        assert [item for item in comparison.differences if RUNTIME == 'embedded' or item.topic != '/rosout'] == []
        assert comparison.identical or RUNTIME == 'rclpy'
    assert comparison.counts['/joint_states'][0] == comparison.counts['/joint_states'][1] > 50
    assert comparison.counts['/diagnostics'][0] > 0
    assert comparison.counts['/rosout'][0] > 0


@pytest.mark.parametrize('path', COMPOSABLE, ids=lambda path: path.name.split('.')[0])
def test_a_composing_launch_file_passes_every_argument_and_composes_every_node_but_the_cockpit(path):
    root = ET.parse(path).getroot()
    declared = {arg.get('name') for arg in root.findall('arg')} - {'compose'}
    (node,) = [item for item in root.findall('node') if item.get('exec') == 'composition_node']
    handed = dict(re.findall(r'(\w+):=\$\(var (\w+)\)', node.get('args')))
    assert handed == {name: name for name in declared}
    outside = {item.get('exec') for item in root.findall('node')} - {'composition_node', 'dyn-nodes'}
    assert outside == {'viewer_node'}


def test_nodes_get_names_namespaces_and_parameters_of_the_file_and_of_the_command_line():
    words = ['composition_node', str(ROOT / 'launch' / 'log_loader.launch.xml'), 'namespace:=loader', 'drive:=true']
    words += ['--ros-args', '-r', '__node:=composition_node', '-r', '__ns:=/site', '-p', 'command_timeout:=2.0']
    file, arguments, namespace, shared = composition_node.split_arguments(words)
    assert (namespace, shared) == ('/site', ['-p', 'command_timeout:=2.0'])
    specs = composition_node.nodes_of(file, arguments, namespace)
    assert [spec.executable for spec in specs] == ['hydraulic_actuator_node', 'dynamics_node']
    assert '__ns:=/site/loader' in specs[0].arguments
    assert composition_node.class_of('dynamics_node').__name__ == 'DynamicsNode'


def test_a_file_without_nodes_to_compose_is_rejected(tmp_path):
    file = tmp_path / 'empty.launch.xml'
    file.write_text('<launch><arg name="compose" default="true"/></launch>')
    with pytest.raises(LaunchError, match='expected nodes of this package to compose, found none'):
        composition_node.nodes_of(str(file), [], '')


def test_a_node_that_cannot_start_ends_the_launch_with_one_line(launch):
    process = launch('log_loader', 'compose:=true', 'task:=no_such_task')
    output, _ = process.communicate(timeout=scaled_timeout(120))
    assert process.returncode == 1
    assert "composition_node: controller_node: parameter 'task'" in output
    assert 'Traceback' not in output
