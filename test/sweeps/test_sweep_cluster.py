"""A sweep on a Dask cluster of processes on the loopback interface; its workers, its scheduler and the driver end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_sweep import content, written
from timeouts import scaled_timeout

from dyn_nodes import cli
from dyn_nodes.analysis.sweeps.cluster import ClusterError, DaskWorkers
from dyn_nodes.analysis.sweeps.driver import run_sweep
from dyn_nodes.analysis.sweeps.sweep import LEAST_PART
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trial import OtherVersionError, run_part
from dyn_nodes.analysis.sweeps.workers import LocalWorkers, order_of

distributed = pytest.importorskip('distributed')
WORKERS, GONE = 2, 10.0
"""Number of workers, and wall time after which the deployer replaces an ended one, s."""
TIMEOUT = 240.0
"""Timeout of tasks that take seconds on an idle computer, s."""
LONG, SHORT = {'step': 'step: 0.00002'}, {'step': 'step: 0.0001'}
"""Least time of a run, 20 ms or 4 ms, so that there is time to kill."""


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        processes=True,
        host='127.0.0.1',
        dashboard_address='127.0.0.1:0',
        silence_logs=50,
    ) as made:
        yield made


class _Deployer:
    """Replaces ended workers: Dask itself replaces only workers that had started."""

    def __init__(self, cluster) -> None:
        self.cluster = cluster
        self.gone: dict[object, float] = {}

    def replace_lost(self) -> None:
        """Replace workers without a process."""
        now, nannies = time.monotonic(), self.cluster.workers
        stopped = {name for name, nanny in nannies.items() if nanny.pid is None}
        self.gone = {name: self.gone.get(name, now) for name in stopped}
        lost = [name for name, since in self.gone.items() if now - since > GONE]
        for name in lost:
            del self.cluster.worker_spec[name], self.gone[name]
        if lost:
            self.cluster.scale(WORKERS)


def _workers(cluster) -> list[int]:
    """Return the processes of the present workers of the scheduler."""
    there = set(cluster.scheduler.workers)
    return [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in there and nanny.pid is not None]


def _driver(path: Path, out: Path, address: str) -> subprocess.Popen:
    arguments = [sys.executable, '-m', 'dyn_nodes.cli', 'sweep', str(path), '--out', str(out), '--scheduler', address]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _lines(out: Path) -> int:
    manifest = out / 'manifest.jsonl'
    return len(manifest.read_text().splitlines()) if manifest.exists() else 0


def _until(condition, driver, deployer=None):
    end = time.monotonic() + scaled_timeout(TIMEOUT)
    while not condition():
        if deployer is not None:
            deployer.replace_lost()
        assert driver.poll() in (None, 0), driver.stderr.read()
        assert time.monotonic() < end, 'nothing came of it'
        time.sleep(0.02)


class _Killer:
    """Kills the driver or a worker of a sweep at random, and starts the driver again."""

    def __init__(self, cluster, path: Path, out: Path, seed: int) -> None:
        self.cluster, self.path, self.out = cluster, path, out
        self.random = random.Random(seed)
        self.killed = {'driver': 0, 'worker': 0}
        self.deployer = _Deployer(cluster)
        self.start()

    def start(self) -> None:
        self.driver = _driver(self.path, self.out, self.cluster.scheduler_address)

    def end(self) -> None:
        self.driver.kill()
        self.driver.wait()
        self.driver.stderr.close()

    def kill(self) -> None:
        """Kill a process a few parts after the last time, the driver with a probability of 0.3."""
        wanted = _lines(self.out) + self.random.randint(1, 3)
        _until(lambda: _lines(self.out) >= wanted and _workers(self.cluster), self.driver, self.deployer)
        time.sleep(self.random.uniform(0.0, 0.05))
        assert self.driver.poll() is None, f'the sweep was over after {self.killed}'
        if self.random.random() < 0.3:
            self.end()
            self.start()
            self.killed['driver'] += 1
        elif running := _workers(self.cluster):
            os.kill(self.random.choice(running), signal.SIGKILL)
            self.killed['worker'] += 1


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ('kills', 'parts', 'seed'), [(2, 24, 3), pytest.param(20, 320, 1, marks=pytest.mark.slow)], ids=['2', '20']
)
def test_a_sweep_with_killed_workers_and_driver_equals_the_undisturbed_one(cluster, tmp_path, kills, parts, seed):
    design = f'design: {{kind: sobol, runs: {LEAST_PART * parts}, seed: 2}}'
    path, out = written(tmp_path, design=design, **SHORT), tmp_path / 'out'
    sweep = load_sweep(path)
    assert sweep.parts == parts
    run_sweep(sweep, tmp_path / 'undisturbed', LocalWorkers(1))
    killer = _Killer(cluster, path, out, seed)
    try:
        while sum(killer.killed.values()) < kills:
            killer.kill()
        assert min(killer.killed.values()) > 0
        _until(lambda: killer.driver.poll() is not None, killer.driver, killer.deployer)
        assert killer.driver.returncode == 0, killer.driver.stderr.read()
    finally:
        killer.end()
    assert content(out) == content(tmp_path / 'undisturbed')


def test_the_loss_of_the_scheduler_is_one_line_and_finished_parts_are_kept(tmp_path):
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
        assert driver.wait(scaled_timeout(TIMEOUT)) == 1
        text = driver.stderr.read()
    finally:
        driver.kill()
        driver.wait()
    assert 'expected a running scheduler' in text
    assert 'Traceback' not in text
    assert _lines(out) >= 1


def test_a_result_lost_with_the_scheduler_is_reported_as_its_end(tmp_path):
    client = SimpleNamespace(status='running', nthreads=lambda: {'one': 1}, cancel=lambda parts: None)

    class Lost:
        status = 'finished'

        def result(self):
            client.status = 'connecting'
            raise distributed.CancelledError

    client.submit = lambda *arguments, key: Lost()
    workers = object.__new__(DaskWorkers)
    workers.address, workers._client, workers._attempts = 'tcp://127.0.0.1:9', client, 0
    with pytest.raises(ClusterError, match='expected a running scheduler, found a connection that is connecting'):
        list(workers.results(load_sweep(written(tmp_path)), [0]))


def test_a_missing_scheduler_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('dyn_nodes.analysis.sweeps.cluster.CONNECT', 1.0)
    for address in ('tcp://127.0.0.1:9', 'nonsense', 'tcp://127.0.0.1:port'):
        assert cli.main(['sweep', str(written(tmp_path)), '--scheduler', address]) == 1
        text = capsys.readouterr().err.strip()
        assert f'--scheduler {address}: expected the scheduler of a Dask cluster' in text
        assert 'Traceback' not in text


def test_a_worker_of_another_version_is_rejected(tmp_path):
    sweep = load_sweep(written(tmp_path))
    identity, _, *others = order_of(sweep, 0)
    with pytest.raises(OtherVersionError, match=r'expected dyn_nodes 9.9.9 on every worker'):
        run_part(identity, '9.9.9', *others)
