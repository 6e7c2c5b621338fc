"""The worst runs of a sweep: their selection, and their repetition by files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_sweep import SMALL, written

from dyn_nodes import cli
from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.replay import ReplayError, worst_runs
from dyn_nodes.analysis.sweeps.report import read_results
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import Trials
from dyn_nodes.analysis.sweeps.workers import LocalWorkers
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.voltage_profile import load_voltage_profile
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state

TASK = """name: tasks
machine: log_loader
task: pick_and_place_recovery
recovery: false
joint_positions: {stick_joint: -1.9}
step: 0.002
sample_period: 0.02
design: {kind: monte_carlo, runs: 6, seed: 4}
factors:
  payload: {parameter: payload_mass, from: 3000.0, to: 6000.0}
  friction: {parameter: friction_scale, from: 0.5, to: 1.0}
  slope: {machine: slope.pitch, from: deg(0), to: deg(6)}
  boom: {volts: reach/boom, from: -6.0, to: -4.0}
  pace: {pace: task, from: 0.9, to: 1.1}
  start: {joint: boom_joint, from: 0.8, to: 0.9}
outcomes: [overturned, lift_off, least_margin, greatest_tilt]
measures: [zmp]
expressions: {stick: last(stick_joint)}
"""


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp('results')
    path = written(tmp_path_factory.mktemp('file'), TASK)
    run_sweep(load_sweep(path), made, LocalWorkers(1))
    return made


def rows_of(directory):
    return pq.read_table(directory / 'parts').to_pylist()


def worst(directory, capsys, *arguments):
    assert cli.main(['sweep', 'worst', str(directory), '--json', *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ('arguments', 'key', 'reverse'),
    [
        (['--outcome', 'least_zmp'], 'least_zmp', False),
        (['--outcome', 'greatest_tilt'], 'greatest_tilt', True),
        (['--outcome', 'greatest_tilt', '--end', 'least'], 'greatest_tilt', False),
        (['--outcome', 'stick', '--count', '2'], 'stick', True),
    ],
)
def test_the_worst_come_first(directory, capsys, arguments, key, reverse):
    numbers = [row['run'] for row in worst(directory, capsys, *arguments)]
    expected = [row['run'] for row in sorted(rows_of(directory), key=lambda row: row[key], reverse=reverse)]
    assert numbers == expected[: len(numbers)]
    assert len(numbers) == (2 if '2' in arguments else 5)


def test_set_flags_are_bad_and_the_earlier_end_is_worse(directory, capsys):
    over = sorted((row['end_time'], row['run']) for row in rows_of(directory) if row['overturned'])
    assert [row['run'] for row in worst(directory, capsys, '--outcome', 'overturned')] == [run for _, run in over[:5]]
    assert 0 < len(over) < 6
    stood = worst_runs(read_results(directory), 'overturned', 9, least=True)
    assert sorted(stood) == [row['run'] for row in rows_of(directory) if not row['overturned']]


def test_a_written_sweep_repeats_its_run_to_the_last_bit(directory, capsys):
    for recorded in worst(directory, capsys, '--outcome', 'least_zmp', '--count', '2'):
        sweep = load_sweep(f'{recorded["directory"]}/sweep.yaml')
        assert sweep.design.runs == 1
        row = dict(zip(('run', *(factor.name for factor in sweep.factors)), (0, *sweep.values[0])))
        cells = Trials(sweep).row(0, sweep.values[0])
        kinds = ['status', 'end_time', 'detail', 'overturned', 'lifted', 'lift_off_time', 'least_zmp', 'least_zmp_time']
        row = {**row, **dict(zip([*kinds, 'greatest_tilt', 'stick'], cells[1 + len(sweep.factors) :]))}
        del row['run']
        np.testing.assert_equal(row, {name: recorded[name] for name in row} | _nans(recorded, row))


def _nans(recorded, row):
    """Return NaN for null: JSON has no NaN."""
    return {name: np.nan for name in row if recorded[name] is None}


def test_a_written_task_repeats_its_run_without_the_sweeps_code(directory, capsys):
    (recorded,) = worst(directory, capsys, '--outcome', 'greatest_tilt', '--count', '1')
    task = load_voltage_profile(f'{recorded["directory"]}/task.yaml')
    system = System(load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')))
    p = system.parameters(
        {'payload_mass': recorded['payload'], 'friction_scale': recorded['friction']}, (0, recorded['slope'])
    )
    start = initial_state(system, p, {'stick_joint': -1.9, 'boom_joint': recorded['start']})
    volts = task.evaluate(task.knot_times, ('boom', 'stick'))
    inputs = Inputs(task.knot_times, {'boom/voltage': volts[:, 0], 'stick/voltage': volts[:, 1]})
    times = 0.02 * np.arange(round(task.duration / 0.02) + 1)
    run = system.run(start, times, inputs, p, Settings(step=0.002, watch=True))
    assert (run.overturned, run.end_time) == (recorded['overturned'], recorded['end_time'])
    # alone and not in a lane: rounding, amplified by the tip-over
    assert max(run.output('tilt')) == pytest.approx(recorded['greatest_tilt'], abs=1e-7)


@pytest.mark.parametrize(
    ('changes', 'task', 'launch'),
    [
        ({}, True, True),
        ({'payload': '  payload: {machine: defaults.wheel.stiffness, values: [1.75e6]}'}, True, False),
        ({'levers': 'task: pick_and_place_recovery\nlevers: {boom: -6.0}'}, True, False),
    ],
)
def test_held_levers_are_a_task_and_unsupported_runs_have_no_launch_file(tmp_path, capsys, changes, task, launch):
    text = SMALL.replace('runs: 40', 'runs: 2')
    run_sweep(load_sweep(written(tmp_path, text, **changes)), tmp_path / 'out', LocalWorkers(1))
    (recorded,) = worst(tmp_path / 'out', capsys, '--outcome', 'greatest_tilt', '--count', '1')
    made = tmp_path / 'out' / 'worst' / f'run-{recorded["run"]:06d}'
    assert (made / 'task.yaml').exists() == task
    assert (made / 'replay.launch.xml').exists() == launch
    sweep = load_sweep(made / 'sweep.yaml')
    cells = Trials(sweep).row(0, sweep.values[0])
    assert cells[1 : 1 + len(sweep.factors)] == tuple(recorded[factor.name] for factor in sweep.factors)
    assert recorded['greatest_tilt'] in cells
    if launch:
        held = load_voltage_profile(made / 'task.yaml')
        np.testing.assert_array_equal(
            held.evaluate([0.01, 0.1, 0.2], ('boom', 'swing')), [[-6.0, recorded['swing']]] * 3
        )


def test_no_bad_run_is_one_line(directory, tmp_path, capsys):
    assert cli.main(['sweep', 'worst', str(directory), '--count', '0']) == 1 + 1
    assert '--count: expected 1 to 1000, found 0' in capsys.readouterr().err
    results = read_results(directory)
    note = {name: value for name, value in results.note.items() if name != 'definition'}
    (tmp_path / 'manifest.jsonl').write_bytes((directory / 'manifest.jsonl').read_bytes())
    (tmp_path / 'sweep.json').write_text(json.dumps(note))
    (tmp_path / 'parts').symlink_to(directory / 'parts')
    assert cli.main(['sweep', 'worst', str(tmp_path)]) == 1
    assert 'expected the definition of the sweep in its sweep.json, found none' in capsys.readouterr().err
    with pytest.raises(ReplayError, match='expected runs with lifted, found none of 0'):
        worst_runs(results._replace(table=results.table.slice(0, 0)), 'lifted', 1)
