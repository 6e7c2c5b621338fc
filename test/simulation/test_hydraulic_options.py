"""Options of the hydraulics: one pump for several valves, and dead time of the valve commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.elements.command_delay import CommandDelay
from dyn_nodes.model import SharedPump, load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange
from dyn_nodes.simulation.plant import Plant

DEAD_TIME = 0.05


@pytest.fixture(scope='module')
def machine():
    loaded = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return replace(loaded, payload=replace(loaded.payload, mass=1000.0))


@pytest.fixture(scope='module')
def late(machine):
    """Return the machine with a dead time of the boom valve."""
    actuators = tuple(
        replace(a, valve=replace(a.valve, dead_time=DEAD_TIME)) if a.name == 'boom' else a for a in machine.actuators
    )
    return replace(machine, actuators=actuators)


@pytest.fixture(scope='module')
def shared(machine):
    """Return the machine with one pump for all actuators."""
    pump = SharedPump('main', ('swing', 'boom', 'stick'), 6e-3, 32e6)
    return replace(machine, pumps=(pump,))


def run(machine, inputs, duration=1.0, spacing=0.01, step=1e-3):
    system = System(machine)
    times = np.linspace(0.0, duration, round(duration / spacing) + 1)
    return system.run(initial_state(system), times, inputs, settings=Settings(step=step))


# ---------------------------------------------------------------------------------------------- dead time


def test_a_dead_time_shifts_the_command_of_its_valve_and_no_other(machine, late):
    knots, volts = [0.1, 0.2, 0.6, 0.7], [0.0, -4.0, -4.0, 0.0]
    together = Inputs(knots, {'boom/voltage': volts, 'stick/voltage': volts})
    later = np.array(knots) + DEAD_TIME
    merged = np.union1d(knots, later)
    by_hand = Inputs(
        merged, {'boom/voltage': np.interp(merged, later, volts), 'stick/voltage': np.interp(merged, knots, volts)}
    )
    # a line at tank pressure amplifies round-off in longer steps, which do not resolve its make-up check valve
    delayed, expected = run(late, together, step=1e-4), run(machine, by_hand, step=1e-4)
    np.testing.assert_allclose(delayed.states, expected.states, rtol=1e-9, atol=1e-9)


def test_without_dead_time_the_inputs_are_unchanged(machine):
    assert System(machine).delays is None
    inputs = Inputs([0.0, 1.0], {'a': [0.0, 1.0]})
    knots, table = inputs.aligned(['a'])
    assert knots is inputs.knots
    assert table[:, 0].tolist() == [0.0, 1.0]


def test_shifted_inputs_keep_their_jumps():
    inputs = Inputs([0.0, 1.0, 1.0, 2.0], {'a': [0.0, 0.0, 5.0, 5.0], 'b': [1.0, 2.0, 2.0, 3.0]})
    knots, table = inputs.aligned(['a', 'b'], np.array([0.3, 0.0]))
    before, after = np.searchsorted(knots, 1.3, 'left'), np.searchsorted(knots, 1.3, 'right') - 1
    assert table[before].tolist() == pytest.approx([0.0, 2.3])
    assert table[after].tolist() == pytest.approx([5.0, 2.3])
    for t in (-1.0, 0.05, 0.31, 0.9, 1.2, 1.9, 2.2, 4.0):
        expected = [
            np.interp(t - 0.3, [0.0, 1.0, 1.0 + 1e-12, 2.0], [0.0, 0.0, 5.0, 5.0]),
            np.interp(t, [0, 1, 2], [1, 2, 3]),
        ]
        assert [np.interp(t, knots, column) for column in table.T] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('dead_time', [0.0, 0.003, 0.01, 0.0175])
def test_held_commands_arrive_after_their_dead_time(dead_time):
    line, period = CommandDelay(np.array([dead_time, 0.0])), 0.005
    commands = np.arange(1.0, 13.0)
    for k, command in enumerate(commands):
        start = k * period
        knots, table = line.table(start, start + period, np.array([command, -command]))
        for t in start + period * np.array([0.1, 0.45, 0.7, 0.95]):
            row = table[np.searchsorted(knots, t, 'right') - 1]
            sample = int(np.floor((t - dead_time) / period + 1e-9))
            assert row[0] == (commands[sample] if sample >= 0 else 0.0)
            assert row[1] == -command
        assert len(line.history) <= int(dead_time / period) + 2


def test_a_plant_advanced_step_by_step_has_the_same_dead_time(late):
    plant = Plant(late, 'hydraulic', 0.01, 1e-3, measures=())
    trace = [plant.x.copy()]
    volts = np.where(np.arange(60) < 10, 0.0, -4.0)
    for volt in volts:
        plant.set_inputs({'boom/voltage': volt})
        plant.advance()
        trace.append(plant.x.copy())
    jump = Inputs([0.0, 0.1, 0.1, 1.0], {'boom/voltage': [0.0, 0.0, -4.0, -4.0]})
    whole = run(late, jump, 0.6)
    spool = whole.system.index('state', 'boom/spool')
    np.testing.assert_allclose(np.array(trace)[:, spool], whole.states[:, spool], atol=2e-5)
    assert np.abs(np.array(trace)[:16, spool]).max() < 1e-12  # 0.1 s, and the dead time
    assert trace[17][spool] < -2e-4
    plant.reset()
    plant.advance()
    assert plant.x[spool] == 0.0


def actuator_case(machine):
    system = ActuatorSystem(machine)
    initial = machine.initial.joint_positions
    positions = np.array([initial[joint] for joint in system.joints])
    return system, positions, np.zeros(len(positions))


@pytest.mark.slow
def test_the_split_hydraulics_have_the_same_dead_time(late):
    system, positions, rest = actuator_case(late)
    system.start(positions, rest)
    volts = np.array([4.0 if name == 'boom' else 0.0 for name in system.names])
    boom = 3 * system.names.index('boom')
    spools = []
    for _ in range(100):
        system.advance(1e-3, positions, rest, rest, volts)
        spools.append(system.oil[boom])
    spools = np.array(spools)
    assert np.abs(spools[:50]).max() < 1e-15
    late_by = np.arange(1, 51) * 1e-3
    np.testing.assert_allclose(spools[50:], 4e-3 * (1.0 - np.exp(-late_by / 0.08)), rtol=1e-6)
    system.start(positions, rest)
    system.advance(1e-3, positions, rest, rest, volts)
    assert system.oil[boom] == 0.0


def test_prediction_does_not_change_delayed_commands(late):
    """`follow` integrates one period ahead and restores the state."""
    volts = {'boom': 4.0}
    spools = {}
    for lookahead in (1e-3, 0.03):
        system, positions, rest = actuator_case(late)
        exchange = ActuatorExchange(system, lookahead)
        exchange.start(positions, rest)
        command = np.array([volts.get(name, 0.0) for name in system.names])
        for _ in range(16):
            exchange.follow(5e-3, positions, rest, command)
        spools[lookahead] = system.oil[3 * system.names.index('boom')]
    assert spools[1e-3] > 1e-4
    assert spools[0.03] == pytest.approx(spools[1e-3], rel=1e-9)


# ---------------------------------------------------------------------------------------------- one pump


def test_machines_without_a_shared_pump_keep_their_equations(machine):
    assert machine.pumps == ()
    assert machine.pump_of('boom') is None
    assert machine.source_limit('boom') == 32e6


@pytest.mark.slow
def test_split_and_monolithic_hydraulics_agree_on_a_shared_pump(shared):
    system = System(shared)
    x = initial_state(system)
    for name, spool in (('boom', 4e-3), ('stick', -3e-3), ('swing', 2e-3)):
        x[system.index('state', f'{name}/spool')] = spool
    y = system.outputs(x, np.zeros(len(system.input_names)), system.parameters())
    split, positions, rest = actuator_case(shared)
    split.oil[:] = [x[system.index('state', name)] for name in split.state_names]
    values = split.outputs(positions, rest)
    for name in ('boom', 'stick', 'swing'):
        for quantity in ('supply_pressure', 'bypass_flow', 'flow_a', 'flow_b', 'effort'):
            key = f'{name}/{quantity}'
            assert values[key] == pytest.approx(y[system.index('output', key)], rel=1e-9, abs=1e-9), key
    fed = max(0.0, values['swing/flow_a'])
    assert fed + values['swing/bypass_flow'] == pytest.approx(6e-3, rel=1e-6)


def test_the_function_next_to_the_pump_comes_first(machine, shared):
    both = Inputs([0.0, 0.2, 2.0], {'boom/voltage': [0.0, 8.0, 8.0], 'stick/voltage': [0.0, -5.0, -5.0]})
    alone = Inputs([0.0, 0.2, 2.0], {'boom/voltage': [0.0, 0.0, 0.0], 'stick/voltage': [0.0, -5.0, -5.0]})
    travel = {}
    for name, inputs in (('both', both), ('alone', alone)):
        stick = run(shared, inputs, 2.0).state('stick_joint')
        travel[name] = abs(stick[-1] - stick[0])
    assert travel['alone'] > 0.2
    assert travel['both'] < 0.5 * travel['alone']  # the boom takes the pump's flow


@pytest.mark.slow
def test_the_implicit_integrator_agrees_on_a_shared_pump(shared):
    inputs = Inputs([0.0, 0.2, 1.0], {'boom/voltage': [0.0, 5.0, 5.0], 'stick/voltage': [0.0, 4.0, 4.0]})
    system = System(shared)
    x, times = initial_state(system), np.linspace(0.0, 0.5, 6)
    explicit = system.run(x, times, inputs, settings=Settings(step=1e-4))
    implicit = system.run(x, times, inputs, settings=Settings('rodas3', rtol=1e-7, atol=1e-7))
    joints = [system.index('state', name) for name in ('boom_joint', 'stick_joint')]
    np.testing.assert_allclose(implicit.states[:, joints], explicit.states[:, joints], atol=2e-5)


# ---------------------------------------------------------------------------------------------- the machine file


def load_changed(tmp_path, *changes):
    from dyn_nodes.model import load_machine_report

    text = find_resource('config/log_loader.yaml').read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'machine.yaml'
    path.write_text(text)
    return load_machine_report(find_resource('urdf/log_loader.urdf'), path)


PUMP = 'pumps:\n  main: {actuators: [swing, boom, stick], flow: 6.0e-3, relief_pressure: 32.0e6}\n\nactuators:\n'


def test_pumps_and_dead_time_come_from_the_machine_file(tmp_path):
    gain = "    gain: {value: 1.0e-3, assumed: '1 mm of spool per volt (hydraulic set HYD-A)'}\n"
    report = load_changed(tmp_path, ('\nactuators:\n', '\n' + PUMP), (gain, gain + '    dead_time: 0.02\n'))
    machine = report.machine
    assert machine is not None, report.problems
    assert machine.pumps == (SharedPump('main', ('swing', 'boom', 'stick'), 6e-3, 32e6),)
    assert {actuator.valve.dead_time for actuator in machine.actuators} == {0.02}
    assert machine.pump_of('stick').name == 'main'


@pytest.mark.parametrize(
    ('members', 'expected', 'found'),
    [
        ('[swing, bom]', 'actuators of this machine', "'bom'"),
        ('[boom, boom]', 'every actuator at one pump', "'boom' twice"),
        ('[]', 'at least one actuator', 'an empty list'),
    ],
)
def test_faults_of_a_pump_are_named_with_their_line(tmp_path, members, expected, found):
    report = load_changed(tmp_path, ('\nactuators:\n', '\n' + PUMP.replace('[swing, boom, stick]', members)))
    assert report.machine is None
    text = '\n'.join(map(str, report.problems))
    assert 'pumps.main.actuators' in text
    assert expected in text
    assert found in text


def test_an_actuator_with_two_pumps_is_a_fault(tmp_path):
    second = '  other: {actuators: [boom], flow: 1.0e-3, relief_pressure: 32.0e6}\n\nactuators:\n'
    report = load_changed(tmp_path, ('\nactuators:\n', '\n' + PUMP.replace('\nactuators:\n', second)))
    assert "'boom', which pump 'main' feeds" in '\n'.join(map(str, report.problems))


def test_check_reports_the_locked_stiffness(machine):
    from dyn_nodes.commands.machine_summary import machine_summary

    posture = replace(machine.initial, joint_positions={'boom_joint': 0.0, 'stick_joint': np.radians(-45.0)})
    facts = machine_summary(replace(machine, initial=posture))
    boom = next(entry for entry in facts['actuators'] if entry['name'] == 'boom')
    assert boom['locked_stiffness'] == pytest.approx(2.154e7, rel=5e-4)  # spec 6.10
    assert boom['pump'] is None
