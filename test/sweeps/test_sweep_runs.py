"""Runs of a sweep equal single runs, with the same bytes for any number of workers and any killed process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_sweep import content, written
from timeouts import scaled_timeout

from dyn_nodes.analysis.sweeps import workers
from dyn_nodes.analysis.sweeps.driver import SweepError, run_sweep
from dyn_nodes.analysis.sweeps.store import Store
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import Trials
from dyn_nodes.analysis.sweeps.workers import LocalWorkers, WorkersLostError
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.stability.observers import balance_observer

SAME = 1e-9
"""Tolerance between runs in lanes and single runs: the difference of 0.2 s is rounding."""
TIMEOUT = 120.0
"""Timeout of tasks that take seconds on an idle computer, s."""


@pytest.fixture(scope='module')
def sweep(tmp_path_factory):
    return load_sweep(written(tmp_path_factory.mktemp('file')))


@pytest.fixture(scope='module')
def undisturbed(sweep, tmp_path_factory):
    directory = tmp_path_factory.mktemp('undisturbed')
    run_sweep(sweep, directory, LocalWorkers(1))
    return directory


def test_a_sweep_equals_single_runs(sweep, undisturbed):
    """Explicit runs: parameters, start, levers and outcomes without the code of the sweep."""
    rows = pq.read_table(undisturbed / 'parts').to_pylist()
    assert [row['run'] for row in rows] == list(range(40))
    machine = sweep.machine()
    system = System(machine)
    observer = balance_observer(system, ('zmp', 'load_share'))
    times = 0.02 * np.arange(11)
    for row in rows[::8]:
        p = system.parameters({'payload_mass': row['payload']}, (0.0, row['slope']))
        start = initial_state(system, p, {'boom_joint': row['boom']})
        inputs = Inputs([0.0], {'boom/voltage': [-6.0], 'swing/voltage': [row['swing']]})
        run = system.run(start, times, inputs, p, Settings(step=0.002, watch=True))
        balances = [observer.observe(system.outputs(x, u, p), p[:3]) for x, u in zip(run.states, run.u)]
        assert (row['status'], row['end_time']) == (run.status, run.end_time)
        for measure in ('zmp', 'load_share'):
            values = [balance.margins[measure].value for balance in balances]
            assert row[f'least_{measure}'] == pytest.approx(min(values), rel=SAME)
            assert row[f'least_{measure}_time'] == times[int(np.argmin(values))]
        assert row['head_pressure'] == pytest.approx(max(run.state('boom/head_pressure')) / 1e6, rel=SAME)
        assert row['swing_angle'] == pytest.approx(run.state('swing_joint')[-1], rel=SAME)
        assert row['greatest_tilt'] == pytest.approx(max(run.output('tilt')), rel=SAME)
        lines = ['boom/head_pressure', 'boom/rod_pressure', 'stick/head_pressure', 'stick/rod_pressure']
        lines += ['swing/pressure_a', 'swing/pressure_b']
        pumps = [f'{name}/supply_pressure' for name in ('boom', 'stick', 'swing')]
        highest = max(*(max(run.state(name)) for name in lines), *(max(run.output(name)) for name in pumps))
        assert row['peak_pressure'] == pytest.approx(highest, rel=SAME)
        lifted = [event.time for event in run.events if event.kind == 'lift_off']
        assert row['lifted'] == bool(lifted)
        assert row['recovered'] is False or row['lifted']
        np.testing.assert_allclose(row['lift_off_time'], min(lifted, default=np.nan), rtol=SAME)
        np.testing.assert_equal(row['cycle_time'], np.nan)  # it still moves at the end


def test_two_processes_give_the_same_bytes(sweep, undisturbed, tmp_path):
    run_sweep(sweep, tmp_path, LocalWorkers(2))
    assert content(tmp_path) == content(undisturbed)


def test_a_finished_sweep_runs_nothing_again(sweep, undisturbed):
    class NoWorkers:
        def results(self, sweep, parts):
            assert list(parts) == []
            return iter(())

    before = content(undisturbed)
    done = run_sweep(sweep, undisturbed, NoWorkers())
    assert (done.runs, done.found) == (0, 40)
    assert content(undisturbed) == before


@pytest.mark.parametrize(
    'damage', ['cut line', 'no line end', 'no manifest', 'no part', 'cut part', 'unfinished part', 'foreign line']
)
def test_an_interrupted_sweep_is_completed_to_the_same_bytes(sweep, undisturbed, tmp_path, damage):
    for name, data in content(undisturbed).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    manifest, part = tmp_path / 'manifest.jsonl', tmp_path / 'parts' / 'part-000001.parquet'
    text = manifest.read_bytes()
    if damage == 'cut line':
        manifest.write_bytes(text[:-20])
    elif damage == 'no line end':
        manifest.write_bytes(text[:-1])
    elif damage == 'no manifest':
        manifest.unlink()
    elif damage == 'no part':
        part.unlink()
    elif damage == 'cut part':
        part.write_bytes(part.read_bytes()[:-5])
        manifest.write_bytes(text.splitlines(keepends=True)[0])
    elif damage == 'unfinished part':
        part.rename(part.with_name(part.name + '.unfinished'))
        manifest.write_bytes(text.splitlines(keepends=True)[0])
    else:
        manifest.write_bytes(b'{"part": 1}\n' + text)
    run_sweep(sweep, tmp_path, LocalWorkers(1))
    assert content(tmp_path) == content(undisturbed)


def test_the_directory_of_another_sweep_is_rejected(undisturbed, tmp_path):
    other = load_sweep(written(tmp_path, duration='duration: 0.1'))
    before = content(undisturbed)
    with pytest.raises(SweepError, match='expected this sweep or an empty directory, found another sweep'):
        run_sweep(other, undisturbed, LocalWorkers(1))
    assert content(undisturbed) == before


def test_a_second_driver_is_rejected(sweep, tmp_path):
    with Store(tmp_path, sweep), pytest.raises(SweepError, match='expected no other driver'):
        run_sweep(sweep, tmp_path, LocalWorkers(1))


def ends(*_: object) -> None:
    """Replace `run_part` in a process that dies."""
    os._exit(3)


def test_processes_that_end_repeatedly_end_the_sweep_with_their_runs(sweep, monkeypatch):
    monkeypatch.setattr(workers, 'run_part', ends)
    with pytest.raises(WorkersLostError, match='found 6 losses in a row while they had runs 0 to 15'):
        list(LocalWorkers(2).results(sweep, range(sweep.parts)))


def test_a_machine_without_rest_at_the_start_is_a_result(tmp_path):
    text = '  slope: {machine: slope.pitch, values: [0.0, 0.9]}'
    sweep = load_sweep(written(tmp_path, slope=text, design='design: {kind: monte_carlo, runs: 8, seed: 1}'))
    trials = Trials(sweep)
    rows = [trials.row(k, row) for k, row in enumerate(sweep.values)]
    status = {row[2]: row[5] for row in rows}
    assert status == {0.0: 'done', 0.9: 'no start'}
    reasons = {row[2]: row[7] for row in rows}
    assert reasons[0.0] == ''
    tips = "the machine tips over 'front_right' and 'front_left'"
    assert reasons[0.9] == f'log_loader: no resting pose on the wheels in this posture: {tips}'
    assert {len(row) for row in rows} == {len(rows[0])}


def test_an_overturned_run_is_reported(tmp_path):
    text = """name: over
machine: log_loader
task: pick_and_place_recovery
recovery: false
step: 0.002
sample_period: 0.02
factors:
  payload: {machine: payload.mass, values: [5100.0]}
  pace: {pace: task, values: [1.0]}
outcomes: [overturned, lift_off, recovered]
"""
    path = tmp_path / 'over.yaml'
    path.write_text(text)
    sweep = load_sweep(path)
    row = Trials(sweep).row(0, sweep.values[0])
    assert row[:4] == (0, 5100.0, 1.0, 'overturned')
    assert 8.0 < row[4] < 16.0
    assert 'the base has tilted by 75' in row[5]
    assert (row[6], row[7], row[9]) == (True, True, False)
    recovered = load_sweep(_replaced(path, 'recovery: false', 'recovery: true'))
    row = Trials(recovered).row(0, recovered.values[0])
    assert (row[3], row[5:8], row[9]) == ('done', ('', False, True), True)


def _replaced(path: Path, old: str, new: str) -> Path:
    path.write_text(path.read_text().replace(old, new))
    return path


# -- processes that are killed ---------------------------------------------------------------------------------------

LONG = {'step': 'step: 0.00002', 'design': 'design: {kind: sobol, runs: 160, seed: 2}'}
"""Least time of a run, 20 ms, so that there is time to kill."""


def _driver(path: Path, out: Path) -> subprocess.Popen:
    arguments = [sys.executable, '-m', 'dyn_nodes.cli', 'sweep', str(path), '--out', str(out), '--jobs', '2']
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _children(process: int) -> list[int]:
    children = Path(f'/proc/{process}/task/{process}/children').read_text().split()
    return [int(child) for child in children if 'spawn_main' in Path(f'/proc/{child}/cmdline').read_text()]


def _until(condition, driver=None):
    end = time.monotonic() + scaled_timeout(TIMEOUT)
    while not condition():
        assert driver is None or driver.poll() is None, driver.stderr.read()
        assert time.monotonic() < end, 'nothing came of it'
        time.sleep(0.02)


def _alive(process: int) -> bool:
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path('/proc/self/task').exists(), reason='reads /proc')
def test_killed_workers_and_drivers_lose_and_duplicate_nothing(tmp_path):
    path, out = written(tmp_path, **LONG), tmp_path / 'out'
    sweep = load_sweep(path)
    run_sweep(sweep, tmp_path / 'undisturbed', LocalWorkers(1))
    manifest = out / 'manifest.jsonl'

    def lines():
        return len(manifest.read_text().splitlines()) if manifest.exists() else 0

    driver = _driver(path, out)
    try:
        _until(lambda: lines() >= 1, driver)
        os.kill(_children(driver.pid)[0], signal.SIGKILL)
        killed_at = lines()
        _until(lambda: lines() > killed_at, driver)
        workers = _children(driver.pid)
    finally:
        driver.kill()
        driver.wait()
    assert 1 < lines() < sweep.parts, 'the driver was to be killed in between'
    _until(lambda: not any(map(_alive, workers)))  # no process remains
    again = _driver(path, out)
    assert again.wait(scaled_timeout(TIMEOUT)) == 0, again.stderr.read()
    assert content(out) == content(tmp_path / 'undisturbed')


def test_the_command_prints_its_results_as_json(tmp_path):
    path, out = written(tmp_path), tmp_path / 'out'
    arguments = [sys.executable, '-m', 'dyn_nodes.cli', 'sweep', str(path), '--out', str(out), '--jobs', '1', '--json']
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert (content['runs'], content['made'], content['planned']) == (40, 40, 40)
    assert content['status'] == {'done': 40}
    assert set(content['flags']) == {'overturned', 'lifted', 'recovered'}
