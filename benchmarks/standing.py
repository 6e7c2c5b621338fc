"""A machine without commands, in real time on a busy computer: it stays at rest and moves as in lockstep.

    python -m benchmarks.standing --minutes 10
    python -m benchmarks.standing --machine car --loops 0 --factor 0.99     # on a free one it keeps up

Runs a launch file twice, in lockstep and in real time beside busy loops, and compares every joint state; on rclpy if
installed. Exit status 0 only if the greatest difference is at most 1e-9, nothing lifted off, relieved or
reached a limit, and simulated time was at least `--factor` of wall time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rosbags.highlevel import AnyReader

from dyn_nodes.middleware.launching import find_launch_file

TOLERANCE = 1e-9
BUSY = 'import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass'
STARTED = 2
"""Simulated time after which real-time factors count, s: the first ones hold the start."""
BAD = ('lift_off', 'relief_open', 'joint_limit', 'overturned')


@contextlib.contextmanager
def busy(count: int, seconds: float) -> Iterator[None]:
    """Run `count` busy loops; they end with the block, or after `seconds`."""
    loops = [subprocess.Popen([sys.executable, '-c', BUSY.format(seconds=seconds)]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(bag: Path, mode: str, arguments: argparse.Namespace) -> None:
    """Run the launch file to its end and record it. Raises CalledProcessError, TimeoutExpired."""
    values = {'mode': mode, 'duration': 60.0 * arguments.minutes, 'record': 'true', 'bag': bag}
    if 'name="drive"' in find_launch_file(f'{arguments.machine}.launch.xml').read_text(encoding='utf-8'):
        values['drive'] = 'true'  # otherwise a task moves it
    words = [f'{name}:={value}' for name, value in values.items()]
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', arguments.machine, *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(arguments.domain)}
    subprocess.run(command, check=True, env=environment, timeout=300.0 + 1200.0 * arguments.minutes)


class Recorded(NamedTuple):
    """Content of the bag of a run.

    Attributes:
        states: position, velocity and effort of the joints by stamp, ns.
        bad: kinds of forbidden events.
        factors: real-time factors that the dynamics node reported, after its start.
    """

    states: dict[int, np.ndarray]
    bad: list[str]
    factors: list[float]


def read(bag: Path) -> Recorded:
    """Read a bag."""
    recorded = Recorded({}, [], [])
    with AnyReader([bag]) as reader:
        wanted = [c for c in reader.connections if c.topic in ('/joint_states', '/events', '/diagnostics')]
        for connection, _, raw in reader.messages(wanted):
            msg = reader.deserialize(raw, connection.msgtype)
            if connection.topic == '/joint_states':
                stamp = msg.header.stamp.sec * 1_000_000_000 + msg.header.stamp.nanosec
                recorded.states[stamp] = np.concatenate([msg.position, msg.velocity, msg.effort])
            elif connection.topic == '/diagnostics':
                pairs = {pair.key: pair.value for status in msg.status for pair in status.values}
                factor = float(pairs.get('real-time factor', 'nan'))
                if np.isfinite(factor) and msg.header.stamp.sec >= STARTED:
                    recorded.factors.append(factor)
            elif msg.name.endswith(BAD):
                recorded.bad.append(msg.name)
    return recorded


def main() -> int:
    """Run both and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--machine', default='log_loader', help='launch file')
    parser.add_argument('--minutes', type=float, default=1.0, help='simulated time')
    parser.add_argument('--factor', type=float, default=0.0, help='least mean real-time factor')
    parser.add_argument('--loops', type=int, default=4, help='busy loops beside the run in real time')
    parser.add_argument('--domain', type=int, default=29, help='ROS_DOMAIN_ID')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='standing-') as directory:
        calm, loaded = Path(directory) / 'lockstep', Path(directory) / 'realtime'
        run(calm, 'lockstep', arguments)
        with busy(arguments.loops, 300.0 + 1200.0 * arguments.minutes):
            run(loaded, 'realtime', arguments)
        expected, measured = read(calm), read(loaded)
    common = sorted(set(expected.states) & set(measured.states))
    worst = max(float(np.abs(expected.states[stamp] - measured.states[stamp]).max()) for stamp in common)
    factor = float(np.mean(measured.factors)) if measured.factors else float('nan')
    print(
        f'{arguments.machine}: {len(measured.states)} of {len(expected.states)} joint states recorded in real time; '
        f'greatest difference {worst:.3g}; events: {", ".join(measured.bad) or "none"}; '
        f'real-time factor {factor:.3f}, least {min(measured.factors, default=factor):.3f}'
    )
    passes = worst <= TOLERANCE and not measured.bad and len(common) > 0.5 * len(expected.states)
    return 0 if passes and not factor < arguments.factor else 1


if __name__ == '__main__':
    sys.exit(main())
