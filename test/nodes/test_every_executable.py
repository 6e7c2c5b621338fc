"""Every executable of the package, as `ros2 run` and the shell start it: it comes up, is seen, and ends on Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from node_testing import RUNTIME, words_of
from timeouts import scaled_timeout

from dyn_nodes.commands.plain_messages import service_class
from dyn_nodes.entry import is_help_wanted
from dyn_nodes.nodes.node_help import help_of
from dyn_nodes.nodes.parameters import node_parameters

ListParameters = service_class('rcl_interfaces/srv/ListParameters')
LOG_LOADER = {'machine': 'log_loader'}
PARAMETERS = {
    'dynamics_node': {**LOG_LOADER, 'mode': 'realtime', 'actuation': 'monolithic'},
    'hydraulic_actuator_node': {**LOG_LOADER, 'mode': 'realtime'},
    'electric_actuator_node': {'machine': 'stewart_platform', 'mode': 'realtime'},
    'controller_node': {**LOG_LOADER, 'mode': 'realtime'},
    'vehicle_controller_node': {'machine': 'agv_mecanum', 'mode': 'realtime'},
    'cartesian_controller_node': {**LOG_LOADER, 'mode': 'realtime'},
    'platform_controller_node': {'machine': 'stewart_platform', 'mode': 'realtime'},
    'recorder_node': {},
    'viewer_node': {**LOG_LOADER, 'port': 0},
    'teleop_node': LOG_LOADER,
    'stability_monitor_node': LOG_LOADER,
    'tip_over_governor_node': LOG_LOADER,
    'object_node': {'team': 'team_bar', 'mode': 'realtime'},
    'team_controller_node': {'team': 'team_bar', 'mode': 'realtime'},
    'can_bridge_node': {'mapping': 'log_loader', 'interface': 'virtual'},
}
"""Of each, what its launch files give it at least."""
ROOT = Path(__file__).resolve().parents[2]
LAUNCHED = {'composition_node': [str(ROOT / 'launch' / 'log_loader.launch.xml'), 'governor:=false']}
"""Words of one that has no parameters."""


def installed() -> list[str]:
    """Return the names of the nodes that are installed as programs."""
    scripts = entry_points(group='console_scripts')
    return sorted(
        entry.name for entry in scripts if entry.value.startswith('dyn_nodes.entry:') and entry.name != 'dyn-nodes'
    )


def program(name: str, *words: str, **options: Any) -> subprocess.Popen:
    environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': RUNTIME, 'COLUMNS': '100'}
    pipes = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'text': True}
    return subprocess.Popen([Path(sys.executable).with_name(name), *words], env=environment, **pipes, **options)


def test_every_installed_node_is_started_here():
    assert installed() == sorted({*PARAMETERS, *LAUNCHED})


@pytest.mark.parametrize('name', installed())
def test_it_comes_up_answers_and_ends_quietly_on_an_interrupt(name, tester, tmp_path):
    process = program(name, *(LAUNCHED.get(name) or words_of(PARAMETERS[name])), cwd=tmp_path)
    service = f'{"dynamics_node" if name in LAUNCHED else name}/list_parameters'
    client = tester.node.create_client(ListParameters, service)
    try:
        tester.until(lambda: process.poll() is not None or client.service_is_ready(), 60.0)
        assert process.poll() is None, process.communicate()[0]
        answer = client.call_async(ListParameters.Request())
        tester.until(lambda: process.poll() is not None or answer.done(), 60.0)
        assert answer.done(), process.communicate()[0]
        assert 'use_sim_time' in answer.result().result.names
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=scaled_timeout(20.0))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, output
    assert 'Traceback' not in output


@pytest.mark.parametrize('name', ['dynamics_node', 'can_bridge_node', 'composition_node'])
def test_its_help_describes_the_node_and_every_parameter(name):
    process = program(name, '--help')
    output, _ = process.communicate(timeout=scaled_timeout(60.0))
    assert process.returncode == 0
    assert f' {name} ' in output or output.startswith(f'{name}:')
    for parameter in node_parameters(name) if name in PARAMETERS else ():
        assert f'\n  {parameter.name}: {parameter.type}' in output
        assert ' '.join(parameter.description.split()[:3]) in output


def test_its_help_names_a_parameter_of_every_joint_by_its_place():
    assert '\n  gains.<joint>.p: double' in help_of('controller_node')


def test_the_word_help_among_words_for_ros_is_none_for_the_node():
    assert not is_help_wanted(['--ros-args', '-p', 'task:=--help', '-h'])
    assert is_help_wanted(['-h', '--ros-args'])
