"""A machine that nobody drives, in real time on a busy computer: it stands, and moves as in lockstep.

    python -m benchmarks.standing --minutes 10

Runs `log_loader drive:=true` twice, in lockstep and in real time beside busy loops, and compares every joint state.
Exit status 0 only if the greatest difference is at most 1e-9 and nothing lifted off, relieved or reached a limit.
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

import numpy as np
from rosbags.highlevel import AnyReader

TOLERANCE = 1e-9
BUSY = 'import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass'
BAD = ('lift_off', 'relief_open', 'joint_limit', 'overturned')


@contextlib.contextmanager
def busy(count: int, seconds: float) -> Iterator[None]:
    """Run `count` loops that take what they can get; they end with the block, or after `seconds`."""
    loops = [subprocess.Popen([sys.executable, '-c', BUSY.format(seconds=seconds)]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(bag: Path, mode: str, arguments: argparse.Namespace) -> None:
    """Run the launch file to its end and record it. Raises CalledProcessError, TimeoutExpired."""
    values = {'drive': 'true', 'mode': mode, 'duration': 60.0 * arguments.minutes, 'record': 'true', 'bag': bag}
    words = [f'{name}:={value}' for name, value in values.items()]
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', arguments.machine, *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(arguments.domain)}
    subprocess.run(command, check=True, env=environment, timeout=300.0 + 1200.0 * arguments.minutes)


def read(bag: Path) -> tuple[dict[int, np.ndarray], list[str]]:
    """Return joint states (position, velocity, effort) by stamp, ns, and the kinds of events that must not happen."""
    states, bad = {}, []
    with AnyReader([bag]) as reader:
        wanted = [c for c in reader.connections if c.topic in ('/joint_states', '/events')]
        for connection, _, raw in reader.messages(wanted):
            msg = reader.deserialize(raw, connection.msgtype)
            if connection.topic == '/joint_states':
                stamp = msg.header.stamp.sec * 1_000_000_000 + msg.header.stamp.nanosec
                states[stamp] = np.concatenate([msg.position, msg.velocity, msg.effort])
            elif msg.name.endswith(BAD):
                bad.append(msg.name)
    return states, bad


def main() -> int:
    """Run both and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--machine', default='log_loader', help='launch file with the argument drive')
    parser.add_argument('--minutes', type=float, default=1.0, help='simulated time')
    parser.add_argument('--loops', type=int, default=4, help='busy loops beside the run in real time')
    parser.add_argument('--domain', type=int, default=29, help='ROS_DOMAIN_ID')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='standing-') as directory:
        calm, loaded = Path(directory) / 'lockstep', Path(directory) / 'realtime'
        run(calm, 'lockstep', arguments)
        with busy(arguments.loops, 300.0 + 1200.0 * arguments.minutes):
            run(loaded, 'realtime', arguments)
        (expected, _), (found, bad) = read(calm), read(loaded)
    common = sorted(set(expected) & set(found))
    worst = max(float(np.abs(expected[stamp] - found[stamp]).max()) for stamp in common)
    complete = f'{len(found)} of {len(expected)} joint states recorded in real time'
    print(f'{complete}; greatest difference {worst:.3g}; events: {", ".join(bad) or "none"}')
    return 0 if worst <= TOLERANCE and not bad and len(common) > 0.5 * len(expected) else 1


if __name__ == '__main__':
    sys.exit(main())
