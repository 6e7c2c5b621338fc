"""Tests of `dyn-nodes monitor replay`: a log of the simulated bus yields the same margins as the topics."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('cantools')
can = pytest.importorskip('can')

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'can'))
fixtures = importlib.import_module('can_fixtures')

from dyn_nodes.analysis.bag_reading import read_bag  # noqa: E402
from dyn_nodes.analysis.measured_run import full_scale, measure  # noqa: E402
from dyn_nodes.can.sender import Sender  # noqa: E402
from dyn_nodes.cli import main  # noqa: E402
from dyn_nodes.control.voltage_profile import Segment, VoltageProfile  # noqa: E402
from dyn_nodes.middleware import message  # noqa: E402
from dyn_nodes.middleware.bag_reader import BagReader  # noqa: E402
from dyn_nodes.middleware.bags import bag_summary  # noqa: E402
from dyn_nodes.monitor.measured_samples import SensorModel  # noqa: E402
from dyn_nodes.monitor.stability_monitor import StabilityMonitor  # noqa: E402
from dyn_nodes.nodes.bag_topics import BagTopics  # noqa: E402
from dyn_nodes.nodes.monitor_replay import replay_bag  # noqa: E402

PAYLOAD = 2000.0
RATE = 100.0
MEASURES = ('force_angle', 'load_share')
MESSAGES = ('JointPositions', 'JointVelocities', 'ImuRates', 'ImuAccelerations')


@pytest.fixture(scope='module')
def measured():
    machine = fixtures.log_loader().machine
    moves = (Segment('both', 1.0, 3.0, 0.3, {'swing': 4.0, 'boom': -3.0}),)
    return measure(machine, VoltageProfile('short', 4.0, moves), PAYLOAD, SensorModel(rate=RATE, seed=2))


@pytest.fixture(scope='module')
def bag(measured, tmp_path_factory):
    """Return a bag imported from a log of the measurements on the machine's bus."""
    folder = tmp_path_factory.mktemp('replay')
    mapping = fixtures.log_loader()
    sender, joints = Sender(mapping.measurements), [joint.name for joint in measured.machine.movable_joints]
    logger = can.Logger(str(folder / 'log.blf'))
    for k, time in enumerate(measured.time.tolist()):
        values = {('position', name): q for name, q in zip(joints, measured.positions[k].tolist())}
        values |= {('velocity', name): v for name, v in zip(joints, measured.velocities[k].tolist())}
        for quantity, vector in (
            ('angular_velocity', measured.angular_velocity[k]), ('linear_acceleration', measured.specific_force[k]),
        ):  # fmt: skip
            values |= {('imu', f'{quantity}_{axis}'): x for axis, x in zip('xyz', vector.tolist())}
        for name in ('ImuRates', 'ImuAccelerations', 'JointPositions', 'JointVelocities'):
            raw = sender.encode(next(frame for frame in mapping.frames if frame.name == name), values)
            logger.on_message_received(can.Message(1_700_000_000.0 + time, raw.identifier, raw.extended, data=raw.data))
    logger.stop()
    assert main(['bag', 'import', str(folder / 'log.blf'), '--mapping', 'log_loader', '-o', str(folder / 'bag')]) == 0
    return folder / 'bag'


@pytest.fixture(scope='module')
def page(bag, tmp_path_factory):
    """Return the directory with the results of the command."""
    out = tmp_path_factory.mktemp('page') / 'out'
    command = ['monitor', 'replay', str(bag), '--machine', 'log_loader', '--out', str(out)]
    assert main([*command, '-p', f'payload:={PAYLOAD:.0f}']) == 0
    return out


def test_margins_from_the_bus_equal_those_from_topics_within_the_quantization(measured, page):
    monitor = StabilityMonitor(measured.machine, MEASURES)
    monitor.payload = PAYLOAD
    wanted = {}
    for k, time in enumerate(measured.time.tolist()):
        monitor.imu(time, measured.angular_velocity[k], measured.specific_force[k], None)
        monitor.joints(time, measured.positions[k], measured.velocities[k])
        if monitor.settled:
            wanted[round(time, 2)] = {name: margin.value for name, margin in monitor.balance().margins.items()}
    data, scale = read_bag(page / 'bag'), full_scale(measured.machine)
    times = np.round(data.table('ground_reactions/rear_left').time - data.table('joint_states').time[0], 2).tolist()
    for name in MEASURES:
        values = data.table(f'stability/{name}')['data'].tolist()
        errors = [abs(value - wanted[time][name]) for time, value in zip(times, values) if time in wanted]
        assert len(errors) > 100
        assert max(errors) < 0.005 * scale[name]


def test_an_assumed_payload_is_reported_in_summary_report_and_text(bag, tmp_path, capsys):
    out = tmp_path / 'out'
    assert main(['monitor', 'replay', str(bag), '--machine', 'log_loader', '--out', str(out)]) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assumption = 'payload 5100 kg (payload.mass of the machine file; no payload in the bag)'
    assert f'assumed {assumption}' in text
    summary = json.loads((out / 'summary.json').read_text())
    (assumed,) = summary['assumed']
    assert (assumed['quantity'], assumed['value'], assumed['unit']) == ('payload', 5100.0, 'kg')
    assert summary['replay']['assumed'] == summary['assumed']
    assert assumption in (out / 'report.html').read_text()


def test_a_bag_without_imu_reports_the_assumed_slope(bag, tmp_path):
    replayed = replay_bag(bag, tmp_path / 'out', {'machine': 'log_loader', 'payload': PAYLOAD, 'imu': 'off'})
    (assumed,) = replayed.assumed
    assert (assumed.quantity, assumed.value, assumed.unit) == ('slope', [0.0, 0.0], 'rad')


def test_with_payload_and_imu_no_assumptions_are_reported(page):
    assert json.loads((page / 'summary.json').read_text())['assumed'] == []


def test_report_summary_and_bag_contain_the_results_of_the_monitor(bag, measured, page):
    summary = json.loads((page / 'summary.json').read_text())
    assert summary['machine'] == 'log_loader'
    assert summary['replay']['bag'] == str(bag)
    assert summary['payload_kg'] == PAYLOAD
    assert summary['duration_s'] == pytest.approx(4.0, abs=0.05), 'since the start, independent of the wall clock'
    assert summary['replay']['instants'] == len(measured.time)
    assert summary['replay']['refused'] == {}
    least = summary['replay']['least']
    assert set(least) == {'payload', 'reach', 'swing_speed'}
    assert all(np.isfinite(value) and 0.0 <= time <= 4.0 for value, time in least.values())
    text = (page / 'report.html').read_text()
    assert 'Stability margins' in text
    assert 'dyn-nodes monitor replay' in text
    topics = {topic.name for topic in bag_summary(page / 'bag').topics if topic.count}
    assert {'/joint_states', '/imu', '/stability/force_angle', '/stability/allowance/payload'} <= topics
    assert '/diagnostics' not in topics


def test_a_replay_is_reproducible(bag, page, tmp_path):
    replay_bag(bag, tmp_path / 'bag', {'machine': 'log_loader', 'payload': PAYLOAD})
    assert (tmp_path / 'bag/bag_0.mcap').read_bytes() == (page / 'bag/bag_0.mcap').read_bytes()


def test_margins_are_withdrawn_in_a_gap_of_the_bag(bag, tmp_path, monkeypatch):
    messages, start = BagReader.messages, bag_summary(bag).start

    def without(self, *arguments):
        return (item for item in messages(self, *arguments) if not 2.0 < 1e-9 * (item[1] - start) < 3.0)

    monkeypatch.setattr(BagReader, 'messages', without)
    replay_bag(bag, tmp_path / 'bag', {'machine': 'log_loader', 'payload': PAYLOAD})
    monkeypatch.undo()
    assert np.isnan(read_bag(tmp_path / 'bag').table('stability/force_angle')['data']).sum() == 1


def test_without_pressures_an_estimated_payload_is_the_rated_one(bag, tmp_path):
    parameters = {'machine': 'log_loader', 'payload_source': 'estimated'}
    replayed = replay_bag(bag, tmp_path / 'bag', parameters)
    assert replayed.payload is not None
    assert replayed.payload[1] > replayed.payload[0]


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (('nothing', '--machine', 'log_loader'), 'expected a bag directory'),
        (('BAG', '--machine', 'log_leader'), 'log_leader'),
        (('BAG', '--machine', 'log_loader', '--namespace', 'a'), 'expected joint_states below /a/'),
        (('BAG', '--machine', 'rm_1'), ''),
        (('BAG', '--machine', 'log_loader', '-p', 'period:=-1'), 'period'),
        (('BAG', '--machine', 'log_loader', '-p', 'period'), '-p: expected NAME:=VALUE'),
        (('BAG', '--machine', 'log_loader', '-p', 'periods:=1'), "did you mean 'period'"),
    ],
)
def test_a_failed_replay_is_reported_in_one_line_and_leaves_no_files(bag, tmp_path, capsys, words, text):
    out = tmp_path / 'out'
    words = [str(bag) if word == 'BAG' else word for word in words]
    status = main(['monitor', 'replay', *words, '--out', str(out)])
    errors = capsys.readouterr().err.strip()
    assert status in (1, 2)
    assert len(errors.splitlines()) == 1, errors
    assert text in errors
    assert not out.exists()


def test_a_damaged_bag_is_reported_in_one_line(bag, tmp_path, capsys):
    copy = tmp_path / 'copy'
    shutil.copytree(bag, copy)
    file = copy / 'bag_0.mcap'
    file.write_bytes(file.read_bytes()[:3000])
    status = main(['monitor', 'replay', str(copy), '--machine', 'log_loader', '--out', str(tmp_path / 'out')])
    assert status == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_topic_whose_type_is_not_installed_is_named_and_left_out(bag, tmp_path, monkeypatch, capsys):
    topics = BagTopics(tmp_path / 'other')
    values = topics.create_publisher(message('std_msgs/msg/Float64'), 'valve_commands/values', 10)
    with BagReader(bag) as reader:
        outs = {
            connection.id: topics.create_publisher(message(connection.msgtype), connection.topic, 10)
            for connection in reader.connections
        }
        for connection, topics.time, raw in reader.messages(reader.connections):
            outs[connection.id].publish(bytes(raw))
    values.publish(message('std_msgs/msg/Float64')(data=1.0))
    topics.close()

    def find(name):
        raise ValueError(f'unknown type {name!r}: is the package installed and sourced?')

    monkeypatch.setattr('dyn_nodes.nodes.monitor_replay.message', find)
    replay_bag(tmp_path / 'other', tmp_path / 'new', {'machine': 'log_loader', 'payload': PAYLOAD})
    assert "/valve_commands/values is not copied: unknown type 'std_msgs/msg/Float64'" in capsys.readouterr().err
    with BagReader(tmp_path / 'new') as reader:
        names = {connection.topic for connection in reader.connections}
    assert '/joint_states' in names
    assert '/valve_commands/values' not in names
