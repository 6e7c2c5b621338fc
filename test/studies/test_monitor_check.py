"""Accuracy of the stability monitor: its margins from noisy measurements of the simulated machine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.analysis.bag_reading import read_bag
from dyn_nodes.analysis.measured_run import (
    PHASES,
    SensorModel,
    full_scale,
    measure,
    reference_task,
    work_cycle,
    write_bag,
)
from dyn_nodes.analysis.monitor_check import CHECKED, deviations, replay
from dyn_nodes.cli import main


@pytest.fixture(scope='module')
def work(machine):
    return measure(machine, work_cycle(machine), 3000.0)


@pytest.fixture(scope='module')
def tipping(machine):
    return measure(machine, reference_task(), 5100.0)


@pytest.mark.parametrize('run', ['work', 'tipping'])
def test_margins_stay_within_the_promised_bounds(run, request):
    """5 % steady, 15 % in motion, never more than 5 % on the unsafe side; % of the unloaded machine's margin."""
    measured = request.getfixturevalue(run)
    items = [item for item in deviations(measured, *replay(measured)) if item.measure in CHECKED]
    phases = {'steady', 'motion', 'impact'} if run == 'tipping' else {'steady', 'motion'}
    assert {(item.measure, item.phase) for item in items} == {(m, p) for m in CHECKED for p in phases}
    for item in items:
        assert item.count > 150
        assert item.over <= 5.0, item
        assert item.under <= {'steady': 5.0, 'motion': 15.0, 'impact': np.inf}[item.phase], item
        assert item.passed


def test_the_runs_have_their_documented_properties(work, tipping, machine):
    """The cycle keeps all wheels on the ground at small margins; the task lifts two wheels and sets them down hard."""
    assert work.truth['load_share'].min() > 0.02
    assert work.truth['load_share'].min() < 0.06
    assert 0.15 < work.truth['zmp'].min() < 0.25
    assert (tipping.truth['load_share'] == 0.0).sum() > 500
    assert set(np.unique(work.phase)) == {PHASES.index('steady'), PHASES.index('motion')}
    assert set(np.unique(tipping.phase)) == set(range(3))
    scale = full_scale(machine)
    assert scale['load_share'] == pytest.approx(0.2186, abs=1e-3)


def test_without_an_imu_the_bounds_hold_while_no_wheel_lifts(work):
    """The rocking is predicted from the joints, with a deduction of 5 % for its error."""
    for item in deviations(work, *replay(work, use_imu=False)):
        assert item.passed, item


@pytest.mark.slow
def test_without_an_imu_margins_are_never_too_large_while_wheels_lift_and_come_down(tipping):
    """The base motion is not measured then; margins may be too small, but not too large."""
    items = deviations(tipping, *replay(tipping, use_imu=False))
    assert max(item.over for item in items if item.measure in CHECKED) <= 5.0
    assert max(item.under for item in items if item.measure in CHECKED) > 50.0


@pytest.mark.slow
def test_measurements_are_reproducible_and_have_the_errors_they_claim(machine, work):
    again = measure(machine, work_cycle(machine), 3000.0)
    assert np.array_equal(again.positions, work.positions)
    assert np.array_equal(again.specific_force, work.specific_force)
    clean = measure(machine, work_cycle(machine), 3000.0, SensorModel(200.0, 0.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert (work.velocities - clean.velocities).std() == pytest.approx(1e-3, rel=0.05)
    assert (work.angular_velocity - clean.angular_velocity).std(axis=0) == pytest.approx(np.full(3, 1e-3), rel=0.1)
    assert np.abs(work.positions - clean.positions).max() < 5.5 * 2e-5 + 2.4e-5
    first = clean.specific_force[0]
    assert np.linalg.norm(first) == pytest.approx(9.81, rel=1e-6)


def test_the_bag_contains_the_measurements(tmp_path, work):
    write_bag(tmp_path / 'bag', work)
    data = read_bag(tmp_path / 'bag', namespace='')
    assert data.counts['/joint_states'] == data.counts['/imu'] == len(work.time)
    truth = data.table('truth/stability/load_share')
    assert truth['data'] == pytest.approx(work.truth['load_share'])
    assert data.table('payload')['data'][0] == 3000.0


@pytest.mark.slow
def test_the_command_prints_the_measured_deviations(capsys):
    assert main(['monitor', 'check', '--run', 'work', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['sensors']['seed'] == 1
    assert {item['phase'] for item in report['deviations']} == {'steady', 'motion'}
    assert main(['monitor', 'check', '--run', 'work', '--stiffness', '0.7']) == 1
    assert 'MISSED' in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_reports_the_effect_of_machine_errors(capsys):
    assert main(['monitor', 'errors', '--errors', '20', '--json']) == 0
    report = json.loads(capsys.readouterr().out)

    def worst(quantity, key):
        return max(item[key] for item in report if item['quantity'] == quantity and item['measure'] == 'force_angle')

    assert worst('none', 'over') < 5.0
    for quantity in ('stiffness', 'mass', 'centre of mass', 'payload'):
        assert worst(quantity, 'over') > 2.0 * worst('none', 'over')
