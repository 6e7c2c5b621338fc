"""A sweep on a Dask cluster of processes on the loopback interface; its workers, its scheduler and the driver end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_sweep import content, written

from dyn_nodes import cli
from dyn_nodes.sweeps.driver import run_sweep
from dyn_nodes.sweeps.sweep_file import load_sweep
from dyn_nodes.sweeps.trial import OtherVersionError, run_part
from dyn_nodes.sweeps.workers import LocalWorkers, order_of

distributed = pytest.importorskip('distributed')
PATIENCE = 240.0
"""Wall time for what takes seconds on a free computer, s."""
LONG = {'step': 'step: 0.00002'}
"""A run takes 20 ms or more, so that there is time to kill."""


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host='127.0.0.1',
        dashboard_address='127.0.0.1:0',
        silence_logs=50,
    ) as made:
        yield made


def _workers(cluster) -> list[int]:
    """Processes of the workers that run now."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def _driver(path: Path, out: Path, address: str) -> subprocess.Popen:
    arguments = [sys.executable, '-m', 'dyn_nodes.cli', 'sweep', str(path), '--out', str(out), '--scheduler', address]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _lines(out: Path) -> int:
    manifest = out / 'manifest.jsonl'
    return len(manifest.read_text().splitlines()) if manifest.exists() else 0


def _kill_worker(cluster, choose) -> None:
    running = _workers(cluster)
    if running:
        os.kill(choose(running), signal.SIGKILL)


def _until(condition, driver):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert driver.poll() in (None, 0), driver.stderr.read()
        assert time.monotonic() < end, 'nothing came of it'
        time.sleep(0.02)


def test_a_cluster_whose_worker_is_killed_gives_the_bytes_of_one_process(cluster, tmp_path):
    path, out = written(tmp_path, design='design: {kind: sobol, runs: 160, seed: 2}', **LONG), tmp_path / 'out'
    run_sweep(load_sweep(path), tmp_path / 'undisturbed', LocalWorkers(1))
    driver = _driver(path, out, cluster.scheduler_address)
    try:
        _until(lambda: _lines(out) >= 1, driver)
        _kill_worker(cluster, min)
        assert _lines(out) < 10, 'a worker was to be killed in between'
        assert driver.wait(PATIENCE) == 0, driver.stderr.read()
    finally:
        driver.kill()
        driver.wait()
    assert content(out) == content(tmp_path / 'undisturbed')


def test_a_scheduler_that_goes_is_one_line_and_what_is_done_is_kept(tmp_path):
    path, out = written(tmp_path, design='design: {kind: sobol, runs: 4000, seed: 2}', **LONG), tmp_path / 'out'
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        host='127.0.0.1',
        dashboard_address='127.0.0.1:0',
        silence_logs=50,
    ) as cluster:
        driver = _driver(path, out, cluster.scheduler_address)
        try:
            _until(lambda: _lines(out) >= 1, driver)
        except BaseException:
            driver.kill()
            raise
    try:
        assert driver.wait(PATIENCE) == 1
        text = driver.stderr.read()
    finally:
        driver.kill()
        driver.wait()
    assert 'expected the scheduler to stay' in text
    assert 'Traceback' not in text
    assert _lines(out) >= 1


def test_no_scheduler_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('dyn_nodes.sweeps.cluster.CONNECT', 1.0)
    for address in ('tcp://127.0.0.1:9', 'nonsense', 'tcp://127.0.0.1:port'):
        assert cli.main(['sweep', str(written(tmp_path)), '--scheduler', address]) == 1
        text = capsys.readouterr().err.strip()
        assert f'--scheduler {address}: expected the scheduler of a Dask cluster' in text
        assert 'Traceback' not in text


def test_a_worker_of_another_version_refuses(tmp_path):
    sweep = load_sweep(written(tmp_path))
    identity, _, *others = order_of(sweep, 0)
    with pytest.raises(OtherVersionError, match=r'expected dyn_nodes 9.9.9 on every worker'):
        run_part(identity, '9.9.9', *others)
