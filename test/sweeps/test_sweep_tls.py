"""The commands of docs/how_to/sweeps.md for a cluster with TLS, and a client that has no key."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from small_sweep import written

from dyn_nodes.analysis.sweeps.cluster import ClusterError, DaskWorkers

pytest.importorskip('distributed')
psutil = pytest.importorskip('psutil')
PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'how_to' / 'sweeps.md'
pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which('openssl') is None, reason='there is no openssl'),
]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def _commands(port: int, sweep: Path) -> str:
    """The lines of the page, with another port and sweep; at the end the shell waits for a line on stdin."""
    (block,) = re.findall(r'^```sh\n(openssl .*?)^```', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert 'log_loader_tip_over' in block
    text = block.replace('8786', str(port)).replace('log_loader_tip_over', str(sweep))
    return f'set -e\n{text}\necho finished\nread line\n'


def _addresses(process: psutil.Process) -> set[str]:
    """Addresses on which a process and its children listen."""
    everyone = [process, *process.children(recursive=True)]
    return {
        connection.laddr.ip
        for member in everyone
        for connection in member.net_connections('inet')
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.fixture
def tls_cluster(tmp_path):
    """Address of a scheduler that the page's commands have started, and their shell."""
    port, sweep = _free_port(), written(tmp_path, duration='duration: 0.05')
    paths = f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    shell = subprocess.Popen(
        ['bash', '-c', _commands(port, sweep)],
        cwd=tmp_path,
        env={**os.environ, 'PATH': paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(tmp_path / 'stderr').open('w'),
        text=True,
    )
    try:
        if 'finished\n' not in iter(shell.stdout.readline, ''):
            pytest.fail((tmp_path / 'stderr').read_text()[-2000:])
        yield f'127.0.0.1:{port}', shell
    finally:
        for process in [*psutil.Process(shell.pid).children(recursive=True), shell]:
            process.kill()
        shell.communicate()


def test_the_commands_of_the_page_run_a_sweep_over_tls_on_loopback_alone(tls_cluster, tmp_path, monkeypatch):
    address, shell = tls_cluster
    assert (tmp_path / 'runs' / 'tip_over' / 'parts' / 'part-000000.parquet').exists()
    assert stat.S_IMODE((tmp_path / 'key.pem').stat().st_mode) == 0o600
    assert _addresses(psutil.Process(shell.pid)) == {'127.0.0.1'}
    monkeypatch.setattr('dyn_nodes.analysis.sweeps.cluster.CONNECT', 3.0)
    for protocol in ('tcp', 'tls'):
        with pytest.raises(ClusterError, match=f'{protocol}://{address}: expected the scheduler of a Dask cluster'):
            DaskWorkers(f'{protocol}://{address}')
