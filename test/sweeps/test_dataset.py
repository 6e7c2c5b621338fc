"""The dataset of a sweep: states, margins and outcome of every run over time."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_sweep import SMALL, content, written

from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.workers import LocalWorkers
from dyn_nodes.model.problems import MachineError
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.stability.observers import balance_observer

TEXT = SMALL.replace('sample_period', 'record_period: 0.04\nsample_period').replace('[-4.0, 0.0, 4.0]', '[4.0]')


@pytest.fixture(scope='module')
def sweep(tmp_path_factory):
    return load_sweep(written(tmp_path_factory.mktemp('file'), TEXT))


@pytest.fixture(scope='module')
def directory(sweep, tmp_path_factory):
    made = tmp_path_factory.mktemp('results')
    run_sweep(sweep, made, LocalWorkers(1))
    return made


def test_the_dataset_equals_single_runs(sweep, directory):
    table = pq.read_table(directory / 'samples')
    samples = {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
    rows = pq.read_table(directory / 'parts').to_pylist()
    assert list(np.unique(samples['run'])) == list(range(40))
    machine = sweep.machine()
    system = System(machine)
    observer = balance_observer(system, ('zmp', 'load_share'))
    times = 0.02 * np.arange(11)
    for row in rows[::13]:
        run_samples = {name: column[samples['run'] == row['run']] for name, column in samples.items()}
        p = system.parameters({'payload_mass': row['payload']}, (0.0, row['slope']))
        start = initial_state(system, p, {'boom_joint': row['boom']})
        inputs = Inputs([0.0], {'boom/voltage': [-6.0], 'swing/voltage': [4.0]})
        run = system.run(start, times, inputs, p, Settings(step=0.002, watch=True))
        np.testing.assert_array_equal(run_samples['time'], times[::2])
        states = np.column_stack([run_samples[name] for name in system.state_names])
        np.testing.assert_allclose(states, run.states[::2], rtol=1e-10, atol=1e-12)
        for k, margin in enumerate(run_samples['load_share']):
            balance = observer.observe(system.outputs(run.states[2 * k], run.u[2 * k], p), p[:3])
            assert margin == pytest.approx(balance.margins['load_share'].value, rel=1e-9)
        for name in ('overturned', 'lifted', 'recovered'):
            assert (run_samples[name] == row[name]).all()


def test_types_equal_the_columns(directory):
    schema = pq.read_schema(directory / 'samples' / 'part-000000.parquet')
    assert [str(schema.field(name).type) for name in ('run', 'time', 'zmp', 'lifted')] == [
        'int64',
        'double',
        'double',
        'bool',
    ]


def test_two_processes_and_an_interruption_give_the_same_bytes(sweep, directory, tmp_path):
    run_sweep(sweep, tmp_path, LocalWorkers(2))
    assert content(tmp_path) == content(directory)
    (tmp_path / 'samples' / 'part-000001.parquet').unlink()
    (tmp_path / 'samples' / 'part-000002.parquet.unfinished').write_bytes(b'half')
    done = run_sweep(sweep, tmp_path, LocalWorkers(1))
    assert 0 < done.runs < 40
    assert content(tmp_path) == content(directory)


def test_damaged_samples_are_recomputed(sweep, directory, tmp_path):
    run_sweep(sweep, tmp_path, LocalWorkers(1))
    for name in ('part-000000', 'part-000001'):
        path = tmp_path / 'samples' / f'{name}.parquet'
        path.write_bytes(path.read_bytes()[:-9])
    run_sweep(sweep, tmp_path, LocalWorkers(1))
    assert content(tmp_path) == content(directory)


def test_a_part_without_started_runs_has_no_rows(tmp_path):
    text = TEXT.replace('from: deg(-6), to: deg(6)', 'values: [0.9]').replace('runs: 40', 'runs: 3')
    run_sweep(load_sweep(written(tmp_path, text)), tmp_path / 'out', LocalWorkers(1))
    samples = pq.read_table(tmp_path / 'out' / 'samples')
    assert samples.num_rows == 0
    assert {'run', 'time', 'boom_joint', 'zmp', 'overturned'} <= set(samples.column_names)


@pytest.mark.parametrize(('period', 'actual'), [('0.03', '0.03'), ('0.01', '0.01')])
def test_a_period_that_is_no_multiple_is_a_fault(tmp_path, period, actual):
    with pytest.raises(MachineError, match=rf'record_period: expected a multiple of the sample period.*{actual}'):
        load_sweep(written(tmp_path, TEXT.replace('record_period: 0.04', f'record_period: {period}')))
