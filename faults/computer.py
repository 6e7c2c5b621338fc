"""A computer that fails: no home, no shared memory, a full disk, a port that is taken.

Each is reported in one line or has no effect.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from faults.files import scaled_timeout
from faults.processes import ROOT, TIMEOUT, Outcome

CHECK = ['-m', 'dyn_nodes.cli', 'check', 'urdf/log_loader.urdf', '--config', 'config/log_loader.yaml']
DYNAMICS = [
    '-m', 'dyn_nodes.nodes.dynamics_node', '--ros-args', '-p', 'machine:=log_loader', '-p', 'mode:=lockstep',
    '-p', 'actuation:=monolithic', '-p', 'partner:=external', '-p', 'wait_for:=[""]', '-p', 'duration:=0.2',
]  # fmt: skip


def run_command(
    name: str, words: list[str], variables: dict[str, str], good: tuple[int, ...], **options: object
) -> Outcome:
    """Run a Python command; a traceback, another exit status or no end is a fault."""
    outcome = Outcome(name)
    prefix = list(options.pop('prefix', ()))  # type: ignore[call-overload]
    command = [*prefix, sys.executable, *words]
    process = subprocess.Popen(
        command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    most = scaled_timeout(TIMEOUT)
    try:
        _, errors = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
        outcome.faults.append(f'no end within {most:.0f} s')
    last = errors.strip().splitlines()[-1] if errors.strip() else 'nothing on standard error'
    outcome.seen = f'exit status {process.returncode}: {last[:150]}'
    if 'Traceback' in errors:
        outcome.faults.append(f'a traceback: {errors[errors.index("Traceback") :][-300:]!r}')
    if process.returncode not in good:
        outcome.faults.append(f'exit status {process.returncode}')
    return outcome


def environment(**changes: str | None) -> dict[str, str]:
    """Return the variables of a process; None removes one."""
    merged = {'ROS_DOMAIN_ID': '49', 'DYN_NODES_MIDDLEWARE': 'embedded', **os.environ, **changes}
    return {key: value for key, value in merged.items() if value is not None}


@contextlib.contextmanager
def full_disk(size: str = '256k') -> Iterator[Path | None]:
    """Mount a file system of `size` bytes and fill it up to 4 KiB; None if that is not allowed (it needs root)."""
    directory = Path(tempfile.mkdtemp(prefix='faults_'))
    mounted = False
    try:
        if os.geteuid() == 0 and shutil.which('mount'):
            command = ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', str(directory)]
            mounted = subprocess.run(command, capture_output=True).returncode == 0
        if mounted:
            with contextlib.suppress(OSError), (directory / 'filler').open('wb', buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        yield directory if mounted else None
    finally:
        if mounted:
            subprocess.run(['umount', '-l', str(directory)], check=False)
        shutil.rmtree(directory, ignore_errors=True)


def no_home() -> Iterator[Outcome]:
    """Start without a home directory, and with one that can't be written."""
    changes: dict[str, str | None] = {'HOME': None, 'XDG_CACHE_HOME': None, 'DYN_NODES_CACHE': None}
    yield run_command('check without HOME', CHECK, environment(**changes), (0,))
    yield run_command('check with HOME=/proc/none', CHECK, environment(**{**changes, 'HOME': '/proc/none'}), (0,))
    yield run_command('a node with HOME=/proc/none', DYNAMICS, environment(ROS_HOME=None, HOME='/proc/none'), (0,))


def no_shared_memory() -> Iterator[Outcome]:
    """Start without /dev/shm, in a separate mount name space."""
    if os.geteuid() != 0 or not shutil.which('unshare'):
        return
    script = 'umount -l /dev/shm; mount -t tmpfs -o ro,size=4k tmpfs /dev/shm; exec "$@"'
    prefix = ['unshare', '--mount', 'sh', '-c', script, 'sh']
    yield run_command('a node without /dev/shm', DYNAMICS, environment(), (0,), prefix=prefix)


def disk_full() -> Iterator[Outcome]:
    """Write to a full file system."""
    with full_disk() as directory:
        if directory is None:
            return
        init = ['-m', 'dyn_nodes.cli', 'init', 'urdf/log_loader.urdf', '--out', str(directory / 'first.yaml')]
        yield run_command('init on a full disk', init, environment(), (1,))
        yield run_command(
            'compiled code on a full disk', DYNAMICS, environment(DYN_NODES_CACHE=str(directory / 'c')), (0, 1)
        )
        recorder = ['-m', 'dyn_nodes.nodes.recorder_node', '--ros-args', '-p', f'directory:={directory / "bag"}']
        yield run_command('a recorder on a full disk', recorder, environment(), (0, 1, -signal.SIGKILL, 124), prefix=[
            'timeout', '-s', 'INT', '10'])  # fmt: skip


def port_taken() -> Iterator[Outcome]:
    """Open the cockpit while its port is in use."""
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        viewer = ['-m', 'dyn_nodes.nodes.viewer_node', '--ros-args', '-p', 'machine:=log_loader', '-p', f'port:={port}']
        yield run_command('a viewer whose port is taken', viewer, environment(), (0, 1, 124), prefix=[
            'timeout', '-s', 'INT', '30'])  # fmt: skip


PARTS = (no_home, no_shared_memory, disk_full, port_taken)
"""Functions that yield the outcomes this computer allows."""
