"""The report of a sweep, its plan and its command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_sweep import written

from dyn_nodes import cli
from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.plan import SweepPlan, plan_of
from dyn_nodes.analysis.sweeps.report import read_results, summary
from dyn_nodes.analysis.sweeps.sensitivity import effects
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.workers import LocalWorkers


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    sweep = load_sweep(written(tmp_path_factory.mktemp('file')))
    made = tmp_path_factory.mktemp('results')
    run_sweep(sweep, made, LocalWorkers(1))
    return made


def test_counts_and_ranges_equal_the_rows(directory):
    rows = pq.read_table(directory / 'parts').to_pylist()
    content = summary(read_results(directory))
    assert (content['runs'], content['planned']) == (40, 40)
    assert content['flags']['lifted']['count'] == sum(row['lifted'] for row in rows)
    for name in ('least_zmp', 'peak_pressure', 'head_pressure'):
        values = [row[name] for row in rows]
        assert content['numbers'][name]['least'] == min(values)
        assert content['numbers'][name]['greatest'] == max(values)
        assert content['numbers'][name]['mean'] == pytest.approx(np.mean(values), rel=1e-12)
    assert content['numbers']['cycle_time'] == {'least': None, 'mean': None, 'greatest': None, 'count': 0}


def test_the_swing_lever_alone_turns_the_cabin(directory):
    correlations = effects(read_results(directory), 'swing_angle')
    assert next(iter(correlations)) == 'swing'
    assert abs(correlations['swing']) > 0.9


def test_the_report_writes_a_table_and_a_picture(directory, capsys):
    assert cli.main(['sweep', 'report', str(directory), '--outcome', 'least_zmp', '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['outcome'] == 'least_zmp'
    with (directory / 'results.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row['run']) for row in rows] == list(range(40))
    for name in ('map.png', 'tornado.png'):
        assert (directory / name).read_bytes().startswith(b'\x89PNG')
    assert (directory / 'boundary.csv').read_text().startswith('curve,')
    assert content['no_indices'] == 'expected a design of kind saltelli, found latin_hypercube'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['report'], 'arguments are required: DIR'),
        (['report', '{empty}'], 'expected the directory of a sweep with its sweep.json'),
        (['report', '{directory}', '--outcome', 'leest_zmp'], '--outcome: expected one of'),
        (['log_loader_tip_ovr'], 'log_loader_tip_over.yaml'),
        (['no.yaml'], 'no.yaml'),
        (['no.yaml', '--jobs', '0'], '--jobs: expected 1 to 1024, found 0'),
        (['no.yaml', 'more'], 'unrecognized arguments: more'),
        (['run', 'no.yaml', '--outcome', 'x'], 'unrecognized arguments: --outcome x'),
        (['run', 'no.yaml', '--jobs', '1', '--scheduler', 'x'], '--scheduler: not allowed with argument --jobs'),
        (['report', '{directory}', '--factors', 'payload', 'slop'], '--factors: expected two of'),
        (['report', '{directory}', '--factors', 'payload', 'payload'], "found 'payload' twice"),
    ],
)
def test_a_mistake_is_one_line(directory, tmp_path, capsys, arguments, message):
    status = cli.main(['sweep', *(argument.format(directory=directory, empty=tmp_path) for argument in arguments)])
    printed = capsys.readouterr()
    assert status in (1, 2)
    *usage, line = printed.err.strip().splitlines()
    assert message in line
    assert not usage or usage[0].startswith('usage: dyn-nodes sweep r')


def test_the_plan_counts_runs_and_machines(tmp_path):
    text = '  payload: {machine: defaults.wheel.stiffness, values: [1.75e6]}'
    plan = plan_of(load_sweep(written(tmp_path, payload=text)), 2)
    assert (plan.runs, plan.parts, plan.machines, plan.jobs) == (40, 3, 1, 2)
    assert plan.seconds == pytest.approx(20.0 * plan.run_seconds)
    assert plan.run_seconds > 0.0
    assert plan.start_seconds > plan.driver_seconds > 0.0


def test_a_plan_distributes_its_parts():
    """1000 parts of 10 s on three workers: 334 rounds; on 1000 workers the start and the driver dominate."""
    plan = SweepPlan(1_000_000, 1000, 1000, 1, 0.0, 0.01, 64, 0.02, 4.0, 2, 5000.0)
    three, all_of_them = plan.shared(3), plan.shared(1000)
    assert three.seconds == pytest.approx(4.02 + 3340.0)
    assert three.overhead == pytest.approx(3344.02 * 3 / 1e4 - 1.0)
    assert all_of_them.seconds == pytest.approx(4.02 + 20.0)  # the driver takes longer than a part
    assert plan.driver_share == pytest.approx(0.002)
    most = plan.most_workers(0.05)
    assert most.overhead < 0.05 <= min(plan.shared(k).overhead for k in range(most.workers + 1, 1001))
    assert [share.workers for share in plan.shares()] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_a_plan_is_printed_with_its_shares(tmp_path, capsys):
    path = str(written(tmp_path))
    assert cli.main(['sweep', path, '--plan']) == 0
    shown = capsys.readouterr().out
    assert 'ms a part of 16 runs' in shown
    assert 'below 5 % up to' in shown
    assert cli.main(['sweep', path, '--plan', '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert [share['workers'] for share in content['shared']] == [1, 2]
    assert content['driver_seconds'] > 0.0
