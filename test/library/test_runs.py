"""Runs of the library: voltages, torques, tasks; tables, pictures and bags of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.library.simulate import TOLERANCE
from dyn_nodes.simulation import Inputs, Settings


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


@pytest.fixture(scope='module')
def task(loader):
    return loader.simulate(task='pick_and_place_recovery', payload=5100.0, period=0.05)


def test_a_task_equals_the_run_of_the_system(loader, task):
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'))
    knots = profile.knot_times
    volts = profile.evaluate(knots, profile.actuators)
    columns = {f'{name}/voltage': column for name, column in zip(profile.actuators, np.asarray(volts).T)}
    system = loader.system()
    p = system.parameters({'payload_mass': 5100.0})
    x0 = loader.rest_state(payload=5100.0)
    controlled = Settings('rk32', 0.05, rtol=0.0, atol=TOLERANCE)
    expected = system.run(x0, task.times, Inputs(knots, columns), p, controlled)
    np.testing.assert_allclose(task.q, expected.q, rtol=0, atol=1e-9)
    assert task.status == 'done'
    assert len(task) == 321
    kinds = [event.kind for event in task.events]
    assert 'lift_off' in kinds
    assert 'touch_down' in kinds
    assert task.margins(['static']).index[-1] == pytest.approx(16.0)


def test_the_same_voltage_as_number_table_array_and_function_is_one_run(loader):
    runs = [
        loader.simulate(0.5, voltage={'boom': 2.0}),
        loader.simulate(0.5, voltage={'boom': ([0.0, 0.5], [2.0, 2.0])}),
        loader.simulate(0.5, voltage=[2.0 if name == 'boom' else 0.0 for name in loader.actuators]),
        loader.simulate(0.5, voltage=lambda t, x: {'boom': 2.0}),
        loader.simulate(0.5, voltage=lambda t, x: [2.0 if name == 'boom' else 0.0 for name in loader.actuators]),
    ]
    assert abs(runs[0]['boom_joint'][-1] - runs[0]['boom_joint'][0]) > 1e-3
    for run in runs[1:]:
        np.testing.assert_array_equal(run.times, runs[0].times)
        np.testing.assert_allclose(run.q, runs[0].q, rtol=0, atol=2e-7)
        np.testing.assert_allclose(run.u[:-1], runs[0].u[:-1], rtol=0, atol=1e-12)


def test_a_table_may_jump_and_is_constant_beyond_its_ends(loader):
    run = loader.simulate(0.4, voltage={'boom': ([0.1, 0.2, 0.2], [0.0, 1.0, 3.0])}, period=0.1)
    volts = run.raw.inputs.at(np.array([0.05, 0.15, 0.3, 0.4]), loader.input_names)[:, loader.actuators.index('boom')]
    np.testing.assert_allclose(volts, [0.0, 0.5, 3.0, 3.0], atol=1e-12)


@pytest.mark.parametrize(('step', 'error'), [(1e-3, 1e-12), (None, 1e-6)])
def test_a_run_continues_from_its_last_state(loader, step, error):
    assert all(actuator.valve.dead_time == 0.0 for actuator in loader.data.actuators)
    whole = loader.simulate(0.4, voltage={'stick': 1.0}, step=step)
    half = loader.simulate(0.2, voltage={'stick': 1.0}, step=step)
    rest = loader.simulate(0.2, voltage={'stick': 1.0}, x0=half.last, step=step)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=0, atol=error)


def test_a_run_does_not_depend_on_earlier_ones_from_other_states_and_payloads():
    m = dn.load('log_loader')
    first = m.simulate(0.2, voltage={'stick': 1.0}, payload=1000.0)
    for payload in range(40):  # more than are kept
        m.simulate(0.01, voltage={'stick': 1.0}, payload=float(payload), x0=first.last)
        m.simulate(0.01, voltage={'stick': 1.0}, payload=float(payload))
    m.simulate(0.1, voltage=lambda t, x: {'stick': 5.0}, payload=1000.0)
    first.raw.parameters[:] = np.nan
    again = m.simulate(0.2, voltage={'stick': 1.0}, payload=1000.0)
    np.testing.assert_array_equal(again.q, first.q)


def test_a_holding_law_keeps_the_arm_at_rest(loader):
    joint = loader.joints.index('boom_joint')
    target = loader.posture()[-3:]
    hold = loader.simulate(0.3, torque={})

    def law(t, x):
        q, v = x[7:10], x[16:19]
        held = loader.dynamics_held.gravity(x[:10])[6:]
        return held + np.array([2e5, 2e6, 5e5]) * (target - q) - np.array([2e4, 2e5, 5e4]) * v

    loader.dynamics_held = loader.dynamics()
    run = loader.simulate(0.3, torque=law, period=1e-3)
    for held_run in (hold, run):
        assert held_run.status == 'done'
        assert np.abs(held_run.q[:, 7 + joint] - target[joint]).max() < 1e-3
    assert run.raw.system.input_names == tuple(f'{name}/effort' for name in loader.driven)


def test_torques_by_name_hold_the_other_joints(loader):
    run = loader.simulate(0.2, torque={'swing_joint': 2e4})
    turned, boom = run['swing_joint'], run['boom_joint']
    assert turned[-1] > 1e-3
    assert np.abs(boom - boom[0]).max() < 0.05 * turned[-1] + 1e-3


def test_a_machine_overturns_and_its_run_ends_there(loader):
    run = loader.simulate(10.0, joints={'boom_joint': 0.0, 'stick_joint': 0.0}, payload=0.0, voltage=None)
    assert run.status == 'done'
    upset = loader.simulate(6.0, torque=lambda t, x: {'boom_joint': 2e6})
    assert upset.status in ('overturned', 'diverged')
    assert upset.overturned == (upset.status == 'overturned')
    assert len(upset.times) == len(upset.x)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({}, 'duration: expected seconds, found none'),
        ({'duration': -1.0}, 'duration: expected above 0 s'),
        ({'duration': 1.0, 'period': 0.0}, 'period: expected above 0 s'),
        ({'duration': 1.0, 'voltage': {'bom': 1.0}}, "unknown actuator 'bom' \\(did you mean 'boom'"),
        (
            {'duration': 1.0, 'torque': {'bom_joint': 1.0}},
            "unknown driven joint 'bom_joint' \\(did you mean 'boom_joint'",
        ),
        ({'duration': 1.0, 'voltage': {'boom': np.nan}}, "voltage\\['boom'\\]: expected finite numbers"),
        ({'duration': 1.0, 'voltage': {'boom': ([0, 1], [1])}}, 'expected equal numbers of finite times and values'),
        ({'duration': 1.0, 'voltage': {'boom': ([1, 0], [1, 1])}}, 'expected ascending times'),
        ({'duration': 1.0, 'voltage': [1.0]}, 'voltage: expected shape'),
        ({'duration': 1.0, 'voltage': lambda t, x: [1.0]}, 'voltage\\(t, x\\): expected shape'),
        ({'duration': 1.0, 'voltage': lambda t, x: {'bom': 1.0}}, "unknown actuator 'bom'"),
        ({'duration': 1.0, 'torque': lambda t, x: [np.nan] * 3}, 'expected finite numbers, found nan'),
        (
            {'duration': 1.0, 'voltage': {}, 'torque': {}},
            'expected one of voltage, torque and task, found voltage and torque',
        ),
        ({'task': 'pick_and_plac_recovery'}, "unknown task .*did you mean 'pick_and_place_recovery'"),
        ({'task': 'pick_and_place_supervised'}, 'waits for an event: run it with controller_node'),
        ({'duration': 1.0, 'x0': [1.0, 2.0]}, 'x0: expected shape'),
        ({'duration': 1.0, 'joints': {'bom_joint': 1.0}}, "unknown joint 'bom_joint' \\(did you mean 'boom_joint'"),
    ],
)
def test_a_wrong_request_is_named(loader, arguments, message):
    with pytest.raises((KeyError, ValueError), match=f'log_loader: .*{message}') as caught:
        loader.simulate(**arguments)
    assert '\n' not in str(caught.value)


def test_columns_by_name_and_as_a_table(task):
    pytest.importorskip('pandas')
    frame = task.to_pandas()
    assert frame.index.name == 'time'
    for name in ('boom_joint', 'boom/voltage', 'kinetic_energy'):
        np.testing.assert_array_equal(frame[name], task[name])
    assert len(frame.columns) == len(task.names)
    with pytest.raises(KeyError, match="did you mean 'boom_joint'"):
        _ = task['bom_joint']


def test_a_picture_has_a_panel_for_each_part_of_the_machine(task, tmp_path):
    figure = task.plot(tmp_path / 'run.png')
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ['joints, rad', 'tilt of the base, °', 'static margin, m', 'zero moment point', 'voltage, V']
    assert (tmp_path / 'run.png').stat().st_size > 10_000


def test_a_bag_is_read_by_the_mcap_package(task, tmp_path):
    reader = pytest.importorskip('mcap.reader')
    folder = task.save_bag(tmp_path / 'bag')
    (file,) = folder.glob('*.mcap')
    counts, last = {}, {}
    with file.open('rb') as stream:
        for schema, channel, message in reader.make_reader(stream).iter_messages():
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
            last[channel.topic] = (schema.name, message.log_time, message.data)
            assert schema.encoding == 'ros2msg'
            assert schema.data
    assert counts.pop('/robot_description') == 1
    assert set(counts.values()) == {len(task)}
    assert {'/joint_states', '/odom', '/stability/static', '/stability/zmp_degree/edges'} <= set(counts)
    kind, time, data = last['/stability/static']
    assert kind == 'std_msgs/msg/Float64'
    assert time == 16_000_000_000
    assert struct.unpack('<d', data[4:12])[0] == task.margins(['static'])['static'].value[-1]
    with pytest.raises(FileExistsError, match='nothing is ever overwritten'):
        task.save_bag(folder)


def test_the_report_of_a_bag_equals_the_run(task, tmp_path):
    from dyn_nodes.analysis.bag_reading import read_bag
    from dyn_nodes.analysis.run_record import read_run

    folder = task.save_bag(tmp_path / 'bag')
    data = read_bag(folder)
    np.testing.assert_array_equal(data.table('joint_states')['boom_joint/position'], task['boom_joint'])
    record = read_run(folder)
    assert np.abs(record.attitude.tilt).max() == pytest.approx(task.tilt.max(), abs=1e-9)


def test_an_arm_without_wheels_has_a_bag_too(tmp_path):
    run = dn.load('four_bar').simulate(0.05)
    assert not run.stands
    assert run.tilt.max() == 0.0
    folder = run.save_bag(tmp_path / 'bag')
    assert (folder / 'metadata.yaml').is_file()
    with pytest.raises(ValueError, match='four_bar: margins: too few support points'):
        run.margins()


def saturated(run):
    return [(round(event.time, 3), event.details['text']) for event in run.events if event.kind == 'saturated']


def test_torques_are_limited_at_the_joints_and_that_is_reported(loader):
    limit = 0.5e6
    text = 'stick_joint: effort at its limit, 500000; requested: 600000'
    constant = loader.simulate(0.1, torque={'stick_joint': 6e5})
    assert saturated(constant) == [(0.0, text)]
    np.testing.assert_array_equal(constant['stick_joint/effort'], limit)
    function = loader.simulate(0.1, torque=lambda t, x: {'stick_joint': 6e5 if t > 0.045 else 0.0})
    assert saturated(function) == [(0.05, text)]
    assert function['stick_joint/effort'].max() == limit
    ramp = loader.simulate(0.1, torque={'stick_joint': ([0.0, 0.1], [4e5, 6e5])})
    np.testing.assert_allclose(ramp['stick_joint/effort'], np.clip(4e5 + 2e6 * ramp.times, None, limit))
    assert len(saturated(ramp)) == 1
    assert saturated(loader.simulate(0.1, torque={'stick_joint': 4e5})) == []


@pytest.mark.parametrize('torque', [{'stick_joint': 4e5}, lambda t, x: {'stick_joint': 4e5}])
def test_a_speed_beyond_the_limit_of_a_joint_under_a_torque_is_an_event(loader, torque):
    run = loader.simulate(0.25, torque=torque)
    first = np.argmax(run.raw.velocity('stick_joint') > 1.001 * 2.5)
    assert first > 0
    events = [event for event in run.events if event.kind == 'overspeed']
    assert [(event.time, event.details['joint']) for event in events] == [(run.times[first], 'stick_joint')]
    assert events[0].details['text'].endswith('is beyond its limit, 2.5')
    assert [event.kind for event in loader.simulate(0.1, torque=torque).events] == []
