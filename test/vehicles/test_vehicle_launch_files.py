"""Launch files of vehicles run their nodes, and their RViz layouts contain their wheels."""

from __future__ import annotations

import pytest
from vehicles import ROOT, VEHICLES, vehicle

from dyn_nodes.commands.rviz_layout import machine_layout
from dyn_nodes.middleware.launching import declared_arguments, interpret


def arguments(child) -> dict[str, str]:
    """Return the parameters on the command line of a node."""
    command = list(child.command)
    pairs = [command[k + 1] for k, word in enumerate(command) if word == '-p']
    return dict(pair.split(':=', 1) for pair in pairs)


@pytest.mark.parametrize('name', [*VEHICLES, 'rm_1'])
def test_the_launch_file_runs_dynamics_and_controller_of_this_vehicle(name):
    path = ROOT / 'launch' / f'{name}.launch.xml'
    children = {child.name: child for child in interpret(path, {'compose': 'false'}).children}
    assert set(children) == {'dynamics_node', 'vehicle_controller_node'}
    for child in children.values():
        assert arguments(child)['machine'].strip("'") == name
    declared = {argument.name for argument in declared_arguments(path)}
    assert {'machine', 'mode', 'record', 'viewer', 'rviz', 'linear_speed'} <= declared


@pytest.mark.parametrize('name', [*VEHICLES, 'rm_1'])
def test_a_vehicle_runs_in_one_process_by_default(name):
    children = interpret(ROOT / 'launch' / f'{name}.launch.xml', {'viewer': 'true'}).children
    assert {child.name for child in children} == {'composition_node', 'viewer_node'}


def test_arguments_of_a_vehicle_launch_file_reach_the_nodes():
    path = ROOT / 'launch' / 'agv_mecanum_arm.launch.xml'
    arguments_of_file = {
        'payload': '8.0',
        'linear_acceleration': '6.0',
        'mode': 'lockstep',
        'record': 'true',
        'bag': 'x',
        'compose': 'false',
    }
    children = {child.name: arguments(child) for child in interpret(path, arguments_of_file).children}
    assert float(children['dynamics_node']['payload']) == 8.0
    assert float(children['vehicle_controller_node']['payload']) == 8.0
    assert float(children['vehicle_controller_node']['limits.linear_acceleration']) == 6.0
    assert children['dynamics_node']['mode'].strip("'") == 'lockstep'
    assert 'recorder_node' in children
    assert float({**arguments_of('car')}['limits.linear_speed']) == 15.0


def arguments_of(name: str) -> dict[str, str]:
    path = ROOT / 'launch' / f'{name}.launch.xml'
    children = {child.name: child for child in interpret(path, {'compose': 'false'}).children}
    return arguments(children['vehicle_controller_node'])


@pytest.mark.parametrize('name', [*VEHICLES, 'rm_1'])
def test_rviz_shows_the_ground_reaction_of_every_wheel(name):
    layout = machine_layout(vehicle(name))
    displays = layout['Visualization Manager']['Displays']
    group = next(display for display in displays if display['Class'] == 'rviz_common/Group')
    topics = [display['Topic']['Value'] for display in group['Displays']]
    wheels = vehicle(name).wheels or vehicle(name).rigid_wheels
    assert topics == [f'ground_reactions/{wheel.name}' for wheel in wheels]
    classes = {display['Class'] for display in displays}
    assert {'rviz_default_plugins/RobotModel', 'rviz_default_plugins/MarkerArray'} <= classes
    saved = layout['Visualization Manager']['Views']['Saved']
    follow = next(view for view in saved if view['Name'] == 'Follow')
    assert follow['Target Frame'] == vehicle(name).base.link
    assert layout['Visualization Manager']['Global Options']['Fixed Frame'] == 'odom'


@pytest.mark.parametrize(
    ('name', 'controller'), [('arm_a6', 'controller_node'), ('agv_omni_motors', 'vehicle_controller_node')]
)
def test_motors_run_in_a_separate_node_or_in_the_dynamics(name, controller):
    path = ROOT / 'launch' / f'{name}.launch.xml'
    beside = {child.name: arguments(child) for child in interpret(path, {'compose': 'false'}).children}
    assert set(beside) == {'dynamics_node', 'electric_actuator_node', controller}
    assert beside[controller]['output'].strip("'") == 'valve_commands'
    assert beside['dynamics_node']['actuation'].strip("'") == 'topics'
    assert beside['electric_actuator_node']['command_source'].strip("'") == 'lockstep'
    inside = interpret(path, {'compose': 'false', 'monolithic': 'true'}).children
    assert {child.name for child in inside} == {'dynamics_node', controller}
    arguments_of_child = {child.name: arguments(child) for child in inside}
    assert arguments_of_child['dynamics_node']['actuation'].strip("'") == 'monolithic'
    ideal = {
        child.name: arguments(child) for child in interpret(path, {'compose': 'false', 'motors': 'false'}).children
    }
    assert set(ideal) == {'dynamics_node', controller}
    assert ideal[controller]['output'].strip("'") != 'valve_commands'
