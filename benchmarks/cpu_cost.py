"""Processor time of the nodes of a launch file, per simulated second.

    python -m benchmarks.cpu_cost --seconds 10

Runs a launch file twice in real time, for 1 s and for `--seconds` longer, and divides the difference of the processor
times by the difference of the simulated times: imports and compilation cancel. Prints one line for each installed
runtime, for nodes in one process and in separate ones, and for each exchange period. Exit status 1 if a run fails or a
line is above `--bar`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from dyn_nodes.middleware.launching import ChildSpec, find_launch_file, interpret

SHORT = 1.0
LONGEST = 240.0


@dataclass
class Cost:
    """Processor times, s.

    Attributes:
        total: of all processes.
        nodes: by the name of the executable.
    """

    total: float = 0.0
    nodes: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        """Add a process."""
        self.total += seconds
        self.nodes[name] = self.nodes.get(name, 0.0) + seconds


class RunError(RuntimeError):
    """A node failed; the message contains its output."""


def start(spec: ChildSpec, runtime: str, domain: int, log: Path) -> subprocess.Popen[bytes]:
    """Start a process of a launch file."""
    environment = {**spec.environment, 'DYN_NODES_MIDDLEWARE': runtime, 'ROS_DOMAIN_ID': str(domain)}
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    with log.open('wb') as output:
        return subprocess.Popen(spec.command, env=environment, stdout=output, stderr=output)


def wait(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a process; return its processor time, s."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def run(arguments: argparse.Namespace, runtime: str, compose: bool, exchange: float, duration: float) -> Cost:
    """Run the launch file for a simulated time; return its cost. Raises RunError."""
    values = {'compose': str(compose).lower(), 'duration': str(duration), 'exchange_period': str(exchange)}
    values.update(pair.split(':=', 1) for pair in arguments.arguments)
    specs = interpret(find_launch_file(arguments.machine), values).children
    cost = Cost()
    with tempfile.TemporaryDirectory(prefix='cpu-cost-') as directory:
        logs = [Path(directory) / f'{number}.log' for number in range(len(specs))]
        processes = [start(spec, runtime, arguments.domain, log) for spec, log in zip(specs, logs)]
        signal.signal(signal.SIGALRM, lambda number, frame: [process.kill() for process in processes])
        signal.alarm(int(LONGEST + 3.0 * duration))
        order = sorted(range(len(specs)), key=lambda number: not specs[number].shutdown_on_exit)
        try:
            for index in order:  # the dynamics first: the others end with it
                cost.add(specs[index].executable, wait(processes[index]))
                if specs[index].shutdown_on_exit:
                    for other in processes:
                        if other.returncode is None:
                            other.send_signal(signal.SIGINT)
        finally:
            signal.alarm(0)
            for process in processes:
                if process.returncode is None:
                    process.kill()
        for process, log in zip(processes, logs):
            if process.returncode not in (0, -signal.SIGINT):
                raise RunError(f'exit status {process.returncode}: {log.read_text()}')
    return cost


def runtimes() -> list[str]:
    """Return the runtimes that this interpreter can import."""
    packages = {'rclpy': 'rclpy', 'embedded': 'cyclonedds'}
    return [name for name, package in packages.items() if importlib.util.find_spec(package)]


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--machine', default='log_loader', help='launch file')
    parser.add_argument('--seconds', type=float, default=10.0, help='simulated time that is measured')
    parser.add_argument('--runtimes', nargs='+', default=runtimes(), choices=('rclpy', 'embedded'))
    parser.add_argument('--compose', nargs='+', default=['true', 'false'], choices=('true', 'false'))
    parser.add_argument('--exchange', nargs='+', type=float, default=[0.005, 0.001], help='exchange periods, s')
    parser.add_argument('--bar', type=float, default=0.0, help='most CPU seconds per simulated second; 0: none')
    parser.add_argument('--domain', type=int, default=29, help='ROS_DOMAIN_ID')
    parser.add_argument('arguments', nargs='*', help='further launch arguments, name:=value')
    arguments = parser.parse_args()
    print('| runtime | nodes | exchange, ms | CPU s per simulated s | of these |')
    print('|---|---|---|---|---|', flush=True)
    is_good = True
    for runtime in arguments.runtimes:
        run(arguments, runtime, True, arguments.exchange[0], SHORT)  # compiles if necessary
        for compose in arguments.compose:
            for exchange in arguments.exchange:
                setup = (arguments, runtime, compose == 'true', exchange)
                short, long = run(*setup, SHORT), run(*setup, SHORT + arguments.seconds)
                cost = (long.total - short.total) / arguments.seconds
                parts = {name: (long.nodes[name] - short.nodes[name]) / arguments.seconds for name in long.nodes}
                words = ', '.join(f'{name.removesuffix("_node")} {value:.2f}' for name, value in parts.items())
                kind = 'one process' if compose == 'true' else 'a process each'
                print(f'| {runtime} | {kind} | {1e3 * exchange:g} | {cost:.2f} | {words} |', flush=True)
                is_good = is_good and not 0.0 < arguments.bar < cost
    return 0 if is_good else 1


if __name__ == '__main__':
    sys.exit(main())
