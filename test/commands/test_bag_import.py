"""Tests of `dyn-nodes bag import`: valid logs, faults in logs, and invalid logs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('cantools')
can = pytest.importorskip('can')

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'can'))
logs = importlib.import_module('can_logs')

from dyn_nodes.analysis.bag_reading import read_bag  # noqa: E402
from dyn_nodes.cli import main  # noqa: E402
from dyn_nodes.middleware.bags import bag_summary  # noqa: E402

COLUMNS = """time;SwingAngle;JointVelocities.SwingRate;BoomLength;StickLength;spare
0,0;10,5;0,0;1980,0;2000,0;x
0,5;11,0;1,0;1980,0;2000,0;y
1,0;;2,0;;;z
1,5;13,0;;1981,0;2000,0;
"""


def imported(log, capsys, tmp_path, *words):
    """Import a log; return the facts that the command prints as JSON."""
    bag = tmp_path / 'bag'
    assert main(['bag', 'import', str(log), '--mapping', 'log_loader', '-o', str(bag), '--json', *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize('suffix', ['csv', 'asc', 'blf', 'log', 'mf4'])
def test_a_log_becomes_a_bag_with_the_topics_of_the_bridge(tmp_path, capsys, suffix):
    if suffix == 'mf4':
        pytest.importorskip('asammdf')
    facts = imported(logs.write_log(tmp_path / f'log.{suffix}', 1.0), capsys, tmp_path)
    assert facts['findings'] == []
    assert facts['duration'] == pytest.approx(0.99, abs=1e-3)
    counts = {topic.name: topic.count for topic in bag_summary(tmp_path / 'bag').topics}
    assert {name: counts[name] for name in ('/joint_states', '/imu', '/valve_commands')} == {
        '/joint_states': 100, '/imu': 100, '/valve_commands': 50,
    }  # fmt: skip
    assert counts['/wheel_loads/rear_left'] == 20
    assert 32 <= counts['/hydraulics/swing/pressure_b'] <= 34
    states = read_bag(tmp_path / 'bag').table('joint_states')
    wanted = 0.5 * np.sin(states.time - states.time[0])
    np.testing.assert_allclose(states['swing_joint/position'], wanted, atol=1e-4)


def test_signal_columns_are_read_by_name_and_empty_cells_are_skipped(tmp_path, capsys):
    log = tmp_path / 'hand.csv'
    log.write_text(COLUMNS)
    facts = imported(log, capsys, tmp_path)
    assert {finding['kind'] for finding in facts['findings']} == {'gap', 'missing', 'unused'}
    assert [finding['what'] for finding in facts['findings'] if finding['kind'] == 'unused'] == ['spare']
    states = read_bag(tmp_path / 'bag').table('joint_states')
    np.testing.assert_allclose(states.time, [0.0, 0.5, 1.5])
    np.testing.assert_allclose(states['swing_joint/position'], np.radians([10.5, 11.0, 13.0]))


def test_mf4_columns_are_read_by_name(tmp_path, capsys):
    asammdf = pytest.importorskip('asammdf')
    time = np.arange(0.0, 1.0, 0.05)
    signals = [('SwingAngle', 10.0 * time), ('BoomLength', 1980.0 + time), ('StickLength', 1500.0 + 0.0 * time)]
    with asammdf.MDF() as file:
        file.append([asammdf.Signal(values, time, name=name) for name, values in signals])
        file.save(tmp_path / 'log.mf4')
    imported(tmp_path / 'log.mf4', capsys, tmp_path)
    states = read_bag(tmp_path / 'bag').table('joint_states')
    np.testing.assert_allclose(states['swing_joint/position'], np.radians(10.0 * time), atol=1e-12)


def findings(tmp_path, capsys, seconds, change=lambda *_: True, clock=lambda time: time):
    log = logs.write_log(tmp_path / 'log.csv', seconds, change, clock)
    return {(finding['kind'], finding['what']): finding for finding in imported(log, capsys, tmp_path)['findings']}


def test_a_gap_is_reported_with_its_start_and_length(tmp_path, capsys):
    reported = findings(tmp_path, capsys, 2.0, lambda k, name, _: name != 'WheelLoads' or not 50 <= k < 100)
    assert reported.keys() == {('gap', 'WheelLoads')}
    gap = reported['gap', 'WheelLoads']
    assert (gap['times'], gap['start']) == (1, pytest.approx(0.45))
    assert gap['length'] == pytest.approx(0.55)


def test_a_clock_that_jumps_back_is_reported_and_bag_time_continues(tmp_path, capsys):
    reported = findings(tmp_path, capsys, 2.0, clock=lambda time: 50.0 + time - (30.0 if time >= 1.0 else 0.0))
    assert reported.keys() == {('clock', 'clock')}
    assert reported['clock', 'clock']['length'] == pytest.approx(29.99)
    states = read_bag(tmp_path / 'bag').table('joint_states')
    assert (np.diff(states.time) >= 0.0).all()
    assert states.time[-1] - states.time[0] == pytest.approx(1.98, abs=0.01)


def test_alive_counters_distinguish_a_clock_jump_from_missing_frames(tmp_path, capsys):
    reported = findings(tmp_path, capsys, 2.0, clock=lambda time: time + (10.05 if time >= 1.0 else 0.0))
    jump = reported['clock', 'clock']['text']
    assert jump.startswith('the clock jumps ahead by 10.06 s: JointPositions.PositionsAlive')
    (tmp_path / 'silent').mkdir()
    gap = findings(tmp_path / 'silent', capsys, 4.0, lambda k, *_: not 100 <= k < 306)
    assert ('clock', 'clock') not in gap
    assert gap['gap', 'ImuRates']['length'] == pytest.approx(2.07)


@pytest.mark.parametrize(
    ('key', 'signal'),
    [
        (('position', 'swing_joint'), 'JointPositions.SwingAngle'),
        (('velocity', 'swing_joint'), 'JointVelocities.SwingRate'),
        (('imu', 'angular_velocity_y'), 'ImuRates.RateY'),
        (('pressure', 'boom/head_pressure'), 'LinePressures.BoomHead'),
        (('wheel_load', 'rear_left'), 'WheelLoads.RearLeft'),
    ],
)
def test_a_sensor_that_freezes_during_motion_is_reported(tmp_path, capsys, key, signal):
    frozen = logs.quantities(0.3)[key]

    def change(k, name, values):
        if 30 <= k < 330 and key in values:
            values[key] = frozen
        return True

    reported = findings(tmp_path, capsys, 4.0, change)
    assert {signal_name for kind, signal_name in reported if kind == 'frozen'} == {signal}
    assert reported['frozen', signal]['start'] == pytest.approx(0.3, abs=0.06)
    assert reported['frozen', signal]['length'] == pytest.approx(3.0, abs=0.1)


def test_a_wheel_in_the_air_and_a_machine_at_rest_are_no_frozen_sensors(tmp_path, capsys):
    def change(k, name, values):
        values['wheel_load', 'rear_left'] = 0.0
        return True

    assert findings(tmp_path, capsys, 3.0, change) == {}
    still = logs.quantities(0.3) | {('velocity', 'swing_joint'): 0.0}
    (tmp_path / 'still').mkdir()
    assert findings(tmp_path / 'still', capsys, 3.0, lambda k, name, values: values.update(still) or True) == {}


def test_a_sensor_at_the_end_of_its_range_is_named(tmp_path, capsys):
    def change(k, name, values):
        outside = max(100 - k, k - 149, 0)
        if outside < 5:  # there and back without a jump, by 15 m/s2 in 10 ms
            values['imu', 'linear_acceleration_x'] = -70.0 + 15.0 * outside
        return True

    reported = findings(tmp_path, capsys, 2.0, change)
    assert reported.keys() == {('saturated', 'ImuAccelerations.AccelerationX')}
    assert reported['saturated', 'ImuAccelerations.AccelerationX']['length'] == pytest.approx(0.49, abs=0.02)


def test_invalid_frames_are_counted_with_an_example(tmp_path, capsys):
    log = logs.write_log(tmp_path / 'log.csv', 0.5)
    lines = log.read_text().splitlines()
    indices = [k for k, line in enumerate(lines) if '0x100,' in line][10:14]
    for k in indices:
        head, _, data = lines[k].rpartition(',')
        lines[k] = f'{head},{"B" if data[0] != "B" else "C"}{data[1:]}'
    log.write_text('\n'.join(lines) + '\n')
    reported = imported(log, capsys, tmp_path)['findings']
    assert [finding['text'].partition(',')[0] for finding in reported] == [
        'JointPositions: checksum: 4', 'JointPositions: lost frames: 4',
    ]  # fmt: skip
    assert 'such as JointPositions.PositionsCheck: expected 0x' in reported[0]['text']


# -- logs that are none ------------------------------------------------------------------------------------------------

DAMAGED = [
    ('log.csv', 'time,SwingAngle\n0.0,ten\n', 'log.csv:2: SwingAngle: expected a number, found'),
    ('log.csv', 'time,SwingAngle\n0.0\n', 'log.csv:2: expected 2 cells, found 1'),
    ('log.csv', 'time,SwingAngle\nnan,1.0\n', 'log.csv:2: time: expected a finite number'),
    ('log.csv', 'time,SwingAngle\n-5,1.0\n', 'entry 1: expected a time of 0 to'),
    ('log.csv', 'SwingAngle\n1.0\n', 'log.csv:1: expected a time column'),
    ('log.csv', 'time,Angle\n0.0,1.0\n', 'log.csv:1: expected a column that is a signal of the mapping'),
    ('log.csv', '', 'log.csv:1: expected a time column'),
    ('log.csv', 'time,SwingAngle\n', 'found none that can be used'),
    (
        'log.csv',
        'timestamp,arbitration_id,extended,remote,error,dlc,data\n1,2\n',
        'expected another frame of a CSV log',
    ),
    ('log.csv', 'timestamp,arbitration_id,extended,remote,error,dlc,data\n1,zz,0,0,0,0,\n', 'after 0 frames'),
    ('log.asc', 'no log at all\n', 'found none that can be used'),
    ('log.asc', 'date Xyz\nbase hex\n 1.0 1 100 Rx d 8 ZZ\n', 'found'),
    ('log.blf', 'no log', 'after 0 frames: expected another frame of a BLF log'),
    ('log.mf4', 'no log', 'log.mf4'),
    ('log.txt', 'x', 'expected a log with suffix'),
]


@pytest.mark.parametrize(('name', 'content', 'text'), DAMAGED)
def test_an_invalid_log_is_reported_in_one_line_and_leaves_no_bag(tmp_path, capsys, name, content, text):
    log, bag = tmp_path / name, tmp_path / 'bag'
    log.write_text(content)
    assert main(['bag', 'import', str(log), '--mapping', 'log_loader', '-o', str(bag)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
    assert 'expected' in line or 'missing' in line
    assert not bag.exists()


@pytest.mark.parametrize('suffix', ['csv', 'asc', 'blf'])
def test_a_truncated_or_damaged_log_yields_a_bag_or_one_line(tmp_path, capsys, suffix):
    whole = logs.write_log(tmp_path / f'whole.{suffix}', 0.05).read_bytes()
    dice = np.random.default_rng(5)
    for k in range(12):
        data = bytearray(whole[: dice.integers(len(whole))] if k % 2 else whole)
        for index in dice.integers(len(data), size=5) if len(data) and not k % 2 else ():
            data[index] = dice.integers(256)
        log, bag = tmp_path / f'{k}.{suffix}', tmp_path / f'bag_{k}'
        log.write_bytes(data)
        status = main(['bag', 'import', str(log), '--mapping', 'log_loader', '-o', str(bag)])
        captured = capsys.readouterr()
        assert bag.exists() == (status == 0)
        assert len(captured.err.splitlines()) == status, captured.err
        assert 'Traceback' not in captured.err


def test_an_existing_directory_is_not_changed(tmp_path, capsys):
    log, bag = logs.write_log(tmp_path / 'log.csv', 0.1), tmp_path / 'bag'
    bag.mkdir()
    (bag / 'mine').write_text('kept')
    assert main(['bag', 'import', str(log), '--mapping', 'log_loader', '-o', str(bag)]) == 1
    assert 'the bag directory exists' in capsys.readouterr().err
    assert (bag / 'mine').read_text() == 'kept'


def test_an_mf4_log_without_asammdf_reports_the_package_to_install(tmp_path):
    log = tmp_path / 'log.mf4'
    log.write_bytes(b'MDF')
    words = ['bag', 'import', str(log), '--mapping', 'log_loader', '-o', str(tmp_path / 'bag')]
    code = f'import sys; sys.modules["asammdf"] = None\nfrom dyn_nodes.cli import main; sys.exit(main({words!r}))'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "the package asammdf is missing: pip install 'dyn_nodes[can]'" in done.stderr
    assert 'Traceback' not in done.stderr
