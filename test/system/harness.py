"""Node processes on a separate domain, and a probe that subscribes to their topics."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

from asking import Question
from forking import ForkedProcess, start_module
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, DurabilityPolicy, Node, QoSProfile, SingleThreadedExecutor, message
from dyn_nodes.nodes.transforms import TFMessage

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
Process = subprocess.Popen | ForkedProcess
WATCHING_AGES = (
    'cartesian_controller_node', 'controller_node', 'electric_actuator_node', 'hydraulic_actuator_node',
    'platform_controller_node', 'stability_monitor_node', 'tip_over_governor_node', 'vehicle_controller_node',
)  # fmt: skip
HAS_FRAMES = TFMessage is not None
"""The wheels of rclpy come without tf2_msgs: nothing is published on /tf there."""


def interrupt(process: Process) -> None:
    """Send SIGINT to a running process; a stopped one receives it when it continues."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)


def end(*processes: Process, seconds: float = 20.0) -> None:
    """Interrupt processes; kill those that do not end in time, with the process groups that they lead."""
    for process in processes:
        interrupt(process)
    for process in processes:
        try:
            process.wait(scaled_timeout(seconds))
        except subprocess.TimeoutExpired:
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait(scaled_timeout(10))


def launched(domain: int, *words: str, seconds: float = 280.0) -> str:
    """Return the output of `dyn-nodes launch` with these arguments until the end of its run."""
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    text = run.stdout + run.stderr
    assert run.returncode == 0, text
    assert 'Traceback' not in text
    return text


class Processes:
    """Nodes of the package as processes; none outlives the test."""

    def __init__(self, domain: int, log_directory: Path) -> None:
        self.domain, self.logs = domain, log_directory
        self.running: dict[str, Process] = {}

    def start(self, node: str, remapped: dict[str, str] | None = None, **parameters: object) -> None:
        """Start a node; if it checks ages, configure it for a simulated machine unless its partner is external."""
        words = ['--ros-args']
        if node in WATCHING_AGES and parameters.get('partner') != 'external':
            parameters = {'use_sim_time': True, **parameters}
        for name, topic in (remapped or {}).items():
            words += ['-r', f'{name}:={topic}']
        for name, value in parameters.items():
            words += ['-p', f'{name}:={literal(value)}']
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(self.domain)}
        with (self.logs / f'{node}.log').open('w') as log:
            self.running[node] = start_module(
                f'dyn_nodes.nodes.{node}', words, environment, stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self, node: str) -> None:
        self.running[node].send_signal(signal.SIGKILL)
        self.running.pop(node).wait(scaled_timeout(10))

    def freeze(self, node: str) -> None:
        self.running[node].send_signal(signal.SIGSTOP)

    def thaw(self, node: str) -> None:
        self.running[node].send_signal(signal.SIGCONT)

    def wait(self, node: str, timeout: float) -> int:
        try:
            return self.running[node].wait(scaled_timeout(timeout))
        except subprocess.TimeoutExpired:
            raise AssertionError(f'{node} still runs after {timeout:g} s:\n{self.log(node)}') from None

    def log(self, node: str) -> str:
        return (self.logs / f'{node}.log').read_text()

    def stop(self) -> None:
        end(*self.running.values())


def literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return '[' + ', '.join(literal(item) for item in value) + ']'
    return str(value) or "''"


class Probe:
    """A node in the process of the test, spun by a thread; stores the last message of each topic."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        self.context.init(args=None, domain_id=domain)
        self.node = Node('probe', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.last: dict[str, object] = {}
        self.count: dict[str, int] = defaultdict(int)
        self.health: dict[str, tuple[int, str, dict[str, str]]] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except Exception as error:
            if self.context.ok():
                raise AssertionError('the probe stopped') from error

    def _on_diagnostics(self, array: object) -> None:
        for status in array.status:
            level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
            self.health[status.name] = (level, status.message, {pair.key: pair.value for pair in status.values})

    def listen(self, kind: str, topic: str, latched: bool = False) -> None:
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE

        def keep(msg: object) -> None:
            self.last[topic] = msg
            self.count[topic] += 1

        self.node.create_subscription(message(kind), topic, keep, QoSProfile(depth=100, durability=durability))

    def until(self, condition, event: str, timeout: float = 20.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while time.monotonic() < end:
            with contextlib.suppress(KeyError):  # of `last`: no message of that topic has arrived yet
                if condition():
                    return
            time.sleep(0.02)
        raise AssertionError(f'{event} has not happened in {timeout:g} s; health: {self.health}')

    def ask(self, kind: type, name: str, request: object, once: bool = False, timeout: float = 120.0) -> object:
        """Return the response of a service; `once`: never repeat the request."""
        client = self.node.create_client(kind, name)
        question = Question(client, request, once)
        self.until(question.is_answered, f'an answer of {name}', timeout)
        self.node.destroy_client(client)
        return question.answer

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()
        self.thread.join(5)
