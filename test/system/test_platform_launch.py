"""stewart_platform.launch.xml: its nodes with their parameters, and a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import launched

from dyn_nodes.middleware.launching import interpret

LAUNCH = Path(__file__).resolve().parents[2] / 'launch'
CONTROLLER, MOTORS, DYNAMICS = 'platform_controller_node', 'electric_actuator_node', 'dynamics_node'


def nodes(file, **arguments):
    """Return the parameters of every node of a launch file, by its name."""
    parameters = {}
    for child in interpret(LAUNCH / f'{file}.launch.xml', arguments).children:
        words = list(child.command)
        pairs = [words[k + 1].split(':=', 1) for k, word in enumerate(words) if word == '-p']
        parameters[child.name] = {name: value.strip("'") for name, value in pairs}
    return parameters


def test_the_platform_is_led_on_its_motors_and_all_wait_for_each_other():
    started = nodes('stewart_platform')
    assert set(started) == {CONTROLLER, MOTORS, DYNAMICS}
    controller, dynamics = started[CONTROLLER], started[DYNAMICS]
    assert (controller['path'], controller['output']) == ('stewart_platform', 'valve_commands')
    assert started[MOTORS]['command_source'] == dynamics['partner'] == 'lockstep'
    assert dynamics['actuation'] == 'topics'
    assert dynamics['wait_for'] == f'[{CONTROLLER}, {MOTORS}]'
    assert len({parameters['exchange_period'] for parameters in started.values()}) == 1


def test_motors_inside_the_dynamics_and_drives_without_motors():
    inside = nodes('stewart_platform', monolithic='true')
    assert set(inside) == {CONTROLLER, DYNAMICS}
    assert (inside[DYNAMICS]['actuation'], inside[DYNAMICS]['partner']) == ('monolithic', 'lockstep')
    ideal = nodes('stewart_platform', motors='false')
    assert set(ideal) == {CONTROLLER, DYNAMICS}
    assert (ideal[CONTROLLER]['output'], ideal[DYNAMICS]['actuation']) == ('joint_command', 'topics')


@pytest.mark.parametrize('leads', ['platform', 'cartesian'])
def test_motors_wait_for_whichever_controller_leads_them(leads):
    arguments = {'platform': 'false', 'controller': 'false', 'motors': 'true', leads: 'true'}
    assert nodes('machine', machine='arm_a6', **arguments)[MOTORS]['command_source'] == 'lockstep'


@pytest.mark.slow
@pytest.mark.parametrize('monolithic', ['false', 'true'])
def test_a_run_of_the_launch_ends_at_its_time_with_exit_status_0(domain, monolithic):
    """Fast counterpart: the parameters above, and test_platform_contract.py."""
    text = launched(domain, 'stewart_platform', 'mode:=lockstep', 'duration:=0.3', f'monolithic:={monolithic}')
    assert 'rejected' not in text
    assert 'stewart_platform: platform by leg_1_length_joint' in text
    assert 'the run of 0.3 s is over' in text
