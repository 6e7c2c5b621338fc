"""Ctrl-C at any instant of a cold start of a launch: a quiet end, exit status 0 or 130, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from timeouts import load, scaled_timeout

PROGRAM = "import sys; from dyn_nodes.entry import command; sys.argv[0] = 'dyn-nodes'; sys.exit(command())"
TOKEN = 'DYN_NODES_TEST_OF_STARTS'
WITHIN = 5.0
"""Wall time from Ctrl-C to the end of all processes on free cores, s."""
LATEST = 25.0
"""Wall time after which a cold start has compiled the log-loader on two free cores, s."""
pytestmark = pytest.mark.skipif(not Path('/proc/self/environ').exists(), reason='lists processes by /proc')
FAULTS = ('Traceback', 'process has died', 'Exception ignored', 'ended by force', 'did not stop', 'Fatal Python error')


def processes_of(token: str) -> list[int]:
    """Return the processes with a token in their environment."""
    pids = []
    for path in Path('/proc').glob('[0-9]*/environ'):
        try:
            if f'{TOKEN}={token}'.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
        except OSError:
            continue
    return pids


@pytest.fixture
def token(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path)
    for pid in processes_of(str(tmp_path)):
        os.kill(pid, signal.SIGKILL)


def interrupt(token: str, after: float, *arguments: str) -> None:
    """Interrupt a launch with an empty cache of machine code, and check its end.

    Args:
        token: marks the processes; a directory for cache and output.
        after: wall time from the first line of the launcher to the signal, s.
        arguments: of the launch.
    """
    folder = Path(token)
    variables = {TOKEN: token, 'DYN_NODES_CACHE': str(folder / 'cache'), 'ROS_LOG_DIR': str(folder / 'log')}
    words = [sys.executable, '-c', PROGRAM, 'launch', 'log_loader', 'mode:=lockstep', *arguments]
    with (folder / 'output').open('w') as out:
        launch = subprocess.Popen(words, env={**os.environ, **variables}, stdout=out, stderr=subprocess.STDOUT)
    end = time.monotonic() + scaled_timeout(60.0)
    while not (folder / 'output').stat().st_size and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(after)
    launch.send_signal(signal.SIGINT)
    start = time.monotonic()
    status = launch.wait(scaled_timeout(30.0))
    while processes_of(token) and time.monotonic() - start < WITHIN * max(1.0, load()):
        time.sleep(0.02)
    text = (folder / 'output').read_text()
    assert not processes_of(token), text
    assert status in (0, 130), text
    assert not [fault for fault in FAULTS if fault in text], text


@pytest.mark.parametrize('after', [0.0, 0.15, 0.4, 1.0, 2.5, 6.0])
def test_ctrl_c_before_the_nodes_run_ends_a_launch_quietly(token: str, after: float) -> None:
    interrupt(token, after)


@pytest.mark.parametrize('after', [0.2, 1.5, 4.0])
def test_ctrl_c_before_composed_nodes_run_ends_them_quietly_and_closes_the_bag(token: str, after: float) -> None:
    bag = Path(token) / 'bag'
    interrupt(token, after, 'compose:=true', 'record:=true', f'bag:={bag}')
    assert not bag.exists() or (bag / 'metadata.yaml').exists()


@pytest.mark.slow
@pytest.mark.parametrize('number', range(40))
def test_ctrl_c_at_random_instants_of_a_cold_start(token: str, number: int) -> None:
    random = np.random.default_rng(number)
    arguments = ('compose:=true',) if number % 2 else ()
    interrupt(token, float(random.uniform(0.0, LATEST)), *arguments)
