"""Processor time of the nodes of a launch file, per simulated second, in the steady state.

    python -m benchmarks.cpu_cost --runtimes rclpy --exchange 0.005

Runs a launch file in lockstep, reads simulated time and processor times of all processes at instants `--seconds` apart,
from `--settle` on, and divides their differences: one value for each of `--windows` windows. Imports, compilation and
the first seconds are the column of the start. Prints one line for each installed runtime, for nodes in one process and
in separate ones, and for each exchange period: the median of the windows with the least and the greatest value, and the
bar. Exit status 1 if a run fails or a median is above its bar.

A core that shares its caches with other work needs more processor time for the same: the last column is the processor
time of a fixed calculation at the instants, by which lines of different loads are compared.

With `--action` the controller has an action server although `control_msgs` is not installed: a type of `test_msgs`
takes the place of FollowJointTrajectory. No goal is sent.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dyn_nodes.commands.free_domain import claimed_domain
from dyn_nodes.middleware.launching import ChildSpec, find_launch_file, interpret

BARS = {True: 0.25, False: 0.45}
"""Most processor time per simulated second on rclpy at `BAR_PERIOD`, in one process and in separate ones, s."""
BAR_PERIOD = 0.005
LONGEST = 240.0
"""Wall time of a run over its simulated time, s."""
TICK = 1.0 / os.sysconf('SC_CLK_TCK')
STAND_IN = 'from test_msgs.action import Fibonacci as FollowJointTrajectory\n'


class RunError(RuntimeError):
    """A node failed; the message contains its output."""


@dataclass
class Cost:
    """Processor times of a run, s.

    Attributes:
        start: of all processes until the first instant.
        reference: of the fixed calculation, median of the instants.
        windows: per simulated second of each window, of each process by the name of its executable.
    """

    start: float
    reference: float
    windows: list[dict[str, float]]

    @property
    def totals(self) -> list[float]:
        """Return the sums over the processes."""
        return [sum(window.values()) for window in self.windows]


def processor_time(pid: int) -> float:
    """Return user and system time of a process, s."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return TICK * (int(fields[11]) + int(fields[12]))


def reference_time() -> float:
    """Return the processor time of a fixed calculation in Python, s."""
    start, table = time.thread_time(), {}
    for number in range(100_000):
        table[number % 1000] = 0.5 * number
    return time.thread_time() - start


def watch(pids: list[int], settle: float, seconds: float, windows: int) -> None:
    """Print simulated time and processor times of processes at instants of /clock, one line of JSON each.

    Raises:
        RunError: /clock has another publisher.
    """
    from dyn_nodes.middleware import Node, QoSProfile, ReliabilityPolicy, init, message, spin_once

    marks = [settle + seconds * number for number in range(windows + 1)]

    def on_clock(msg: object) -> None:
        now = msg.clock.sec + 1e-9 * msg.clock.nanosec  # type: ignore[attr-defined]
        if marks and now >= marks[0]:
            marks.pop(0)
            if (count := node.count_publishers('/clock')) > 1:
                raise RunError(f'expected one publisher of /clock, found {count}')
            times = [processor_time(pid) for pid in pids]
            print(json.dumps([now, times, reference_time()]), flush=True)

    with init():
        node = Node('cpu_cost')
        profile = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(message('rosgraph_msgs/msg/Clock'), '/clock', on_clock, profile)
        while marks:
            spin_once(node, timeout_sec=1.0)


@contextlib.contextmanager
def environment_of(arguments: argparse.Namespace, runtime: str) -> Iterator[dict[str, str]]:
    """Yield variables of the processes of a run."""
    variables = {'DYN_NODES_MIDDLEWARE': runtime}
    variables['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    with claimed_domain() as domain, tempfile.TemporaryDirectory(prefix='cpu-cost-') as folder:
        variables['ROS_DOMAIN_ID'] = str(domain)
        if arguments.action:
            package = Path(folder, 'control_msgs')
            package.mkdir()
            (package / '__init__.py').touch()
            (package / 'action.py').write_text(STAND_IN)
            variables['PYTHONPATH'] = os.pathsep.join(filter(None, (folder, os.environ.get('PYTHONPATH'))))
        yield variables


def run(arguments: argparse.Namespace, runtime: str, compose: bool, exchange: float) -> Cost:
    """Run the launch file; return its cost. Raises RunError."""
    duration = arguments.settle + arguments.seconds * (arguments.windows + 1)
    values = {'compose': str(compose).lower(), 'mode': 'lockstep', 'duration': str(duration)}
    values['exchange_period'] = str(exchange)
    values.update(pair.split(':=', 1) for pair in arguments.arguments)
    specs = interpret(find_launch_file(arguments.machine), values).children
    with environment_of(arguments, runtime) as variables, tempfile.TemporaryFile() as log:
        processes = [start(spec, variables, log.fileno()) for spec in specs]
        numbers = [arguments.settle, arguments.seconds, arguments.windows, *(process.pid for process in processes)]
        words = [sys.executable, '-m', 'benchmarks.cpu_cost', '--watch', *map(str, numbers)]
        watcher = subprocess.Popen(words, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True)
        try:
            lines = watcher.communicate(timeout=LONGEST + 3.0 * duration)[0].splitlines()
        except subprocess.TimeoutExpired:
            lines = []
        finally:
            watcher.kill()
            stop(processes)
        if len(lines) != arguments.windows + 1:
            log.seek(0)
            raise RunError(f'expected {arguments.windows + 1} instants, found {len(lines)}:\n{log.read().decode()}')
    instants = [json.loads(line) for line in lines]
    names = [spec.executable.removesuffix('_node') for spec in specs]
    windows = [
        {name: (end - begin) / (late[0] - early[0]) for name, begin, end in zip(names, early[1], late[1])}
        for early, late in itertools.pairwise(instants)
    ]
    return Cost(sum(instants[0][1]), statistics.median(instant[2] for instant in instants), windows)


def start(spec: ChildSpec, variables: dict[str, str], log: int) -> subprocess.Popen[bytes]:
    """Start a process of a launch file."""
    return subprocess.Popen(spec.command, env={**spec.environment, **variables}, stdout=log, stderr=log)


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End processes."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def runtimes() -> list[str]:
    """Return the runtimes that this interpreter can import."""
    packages = {'rclpy': 'rclpy', 'embedded': 'cyclonedds'}
    return [name for name, package in packages.items() if importlib.util.find_spec(package)]


def distribution() -> str:
    """Return the name of the ROS distribution of rclpy, or ''."""
    if name := os.environ.get('ROS_DISTRO'):
        return name
    for name in ('humble', 'jazzy', 'kilted', 'lyrical'):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version(f'ros-{name}-rclpy')
            return name
    return ''


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('--machine', default='log_loader', help='launch file')
    made.add_argument('--settle', type=float, default=5.0, help='simulated time before the first window, s')
    made.add_argument('--seconds', type=float, default=4.0, help='simulated time of a window, s')
    made.add_argument('--windows', type=int, default=5, help='number of windows')
    made.add_argument('--runtimes', nargs='+', default=runtimes(), choices=('rclpy', 'embedded'))
    made.add_argument('--compose', nargs='+', default=['true', 'false'], choices=('true', 'false'))
    made.add_argument('--exchange', nargs='+', type=float, default=[0.005, 0.001], help='exchange periods, s')
    made.add_argument('--action', action='store_true', help='with an action server (needs test_msgs)')
    made.add_argument('--bar', type=float, help='most CPU s per simulated s; default: the bars of rclpy at 5 ms')
    made.add_argument('arguments', nargs='*', help='further launch arguments, name:=value')
    return made


def main() -> int:
    """Measure and print the table."""
    if sys.argv[1:2] == ['--watch']:
        settle, seconds, windows, *pids = map(float, sys.argv[2:])
        watch([int(pid) for pid in pids], settle, seconds, int(windows))
        return 0
    arguments = parser().parse_args()
    print('| runtime | nodes | exchange, ms | CPU s per simulated s | bar | start, CPU s | of these | reference, ms |')
    print('|---|---|---|---|---|---|---|---|', flush=True)
    is_good = True
    for runtime in arguments.runtimes:
        for compose in [word == 'true' for word in arguments.compose]:
            for exchange in arguments.exchange:
                cost = run(arguments, runtime, compose, exchange)
                bar = arguments.bar
                if bar is None and runtime == 'rclpy' and exchange == BAR_PERIOD:
                    bar = BARS[compose]
                line, passed = row(runtime, compose, exchange, cost, bar)
                print(line, flush=True)
                is_good = is_good and passed
    return 0 if is_good else 1


def row(runtime: str, compose: bool, exchange: float, cost: Cost, bar: float | None) -> tuple[str, bool]:
    """Return a line of the table, and whether the median is within the bar."""
    totals = cost.totals
    median = statistics.median(totals)
    parts = {name: statistics.median(window[name] for window in cost.windows) for name in cost.windows[0]}
    words = ', '.join(f'{name} {value:.2f}' for name, value in parts.items())
    passed = bar is None or median <= bar
    verdict = '' if bar is None else f'{bar:g}: {"pass" if passed else "fail"}'
    name = f'{runtime} {distribution()}'.strip() if runtime == 'rclpy' else runtime
    kind = 'one process' if compose else 'a process each'
    value = f'{median:.3f} ({min(totals):.3f} to {max(totals):.3f})'
    rest = f'{verdict} | {cost.start:.1f} | {words} | {1e3 * cost.reference:.1f} |'
    return f'| {name} | {kind} | {1e3 * exchange:g} | {value} | {rest}', passed


if __name__ == '__main__':
    sys.exit(main())
