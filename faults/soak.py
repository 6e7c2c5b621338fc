"""Run a machine for a long time and check for growth: `python -m faults.soak`, or `make soak`.

Dynamics, hydraulics and controller run in lockstep for simulated hours, as fast as possible, in separate processes or
in one (`--composed`, which is faster). Once a simulated minute the stick moves out and in again. Memory, descriptors
and threads are read once a second; the slopes, by least squares over the second half, must be flat.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faults.processes import ROOT

MOST_MEMORY = 4.0
"""Greatest growth of resident memory over the second half of a run, MB."""
START = 20.0
"""Wall time of the start, excluded from the slopes, s; compilation comes before it."""

REPORTED = 60.0
"""Wall time between two lines of progress, s."""


@dataclass(frozen=True)
class Soak:
    """Measurements, each (n,): wall time s, resident memory MB, descriptors, threads; and the exit status."""

    times: list[float]
    memory: list[float]
    descriptors: list[int]
    threads: list[int]
    status: int | None

    def growth(self) -> dict[str, float]:
        """Return the growth over the second half of the run, by quantity."""
        half = len(self.times) // 2
        result = {}
        for name in ('memory', 'descriptors', 'threads'):
            values = np.array(getattr(self, name)[half:], dtype=float)
            times = np.array(self.times[half:])
            slope = np.polyfit(times, values, 1)[0] if len(values) > 2 else np.nan
            result[name] = float(slope * (times[-1] - times[0])) if len(values) > 2 else float('nan')
        return result

    @property
    def flat(self) -> bool:
        """Return whether nothing grows and the process has not failed."""
        growth = self.growth()
        steady = growth['memory'] < MOST_MEMORY and growth['descriptors'] < 1.0 and growth['threads'] < 1.0
        return steady and self.status in (None, 0)


def sample(pid: int) -> tuple[float, int, int]:
    """Return resident memory in MB, descriptors and threads of a process."""
    lines = dict(line.split(':', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines() if ':' in line)
    descriptors = len(os.listdir(f'/proc/{pid}/fd'))
    return float(lines['VmRSS'].split()[0]) / 1024.0, descriptors, int(lines['Threads'])


def soak(
    hours: float,
    minutes: float,
    start: float = START,
    period: float = 1.0,
    domain: int = 48,
    composed: bool = False,
    stopped: threading.Event | None = None,
    arguments: Sequence[str] = (),
) -> Soak:
    """Run the log-loader for simulated hours or real minutes, whichever is over first.

    Args:
        hours: simulated.
        minutes: of wall time, after the start.
        start: excluded wall time at the start, s.
        period: between samples, s.
        domain: ROS_DOMAIN_ID.
        composed: all nodes in one process.
        stopped: event that stops the run.
        arguments: further ones of the launch file, NAME:=VALUE, if the nodes share a process.
    """
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'DYN_NODES_MIDDLEWARE': 'embedded'}
    with tempfile.TemporaryDirectory() as directory:
        task = Path(directory) / 'strokes.yaml'
        task.write_text(strokes(hours))
        commands = _composed(hours, task, arguments) if composed else _separate(hours, task)
        running = [
            subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for words in commands
        ]
        return _watch(running, minutes, start, period, stopped or threading.Event())


def strokes(hours: float) -> str:
    """Return a task that moves the stick out and in again once a minute."""
    lines = ['name: strokes', 'description: a stroke a minute', f'duration: {3600.0 * hours}', 'segments:']
    for minute in range(max(1, int(60 * hours))):
        for at, volts in ((5.0, -2.0), (8.0, 2.0)):
            since = 60.0 * minute + at
            lines.append(
                f'  - {{name: stroke, start: {since}, end: {since + 2.0}, ramp: 0.5, volts: {{stick: {volts}}}}}'
            )
    return '\n'.join(lines) + '\n'


def _separate(hours: float, task: Path) -> list[list[str]]:
    """Return the commands of dynamics, hydraulics and controller."""
    node = [sys.executable, '-m']
    common = ['--ros-args', '-p', 'machine:=log_loader', '-p', 'mode:=lockstep']
    return [
        [
            *node,
            'dyn_nodes.nodes.dynamics_node',
            *common,
            '-p',
            'actuation:=topics',
            '-p',
            f'duration:={3600.0 * hours}',
        ],
        [*node, 'dyn_nodes.nodes.hydraulic_actuator_node', *common],
        [*node, 'dyn_nodes.nodes.controller_node', *common, '-p', f'task:={task}'],
    ]


def _composed(hours: float, task: Path, further: Sequence[str]) -> list[list[str]]:
    """Return the command of all nodes in one process."""
    arguments = [
        'compose:=false',
        'mode:=lockstep',
        f'task:={task}',
        f'duration:={3600.0 * hours}',
        'payload:=500.0',
        *further,
    ]
    launch_file = ROOT / 'launch' / 'log_loader.launch.xml'
    return [[sys.executable, '-m', 'dyn_nodes.nodes.composition_node', str(launch_file), *arguments]]


def _watch(
    running: list[subprocess.Popen[bytes]], minutes: float, start: float, period: float, stopped: threading.Event
) -> Soak:
    """Sample processes until the first of them ends, the time is over or `stopped` is set; end them."""
    dynamics, start_time = running[0], time.monotonic()
    rows: list[tuple[float, float, int, int]] = []
    shown = start_time
    try:
        while (
            dynamics.poll() is None
            and time.monotonic() - start_time < start + 60.0 * minutes
            and not stopped.wait(period)
        ):
            if dynamics.poll() is None and time.monotonic() - start_time > start:
                rows.append((time.monotonic() - start_time, *_total([process.pid for process in running])))
            if rows and time.monotonic() - shown > REPORTED:
                shown = time.monotonic()
                print('{:.0f} s: {:.1f} MB, {} descriptors, {} threads'.format(*rows[-1]), flush=True)
        status = dynamics.poll()
    finally:
        for process in running:
            if process.poll() is None:
                process.terminate()
        for process in running:
            try:
                process.wait(30.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    times, memory, descriptors, threads = (list(column) for column in zip(*rows)) if rows else ([], [], [], [])
    return Soak(times, memory, descriptors, threads, status)


def _total(pids: list[int]) -> tuple[float, int, int]:
    samples = []
    for pid in pids:
        try:
            samples.append(sample(pid))
        except (OSError, KeyError):
            continue
    return sum(f[0] for f in samples), sum(f[1] for f in samples), sum(f[2] for f in samples)


def main() -> int:
    """Run and print the growth; exit status 0 without growth."""
    parser = argparse.ArgumentParser(prog='python -m faults.soak', description=__doc__)
    parser.add_argument('--hours', type=float, default=24.0, help='simulated (24)')
    parser.add_argument('--minutes', type=float, default=20.0, help='of wall time at most (20)')
    parser.add_argument('--composed', action='store_true', help='all nodes in one process')
    parser.add_argument('--domain', type=int, default=48, help='ROS_DOMAIN_ID (48)')
    parser.add_argument(
        'arguments', nargs='*', metavar='NAME:=VALUE', help='of the launch file with --composed, as monolithic:=true'
    )
    args = parser.parse_args()
    if args.arguments and not args.composed:
        parser.error('NAME:=VALUE is for --composed')
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # the nodes must end with this process
    result = soak(args.hours, args.minutes, START, 1.0, args.domain, args.composed, stopped, args.arguments)
    growth = ', '.join(
        f'{name} {value:+.2f}{" MB" if name == "memory" else ""}' for name, value in result.growth().items()
    )
    wall = result.times[-1] - result.times[0] if result.times else 0.0
    end = {None: 'stopped', 0: 'to its end'}.get(result.status, f'exit status {result.status}')
    print(f'{wall:.0f} s of wall time, {end}; growth over the second half: {growth}')
    print(f'memory {result.memory[-1]:.1f} MB' if result.memory else 'nothing was seen')
    return 0 if result.flat else 1


if __name__ == '__main__':
    sys.exit(main())
