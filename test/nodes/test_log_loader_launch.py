"""The launch file against the declared parameters of the nodes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dyn_nodes.middleware.launching import find_launch_file, interpret
from dyn_nodes.nodes import (
    controller_node,
    dynamics_node,
    hydraulic_actuator_node,
    stability_monitor_node,
    tip_over_governor_node,
    vehicle_controller_node,
)

DECLARED = {
    module.__name__.rpartition('.')[2]: {declared.name: declared for declared in module.PARAMETERS}
    for module in (
        controller_node,
        dynamics_node,
        hydraulic_actuator_node,
        stability_monitor_node,
        tip_over_governor_node,
        vehicle_controller_node,
    )
}


def parameters(file: str = 'log_loader', **arguments: str) -> dict[str, dict[str, Any]]:
    """Return every node's parameters, as the command line gives them."""
    result = {}
    for child in interpret(find_launch_file(f'{file}.launch.xml'), arguments).children:
        words = list(child.command)
        rules = [words[k + 1] for k, word in enumerate(words) if word == '-p']
        result[child.name] = {name: yaml.safe_load(text) for name, _, text in (rule.partition(':=') for rule in rules)}
    return result


@pytest.mark.parametrize(
    'arguments',
    [
        {},
        {'mode': 'lockstep', 'record': 'true', 'bag': '/tmp/bag', 'recovery': 'false', 'duration': '24'},
        {'governor': 'true', 'monitor': 'true', 'slope': '0.1', 'payload': '3000'},
        {'cmd_vel': 'true', 'stamped_cmd_vel': 'false', 'payload': '0'},
        {'monolithic': 'true', 'payload': '5100', 'slope': '0', 'cross_slope': '1e-1', 'task': '', 'config': 'a.yaml'},
    ],
)
def test_every_parameter_is_declared_and_of_its_type(arguments: dict[str, str]) -> None:
    for node, values in parameters(**arguments).items():
        for name, value in values.items():
            if name == 'use_sim_time' or node == 'recorder_node':
                continue
            default = DECLARED[node][name].default
            assert type(value) is type(default), f'{node}: {name}'


def test_the_dynamics_waits_for_those_that_are_started() -> None:
    assert parameters()['dynamics_node']['wait_for'] == ['controller_node', 'hydraulic_actuator_node']
    started = parameters(monolithic='true', record='true')
    assert started['dynamics_node']['wait_for'] == ['controller_node', 'recorder_node']
    assert started['dynamics_node']['actuation'] == 'monolithic'
    assert 'hydraulic_actuator_node' not in started


def test_the_governor_is_between_levers_and_valves() -> None:
    for governor, topic in (('false', 'valve_commands'), ('true', 'valve_commands_in')):
        started = interpret(
            find_launch_file('log_loader.launch.xml'), {'governor': governor, 'viewer': 'true'}
        ).children
        rules = {
            child.name: [word for word in child.command if word.startswith('valve_commands:=')] for child in started
        }
        for name in ('controller_node', 'viewer_node'):
            assert rules[name] == [f'valve_commands:={topic}']
        assert rules['hydraulic_actuator_node'] == []
        assert rules.get('tip_over_governor_node', []) == []
        assert ('tip_over_governor_node' in rules) == (governor == 'true')
    waited = parameters(governor='true', monitor='true')['dynamics_node']['wait_for']
    assert {'tip_over_governor_node', 'stability_monitor_node'} <= set(waited)


def test_all_nodes_agree_on_machine_mode_and_exchange() -> None:
    values = parameters(mode='lockstep', machine='a.urdf', config='a.yaml', exchange_period='0.002')
    for name in ('machine', 'config', 'mode', 'exchange_period'):
        assert len({str(values[node][name]) for node in values}) == 1


def test_the_planar_file_starts_the_same_nodes_with_the_planar_machine_and_task() -> None:
    arguments = {'mode': 'lockstep', 'slope': '0.02', 'payload': '2000', 'record': 'true', 'duration': '3'}
    spatial, planar = parameters('log_loader', **arguments), parameters('log_loader_planar', **arguments)
    assert planar.keys() == spatial.keys()
    for node, values in planar.items():
        changed = {name: value for name, value in values.items() if value != spatial[node][name]}
        expected = {'machine': 'log_loader_planar'} if 'machine' in values else {}
        if node == 'controller_node':
            expected['task'] = 'planar_pick_and_place'
        assert changed == expected, node
    assert planar['dynamics_node']['slope_pitch'] == 0.02
    other = parameters('log_loader_planar', machine='a.urdf', config='a.yaml', task='')
    assert other['controller_node']['task'] == ''
    assert other['dynamics_node']['machine'] == 'a.urdf'


@pytest.mark.parametrize('governor', ['false', 'true'])
def test_the_excavator_follows_cmd_vel_and_takes_levers_beside_it(governor: str) -> None:
    arguments = {'cmd_vel': 'true', 'viewer': 'true', 'governor': governor}
    started = interpret(find_launch_file('excavator.launch.xml'), arguments).children
    rules = {child.name: [word for word in child.command if word.startswith('valve_commands')] for child in started}
    to = 'valve_commands_in' if governor == 'true' else 'valve_commands'
    assert rules['vehicle_controller_node'] == ['valve_commands_in:=lever_commands', f'valve_commands:={to}']
    assert rules['viewer_node'] == ['valve_commands:=lever_commands']
    assert 'controller_node' not in rules
    values = parameters('excavator', **arguments)
    assert values['vehicle_controller_node']['output'] == 'valve_commands'
    assert values['dynamics_node']['wait_for'][:2] == ['vehicle_controller_node', 'hydraulic_actuator_node']
    assert values['hydraulic_actuator_node']['command_source'] == 'lockstep'
