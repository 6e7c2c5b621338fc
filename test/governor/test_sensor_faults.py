"""Faults of simulated sensors: their readings, and a governed machine under them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.governor.campaign import sensor_campaign
from dyn_nodes.governor.campaign.cases import Case, box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.sensor_campaign import FaultyRun, faulty_cases, rows_of, run_faulty, signal_class
from dyn_nodes.governor.campaign.sensor_faults import (
    KINDS,
    FaultySensors,
    SensorFault,
    drawn_fault,
    kinds_of,
    signals_of,
)
from dyn_nodes.governor.campaign.troubles import Troubles
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.nodes.machines import machine_of

JOINTS = ('swing_joint', 'boom_joint', 'stick_joint')
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])


def samples(count=200):
    for k in range(count):
        time = 0.01 * k
        q, v = time * np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3])
        yield Sample(time, q, v, (LEVEL, np.array([0.01 * time, 0.02, 0.03]), np.array([0.1, 0.2, 9.8 + 0.1 * time])))


ALL = [(signal, kind) for signal in signals_of(JOINTS) for kind in kinds_of(signal, JOINTS)]


def test_every_applicable_kind_of_fault_occurs_in_every_signal():
    assert len(ALL) == 3 * 12 + 6 * 11 + 3 * 12 + 6
    assert {kind for _, kind in ALL} == set(KINDS)
    assert 'swapped' not in kinds_of('boom_joint', ('boom_joint',))


@pytest.mark.parametrize(('signal', 'kind'), ALL)
def test_a_fault_changes_its_signal_from_its_start_on_and_no_other(signal, kind):
    fault = drawn_fault(signal, kind, np.random.default_rng(3), latest=1.0)
    sensors = FaultySensors(fault, JOINTS, start=0.2)
    assert SensorFault.from_dict(fault.as_dict()) == fault
    changed = set()
    for true in samples():
        shown = sensors.read(true)
        if true.time < sensors.since:
            assert shown is true
        elif shown is None:
            changed.add('lost')
        else:
            changed |= {name for name, a, b in _parts(true, shown) if not np.array_equal(a, b)}
    if kind == 'lost':
        assert changed == ({'lost'} if signal in JOINTS else {'imu'})
        assert sensors.error == np.inf
        return
    _name, _, part = signal.partition('/')
    expected = {'imu': {'orientation', 'gyroscope', 'accelerometer'}}.get(
        signal, {part} if part else {signal} if signal not in JOINTS else {'position', 'velocity'}
    )
    assert changed <= expected
    constant = kind in ('late', 'frozen', 'scaled', 'reversed', 'swapped') and signal in ('orientation', 'imu')
    constant = constant or (kind in ('late', 'frozen') and part == 'velocity')  # constant signals show no such fault
    assert (sensors.error > 0.0) != constant


def _parts(true, shown):
    if shown.imu is None:
        return [('imu', 0, 1)]
    names = ('orientation', 'gyroscope', 'accelerometer')
    pairs = [('position', true.q, shown.q), ('velocity', true.v, shown.v)]
    return pairs + [(name, a, b) for name, a, b in zip(names, true.imu, shown.imu)]


def test_faults_of_a_file_are_checked():
    with pytest.raises(ValueError, match="found 'melted'"):
        SensorFault.from_dict({'signal': 'imu', 'kind': 'melted'})
    with pytest.raises(ValueError, match='finite'):
        SensorFault.from_dict({'signal': 'imu', 'kind': 'late', 'size': float('nan')})
    fault = SensorFault('imu', 'late', 0.1, 1.0, 3)
    assert Troubles.from_dict({'fault': fault.as_dict()}).fault == fault


@pytest.fixture(scope='module')
def rig():
    return Rig(machine_of('log_loader', ''))


def run(rig, fault, volts=(6.0, 0.0, 6.0), duration=4.0):
    case = Case(segments=((duration, volts),), payload=1000.0, known_payload=1000.0, duration=duration)
    return run_faulty(rig, replace(case, troubles=Troubles(noise=1.0, seed=1, fault=fault)))


def test_sound_sensors_of_a_working_machine_raise_no_alarm(rig):
    outcome = run(rig, None)
    assert (outcome.found, outcome.text, outcome.lifted) == (None, '', False)
    assert outcome.time == pytest.approx(4.5)


@pytest.mark.parametrize(
    ('fault', 'text', 'within'),
    [
        (SensorFault('swing_joint', 'frozen', begin=1.0), 'swing_joint: it deviates', 0.5),
        (SensorFault('swing_joint/position', 'jump', 0.3, 1.0), 'swing_joint: its position jumped', 0.15),
        (SensorFault('boom_joint', 'drift', 0.1, 1.0), 'boom_joint', 1.0),
        (SensorFault('swing_joint', 'reversed'), 'swing_joint: it deviates', 1.5),
        (SensorFault('orientation', 'jump', 0.1, 1.0), 'orientation', 0.15),
        (SensorFault('imu', 'lost', begin=1.0), 'not there', 0.3),
        (SensorFault('boom_joint', 'lost', begin=1.0), 'not there', 0.2),
    ],
    ids=lambda value: f'{value.signal} {value.kind}' if isinstance(value, SensorFault) else '',
)
def test_a_sensor_fault_is_detected_and_the_machine_stops_on_all_wheels(rig, fault, text, within):
    outcome = run(rig, fault)
    assert outcome.found is not None
    assert outcome.found <= within
    assert text in outcome.text
    assert not outcome.lifted
    assert outcome.share > 0.0


def test_cases_and_rows_of_a_campaign(rig):
    box = box_of(rig.machine)
    cases = faulty_cases(box, JOINTS, seeds=2, seed=1)
    assert len(cases) == len(set(cases)) == 2 * len(ALL)
    assert cases == faulty_cases(box, JOINTS, seeds=2, seed=1)
    outcomes = [
        FaultyRun(0.1, 'x', 1.0, False, False, 0.3, 2.0, False),
        FaultyRun(None, '', 0.004, False, False, 0.4, 2.0, False),
        FaultyRun(None, '', 0.3, True, False, 0.0, 2.0, False),
        FaultyRun(0.5, 'x', None, False, False, 0.3, 2.0, True),
    ]

    class Recorded:
        def __init__(self, outcome):
            self.case, self.outcome = cases[0], outcome

    (row,) = rows_of([Recorded(entry) for entry in outcomes])
    assert (row['signal'], row['kind'], row['runs'], row['slight'], row['found']) == ('encoder', 'frozen', 3, 1, 1)
    assert (row['median'], row['missed'], row['lifted'], row['share']) == (0.1, 0.3, 1, 0.0)
    assert [signal_class(entry) for entry in ('boom_joint', 'boom_joint/velocity', 'imu')] == [
        'encoder',
        'speed',
        'imu',
    ]
    assert FaultyRun.from_dict(outcomes[0].as_dict()) == outcomes[0]


@pytest.mark.parametrize('rejected', [True, False])
def test_the_command_fails_if_no_start_is_certified(monkeypatch, capsys, rejected):
    outcome = FaultyRun(0.1, 'x', 1.0, False, False, 0.3, 2.0, rejected)
    monkeypatch.setattr(sensor_campaign, 'RUNS', replace(sensor_campaign.RUNS, run=lambda *_: outcome))
    words = ['log_loader', '--seeds', '1', '--hours', '0', '--only', 'lost', '--jobs', '1']
    assert main(['governor', 'sensors', *words]) == int(rejected)
    out, err = capsys.readouterr()
    assert ('nothing was tested' in err) == rejected
    assert ('7 of the starts are rejected' in out) == rejected


def test_a_campaign_without_runs_is_rejected(capsys):
    assert main(['governor', 'sensors', 'log_loader', '--seeds', '0', '--hours', '0']) == 2
    assert '--seeds 0 --hours 0: expected runs' in capsys.readouterr().err
